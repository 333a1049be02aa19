"""Trains with losses and gradients that were exported by the program beside, on the devices of one process or of several.

`train.py FOLDER TASK --checkpoint FILE [--processes N --process I --coordinator HOST:PORT]`

Each device has a shard of the rows, and all have the parameters. A step adds up the devices' shares of the loss and its gradient, by
one `psum`, and goes down the gradient. The training goes on from a checkpoint, where there is one. At its end the parameters are
compared with those of the program beside.
"""

import argparse
import inspect
import json
import os
import pathlib
import signal
import sys
import traceback

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as Spec

TOLERANCE = 1e-9


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="what was exported")
    parser.add_argument("task", help="mixture or perceptron")
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True, help="the file of the first process")
    parser.add_argument("--every", type=int, default=10, help="steps from checkpoint to checkpoint")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--coordinator", help="host and port of the first process")
    parser.add_argument("--fail-at", type=int, help="kills this process before a step, to try a restart")
    options = parser.parse_args()
    if options.every < 1:
        parser.error("--every needs a number of at least 1")
    if not options.checkpoint.absolute().parent.is_dir() or options.checkpoint.is_dir():
        parser.error(f"there is no place for a checkpoint at {options.checkpoint}")
    return options


def connected(options):
    """Makes the processes one machine, all of whose devices JAX knows. Their results are summed by gloo on processors."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if options.processes > 1:
        jax.distributed.initialize(options.coordinator, options.processes, options.process)
    return jax.sharding.Mesh(np.array(jax.devices()), ("rows",))


def tree(folder):
    """The arrays of a folder, which stay there until they are read, by the parameters' names: dots are parts of dictionaries."""
    top = {}
    for path in sorted(folder.glob("*.npy")):
        *outer, name = path.stem.split(".")
        part = top
        for key in outer:
            part = part.setdefault(key, {})
        part[name] = np.load(path, mmap_mode="r")
    return top


def placed(arrays, mesh, spec):
    """Arrays on the devices: each process reads what its own devices need."""
    sharding = NamedSharding(mesh, spec)

    def one(array):
        return jax.make_array_from_callback(array.shape, sharding, lambda index: np.array(array[index]))

    return jax.tree.map(one, arrays)


def saved(path, training, step, parameters):
    """Writes a checkpoint, which is there as a whole or not at all."""
    arrays = {str(at): np.asarray(leaf) for at, leaf in enumerate(jax.tree.leaves(parameters))}
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        np.savez(file, training=training, step=step, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def resumed(path, training, parameters):
    """The number of steps that were taken, and the parameters after them: those of the first process, on all of them."""
    step = 0
    if jax.process_index() == 0 and path.exists():
        with np.load(path) as found:
            if str(found["training"]) != training:
                raise SystemExit(f"{path} is a checkpoint of another training: remove it, or name another file")
            step = int(found["step"])
            leaves, structure = jax.tree.flatten(parameters)
            parameters = structure.unflatten(found[str(at)] for at in range(len(leaves)))
    step, parameters = multihost_utils.broadcast_one_to_all((np.int64(step), jax.tree.map(np.asarray, parameters)))
    return int(step), parameters


def compared(found, expected):
    """Fails where parameters are not those of the program in Rust."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected))
    # The maximum of NumPy is NaN where one of them is.
    largest = np.max([np.max(np.abs(np.asarray(a) - b) / (1 + np.abs(b))) for a, b in pairs])
    print(f"the parameters differ from those in Rust by {largest:.1e}")
    if not largest <= TOLERANCE:
        raise SystemExit(f"that is more than {TOLERANCE}")


def main():
    options = parsed()
    mesh = connected(options)
    text = (options.folder / "plan.json").read_text()
    plan = json.loads(text)
    if options.task not in plan["tasks"]:
        raise SystemExit(f"there is no task {options.task}, but {', '.join(plan['tasks'])}")
    task, shards, steps = plan["tasks"][options.task], plan["shards"], plan["steps"]
    if mesh.size != shards:
        raise SystemExit(f"the losses are for {shards} shards, but the number of devices is {mesh.size}: export for {mesh.size}")

    sys.path.insert(0, str(options.folder))
    from losses import xla

    loss = getattr(xla, options.task)
    specs = [Spec("rows") if name in task["split"] else Spec() for name in inspect.signature(loss).parameters]

    def step_of_shard(parameters, rows):
        value, gradient = jax.lax.psum(loss(parameters, rows), "rows")
        return jax.tree.map(lambda x, slope: x - task["rate"] * slope, parameters, gradient), value

    sharded = jax.shard_map(step_of_shard, mesh=mesh, in_specs=tuple(specs), out_specs=(Spec(), Spec()))
    step = jax.jit(sharded, donate_argnums=0)

    folder, training = options.folder / options.task, f"{options.task} {text}"
    (start,), (rows,) = tree(folder / "start").values(), tree(folder / "rows").values()
    first, start = resumed(options.checkpoint, training, start)
    parameters, rows = placed(start, mesh, specs[0]), placed(rows, mesh, specs[1])
    is_first = jax.process_index() == 0
    if is_first and first > 0:
        print(f"{options.checkpoint} is from after step {first}, of {steps}", flush=True)
    for number in range(first + 1, steps + 1):
        if number == options.fail_at:
            jax.block_until_ready(parameters)
            os.kill(os.getpid(), signal.SIGKILL)
        parameters, value = step(parameters, rows)
        if is_first and number in (first + 1, steps):
            print(f"{options.task}: the loss before step {number} is {float(value):.12f}", flush=True)
        if is_first and (number % options.every == 0 or number == steps):
            saved(options.checkpoint, training, number, parameters)
    if is_first:
        compared(parameters, *tree(folder / "end").values())


def failed(problem):
    """Ends this process at once. An end in order would wait for the others."""
    print(problem, file=sys.stderr, flush=True)
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except jax.errors.JaxRuntimeError as error:
        failed(f"the training ends, another process failed perhaps: {str(error).splitlines()[0]}")
    except SystemExit as error:
        if isinstance(error.code, str):
            failed(error.code)
        raise
    except Exception:
        failed(traceback.format_exc())
