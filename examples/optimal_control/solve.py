"""Solves the exported problem by CasADi's IPOPT, with the derivatives of the exported file, and compares with CasADi's own model.

usage: solve.py FOLDER [REPEATS]
"""

import subprocess
import sys
import time
from pathlib import Path

import casadi as ca
import numpy as np

MASSES = 3
STATE, CONTROL = 6 * MASSES + 3, 3
END = slice(3 * MASSES, 3 * MASSES + 3)
# The options of every solution: nothing but how much is printed, and how precise it is to be.
OPTIONS = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-9}}


def compiled(source):
    """The library of a file, and the seconds that it took to compile."""
    library, start = source.with_suffix(".so"), time.perf_counter()
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    return library, time.perf_counter() - start


def rates(state, control):
    positions = ca.reshape(state[: END.stop], 3, MASSES + 1)
    links = positions - ca.horzcat(ca.DM.zeros(3, 1), positions[:, :MASSES])
    distances = ca.sqrt(ca.sum1(links**2))
    forces = 1.0 / 0.03 * ca.repmat(1 - 0.033 / distances, 3, 1) * links
    accelerations = forces[:, 1:] - forces[:, :MASSES] + ca.repmat(ca.DM([0, 0, -9.81]), 1, MASSES)
    return ca.vertcat(state[END.stop :], control, ca.vec(accelerations))


def own_problem(stages):
    """The same problem in CasADi: a function of a stage, mapped over all."""
    state, control = ca.SX.sym("state", STATE), ca.SX.sym("control", CONTROL)
    k1 = rates(state, control)
    k2 = rates(state + 0.1 * k1, control)
    k3 = rates(state + 0.1 * k2, control)
    k4 = rates(state + 0.2 * k3, control)
    step = ca.Function("step", [state, control], [state + 0.2 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    distance = 25 * ca.sumsqr(state[END] - ca.DM([1, 0, 0]))
    cost = distance + ca.sumsqr(state[END.stop :]) + 0.01 * ca.sumsqr(control)
    cost = ca.Function("cost", [state, control], [cost])
    x, start = ca.MX.sym("x", stages * (STATE + CONTROL) + STATE), ca.MX.sym("start", STATE)
    both = ca.reshape(x[:-STATE], STATE + CONTROL, stages)
    states, controls = both[:STATE, :], both[STATE:, :]
    after = ca.horzcat(states[:, 1:], x[-STATE:])
    costs = ca.sum2(cost.map(stages)(after, controls))
    constraints = ca.vertcat(states[:, 0] - start, ca.vec(after - step.map(stages)(states, controls)))
    return ca.Function("own", [x, start], [costs, constraints])


def solver(function):
    x, start = (ca.MX.sym(name, function.numel_in(at)) for at, name in enumerate(["x", "p"]))
    costs, constraints = function(x, start)
    return ca.nlpsol("solver", "ipopt", {"x": x, "p": start, "f": costs, "g": constraints}, OPTIONS)


def classes(function):
    """The classes of a function and of all that it calls."""
    return {part.class_name() for part in [function, *function.find_functions()]}


def solved(nlp, first, start):
    begin = time.perf_counter()
    found = nlp(x0=first, p=start, lbg=0, ubg=0)
    seconds = time.perf_counter() - begin
    assert nlp.stats()["success"], nlp.stats()["return_status"]
    return found, nlp.stats()["iter_count"], seconds


def microseconds(function, arguments, results, repeats):
    """The shortest time of calls that compute these results."""
    buffer, trigger = function.buffer()
    kept = [np.array(argument, float) for argument in arguments]
    for at, array in enumerate(kept):
        if array.size:
            buffer.set_arg(at, memoryview(array))
    for at in results:
        kept.append(np.zeros(function.nnz_out(at)))
        buffer.set_res(at, memoryview(kept[-1]))
    trigger()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        trigger()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def times(part, point, start, weights, repeats):
    """The times of the functions of a problem, in words."""
    parts = [
        ("nlp_f", [point, start], [0]),
        ("nlp_g", [point, start], [0]),
        ("nlp_grad_f", [point, start], [1]),
        ("nlp_jac_g", [point, start], [1]),
        ("nlp_hess_l", [point, start, *weights], [0]),
    ]
    return ", ".join(f"{name} {microseconds(part(name), *rest, repeats):.1f}" for name, *rest in parts)


def close(name, found, expected, tolerance=1e-9):
    found, expected = ca.DM(found), ca.DM(expected)
    assert found.shape == expected.shape, f"{name}: {found.shape}, not {expected.shape}"
    error = float(ca.mmax(ca.fabs(found - expected))) / (1 + float(ca.mmax(ca.fabs(expected))))
    assert error <= tolerance, f"{name} is off by {error}"


def main():
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    library, seconds = compiled(folder / "chain.c")
    function = ca.external("chain", str(library))
    stages = (function.numel_in(0) - STATE) // (STATE + CONTROL)
    own = own_problem(stages)
    print(f"{stages} stages, compiled in {seconds:.1f} s: {(folder / 'chain.c').stat().st_size} bytes")

    # Derivatives are those of the library, and no others.
    jacobian, reverse = function.jacobian(), function.reverse(1)
    for derivative in [function, jacobian, reverse, reverse.jacobian()]:
        assert derivative.class_name() == "External", derivative
    generator = np.random.default_rng(1)
    point, start = generator.normal(size=function.numel_in(0)), generator.normal(size=STATE)
    weights = [1.5, generator.normal(size=function.numel_out(1))]
    values = own(point, start)
    for name, ours, theirs in zip(["costs", "constraints"], function(point, start), values):
        close(name, ours, theirs)
    names = jacobian.name_out()
    for name, ours, theirs in zip(names, jacobian(point, start, 0, 0), own.jacobian()(point, start, 0, 0)):
        close(name, ours, theirs)
    given = [point, start, 0, 0, *weights]
    expected = own.reverse(1)(*given)
    for name, ours, theirs in zip(reverse.name_out(), reverse(*given), expected):
        close(name, ours, theirs)
    second = reverse.jacobian()
    for name, ours, theirs in zip(second.name_out(), second(*given, 0, 0), own.reverse(1).jacobian()(*given, 0, 0)):
        close(name, ours, theirs)

    # A chain that hangs from its ends is to be moved.
    positions = np.outer(np.arange(1, MASSES + 2) / (MASSES + 1), [0.3, 0.5, 0.2])
    start = np.concatenate([positions.ravel(), np.zeros(3 * MASSES)])
    first = np.concatenate([np.tile(np.concatenate([start, np.zeros(CONTROL)]), stages), start])
    nlps = {"library": solver(function), "CasADi's own": solver(own)}
    costs = {}
    for name, nlp in nlps.items():
        found, steps, seconds = solved(nlp, first, start)
        # Second derivatives are neither approximated from first ones nor found by differences.
        assert nlp.stats()["n_call_nlp_hess_l"] > 0, nlp.stats()
        kinds = {kind for part in nlp.get_function() for kind in classes(nlp.get_function(part))}
        assert kinds <= {"External", "MXFunction", "SXFunction", "Map"}, kinds
        costs[name] = float(found["f"])
        print(f"{name}: costs {costs[name]:.10f} in {steps} iterations, {seconds:.2f} s")
        print("  microseconds:", times(nlp.get_function, point, start, weights, repeats))
    ours, theirs = costs.values()
    assert abs(ours - theirs) <= 1e-7 * abs(theirs), costs


if __name__ == "__main__":
    main()
