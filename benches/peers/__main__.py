"""The tasks of examples/tasks in JAX, PyTorch or NumPy, on the processor, on random inputs of the same sizes.

    python peers jax|torch|numpy [TASK...]

Prints a line for each of these tasks, or for all: the medians of objective and derivative in microseconds, the latter 0 where there
is none. Every call waits for its results.
"""

import importlib
import sys
import time

from inputs import TASKS

SECONDS, LEAST, MOST = 1.0, 5, 400


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def report(tool, task, objective, derivative):
    objectives, derivatives = [], []
    timed = [(call, times) for call, times in ((objective, objectives), (derivative, derivatives)) if call]
    for call, _ in timed:
        call()
    start = time.perf_counter()
    while len(objectives) < LEAST or (time.perf_counter() - start < SECONDS and len(objectives) < MOST):
        for call, times in timed:
            before = time.perf_counter()
            call()
            times.append(time.perf_counter() - before)
    microseconds = [median(times) * 1e6 if times else 0 for times in (objectives, derivatives)]
    print(f"{tool} {task} {microseconds[0]:.2f} {microseconds[1]:.2f}", flush=True)


if __name__ == "__main__":
    tool, words = sys.argv[1], sys.argv[2:]
    peer = importlib.import_module(f"in_{tool}")
    for task in words or TASKS:
        name, inputs = TASKS[task]
        objective = getattr(peer, name, None)
        if objective:
            report(tool, task, *peer.calls(objective, inputs()))
