import importlib
import inspect
import itertools
import os
import pickle

# StableHLO needs no compiler of C.
if module == "xla":
    os.environ["CC"] = "nothing-of-that-name"
# Five devices, for a mesh.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=5"

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
ours, others, another, empty = (importlib.import_module(f"{name}.{module}") for name in ("models", "other", "another", "empty"))

x, y, line = jnp.arange(4.0), jnp.array([1.0, 3.0, 5.0, 7.5]), jnp.array([0.5, -1.0])


def loss(line, x, y):
    return jnp.mean((line[0] * x + line[1] - y) ** 2)


def network(layers, inputs, classes):
    hidden = jnp.tanh(inputs @ layers[0]["weights"] + layers[0]["bias"])
    logits = hidden @ layers[1]["weights"] + layers[1]["bias"]
    return jnp.mean(jax.nn.logsumexp(logits, 1) - logits[jnp.arange(4), classes])


def several(x):
    return jnp.sin(x), jnp.sum(jnp.exp(x)), jnp.arange(3)


def same(found, expected, tolerance=1e-12):
    assert jax.tree.structure(found) == jax.tree.structure(expected), (found, expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
        # Derivatives of integers have no numbers.
        if a.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


random = np.random.default_rng(1)
layers = tuple(
    {"weights": random.normal(size=shape), "bias": random.normal(size=shape[1])} for shape in [(3, 5), (5, 2)]
)
layers = jax.tree.map(jnp.asarray, layers)
inputs, classes = jnp.asarray(random.normal(size=(4, 3))), jnp.array([0, 1, 1, 0])

# Values, and all derivatives of the first and second order.
transformations = [jax.grad, jax.jacfwd, jax.jacrev, jax.hessian]
transformations += [lambda f, a=a, b=b: a(b(f)) for a, b in itertools.product([jax.jacfwd, jax.jacrev], repeat=2)]
for transform in [lambda f: f, *transformations]:
    for wrap in [lambda f: f, jax.jit]:
        same(wrap(transform(ours.loss))(line, x, y), wrap(transform(loss))(line, x, y))
        same(wrap(transform(ours.network))(layers, inputs, classes), transform(network)(layers, inputs, classes))
for transform in [jax.jacfwd, jax.jacrev, jax.hessian]:
    ours_first, first = (lambda x: ours.f(x)[0]), (lambda x: several(x)[0])
    same(transform(ours_first)(x[:3]), transform(first)(x[:3]))
    same(transform(lambda x: ours.f(x)[1])(x[:3]), transform(lambda x: several(x)[1])(x[:3]))
same(jax.grad(ours.loss, argnums=(0, 1, 2))(line, x, y), jax.grad(loss, argnums=(0, 1, 2))(line, x, y))
same(jax.value_and_grad(ours.loss, 2)(line, x, y), jax.value_and_grad(loss, 2)(line, x, y))
along = jax.tree.map(jnp.ones_like, layers)
same(
    jax.jvp(lambda layers: ours.network(layers, inputs, classes), (layers,), (along,)),
    jax.jvp(lambda layers: network(layers, inputs, classes), (layers,), (along,)),
)
same(jax.linearize(ours.f, x[:3])[0], several(x[:3]))
same(jax.jvp(ours.f, (x[:3],), (y[:3],)), jax.jvp(several, (x[:3],), (y[:3],)))
rates = jax.vjp(lambda x: ours.f(x)[:1], x[:3])[1]((y[:3],))
same(rates, (y[:3] * jnp.cos(x[:3]),))

# Batches, nested, of some arguments or all, and of derivatives.
lines, xs, ys = (jnp.asarray(random.normal(size=(5, size))) for size in (2, 4, 4))
for axes, arguments in [((0, None, None), (lines, x, y)), ((None, 0, 0), (line, xs, ys)), ((0, 0, 0), (lines, xs, ys))]:
    for transform in [lambda f: f, *transformations]:
        same(
            jax.jit(jax.vmap(transform(ours.loss), axes))(*arguments),
            jax.vmap(transform(loss), axes)(*arguments),
        )
grid = lambda f: jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None), 1)
same(grid(ours.loss)(lines, xs, y), grid(loss)(lines, xs, y))
same(jax.grad(lambda line: jnp.sum(grid(ours.loss)(line[None], xs, y)))(line), jax.grad(lambda line: jnp.sum(grid(loss)(line[None], xs, y)))(line))
same(jax.vmap(ours.loss, (0, None, None))(lines[:0], x, y), jnp.zeros(0))
mean = lambda f: lambda line: jnp.mean(jax.vmap(f, (None, 0, 0))(line, xs, ys) ** 2)
for transform in transformations:
    same(transform(mean(ours.loss))(line), transform(mean(loss))(line))

# Inside loops, checkpoints, and together with functions of JAX.
descend = lambda f: jax.lax.fori_loop(0, 20, lambda _, line: line - 0.05 * jax.grad(f)(line, x, y), line)
same(jax.jit(lambda: descend(ours.loss))(), descend(loss))
scan = lambda f: lambda line: jax.lax.scan(lambda line, x: (line * jnp.exp(-f(line, x, y)), None), line, xs)[0]
for transform in [jax.jacfwd, jax.jacrev]:
    same(jax.jit(transform(scan(ours.loss)))(line), transform(scan(loss))(line))
check = lambda f: jax.grad(jax.checkpoint(lambda line: jnp.sin(f(line, x, y)) * line[0]))(line)
same(check(ours.loss), check(loss))

# On a mesh of devices.
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
spec = jax.sharding.PartitionSpec
sharded = lambda f: jax.jit(
    jax.shard_map(
        lambda line, x, y: jax.lax.psum(jax.vmap(jax.grad(f), (None, 0, 0))(line, x, y).sum(0), "data"),
        mesh=mesh,
        in_specs=(spec(), spec("data"), spec("data")),
        out_specs=spec(),
    )
)(line, xs, ys)
same(sharded(ours.loss), sharded(loss))

# Element types; arrays of NumPy and lists.
single, short, long, mask = ours.types(np.float32([1.5, 2, 3]), [1, -2, 2**31 - 1], [1, 2, 3], [True, False, True])
assert [str(part.dtype) for part in (single, short, long, mask)] == ["float32", "int32", "int64", "bool"]
assert single.tolist() == [3, 4, 6] and short.tolist() == [2, -1, -(2**31)]
assert long.tolist() == [1, -2, 3] and mask.tolist() == [False, True, False]
same(jax.grad(ours.loss)(line.astype("float32"), jnp.arange(4), y), jax.grad(loss)(line, x, y).astype("float32"), 1e-7)
same(ours.loss(y=[1, 3, 5, 7.5], line=np.array([0.5, -1]), x=range(4)), loss(line, x, y))
same(jax.jit(lambda slope, height: ours.loss([slope, height], x, y))(0.5, -1.0), loss(line, x, y))
same(jax.grad(lambda slope: ours.loss([slope, -1], x, tuple(y)))(0.5), jax.grad(loss)(line, x, y)[0])
same(jax.jit(lambda z: ours.types([1, z, 3], [1] * 3, [1] * 3, [True] * 3)[0])(jnp.float32(2)), jnp.float32([2, 4, 6]))
same(jax.vmap(ours.types, (0, None, None, None))(jnp.ones((2, 3), np.float32), [1] * 3, [1] * 3, [True] * 3)[0], jnp.full((2, 3), 2, np.float32))

# Sparse results.
jacobian = ours.jacobian(jnp.arange(1.0, 5))
assert jacobian.nse == 6 and jacobian.indices.tolist() == [0, 1, 1, 2, 2, 3]
same(jacobian.todense(), jnp.array([[-1.0, 4, 0, 0], [0, -1, 6, 0], [0, 0, -1, 8]]))

# Other devices have StableHLO, whose module is there once, however often it is called.
twice = jax.jit(lambda line: ours.loss(line, x, y) + jax.vmap(ours.loss, (None, 0, None))(line, xs, y).sum())
for platform in ("cpu", "cuda", "tpu"):
    text = twice.trace(line).lower(lowering_platforms=(platform,)).as_text()
    is_compiled = module == "jax" and platform == "cpu"
    assert ("custom_call @deltaray_" in text) == is_compiled, text
    assert text.count("func.func private @deltaray_loss(") == (not is_compiled), text

# Exported by JAX, StableHLO needs nothing of the package; compiled functions are refused.
platforms = ("cpu",) if module == "jax" else ("cpu", "cuda", "tpu")
export = lambda: jax.export.export(jax.jit(jax.grad(ours.network)), platforms=platforms)(layers, inputs, classes)
if module == "jax":
    fails(ValueError, "Cannot serialize code with custom calls", export)
else:
    same(export().call(layers, inputs, classes), jax.grad(network)(layers, inputs, classes))

# With sizes that are not known yet, which are functions of StableHLO alone.
if module == "xla":
    sizes = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 2"), "float64")
    for transform in [lambda f: f, jax.grad]:
        batched = jax.jit(jax.vmap(transform(ours.loss), (0, None, None)))
        exported = jax.export.export(batched)(sizes, x, y)
        for given in (lines, lines[:1]):
            same(exported.call(given, x, y), jax.vmap(transform(loss), (0, None, None))(given, x, y))

# Without compilation, and by name in another process.
with jax.disable_jit():
    same(jax.grad(ours.loss)(line, x, y), jax.grad(loss)(line, x, y))
assert pickle.loads(pickle.dumps(ours.loss)) is ours.loss

# Packages of as many functions do not meet, and names of modules are names like others.
assert list(others.__all__) == ["np", "functools"], others.__all__
same(others.np([1.0, 2.0]), jnp.array([1.0, 4.0]))
same(others.functools([1.0, 2.0]), jnp.array([1.0, 8.0]))
same([another.np([1.0, 2.0]), others.np([1.0, 2.0])], [jnp.array([1.0, 8.0]), jnp.array([1.0, 4.0])])
assert empty.__all__ == []
assert str(inspect.signature(ours.loss)) == "(line, x, y)"


# Arguments that do not fit.

fails(ValueError, "loss: x has shape (3,), not (4,)", lambda: ours.loss(line, x[:3], y))
fails(ValueError, "loss: x has shape (3,), not (4,)", lambda: jax.jit(ours.loss)(line, x[:3], y))
fails(TypeError, "loss: line has elements of complex64, not float64", lambda: ours.loss(line.astype("complex64"), x, y))
fails(TypeError, "loss: line has elements of key<fry>", lambda: ours.loss(jax.random.split(jax.random.key(1)), x, y))
fails(TypeError, "types: single has elements of float64", lambda: ours.types(x[:3], [1] * 3, [1] * 3, [True] * 3))
fails(ValueError, "loss: line is no array", lambda: jax.jit(lambda slope: ours.loss([slope, [slope]], x, y))(0.5))
fails(TypeError, "loss: line has elements of complex128", lambda: ours.loss([x[0], 1j], x, y))
fails(TypeError, "network: layers is a dict, not a tuple", lambda: ours.network(layers[0], inputs, classes))
if module == "jax":
    plain = importlib.import_module("models").loss
    fails(TypeError, "line is no array of numbers; transformations of JAX need", lambda: jax.jit(plain)(line, x, y))
fails(TypeError, "loss: missing a required argument: 'y'", lambda: ours.loss(line, x))
fails(NotImplementedError, "plain was exported without a derivative", lambda: jax.grad(ours.plain)(line, x, y))
if module == "jax":
    wrong = jax.ShapeDtypeStruct((), "float64")
    target = ours.loss.__closure__[1].cell_contents.target()
    fails(Exception, "loss: arrays of other types", lambda: jax.ffi.ffi_call(target, wrong)(line, x[:3], y))
third = jax.jacfwd(jax.jacfwd(jax.jacfwd(ours.loss)))
fails(NotImplementedError, "was exported without a derivative", lambda: third(line, x, y))
jax.config.update("jax_enable_x64", False)
fails(TypeError, "jax_enable_x64", lambda: ours.loss([0.5, 1], np.arange(4), np.arange(4)))
