"""Times one kernel of NPBench in another tool, on the arrays that the example wrote.

    python run.py (reference|best|numpy|c) KERNEL FOLDER [--dace PATH]

Prints milliseconds of the value, and of the value with the gradient, the value, and the sum of the gradient's squares; of NumPy
the first alone, and of C the first and the third.
"""

import argparse
import ast
import ctypes
import pathlib
import subprocess
import time

import numpy as np

from kernels import IN_C, REFERENCES


def arguments(folder):
    """The arrays and the numbers of steps."""
    lines = (folder / "shapes").read_text().splitlines()
    arrays, steps = [], []
    for line in lines:
        name, rest = line.split(" ", 1)
        if name.isdigit():
            arrays.append(np.fromfile(folder / name).reshape(ast.literal_eval(rest)))
        else:
            steps = ast.literal_eval(rest.removeprefix("steps "))
    return arrays, steps


def functions(path, file):
    """The functions of a test of DaCe that are plain Python: those with annotations are programs of its own."""
    source = (pathlib.Path(path) / "tests/npbench" / f"{file}_test.py").read_text()
    plain = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.name.startswith(("run_", "test_"))
    ]
    names = {"np": np}
    exec(compile(ast.Module(plain, []), file, "exec"), names)
    return names


def best(run, arguments=tuple):
    """The least of some times, in milliseconds, without that for the arguments."""
    least, begun = float("inf"), time.perf_counter()
    for _ in range(20):
        given = arguments()
        start = time.perf_counter()
        run(*given)
        least = min(least, time.perf_counter() - start)
        if time.perf_counter() - begun > 2.0:
            break
    return 1e3 * least


def in_numpy(dace, name, arrays, steps):
    reference = REFERENCES[name]
    call = functions(dace, reference.file)[reference.numpy]

    def copies():
        # References write into their arguments.
        return reference.numpy_arguments([array.copy() for array in arrays], steps)

    print(best(call, copies), "nan nan nan")


def compiled():
    """The kernels in C."""
    source = pathlib.Path(__file__).parent / "kernels.c"
    library = pathlib.Path(__file__).parents[2] / "target" / "compare" / "kernels.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def in_c(name, arrays, steps):
    run = getattr(compiled(), name)
    extents = [extent for array in arrays for extent in array.shape]
    extents, steps = [(ctypes.c_long * max(len(numbers), 1))(*numbers) for numbers in (extents, steps)]
    copies = [array.copy() for array in arrays]
    pointer = ctypes.POINTER(ctypes.c_double)
    pointers = (pointer * len(copies))(*[copy.ctypes.data_as(pointer) for copy in copies])
    out = np.zeros(2 * max(array.size for array in arrays))

    def fresh():
        for copy, array in zip(copies, arrays):
            np.copyto(copy, array)

    def whole():
        fresh()
        run(pointers, extents, steps, out.ctypes.data_as(pointer))

    alone = max(best(whole) - best(fresh), 0.0)
    whole()
    result = IN_C[name](copies, out)
    print(alone, "nan", float(result.sum()), "nan")


def in_jax(tool, dace, name, arrays, steps):
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    own = None
    if tool == "best":
        import best as ours

        own = getattr(ours, name, None)
    if own is None:
        reference = REFERENCES[name]
        call = functions(dace, reference.file)[reference.jax]
        known = {"jax": jax, "jnp": jnp, "lax": lax}
        # Called inside of `jax.jit`, where nothing can be waited for.
        if "jax" in reference.modules.split():
            known["jax"] = type("Jax", (), {"block_until_ready": staticmethod(lambda value: value)})
        modules = [known[module] for module in reference.modules.split()]

        def own(x, steps):
            return call(*modules, *reference.arguments(x, steps))

    given = [jnp.asarray(array) for array in arrays]
    value = jax.jit(lambda *given: own(list(given), steps))
    both = jax.jit(jax.value_and_grad(lambda *given: own(list(given), steps), argnums=tuple(range(len(given)))))
    total, slopes = both(*given)
    float(value(*given))
    alone = best(lambda: value(*given).block_until_ready())
    together = best(lambda: jax.block_until_ready(both(*given)))
    print(alone, together, float(total), float(sum(jnp.sum(slope**2) for slope in slopes)))


parser = argparse.ArgumentParser()
parser.add_argument("tool", choices=["reference", "best", "numpy", "c"])
parser.add_argument("kernel")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--dace", required=True)
options = parser.parse_args()
given = arguments(options.folder)
if options.tool == "numpy":
    in_numpy(options.dace, options.kernel, *given)
elif options.tool == "c":
    in_c(options.kernel, *given)
else:
    in_jax(options.tool, options.dace, options.kernel, *given)
