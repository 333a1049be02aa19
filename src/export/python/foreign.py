"""Makes operations of JAX of this package's functions: compiled C, which XLA calls by its interface for foreign functions, on the
processor, and StableHLO, which XLA compiles, on all platforms."""

import ctypes
import functools
import hashlib
import pathlib
import threading

import numpy as np

from . import _derivatives, _functions, _with_derivatives, runtime

try:
    import jax
    import jaxlib
except ImportError:
    raise ImportError("this module needs JAX: pip install jax") from None
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

if not (hasattr(jax, "typeof") and hasattr(jax, "ffi")):
    raise ImportError(f"this module needs JAX 0.6 or later, not {jax.__version__}: pip install --upgrade jax")
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import func

_folder = pathlib.Path(__file__).parent

# Texts to which the library points, which Python would free.
_kept = []


class _Compiled:
    """Functions as XLA calls them on the processor, which are compiled when the first of them is."""

    def __init__(self, functions):
        self._functions = functions
        # Each package has a library of its own, and the same names of operations in all processes.
        sources = [(_folder / f"{function.name}.c").read_bytes() for function in functions]
        self._key = hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]
        self._lock = threading.Lock()
        self._targets = None

    def target(self, at):
        """The name by which XLA knows a function."""
        with self._lock:
            if self._targets is None:
                self._targets = self._registered()
        return self._targets[at]

    def _registered(self):
        for function in self._functions:
            function.load()
        options = ["-I", jax.ffi.include_dir(), f"-DPACKAGE={self._key}"]
        library = runtime.library(_folder, ["xla-calls"], options)
        library.describe.argtypes = [ctypes.c_int, ctypes.c_char_p] + [ctypes.c_void_p] * 4
        targets = []
        for at, function in enumerate(self._functions):
            address = [ctypes.cast(part, ctypes.c_void_p) for part in function.entries]
            sizes = (ctypes.c_longlong * 4)(len(function.arrays), len(function.results), *function.sizes)
            name = function.name.encode()
            _kept.append(name)
            library.describe(at, name, *address, sizes)
            targets.append(f"deltaray_{self._key}_{function.name}")
            handler = jax.ffi.pycapsule(getattr(library, f"handler_{at}"))
            jax.ffi.register_ffi_target(targets[at], handler, platform="cpu")
        return targets


class _Program:
    """A function as an operation of JAX, with the programs of its derivatives."""

    def __init__(self, function, target):
        self.name = function.name
        self.inputs = [(dtype, shape) for _, dtype, shape in function.arrays]
        self.outputs = [(dtype, shape) for _, dtype, shape, _ in function.results]
        self.derivatives = None
        # In which operands it is linear, and the program of its transpose.
        self.fixed = self.transposed = None
        # Gives the name of the compiled function, where it is called on the processor.
        self.target = target

    def derivative(self):
        if self.derivatives is None:
            raise NotImplementedError(f"{self.name} was exported without a derivative: only functions by differentiable() have any, up to the second order")
        return self.derivatives[0]

    @functools.cached_property
    def module(self):
        """The function as StableHLO."""
        return (_folder / f"{self.name}.mlir").read_text(encoding="utf-8")


def _axes(aval):
    """The axes of a mesh along which an array differs, inside of `shard_map`."""
    kind = getattr(aval, "mat", None)
    return frozenset(getattr(aval, "vma", None) or () if kind is None else kind.varying)


def _aval(dtype, shape, operands):
    varying = frozenset().union(*map(_axes, operands))
    if not varying:
        return jax.core.ShapedArray(shape, dtype)
    if hasattr(operands[0], "mat"):
        whole = jax.sharding.PartitionSpec(*[None] * len(shape))
        sharding = jax.sharding.NamedSharding(operands[0].sharding.mesh, whole)
        kind = type(operands[0].mat)(varying=varying)
        return jax.core.ShapedArray(shape, dtype, sharding=sharding, manual_axis_type=kind)
    return jax.core.ShapedArray(shape, dtype, vma=varying)


_call = Primitive("deltaray")
_call.multiple_results = True


def _types(*operands, program, batch):
    return [_aval(dtype, batch + shape, operands) for dtype, shape in program.outputs]


_call.def_abstract_eval(_types)


def _foreign(*operands, program, batch):
    types = [jax.ShapeDtypeStruct(batch + shape, dtype) for dtype, shape in program.outputs]
    return jax.ffi.ffi_call(program.target(), types)(*operands)


# A function as StableHLO, at one position.
_call_module = Primitive("deltaray_module")
_call_module.multiple_results = True
_call_module.def_abstract_eval(functools.partial(_types, batch=()))


def _inserted(context, *operands, program):
    module = context.module_context.module
    try:
        own = ir.Module.parse(program.module, module.context)
    except ir.MLIRError as error:
        version, problem = jaxlib.__version__, " ".join(str(error).split())
        raise NotImplementedError(f"{program.name}: jaxlib {version} can't read its StableHLO: {problem}") from None
    types = ir.SymbolTable(own.operation)["main"].type.results
    symbols = context.module_context.symbol_table
    name = mlir.merge_mlir_modules(module, f"deltaray_{program.name}", own, dst_symtab=symbols)
    return func.CallOp(types, ir.FlatSymbolRefAttr.get(name), operands).results


mlir.register_lowering(_call_module, _inserted)


@functools.lru_cache(maxsize=None)
def _jitted_module(program):
    """Inserts a module once, however often it is called."""
    return jax.jit(functools.partial(_call_module.bind, program=program))


def _by_module(*operands, program, batch):
    if not batch:
        return _jitted_module(program)(*operands)
    if 0 in batch:
        return [jnp.zeros(batch + shape, dtype) for dtype, shape in program.outputs]

    def one(position):
        # Axes of one element are the same for all positions.
        parts = [x[0 if x.shape[0] == 1 else position] for x in operands]
        return _by_module(*parts, program=program, batch=batch[1:])

    return jax.lax.map(one, jnp.arange(batch[0]))


def _on_processor(*operands, program, batch):
    by = _by_module if program.target is None else _foreign
    return by(*operands, program=program, batch=batch)


mlir.register_lowering(_call, mlir.lower_fun(_on_processor, multiple_results=True), platform="cpu")
mlir.register_lowering(_call, mlir.lower_fun(_by_module, multiple_results=True))


@functools.lru_cache(maxsize=None)
def _jitted(program, batch):
    return jax.jit(lambda *operands: _call.bind(*operands, program=program, batch=batch))


@_call.def_impl
def _run(*operands, program, batch):
    # Only what is compiled can be run, also where functions of JAX are not.
    with jax.disable_jit(False):
        return _jitted(program, batch)(*operands)


def _is_float(dtype):
    return np.issubdtype(dtype, np.floating)


def _instantiated(derivative, dtype, shape):
    """A derivative as an array; those of integers are zeros of their type."""
    if type(derivative) is ad.Zero or not _is_float(dtype):
        return jnp.zeros(shape, dtype)
    return derivative


def _jvp(primals, tangents, *, program, batch):
    derivative = program.derivative()
    values = _call.bind(*primals, program=program, batch=batch)
    moved = [_instantiated(tangent, x.dtype, np.shape(x)) for x, tangent in zip(primals, tangents)]
    rates = _call.bind(*primals, *moved, program=derivative, batch=batch)
    floats = [_is_float(dtype) for dtype, _ in program.outputs]
    return values, [
        rate if is_float else ad.Zero(jax.core.ShapedArray(np.shape(value), jax.dtypes.float0))
        for value, rate, is_float in zip(values, rates, floats)
    ]


ad.primitive_jvps[_call] = _jvp


def _transpose(cotangents, *operands, program, batch):
    if program.fixed is None or any(ad.is_undefined_primal(x) for x in operands[: program.fixed]):
        raise NotImplementedError(f"{program.name} is not linear in what it is to be transposed for")
    fixed, linear = operands[: program.fixed], operands[program.fixed :]
    given = [
        _instantiated(cotangent, dtype, batch + shape)
        for cotangent, (dtype, shape) in zip(cotangents, program.outputs)
    ]
    found = _call.bind(*fixed, *given, program=program.transposed, batch=batch)
    results = [None] * len(fixed)
    for x, cotangent in zip(linear, found):
        if not ad.is_undefined_primal(x):
            results.append(None)
            continue
        # An operand that all positions of a batch share takes part in all of them.
        shape = x.aval.shape
        axes = tuple(axis for axis in range(len(batch)) if shape[axis] == 1 and batch[axis] != 1)
        results.append(jnp.sum(cotangent, axes, keepdims=True) if axes else cotangent)
    return results


ad.primitive_transposes[_call] = _transpose


def _batched(operands, axes, *, program, batch):
    size = next(x.shape[axis] for x, axis in zip(operands, axes) if axis is not None)
    moved = [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes)
    ]
    results = _call.bind(*moved, program=program, batch=(size, *batch))
    return results, [0] * len(results)


batching.primitive_batchers[_call] = _batched


def _holds_arrays(argument):
    """Whether a list holds arrays of JAX, which NumPy can't read while they are traced."""
    if isinstance(argument, (list, tuple)):
        return any(map(_holds_arrays, argument))
    return isinstance(argument, jax.Array)


def _array(function, at, argument, path):
    _, dtype, shape = function.arrays[at]
    if not _holds_arrays(argument):
        argument = function.array(at, argument, path)
    try:
        array = jnp.asarray(argument)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{function.name}: {path} is no array: {error}") from None
    if array.dtype != dtype:
        is_wide = dtype.itemsize < 8 or jax.config.jax_enable_x64
        # Keys of random numbers have types that NumPy does not know.
        if is_wide and isinstance(array.dtype, np.dtype) and np.can_cast(array.dtype, dtype, "safe"):
            array = array.astype(dtype)
    if array.dtype != dtype:
        hint = ""
        if not is_wide:
            hint = ": jax.config.update('jax_enable_x64', True) makes JAX keep 64 bits"
        raise TypeError(f"{function.name}: {path} has elements of {array.dtype}, not {dtype}{hint}")
    if array.shape != shape:
        raise ValueError(f"{function.name}: {path} has shape {array.shape}, not {shape}")
    return array


def _varying(arrays):
    """Arrays that differ along the same axes of a mesh, as operations of JAX have them."""
    axes = [_axes(jax.typeof(x)) for x in arrays]
    together = frozenset().union(*axes)
    cast = functools.partial(jax.lax.pcast, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary
    return [x if own == together else cast(x, tuple(together - own)) for x, own in zip(arrays, axes)]


def _result(function, at, array):
    *_, pattern = function.results[at]
    if pattern is None:
        return array
    from jax.experimental.sparse import BCSR

    begins, entries, shape = pattern
    return BCSR((array, jnp.asarray(entries), jnp.asarray(begins)), shape=shape)


def _public(function, program, module):
    def call(*arguments, **named):
        given = function.bound(arguments, named)
        arrays = function.collected(given, functools.partial(_array, function))
        results = _call.bind(*_varying(arrays), program=program, batch=())
        return function.structured(results, functools.partial(_result, function))

    call.__name__ = call.__qualname__ = function.name
    # Where it is found by name, as pickle looks for it.
    call.__module__ = module
    call.__doc__ = function.documentation
    call.__signature__ = function.signature
    return call


def operations(compiled):
    """The operations by their names, as compiled C on the processor or as StableHLO there too."""
    functions = _with_derivatives()
    library = _Compiled(functions) if compiled else None
    targets = [functools.partial(library.target, at) if compiled else None for at in range(len(functions))]
    programs = [_Program(function, target) for function, target in zip(functions, targets)]
    for program, forward, reverse in (map(programs.__getitem__, numbers) for numbers in _derivatives):
        program.derivatives = (forward, reverse)
        forward.fixed = reverse.fixed = len(program.inputs)
        forward.transposed, reverse.transposed = reverse, forward
    shown = {id(function): name for name, function in _functions.items()}
    module = f"{__package__}.{'jax' if compiled else 'xla'}"
    pairs = [pair for pair in zip(functions, programs) if id(pair[0]) in shown]
    return {shown[id(function)]: _public(function, program, module) for function, program in pairs}
