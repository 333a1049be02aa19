"""Has JAX compile and run the StableHLO modules of a folder, and compares the results with the expected ones.

`check_stablehlo.py FOLDER DOCUMENT [WORD]`: the cases whose names contain a word, or all. A case `N.case` has its name, its
precision, and the arrays of a point and of the results there; `N.mlir` is the module. The table in the document lists the
cases that do not agree; with all cases, the list must be that of this run, and 95 % of the cases must agree.

`check_stablehlo.py --run FOLDER NUMBER..` is what the first form starts, once for each processor.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

TOLERANCE = {"double": 1e-12, "single": 1e-5}
REQUIRED = 0.95
SECONDS = 60


class Case:
    """A program, the arrays of a point, and the results there."""

    def __init__(self, path):
        import numpy

        kinds = {"f32": numpy.float32, "f64": numpy.float64, "i32": numpy.int32, "i64": numpy.int64, "bool": numpy.bool_}
        lines = path.read_text().splitlines()
        self.name = lines[0]
        self.precision, self.part = lines[1].split()
        self.error = None
        self.arrays = {"input": [], "result": []}
        for line in lines[2:]:
            what, rest = line.split(" ", 1)
            if what == "error":
                self.error = rest
                continue
            kind, extents, digits = rest.split(" ")
            shape = [int(extent) for extent in extents.split(",") if extent]
            array = numpy.frombuffer(bytes.fromhex(digits), dtype=kinds[kind])
            self.arrays[what].append(array.reshape(shape))
        module = path.with_suffix(".mlir")
        self.module = module.read_text() if module.exists() else None


def difference(case, found):
    """What is wrong with results, or nothing."""
    import numpy

    expected = case.arrays["result"]
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    magnitudes = [numpy.abs(array[numpy.isfinite(array)]).max(initial=0.0) for array in expected if array.dtype.kind == "f"]
    largest = max(magnitudes, default=0.0)
    for position, (ours, theirs) in enumerate(zip(expected, found)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"result {position} is {theirs.dtype}{list(theirs.shape)} instead of {ours.dtype}{list(ours.shape)}"
        if ours.dtype.kind == "f":
            with numpy.errstate(all="ignore"):
                around = largest if case.part == "corpus" else numpy.where(numpy.isfinite(ours), numpy.abs(ours), 0.0)
                bound = TOLERANCE[case.precision] * (1.0 + around)
                same = (ours == theirs) | (numpy.isnan(ours) & numpy.isnan(theirs)) | (numpy.abs(ours - theirs) <= bound)
        else:
            same = ours == theirs
        if not same.all():
            where = numpy.argwhere(~same)[0].tolist()
            kind = "another number"
            if ours.dtype.kind == "f" and numpy.isfinite(ours[~same]).all() != numpy.isfinite(theirs[~same]).all():
                kind = "a number here and none there"
            return f"{kind}: result {position} at {where} is {theirs[tuple(where)]!r} instead of {ours[tuple(where)]!r}"
    return None


def run(folder, numbers):
    """Runs cases, a line for each: its number, and what is wrong."""
    os.environ.update({"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"})
    import jax
    import numpy
    from jax._src.lib import xla_client

    jax.config.update("jax_enable_x64", True)
    devices = jax.devices()[:1]
    client = devices[0].client
    options = xla_client.CompileOptions()
    for number in numbers:
        # Said before the work, so that a case that ends the process is known.
        print(f"{number}\tbegun", flush=True)
        case = Case(folder / f"{number}.case")
        problem = case.error
        if problem is None:
            try:
                program = client.compile_and_load(case.module, xla_client.DeviceList(tuple(devices)), options)
                inputs = [jax.device_put(array) for array in case.arrays["input"]]
                outputs = program.execute_sharded(inputs).disassemble_into_single_device_arrays()
                problem = difference(case, [numpy.asarray(output[0]) for output in outputs])
            except Exception as error:  # Whatever a compiler says is a result here.
                problem = f"not accepted: {str(error).strip()}".splitlines()[0]
        print(f"{number}\t{problem or 'agrees'}", flush=True)


def parts(folder, numbers):
    """Runs cases in another process, and goes on after one that ends it or takes too long."""
    results = {}
    rest = list(numbers)
    while rest:
        command = [sys.executable, __file__, "--run", str(folder), *rest]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        watched = Watched(process)
        begun = None
        for line in watched.lines():
            number, result = line.rstrip("\n").split("\t", 1)
            if result == "begun":
                begun = number
            else:
                results[number] = result
                begun = None
        if begun is not None:
            results[begun] = "takes too long" if watched.expired else f"ends the process with {process.returncode}"
        elif not any(number in results for number in rest):
            raise SystemExit("the cases can't be run; run one of them with --run to see why")
        rest = [number for number in rest if number not in results]
    return results


class Watched:
    """The lines of a process, which is ended when there is none for too long."""

    def __init__(self, process):
        self.process = process
        self.expired = False

    def lines(self):
        import queue
        import threading

        lines = queue.Queue()

        def read():
            for line in self.process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=SECONDS)
            except queue.Empty:
                self.expired = True
                self.process.kill()
                self.process.wait()
                return
            if line is None:
                self.process.wait()
                return
            yield line


def listed(document):
    """The names in the document's table of programs that do not agree."""
    heading, table = "| program | reason |\n|---|---|\n", document.read_text()
    if heading not in table:
        raise SystemExit(f"{document} has no table of programs and reasons")
    table = table.split(heading)[1].split("\n\n")[0]
    return {name.strip("` ") for name in re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE)}


def main():
    import concurrent.futures

    folder, document = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    names = {path.stem: path.open().readline().rstrip("\n") for path in sorted(folder.glob("*.case"))}
    numbers = [number for number, name in names.items() if word in name]
    workers = min(2, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = {}
        for part in pool.map(lambda start: parts(folder, numbers[start::workers]), range(workers)):
            results.update(part)
    wrong = {number: result for number, result in sorted(results.items()) if result != "agrees"}
    kinds = collections.Counter(result.split(":")[0] for result in wrong.values())
    for number, result in wrong.items():
        print(f"{number} {names[number]}: {result}")
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    share = 1 - len(wrong) / max(len(numbers), 1)
    print(f"{len(numbers) - len(wrong)} of {len(numbers)} programs agree: {100 * share:.2f} %")
    if word:
        return
    found, expected = {names[number] for number in wrong}, listed(document)
    for name in sorted(found - expected):
        print(f"not listed in {document}: {name}")
    for name in sorted(expected - found):
        print(f"listed in {document}, but agrees: {name}")
    if share < REQUIRED or found != expected:
        raise SystemExit(1)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(pathlib.Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
