"""Sizes and seconds of JAX's compiler for the problem of examples/optimal_control: costs and constraints, their reverse derivative, the
dense Jacobian of the constraints, and the dense Hessian of the Lagrangian.

usage: chain_jax.py STAGES...
"""

import sys
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
MASSES, STATE, CONTROL = 3, 21, 3
END = slice(3 * MASSES, 3 * MASSES + 3)


def rates(states, controls):
    positions = states[:, : END.stop].reshape(-1, MASSES + 1, 3)
    links = jnp.diff(positions, axis=1, prepend=0.0)
    distances = jnp.sqrt((links**2).sum(axis=2, keepdims=True))
    forces = 1.0 / 0.03 * (1 - 0.033 / distances) * links
    accelerations = forces[:, 1:] - forces[:, :MASSES] + jnp.array([0.0, 0.0, -9.81])
    return jnp.concatenate([states[:, END.stop :], controls, accelerations.reshape(-1, 3 * MASSES)], axis=1)


def problem(x, start):
    both = x[:-STATE].reshape(-1, STATE + CONTROL)
    states, controls = both[:, :STATE], both[:, STATE:]
    k1 = rates(states, controls)
    k2 = rates(states + 0.1 * k1, controls)
    k3 = rates(states + 0.1 * k2, controls)
    k4 = rates(states + 0.2 * k3, controls)
    after = jnp.concatenate([states[1:], x[None, -STATE:]])
    distances = 25 * ((after[:, END] - jnp.array([1.0, 0.0, 0.0])) ** 2).sum()
    costs = distances + (after[:, END.stop :] ** 2).sum() + 0.01 * (controls**2).sum()
    gaps = after - states - 0.2 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return costs, jnp.concatenate([states[0] - start, gaps.ravel()])


def lagrangian(x, start, weights):
    costs, constraints = problem(x, start)
    return costs + weights @ constraints


for stages in map(int, sys.argv[1:]):
    x, start = jnp.ones(stages * (STATE + CONTROL) + STATE), jnp.ones(STATE)
    weights = jnp.ones((stages + 1) * STATE)
    functions = [
        (problem, (x, start)),
        (jax.grad(lagrangian), (x, start, weights)),
        (jax.jacfwd(lambda x, start: problem(x, start)[1]), (x, start)),
        (jax.hessian(lagrangian), (x, start, weights)),
    ]
    begin = time.perf_counter()
    lowered = [jax.jit(function).lower(*arguments) for function, arguments in functions]
    traced = time.perf_counter() - begin
    texts = [one.as_text() for one in lowered]
    begin = time.perf_counter()
    for one in lowered:
        one.compile()
    compiled = time.perf_counter() - begin
    lines, size = sum(text.count("\n") for text in texts), sum(map(len, texts))
    print(f"{stages} stages: {lines} lines, {size} bytes, {traced:.2f} s, compiled in {compiled:.1f} s", flush=True)
