//! Programs as OpenCL C, with a host program that executes their launch plans.

use super::{Case, are_installed, compare, folder, inputs, run};
use deltaray::export::{OpenClOptions, OpenClSource};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Checks a plan, and that everything that its steps name exists.
fn checked(case: &Case, source: &OpenClSource) -> Value {
    let plan: Value = serde_json::from_str(&source.plan).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    assert_eq!(plan["format"], "deltaray launch plan");
    let buffers: HashMap<&str, &Value> =
        plan["buffers"].as_array().unwrap().iter().map(|buffer| (buffer["name"].as_str().unwrap(), buffer)).collect();
    let named = |name: &Value| buffers[name.as_str().expect("a name")];
    let count = |role: &str| buffers.values().filter(|buffer| buffer["role"] == role).count();
    assert_eq!((count("argument"), count("result")), (case.inputs.len(), case.expected.len()), "{}", case.name);
    for step in plan["steps"].as_array().unwrap() {
        if let Some(kernel) = step["kernel"].as_str() {
            assert!(source.kernels.contains(&format!("__kernel void {kernel}(")), "{}: {kernel}", case.name);
            step["arguments"].as_array().unwrap().iter().for_each(|name| _ = named(name));
            assert!(step["global_size"].as_u64().unwrap() > 0, "{}: {step}", case.name);
        } else if step["fill"].is_string() {
            assert!(named(&step["fill"])["elements"].as_u64() >= step["elements"].as_u64());
        } else {
            assert!(named(&step["copy"])["elements"].as_u64() >= step["elements"].as_u64());
            assert!(named(&step["to"])["elements"].as_u64() >= step["elements"].as_u64());
        }
    }
    plan
}

fn c_type(buffer: &Value) -> &'static str {
    match buffer["type"].as_str().unwrap() {
        "f64" => "double",
        "f32" => "float",
        "i64" => "int64_t",
        "i32" => "int32_t",
        _ => "uint8_t",
    }
}

fn c_number(value: &Value) -> String {
    match value {
        Value::String(text) => match &text[..] {
            "NaN" => "NAN".into(),
            "inf" => "INFINITY".into(),
            _ => "-INFINITY".into(),
        },
        Value::Bool(value) => u8::from(*value).to_string(),
        number => match number.to_string() {
            text if text == i64::MIN.to_string() => "INT64_MIN".into(),
            text => text,
        },
    }
}

/// The host program's part for one program: a function that executes the plan.
fn host(number: usize, case: &Case, plan: &Value) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "static void host{number}(const char *folder)\n{{\n    FILE *file = at(folder, \"{number}.in\", \"rb\");"
    )
    .unwrap();
    let buffers = plan["buffers"].as_array().unwrap();
    let mut positions = HashMap::new();
    for (at, buffer) in buffers.iter().enumerate() {
        let (name, ty, elements) = (buffer["name"].as_str().unwrap(), c_type(buffer), &buffer["elements"]);
        positions.insert(name, (at, ty));
        writeln!(text, "    cl_mem b{at} = memory({elements} * sizeof({ty}));").unwrap();
        match buffer["role"].as_str().unwrap() {
            "argument" => writeln!(text, "    from_file(b{at}, file, {elements} * sizeof({ty}));").unwrap(),
            "constant" if buffer["values"].is_array() => {
                let values: Vec<String> = buffer["values"].as_array().unwrap().iter().map(c_number).collect();
                writeln!(
                    text,
                    "    {{ static const {ty} known[] = {{{}}}; put(b{at}, known, sizeof known); }}",
                    values.join(", ")
                )
                .unwrap();
            }
            "constant" => writeln!(
                text,
                "    {{ const {ty} known = {}; fill(b{at}, &known, sizeof known, {elements}); }}",
                c_number(&buffer["fill"])
            )
            .unwrap(),
            "status" => writeln!(text, "    {{ const {ty} known = 0; put(b{at}, &known, sizeof known); }}").unwrap(),
            _ => {}
        }
    }
    let place = |name: &Value| positions[name.as_str().unwrap()];
    for step in plan["steps"].as_array().unwrap() {
        if let Some(kernel) = step["kernel"].as_str() {
            let arguments: Vec<String> =
                step["arguments"].as_array().unwrap().iter().map(|name| format!("b{}", place(name).0)).collect();
            writeln!(
                text,
                "    {{ cl_mem arguments[] = {{{}}}; launch(\"{kernel}\", arguments, {}, {}); }}",
                arguments.join(", "),
                arguments.len(),
                step["global_size"]
            )
            .unwrap();
        } else if step["fill"].is_string() {
            let (at, ty) = place(&step["fill"]);
            writeln!(
                text,
                "    {{ const {ty} known = {}; fill(b{at}, &known, sizeof known, {}); }}",
                c_number(&step["value"]),
                step["elements"]
            )
            .unwrap();
        } else {
            let ((from, ty), (to, _)) = (place(&step["copy"]), place(&step["to"]));
            writeln!(text, "    copy(b{from}, b{to}, {} * sizeof({ty}));", step["elements"]).unwrap();
        }
    }
    if plan["status"].is_string() {
        writeln!(text, "    check_status(b{});", place(&plan["status"]).0).unwrap();
    }
    writeln!(text, "    fclose(file);\n    file = at(folder, \"{number}.out\", \"wb\");").unwrap();
    for position in 0..case.expected.len() {
        let is_result = |buffer: &&Value| buffer["role"] == "result" && buffer["position"] == position;
        let buffer = buffers.iter().find(is_result).expect("every result has a buffer");
        writeln!(
            text,
            "    to_file(b{}, file, {} * sizeof({}));",
            positions[buffer["name"].as_str().unwrap()].0,
            buffer["elements"],
            c_type(buffer)
        )
        .unwrap();
    }
    (0..buffers.len()).for_each(|at| writeln!(text, "    clReleaseMemObject(b{at});").unwrap());
    text + "    fclose(file);\n}\n"
}

/// Compiles the programs as OpenCL C, if there is a compiler, and runs those that are chosen by their launch plans and compares
/// them, if there is a device; in a folder of this name.
pub fn compute_what_the_interpreter_does(name: &str, cases: &[(usize, &Case)], chosen: impl Fn(usize) -> bool) {
    let runs: Vec<(usize, &Case)> = cases.iter().copied().filter(|&(number, _)| chosen(number)).collect();
    if let Some(folder) = results(name, cases, OpenClOptions::default(), chosen) {
        compare(&folder, &runs);
    }
}

/// As [`compute_what_the_interpreter_does`], but without the comparison: the folder has the results, if there is a device.
pub fn results(
    name: &str,
    cases: &[(usize, &Case)],
    options: OpenClOptions,
    chosen: impl Fn(usize) -> bool,
) -> Option<PathBuf> {
    if !are_installed(&["gcc", "clang"]) {
        return None;
    }
    let folder = folder(&format!("{name}-opencl"));
    let (mut all, mut kernels, mut hosts, mut calls) = (String::new(), String::new(), String::new(), String::new());
    for &(number, case) in cases {
        let program = case.program.clone().with_name(format!("case{number}"));
        let source = options.export(&program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let plan = checked(case, &source);
        all.push_str(&source.kernels);
        if chosen(number) {
            inputs(&folder, number, case);
            kernels.push_str(&source.kernels);
            hosts.push_str(&host(number, case, &plan));
            writeln!(calls, "    host{number}(words[2]);").unwrap();
        }
    }
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("the folder for temporary files can be written")
    };
    write("all.cl", &all);
    let strict = [
        "-x",
        "cl",
        "-cl-std=CL1.2",
        "-Xclang",
        "-finclude-default-header",
        "-fsyntax-only",
        "-Wall",
        "-Wno-constant-logical-operand",
        "-Werror",
    ];
    run(Command::new("clang").args(strict).arg(folder.join("all.cl")));
    // Without a header of OpenCL there is nothing to run them with.
    let header = Command::new("gcc").args(["-E", "-include", "CL/cl.h", "-x", "c", "/dev/null"]).output();
    if !header.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "CL/cl.h is not installed");
        println!("skipped: CL/cl.h is not installed, so no OpenCL program is run");
        return None;
    }
    write("some.cl", &kernels);
    write(
        "host.c",
        &format!(
            "{HARNESS}{hosts}int main(int count, char **words)\n{{\n    (void)count;\n    begin(words[1]);\n{calls}    return 0;\n}}\n"
        ),
    );
    let program = folder.join("host");
    run(Command::new("gcc")
        .args(["-std=c99", "-Wall", "-o"])
        .arg(&program)
        .arg(folder.join("host.c"))
        .args(["-lOpenCL", "-lm"]));
    run(Command::new(&program).arg(folder.join("some.cl")).arg(&folder));
    Some(folder)
}

/// The common part of the host program.
const HARNESS: &str = r#"
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static void check(cl_int error, const char *what)
{
    if (error != CL_SUCCESS) { fprintf(stderr, "%s: %d\n", what, error); exit(2); }
}
static FILE *at(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    if (!file) exit(3);
    return file;
}
static void begin(const char *path)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    check(clGetPlatformIDs(1, &platform, 0), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0), "device");
    context = clCreateContext(0, 1, &device, 0, 0, &error);
    check(error, "context");
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "queue");
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    size_t length = ftell(file);
    rewind(file);
    char *text = malloc(length + 1);
    if (fread(text, 1, length, file) != length) exit(4);
    text[length] = 0;
    fclose(file);
    program = clCreateProgramWithSource(context, 1, (const char **)&text, &length, &error);
    check(error, "program");
    error = clBuildProgram(program, 1, &device, "-cl-std=CL1.2", 0, 0);
    if (error != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, 0);
        fprintf(stderr, "%s\n", log);
        exit(5);
    }
}
static cl_mem memory(size_t bytes)
{
    cl_int error;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes ? bytes : 8, 0, &error);
    check(error, "buffer");
    return made;
}
static void put(cl_mem to, const void *from, size_t bytes)
{
    check(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, bytes, from, 0, 0, 0), "write");
}
static void fill(cl_mem to, const void *value, size_t width, size_t elements)
{
    if (elements) check(clEnqueueFillBuffer(queue, to, value, width, 0, width * elements, 0, 0, 0), "fill");
}
static void copy(cl_mem from, cl_mem to, size_t bytes)
{
    if (bytes) check(clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, 0, 0), "copy");
}
static void from_file(cl_mem to, FILE *file, size_t bytes)
{
    void *own = malloc(bytes + 1);
    if (fread(own, 1, bytes, file) != bytes) exit(6);
    if (bytes) put(to, own, bytes);
    free(own);
}
static void to_file(cl_mem from, FILE *file, size_t bytes)
{
    void *own = malloc(bytes + 1);
    if (bytes) check(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, own, 0, 0, 0), "read");
    fwrite(own, 1, bytes, file);
    free(own);
}
static void check_status(cl_mem status)
{
    int32_t found = 0;
    check(clEnqueueReadBuffer(queue, status, CL_TRUE, 0, sizeof found, &found, 0, 0, 0), "status");
    if (found) exit(7);
}
static void launch(const char *name, cl_mem *arguments, int count, size_t items)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    check(error, name);
    for (int at = 0; at < count; at++) check(clSetKernelArg(kernel, at, sizeof(cl_mem), &arguments[at]), name);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, 0, 0, 0, 0), name);
    check(clFinish(queue), name);
    clReleaseKernel(kernel);
}
"#;
