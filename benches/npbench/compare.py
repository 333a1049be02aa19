"""Times the kernels of examples/npbench here, in JAX, in NumPy and in C, in turns, and writes what was found to NPBENCH.md.

    python compare.py BINARY --dace PATH [--presets S,M] [--rounds 3,1] [--minutes N] [KERNEL...]

PATH is a checkout of spcl/dace (ed66880 or later), whose `tests/npbench` has the references. Each preset has its number of rounds.
A tool that takes longer than so many minutes for a kernel is left out.
"""

import argparse
import collections
import datetime
import importlib.metadata
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

from kernels import IN_C, REFERENCES

HERE = pathlib.Path(__file__).parent
# Loops over rows and elements, where others copy whole arrays.
LOOPS = {
    "adi", "cholesky", "deriche", "floyd_warshall", "ludcmp", "seidel_2d", "symm", "syrk", "trisolv", "trmm",
}


def tools(kernel):
    """The tools that have a kernel."""
    reference = REFERENCES[kernel]
    # A kernel that best.py lacks is as the reference has it.
    has_best = bool(reference.jax) or f"def {kernel}(" in (HERE / "best.py").read_text()
    has = {"reference": reference.jax, "best": has_best, "numpy": reference.numpy, "c": kernel in IN_C}
    return ["deltaray", *[tool for tool, is_there in has.items() if is_there]]


def run(command, core, minutes):
    """The numbers of the last line that a command prints, or none if it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=lambda: os.sched_setaffinity(0, [core]),
            capture_output=True,
            text=True,
            timeout=60 * minutes,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return None
    return done.stdout.splitlines()[-1].split()


def processor():
    """The processor's name."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--dace", required=True)
    parser.add_argument("--presets", default="S")
    parser.add_argument("--rounds", default="3", help="for each preset; the last number is that of the rest")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--out", default=str(HERE.parent / "NPBENCH.md"))
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_intermixed_args()
    core = min(os.sched_getaffinity(0))
    chosen = [kernel for kernel in REFERENCES if not options.kernels or kernel in options.kernels]
    found = collections.defaultdict(list)
    checked = {}
    presets = options.presets.split(",")
    numbers = [int(number) for number in options.rounds.split(",")]
    rounds = dict(zip(presets, numbers + numbers[-1:] * len(presets)))
    for preset in presets:
        for kernel in chosen:
            with tempfile.TemporaryDirectory() as folder:
                written = subprocess.run(
                    [options.binary, preset, kernel, "--write", folder], capture_output=True, text=True, check=True
                )
                pathlib.Path(folder, "shapes").write_text(written.stdout)
                late = set()
                for _ in range(rounds[preset]):
                    for tool in tools(kernel):
                        if tool in late:
                            continue
                        own = tool == "deltaray"
                        peer = [sys.executable, str(HERE / "run.py"), tool, kernel, folder, "--dace", options.dace]
                        words = run([options.binary, preset, kernel] if own else peer, core, options.minutes)
                        if words is None:
                            late.add(tool)
                            continue
                        value, both, total, slope = [words[at] for at in (1, 2, 4, 5)] if own else words
                        found[preset, kernel, tool].append((float(value), float(both)))
                        checked[preset, kernel, tool] = (float(total), float(slope))
            print(preset, kernel, {tool: found.get((preset, kernel, tool)) for tool in tools(kernel)}, flush=True)

    def of(preset, kernel, tool):
        rows = found.get((preset, kernel, tool))
        return rows and [statistics.median(column) for column in zip(*rows)]

    def differs(preset, kernel, tool):
        own, other = checked.get((preset, kernel, "deltaray")), checked.get((preset, kernel, tool))
        pairs = zip(own, other) if own and other else []
        return any(abs(a - b) > 1e-6 * (1.0 + abs(a)) for a, b in pairs)

    def number(milliseconds):
        return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"

    versions = ", ".join(f"{tool} {importlib.metadata.version(tool)}" for tool in ("jax", "numpy"))
    text = [
        "# NPBench",
        "",
        "Milliseconds on one core, value / value and gradient, written by `scripts/compare --npbench`, which runs the tools in turns. "
        "Ratios are comparable; times are those of one machine.",
        "",
        "- deltaray: in brackets, value and gradient over value.",
        "- reference: JAX as the tests of DaCe have it; best: JAX as one would write it for speed (`npbench/best.py`). In brackets, "
        "their value over ours and, in bold, their value and gradient over ours. Above 1, deltaray is faster.",
        "- NumPy and C (`npbench/kernels.c`, gcc -O3 -march=native) have values only. In brackets, C's value over ours.",
        f"- –: the tool has no such kernel, or took longer than {options.minutes:g} minutes.",
        "- ≠: the sum of its results, or that of its gradient's squares, differs from ours by more than 10⁻⁶ of it.",
        "",
        "The gradient is that of the sum of the results. Of products of matrices (k2mm, k3mm, doitgen) it takes products with vectors "
        "alone, which deltaray sees and XLA does not. M is the largest preset whose kernels need less than 4 GB each, but for mlp, "
        "which needs 12.",
        "",
        f"{datetime.date.today()}; {processor()}; {versions}; f64.",
    ]
    for preset in presets:
        of_rounds = "One round." if rounds[preset] == 1 else f"Medians of {rounds[preset]} rounds."
        text += ["", f"## {preset}", "", of_rounds, ""]
        text += ["| kernel | deltaray | reference | best | NumPy | C |", "|---|--:|--:|--:|--:|--:|"]
        ratios, long, behind, slow = [], [], [], []
        for kernel in chosen:
            own = of(preset, kernel, "deltaray")
            if not own:
                text.append(f"| {kernel} | – | – | – | – | – |")
                continue
            if own[1] > 4 * own[0]:
                long.append(f"{kernel} {own[1] / own[0]:.1f}")
            row = f"| {kernel} | {number(own[0])} / {number(own[1])} (×{own[1] / own[0]:.1f}) |"
            for tool in ("reference", "best"):
                other = of(preset, kernel, tool)
                if not other:
                    row += " – |"
                    continue
                sign = " ≠" if differs(preset, kernel, tool) else ""
                row += f" {number(other[0])} / {number(other[1])} ({other[0] / own[0]:.2g}×, **{other[1] / own[1]:.2g}×**){sign} |"
                if tool == "reference" and kernel in LOOPS:
                    ratios.append(other[1] / own[1])
                if tool == "best" and other[1] < own[1]:
                    behind.append(f"{kernel} {own[1] / other[1]:.1f}")
            other = of(preset, kernel, "numpy")
            row += f" {number(other[0])} |" if other else " – |"
            other = of(preset, kernel, "c")
            sign = " ≠" if differs(preset, kernel, "c") else ""
            text.append(row + (f" {number(other[0])} ({other[0] / own[0]:.2g}×){sign} |" if other else " – |"))
            if other and own[0] > 1.5 * other[0]:
                slow.append(f"{kernel} {own[0] / other[0]:.1f}")
        if ratios:
            mean = statistics.geometric_mean(ratios)
            text += ["", f"Loops over rows and elements: {mean:.3g} times the reference's speed, geometric mean of {len(ratios)}."]
        text += ["", f"Value and gradient take more than four times the value: {', '.join(long) or 'none'}."]
        text += ["", f"The value takes more than 1.5 times as long as C: {', '.join(slow) or 'none'}."]
        text += ["", f"Value and gradient take longer than the best JAX, so many times as long: {', '.join(behind) or 'none'}."]
    pathlib.Path(options.out).write_text("\n".join(text) + "\n")
    print("\n".join(text))


main()
