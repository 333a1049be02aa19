"""Times the tasks of examples/tasks in this library and others, in turns, and writes what was found to RESULTS.md.

    python compare.py BINARY [--linalg] [--threads N[,N]] [--rounds N] [--tools jax,torch,numpy,faer] [TASK...]

With --linalg the tasks are those of linear algebra, and the file is LINALG.md. It has a table for each number of threads.
"""

import argparse
import collections
import importlib.metadata
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
FAER = HERE / "faer"
TASKS = {
    "chain": "Σ sin x · exp(−x²) + tanh x, 10⁶",
    "cumsum": "Σ w · cumsum(x)², 10⁶",
    "cumprod": "Σ w · cumprod(x), 10⁶",
    "logsumexp": "Σ of rows' log-sum-exp, 10,000 × 100",
    "logistic": "logistic regression, 100,000 × 100",
    "kmeans-5": "k-means, gradient and Hessian diagonal, k 5, 494,019 × 35, f32",
    "kmeans-1024": "the same, k 1024, 10,000 × 256, f32",
    "kmeans-sparse": "the same of sparse points, k 10, 28,323 × 193,886, 2.8 million not zero, f32",
    "gmm-10-25": "mixture of Gaussians, n 1,000, d 10, k 25",
    "gmm-20-50": "the same, n 10,000, d 20, k 50",
    "gmm-64-200": "the same, n 1,000, d 64, k 200",
    "gmm-f32": "the same, f32",
    "lstm": "diagonal LSTM, 2 layers, 1,024 steps of 14",
    "lstm-batched": "LSTM, batch of 1,024, 20 steps of 300, 192 cells, f32",
    "ba": "bundle adjustment, Jacobian, 49 cameras, 31,843 observations",
    "mlp": "perceptron 784-300-100-10, batch of 64, f32",
    "cnn": "LeNet-5, batch of 64, f32",
    "digits": "perceptron 64-128-10 of the digits example, batch of 32, f32",
}
LINEAR_ALGEBRA = {
    f"{task}-{of}{n}": f"{about}, {matrices}{', f32' if of else ''}"
    for task, about in {
        "cholesky": "Σ of a Cholesky factor",
        "logdet": "ln of a determinant, positive definite",
        "solve": "Σ of a solution, by LU",
        "lu": "Σ of LU factors",
        "qr": "Σ of R of QR",
        "eigh": "Σ of ln of eigenvalues",
        "svd": "Σ of singular values",
    }.items()
    for n, matrices in {
        4: "100,000 of 4 × 4",
        16: "10,000 of 16 × 16",
        100: "100 × 100",
        400: "400 × 400",
        1000: "1,000 × 1,000",
    }.items()
    for of in ("", "f32-")
} | {f"gp-{n}": f"Gaussian process, {n} points" for n in (100, 400, 1000)}
LINEAR_ALGEBRA |= {f"kalman-{n}": f"Kalman filter, {n} states, 200 steps" for n in (4, 20)}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def version(tool):
    if tool != "faer":
        return importlib.metadata.version(tool)
    packages = tomllib.loads((FAER / "Cargo.lock").read_text())["package"]
    return next(package["version"] for package in packages if package["name"] == "faer")


def measured(options, tools, chosen, threads):
    """What each tool printed of each task: times of the objective, and of it with its derivative, of each round."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    commands = {"deltaray": [options.binary, "--threads", str(threads), "--task"]}
    for tool in tools:
        commands[tool] = [str(FAER / "target/release/deltaray-benches-faer")] if tool == "faer" else [sys.executable, str(HERE / "peers"), tool]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    found = collections.defaultdict(list)
    for _ in range(options.rounds):
        for task in chosen:
            for tool, command in commands.items():
                lines = subprocess.run(
                    [*command, task],
                    env=environment,
                    preexec_fn=lambda: os.sched_setaffinity(0, cores),
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
                for line in lines.splitlines():
                    words = line.split()
                    if len(words) == 4 and words[1] == task:
                        found[task, tool].append((float(words[2]), float(words[3])))
        print(f"a round of {len(chosen)} tasks, {counted(threads, 'thread')}", flush=True)
    return found


def counted(count, noun):
    return f"{count} {noun}{'s' if count > 1 else ''}"


def number(microseconds):
    return f"{microseconds:,.0f}" if microseconds >= 100 else f"{microseconds:.1f}"


def table(tools, tasks, chosen, found):
    """The medians of what was measured, a row for each task."""

    def of(task, tool):
        rows = found.get((task, tool))
        return rows and [statistics.median(column) for column in zip(*rows)]

    yield "| task | deltaray | " + " | ".join(tools) + " |"
    yield "|---|--:|" + "--:|" * len(tools)
    for task in chosen:
        own = of(task, "deltaray")
        row = f"| `{task}`: {tasks[task]} | {number(own[0])} / {number(own[1])} |"
        for tool in tools:
            other = of(task, tool)
            if not other:
                row += " – |"
            elif other[1] > 0:
                row += f" {number(other[0])} / {number(other[1])} (**{other[1] / own[1]:.1f}×**) |"
            else:
                row += f" {number(other[0])} / – |"
        yield row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools")
    parser.add_argument("--linalg", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("tasks", nargs="*")
    options = parser.parse_intermixed_args()
    title, tasks, out = ("Linear algebra", LINEAR_ALGEBRA, "LINALG.md") if options.linalg else ("Results", TASKS, "RESULTS.md")
    usual = "jax,torch,numpy,faer" if options.linalg else "jax,torch"
    tools = [tool for tool in (usual if options.tools is None else options.tools).split(",") if tool]
    chosen = [task for task in tasks if not options.tasks or task in options.tasks]
    versions = ", ".join(f"{tool} {version(tool)}" for tool in tools)
    text = [
        f"# {title}",
        "",
        "Medians in microseconds, objective / objective with its derivative; behind those of others, the ratio of the latter to "
        "ours. Written by `scripts/compare`, which runs the tools in turns; ratios are comparable, times are this machine's.",
        "",
        f"{processor()}; {versions}; medians of {counted(options.rounds, 'round')}; f64 unless said.",
    ]
    for threads in map(int, options.threads.split(",")):
        found = measured(options, tools, chosen, threads)
        text += ["", f"## {counted(threads, 'thread').capitalize()}", "", *table(tools, tasks, chosen, found)]
    pathlib.Path(options.out or HERE / out).write_text("\n".join(text) + "\n")
    print("\n".join(text))


main()
