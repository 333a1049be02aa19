"""Microseconds of a value with its gradient by NumPy, JAX and CasADi: exported functions beside the same in JAX and CasADi.

    cargo run --release -p deltaray-benches --example exported -- FOLDER
    python overhead.py FOLDER

It needs NumPy, JAX and CasADi. Medians of the fastest rounds, in turns.
"""

import importlib
import subprocess
import sys
import time
from pathlib import Path

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
ROUNDS, CALLS = 15, 200


def external(source, name):
    """A function of CasADi from C."""
    library = source.with_suffix(".so")
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    return ca.external(name, str(library))


def call(function, arguments):
    """A call by CasADi's buffers, which copies nothing."""
    buffer, trigger = function.buffer()
    kept = [np.array(argument, float) for argument in arguments]
    for at, array in enumerate(kept):
        if array.size:
            buffer.set_arg(at, memoryview(array))
    for at in range(function.n_out()):
        kept.append(np.zeros(function.nnz_out(at)))
        if kept[-1].size:
            buffer.set_res(at, memoryview(kept[-1]))
    return lambda keep=(kept, buffer): trigger()


def own(count, folder):
    """The same in CasADi, with its gradient, by its code generator."""
    line, x, y = ca.MX.sym("line", 2), ca.MX.sym("x", count), ca.MX.sym("y", count)
    value = ca.sumsqr(line[0] * x + line[1] - y) / count
    function = ca.Function("own", [line, x, y], [value, ca.gradient(value, line)])
    generator = ca.CodeGenerator(f"own{count}.c")
    generator.add(function)
    generator.generate(f"{folder}/")
    return external(folder / f"own{count}.c", "own")


def native(line, x, y):
    return jnp.mean((line[0] * x + line[1] - y) ** 2)


def main():
    folder = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(folder))
    for count in [4, 1000, 100_000]:
        numbers = np.random.default_rng(0)
        arrays = [numbers.normal(size=size) for size in [2, count, count]]
        package = importlib.import_module(f"fit{count}")
        operations = importlib.import_module(f"fit{count}.jax")
        given = [jnp.asarray(array) for array in arrays]
        exported, usual = (jax.jit(jax.value_and_grad(loss)) for loss in [operations.loss, native])
        function = external(folder / f"casadi{count}.c", "loss")
        reverse = call(function.reverse(1), arrays + [0, 1.0])
        value, by_buffers = call(function, arrays), call(own(count, folder), arrays)
        ways = {
            "NumPy, exported": lambda: package.value_and_grad_loss(*arrays),
            "JAX, exported": lambda: jax.block_until_ready(exported(*given)),
            "JAX's own": lambda: jax.block_until_ready(usual(*given)),
            "CasADi, exported": lambda: (value(), reverse()),
            "CasADi's own": by_buffers,
        }
        first = [np.asarray(exported(*given)[1]), np.asarray(usual(*given)[1]), package.value_and_grad_loss(*arrays)[1]]
        assert all(np.allclose(first[0], other) for other in first), first
        times = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                way()
                begin = time.perf_counter()
                for _ in range(CALLS):
                    way()
                times[name].append((time.perf_counter() - begin) / CALLS * 1e6)
        print(f"{count} points:", ", ".join(f"{name} {min(found):.1f}" for name, found in times.items()))


main()
