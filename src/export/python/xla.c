/* Functions of this package as XLA calls them, by its interface for foreign functions. Where the functions are, `describe` is told
 * when the library is loaded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

typedef struct {
    const char *name;
    int (*run)(const void **arg, void **res, long long *iw, double *w, int mem);
    long long inputs, outputs, iw, w;
    const char *(*type_in)(long long i), *(*type_out)(long long i);
} function;

static function functions[COUNT];

void describe(int at, const char *name, void *run, void *type_in, void *type_out, const long long *sizes) {
    function *self = functions + at;
    self->name = name;
    *(void **)&self->run = run;
    *(void **)&self->type_in = type_in;
    *(void **)&self->type_out = type_out;
    self->inputs = sizes[0];
    self->outputs = sizes[1];
    self->iw = sizes[2];
    self->w = sizes[3];
}

static XLA_FFI_Error *failed(XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const function *self, const char *problem) {
    char message[512];
    snprintf(message, sizeof message, "%s: %s", self->name, problem);
    XLA_FFI_Error_Create_Args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.message = message;
    args.errc = code;
    return frame->api->XLA_FFI_Error_Create(&args);
}

/* The axes before those of the function's own array, or -1 where that is another one. */
static int64_t axes_before(const XLA_FFI_Buffer *buffer, const char *type) {
    static const struct {
        const char *name;
        XLA_FFI_DataType dtype;
    } dtypes[] = {
        {"f32", XLA_FFI_DataType_F32}, {"f64", XLA_FFI_DataType_F64}, {"i32", XLA_FFI_DataType_S32},
        {"i64", XLA_FFI_DataType_S64}, {"bool", XLA_FFI_DataType_PRED},
    };
    size_t letters = strcspn(type, "[");
    int is_right = 0;
    for (size_t at = 0; at < sizeof dtypes / sizeof *dtypes; at++) {
        if (strlen(dtypes[at].name) == letters && memcmp(dtypes[at].name, type, letters) == 0) {
            is_right = buffer->dtype == dtypes[at].dtype;
        }
    }
    int64_t rank = 0;
    for (const char *rest = type + letters; *rest; rest++) rank += *rest == '[' || *rest == ',';
    if (!is_right || buffer->rank < rank) return -1;
    const char *rest = type + letters;
    for (int64_t axis = buffer->rank - rank; axis < buffer->rank; axis++) {
        char *end;
        if (strtoll(rest + 1, &end, 10) != buffer->dims[axis]) return -1;
        rest = end;
    }
    return buffer->rank - rank;
}

static size_t bytes(const XLA_FFI_Buffer *buffer, int64_t first) {
    size_t count = buffer->dtype == XLA_FFI_DataType_PRED ? 1
        : buffer->dtype == XLA_FFI_DataType_F32 || buffer->dtype == XLA_FFI_DataType_S32 ? 4 : 8;
    for (int64_t axis = first; axis < buffer->rank; axis++) count *= (size_t)buffer->dims[axis];
    return count;
}

/* The part of an array at a position of a batch. Axes of one element are the same for all positions. */
static char *part(const XLA_FFI_Buffer *buffer, int64_t batch, const int64_t *extents, int64_t position) {
    size_t stride = bytes(buffer, batch), place = 0;
    for (int64_t axis = batch - 1; axis >= 0; axis--) {
        int64_t at = position % extents[axis];
        position /= extents[axis];
        if (buffer->dims[axis] > 1) place += (size_t)at * stride;
        stride *= (size_t)buffer->dims[axis];
    }
    return (char *)buffer->data + place;
}

static XLA_FFI_Error *call(const function *self, XLA_FFI_CallFrame *frame) {
    for (XLA_FFI_Extension_Base *extension = frame->extension_start; extension; extension = extension->next) {
        if (extension->type == XLA_FFI_Extension_Metadata) {
            XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
            metadata->api_version.major_version = XLA_FFI_API_MAJOR;
            metadata->api_version.minor_version = XLA_FFI_API_MINOR;
            return NULL;
        }
    }
    if (frame->args.size != self->inputs || frame->rets.size != self->outputs || self->outputs == 0) {
        return failed(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, self, "other numbers of arrays");
    }
    XLA_FFI_Buffer **inputs = (XLA_FFI_Buffer **)frame->args.args, **outputs = (XLA_FFI_Buffer **)frame->rets.rets;
    int64_t batch = axes_before(outputs[0], self->type_out(0)), count = 1;
    int fits = batch >= 0;
    const int64_t *extents = outputs[0]->dims;
    for (int64_t axis = 0; fits && axis < batch; axis++) count *= extents[axis];
    for (int64_t at = 0; fits && at < self->outputs; at++) {
        fits = axes_before(outputs[at], self->type_out(at)) == batch;
        for (int64_t axis = 0; fits && axis < batch; axis++) fits = outputs[at]->dims[axis] == extents[axis];
    }
    for (int64_t at = 0; fits && at < self->inputs; at++) {
        fits = axes_before(inputs[at], self->type_in(at)) == batch;
        for (int64_t axis = 0; fits && axis < batch; axis++) {
            fits = inputs[at]->dims[axis] == 1 || inputs[at]->dims[axis] == extents[axis];
        }
    }
    if (!fits) return failed(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, self, "arrays of other types");
    size_t pointers = (size_t)(self->inputs + self->outputs + 1) * sizeof(void *);
    char *memory = malloc(pointers + 16 + 8 * (size_t)(self->iw + self->w));
    if (!memory) return failed(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, self, "no memory");
    const void **arg = (const void **)memory;
    void **res = (void **)memory + self->inputs;
    double *w = (double *)(memory + (pointers + 15) / 16 * 16);
    long long *iw = (long long *)(w + self->w);
    int status = 0;
    for (int64_t position = 0; position < count && status == 0; position++) {
        for (int64_t at = 0; at < self->inputs; at++) arg[at] = part(inputs[at], batch, extents, position);
        for (int64_t at = 0; at < self->outputs; at++) res[at] = part(outputs[at], batch, extents, position);
        status = self->run(arg, res, iw, w, 0);
    }
    free(memory);
    if (status == 0) return NULL;
    const char *problem = "a loop had more steps than there is memory to go back over";
    return failed(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, self, problem);
}

#define HANDLER(AT) \
    XLA_FFI_Error *handler_##AT(XLA_FFI_CallFrame *frame) { return call(functions + AT, frame); }
