"""Compiles the functions of this package with the machine's C compiler, once, and calls them on NumPy arrays."""

import atexit
import ctypes
import functools
import hashlib
import inspect
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading

import numpy as np

_DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}

_OTHERWISE = "the module xla has the same functions for JAX, without C"


def _compiler():
    """The command of a C compiler: that of CC, or the first one that is there."""
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise ImportError(f"the variable CC is no command: {error}") from None
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        program = shutil.which(command[0])
        if program is not None:
            return [program, *command[1:]]
    if named:
        raise ImportError(f"the compiler that CC names was not found: {os.environ['CC']}; {_OTHERWISE}")
    raise ImportError(f"no C compiler was found: install gcc or clang, or let CC name one; {_OTHERWISE}")


def _cache():
    """The folder of compiled functions, which is the user's own."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(home) / "deltaray"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError:
        pass
    return _temporary(os.getpid())


@functools.lru_cache(maxsize=None)
def _temporary(process):
    """A folder that is gone with this process, where there is no cache; children that are forked have their own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="deltaray-"))
    atexit.register(lambda: os.getpid() == process and shutil.rmtree(folder, ignore_errors=True))
    return folder


def _processor():
    """The machine's kind of processor, for whose instructions functions are compiled."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
    except OSError:
        return platform.processor() or platform.machine()


class Library:
    """The library of the C files of these names in a folder, which are compiled when it is needed."""

    def __init__(self, folder, names):
        self.folder, self._names = pathlib.Path(folder), names

    @functools.cached_property
    def loaded(self):
        return library(self.folder, self._names)

    def pattern(self, name, at):
        """Where rows begin, the columns of entries, and the shape of a function's sparse result."""
        rows, columns, *_ = numbers = np.fromfile(self.folder / f"{name}-pattern-{at}.txt", np.int64, sep=" ")
        begins, entries = np.split(numbers[2:], [rows + 1])
        return begins, entries, (int(rows), int(columns))


def library(folder, names, options=()):
    """The library of the C files of these names in a folder."""
    path = _compiled(pathlib.Path(folder), names, options)
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        # A file that a full disk or a crash has cut off is made again.
        path.unlink(missing_ok=True)
        path = _compiled(pathlib.Path(folder), names, options)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        hint = "let XDG_CACHE_HOME name a folder from which libraries may be loaded"
        raise ImportError(f"{path} can't be loaded: {error}; {hint}") from None


def _compiled(folder, names, options):
    """The path of a library, from the cache if it was compiled before."""
    command = _compiler()
    try:
        flags = shlex.split(os.environ.get("CFLAGS", "-O3 -march=native"))
    except ValueError as error:
        raise ImportError(f"the variable CFLAGS is no list of options: {error}") from None
    command += ["-std=c99", *flags, "-fPIC", "-shared", *options]
    key = hashlib.sha256()
    status = os.stat(command[0])
    for part in [*command, str(status.st_size), str(status.st_mtime_ns), platform.platform(), _processor()]:
        key.update(part.encode() + b"\0")
    for path in (folder / (name + suffix) for name in names for suffix in (".h", ".c")):
        key.update((path.read_bytes() if path.exists() else b"") + b"\0")
    cache = _cache()
    library = cache / f"{names[0][:40]}-{key.hexdigest()[:32]}{'.dll' if os.name == 'nt' else '.so'}"
    if not library.exists():
        # Another process may do the same: whoever is ready last replaces a library by an equal one.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = pathlib.Path(scratch) / library.name
            files = [str(folder / (name + ".c")) for name in names]
            run = subprocess.run([*command, "-o", str(made), *files, "-lm"], capture_output=True, text=True)
            if run.returncode != 0 or not made.exists():
                raise ImportError(f"{shlex.join(run.args)} failed:\n{run.stderr or 'it made no library'}")
            os.replace(made, library)
    return library


class Function:
    """A function on NumPy arrays.

    Parameters are pairs of a name and a structure, and the structure of the result is one too: the number of an array, or a
    tuple or a dictionary of structures. Arrays are triples of a name, an element type and a shape; a result that is a sparse
    matrix has None for its shape.
    """

    def __init__(self, library, name, parameters, arrays, structure, results):
        self.name = name
        self.documentation = None
        self._parameters = parameters
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.signature = inspect.Signature([inspect.Parameter(parameter, kind) for parameter, _ in parameters])
        self._structure = structure
        self.arrays = [(path, _DTYPES[dtype], shape) for path, dtype, shape in arrays]
        self.results = []
        for at, (path, dtype, shape) in enumerate(results):
            pattern = None if shape is not None else library.pattern(name, at)
            shape = shape if pattern is None else (len(pattern[1]),)
            self.results.append((path, _DTYPES[dtype], shape, pattern))
        self._library = library
        self._run = None
        self._own = threading.local()

    def load(self):
        """Gets the compiled function, which may first have to be compiled."""
        library, name = self._library.loaded, self.name
        self._check(library)
        sizes = [ctypes.c_longlong() for _ in range(4)]
        getattr(library, f"{name}_work")(*[ctypes.byref(size) for size in sizes])
        # The lengths of its memory for integers and floats.
        self.sizes = [size.value for size in sizes[2:]]
        self.entries = [getattr(library, name + end) for end in ("", "_type_in", "_type_out")]
        run = self.entries[0]
        run.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
        run.restype = ctypes.c_int
        self._run = run

    def _check(self, library):
        """Refuses a library that was made from other files."""
        for side, arrays in (("in", self.arrays), ("out", self.results)):
            count = getattr(library, f"{self.name}_n_{side}")
            count.restype = ctypes.c_longlong
            described = getattr(library, f"{self.name}_type_{side}")
            described.restype = ctypes.c_char_p
            described.argtypes = [ctypes.c_longlong]
            found = [described(at).decode() for at in range(count())]
            types = [_spelled(dtype, shape) for _, dtype, shape, *_ in arrays]
            if found != types:
                raise ImportError(f"{self.name}: the compiled function takes or gives {found}, not {types}")

    def __call__(self, *arguments):
        if self._run is None:
            self.load()
        inputs = self.collected(arguments, self.array)
        outputs = [np.empty(shape, dtype) for _, dtype, shape, _ in self.results]
        status = self._run(*self._pointers(inputs, outputs), 0)
        if status != 0:
            raise RuntimeError(f"{self.name}: a loop had more steps than there is memory to go back over")
        return self.structured(outputs, self._result)

    def _pointers(self, inputs, outputs):
        """Pointers to arrays, and memory for the function, which each thread has its own of."""
        own = self._own
        if not hasattr(own, "memory"):
            own.memory = [np.empty(size + 1, np.int64) for size in self.sizes]
            own.work = [memory.ctypes.data for memory in own.memory]
            own.arg, own.res = ((ctypes.c_void_p * (len(side) + 1))() for side in (inputs, outputs))
        for at, array in enumerate(inputs):
            own.arg[at] = array.__array_interface__["data"][0]
        for at, array in enumerate(outputs):
            own.res[at] = array.__array_interface__["data"][0]
        return own.arg, own.res, *own.work

    def bound(self, arguments, named):
        """Arguments in the order of the parameters."""
        try:
            return self.signature.bind(*arguments, **named).args
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None

    def collected(self, arguments, convert):
        """The arrays in arguments, in the order of the program's parameters, whatever structures they are in."""
        arrays = [None] * len(self.arrays)
        for (name, structure), argument in zip(self._parameters, arguments):
            self._collect(arrays, convert, structure, argument, name)
        return arrays

    def _collect(self, arrays, convert, structure, argument, path):
        if isinstance(structure, int):
            arrays[structure] = convert(structure, argument, path)
        elif isinstance(structure, tuple):
            if not isinstance(argument, (tuple, list)):
                raise TypeError(f"{self.name}: {path} is a {type(argument).__name__}, not a tuple")
            if len(argument) != len(structure):
                raise ValueError(f"{self.name}: {path} has {len(argument)} parts, not {len(structure)}")
            for at, (part, inner) in enumerate(zip(structure, argument)):
                self._collect(arrays, convert, part, inner, f"{path}[{at}]")
        else:
            if not isinstance(argument, dict):
                raise TypeError(f"{self.name}: {path} is a {type(argument).__name__}, not a dict")
            if argument.keys() != structure.keys():
                expected, found = ", ".join(map(repr, structure)), ", ".join(map(repr, argument))
                raise ValueError(f"{self.name}: {path} has the keys {found}, not {expected}")
            for key, part in structure.items():
                self._collect(arrays, convert, part, argument[key], f"{path}[{key!r}]")

    def array(self, at, argument, path):
        """An argument as an array that the function reads."""
        _, dtype, shape = self.arrays[at]
        if type(argument) is np.ndarray and argument.dtype == dtype and argument.shape == shape:
            flags = argument.flags
            if flags.c_contiguous and flags.aligned:
                return _truths(argument)
        if isinstance(argument, np.ma.MaskedArray):
            raise TypeError(f"{self.name}: {path} is a masked array, whose mask would be lost")
        try:
            array = np.asarray(argument)
        except ValueError as error:
            raise ValueError(f"{self.name}: {path} is no array: {error}") from None
        except TypeError as error:
            # JAX can't say what its variables hold.
            is_traced = type(error).__module__.startswith("jax")
            hint = "; transformations of JAX need the function of the module jax" if is_traced else ""
            raise TypeError(f"{self.name}: {path} is no array of numbers{hint}") from error
        # Numbers and lists of Python are as precise as what takes them. NumPy makes objects of integers beyond 64 bits.
        is_listed = not hasattr(argument, "dtype")
        is_large = is_listed and array.dtype == object and all(isinstance(x, (int, float)) for x in array.flat)
        if is_listed and dtype.kind in "iu" and array.dtype.kind == "f":
            # NumPy makes floats of integers, some of which are beyond those that are signed.
            exact = np.asarray(argument, object)
            if all(isinstance(x, int) for x in exact.flat):
                array, is_large = exact, True
        fits = is_large and dtype.kind != "b" or np.can_cast(array.dtype, dtype, "same_kind" if is_listed else "safe")
        if array.size > 0 and not fits:
            raise TypeError(f"{self.name}: {path} has elements of {array.dtype}, not {dtype}")
        if array.shape != shape:
            raise ValueError(f"{self.name}: {path} has shape {array.shape}, not {shape}")
        try:
            with np.errstate(over="ignore"):
                result = np.require(array, dtype, ["C", "ALIGNED"])
        except OverflowError:
            result = None
        if result is None or is_listed and _is_cut(array, result):
            raise ValueError(f"{self.name}: {path} has numbers out of the range of {dtype}")
        return _truths(result)

    def structured(self, arrays, convert):
        """Results in the structure of the program's."""

        def part(structure):
            if isinstance(structure, int):
                return convert(structure, arrays[structure])
            if isinstance(structure, tuple):
                return tuple(part(inner) for inner in structure)
            return {key: part(inner) for key, inner in structure.items()}

        return part(self._structure)

    def _result(self, at, array):
        *_, shape, pattern = self.results[at]
        if pattern is not None:
            return _matrix(self.name, array, pattern)
        return array[()] if shape == () else array


def _is_cut(array, converted):
    """Whether numbers became others that an element of another type can be: floats may be rounded, but not to infinity."""
    if converted.dtype.kind == "f":
        # Comparing objects warns of NaN.
        with np.errstate(invalid="ignore"):
            return bool(np.any(np.isinf(converted) & (np.abs(array) < np.inf)))
    return not np.array_equal(array, converted)


def _truths(array):
    """The same with the bytes 0 and 1 for booleans: views of other types have more, which are true for NumPy, but none in C."""
    if array.dtype.kind != "b" or array.view(np.uint8).max(initial=0) < 2:
        return array
    return array.view(np.uint8) != 0


def _spelled(dtype, shape):
    """A type as the compiled function describes it."""
    name = next(name for name, other in _DTYPES.items() if other == dtype)
    return f"{name}[{', '.join(map(str, shape))}]" if shape else name


def _matrix(name, values, pattern):
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise ImportError(f"{name} gives a sparse matrix, which needs SciPy: pip install scipy") from None
    begins, entries, shape = pattern
    return csr_array((values, entries.copy(), begins.copy()), shape=shape)
