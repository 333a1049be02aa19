"""The tasks of examples/tasks in JAX or PyTorch, on the processor, on random inputs of the same sizes.

    python peers.py jax|torch [TASK...]

Prints a line for each task whose name begins with one of the words, or for all: the medians of objective and derivative in
microseconds. Every call waits for its results.
"""

import math
import os
import sys
import time

import numpy as np

THREADS = len(os.sched_getaffinity(0))
SECONDS, LEAST, MOST = 1.0, 5, 400


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def report(tool, task, objective, derivative):
    objective()
    derivative()
    objectives, derivatives = [], []
    start = time.perf_counter()
    while len(objectives) < LEAST or (time.perf_counter() - start < SECONDS and len(objectives) < MOST):
        for call, times in ((objective, objectives), (derivative, derivatives)):
            before = time.perf_counter()
            call()
            times.append(time.perf_counter() - before)
    print(f"{tool} {task} {median(objectives) * 1e6:.2f} {median(derivatives) * 1e6:.2f}", flush=True)


def normals(*shape, scale=1.0, seed=1, dtype=np.float64):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)


def positions(d):
    """Where each element of a lower triangular matrix is among the diagonal and the columns below it; the last is zero."""
    table = np.full((d, d), d + d * (d - 1) // 2)
    table[np.arange(d), np.arange(d)] = np.arange(d)
    at = d
    for column in range(d):
        for row in range(column + 1, d):
            table[row, column] = at
            at += 1
    return table


def mixture(n, d, k):
    return (
        (normals(k), normals(k, d), normals(k, d, scale=0.1), normals(k, d * (d - 1) // 2, scale=0.1)),
        normals(n, d),
    )


def clusters(k, n, d):
    points = np.random.default_rng(2).uniform(size=(n, d)).astype(np.float32)
    return points[-k:].copy(), points


def scene(n, m, p):
    cameras = normals(n, 11, scale=0.1)
    cameras[:, 6] += 500
    points = normals(m, 3)
    points[:, 2] += 10
    at = np.arange(p)
    return (cameras, points, 1 + 0.1 * normals(p)), (at % n, at % m, normals(p, 2))


def layers(sizes):
    pairs = zip(sizes, sizes[1:])
    return [(normals(a, b, scale=1 / math.sqrt(a), dtype=np.float32), np.zeros(b, np.float32)) for a, b in pairs]


def text(layer_count, characters, bits):
    main = normals(2 * layer_count, 4 * bits, scale=0.5)
    extra = normals(3, bits, scale=0.5)
    return (main, extra), normals(2 * layer_count, bits, scale=0.5), (normals(characters, bits) > 0).astype(np.float64)


def run_jax(wants):
    import jax
    import jax.numpy as jnp
    from jax import grad, jit, jvp, lax, value_and_grad, vmap

    jax.config.update("jax_enable_x64", True)

    def task(name, f, arguments, derivative=None):
        if not wants(name):
            return
        arguments = jax.tree.map(jnp.asarray, arguments() if callable(arguments) else arguments)
        objective, gradient = jit(f), jit(derivative or value_and_grad(f))
        wait = jax.block_until_ready
        report("jax", name, lambda: wait(objective(*arguments)), lambda: wait(gradient(*arguments)))

    million = 1_000_000
    task("chain", lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x * x) + jnp.tanh(x)), lambda: (normals(million),))
    near_one = lambda: (1 + 1e-3 * normals(million), normals(million, seed=2))
    task("cumsum", lambda x, w: jnp.sum(w * jnp.cumsum(x) ** 2), near_one)
    task("cumprod", lambda x, w: jnp.sum(w * jnp.cumprod(x)), near_one)
    task("logsumexp", lambda x: jnp.sum(jax.nn.logsumexp(x, axis=1)), lambda: (normals(10_000, 100),))

    def logistic(w, x, y):
        z = x @ w
        return jnp.mean(jax.nn.softplus(z) - y * z)

    task("logistic", logistic, lambda: (normals(100), normals(100_000, 100), np.arange(100_000) % 2 * 1.0))

    def k_means(centres, points):
        # Squares of differences spelled out as a product, which is the fastest form here.
        squares = jnp.sum(points**2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres**2, 1)
        return jnp.sum(jnp.min(squares, 1))

    def k_means_derivatives(centres, points):
        return jvp(lambda c: grad(k_means)(c, points), (centres,), (jnp.ones_like(centres),))

    task("kmeans-5", k_means, lambda: clusters(5, 494_019, 35), k_means_derivatives)
    task("kmeans-1024", k_means, lambda: clusters(1024, 10_000, 256), k_means_derivatives)

    def posterior(mixture, points):
        alpha, means, log_diagonals, lower = mixture
        (k, d), n = means.shape, len(points)
        entries = jnp.concatenate([jnp.exp(log_diagonals), lower, jnp.zeros((k, 1))], 1)
        factors = entries[:, positions(d)]
        projected = jnp.einsum("kij,nj->nki", factors, points) - jnp.einsum("kij,kj->ki", factors, means)
        scores = alpha + jnp.sum(log_diagonals, 1) - 0.5 * jnp.sum(projected**2, 2)
        prior = 0.5 * jnp.sum(factors**2)
        return jnp.sum(jax.nn.logsumexp(scores, axis=1)) - n * jax.nn.logsumexp(alpha) - prior

    for name, sizes in (("gmm-10-25", (1000, 10, 25)), ("gmm-20-50", (10_000, 20, 50)), ("gmm-64-200", (1000, 64, 200))):
        task(name, posterior, lambda sizes=sizes: mixture(*sizes))

    def loss(network, state, text):
        main, extra = network
        bits = text.shape[1]
        gates = main.reshape(-1, 2, 4, bits)

        def step(states, signal):
            following = []
            for (w, b), (hidden, cell) in zip(gates, states):
                gate = lambda at, x: x * w[at] + b[at]
                sigmoid = jax.nn.sigmoid
                cell = cell * sigmoid(gate(0, signal)) + sigmoid(gate(1, hidden)) * jnp.tanh(gate(3, hidden))
                signal = sigmoid(gate(2, signal)) * jnp.tanh(cell)
                following.append((signal, cell))
            return following, signal

        start = [(state[2 * at], state[2 * at + 1]) for at in range(len(state) // 2)]
        _, outputs = lax.scan(step, start, text[:-1] * extra[0])
        predictions = outputs * extra[1] + extra[2]
        normalisers = jnp.log(jnp.sum(jnp.exp(predictions), 1) + 2)[:, None]
        return -jnp.mean(text[1:] * (predictions - normalisers))

    task("lstm", loss, lambda: text(2, 1024, 14))

    def reprojection(camera, point, weight, feature):
        axis, x = camera[:3], point - camera[3:6]
        angle = jnp.sqrt(axis @ axis)
        unit = axis / angle
        turned = x * jnp.cos(angle) + jnp.cross(unit, x) * jnp.sin(angle) + unit * (unit @ x) * (1 - jnp.cos(angle))
        plane = turned[:2] / turned[2]
        square = plane @ plane
        seen = plane * (1 + camera[9] * square + camera[10] * square**2) * camera[6] + camera[7:9]
        return weight * (seen - feature)

    def errors(scene, observed):
        (cameras, points, weights), (of_camera, of_point, features) = scene, observed
        return vmap(reprojection)(cameras[of_camera], points[of_point], weights, features), 1 - weights**2

    def jacobian(scene, observed):
        (cameras, points, weights), (of_camera, of_point, features) = scene, observed
        derivatives = vmap(jax.jacrev(reprojection, argnums=(0, 1, 2)))
        camera, point, weight = derivatives(cameras[of_camera], points[of_point], weights, features)
        return jnp.concatenate([camera, point, weight[..., None]], 2), -2 * weights

    task("ba", errors, lambda: scene(49, 7776, 31843), jacobian)

    def perceptron(layers, images, digits):
        x = images
        for at, (weights, bias) in enumerate(layers):
            x = x @ weights + bias
            x = jax.nn.relu(x) if at + 1 < len(layers) else x
        return -jnp.mean(jax.nn.log_softmax(x)[jnp.arange(len(x)), digits])

    task("mlp", perceptron, lambda: (layers([784, 300, 100, 10]), normals(64, 784, dtype=np.float32), np.arange(64) % 10))


def run_torch(wants):
    import torch
    import torch.nn.functional as F
    from torch.func import grad, jvp, vmap

    torch.set_num_threads(THREADS)

    def leaves(tree):
        return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (list, tuple)) else [tree]

    def tensors(tree):
        return type(tree)(tensors(part) for part in tree) if isinstance(tree, (list, tuple)) else torch.tensor(tree)

    def task(name, f, arguments, derivative=None):
        if not wants(name):
            return
        arguments = tensors(arguments())
        parameters = leaves(arguments[0])

        def objective():
            with torch.no_grad():
                f(*arguments)

        def gradient():
            for parameter in parameters:
                parameter.requires_grad_()
            torch.autograd.grad(f(*arguments), parameters)

        report("torch", name, objective, (lambda: derivative(*arguments)) if derivative else gradient)

    million = 1_000_000
    task("chain", lambda x: (x.sin() * (-x * x).exp() + x.tanh()).sum(), lambda: (normals(million),))
    near_one = lambda: (1 + 1e-3 * normals(million), normals(million, seed=2))
    task("cumsum", lambda x, w: (w * x.cumsum(0) ** 2).sum(), near_one)
    task("cumprod", lambda x, w: (w * x.cumprod(0)).sum(), near_one)
    task("logsumexp", lambda x: x.logsumexp(1).sum(), lambda: (normals(10_000, 100),))
    task(
        "logistic",
        lambda w, x, y: (F.softplus(x @ w) - y * (x @ w)).mean(),
        lambda: (normals(100), normals(100_000, 100), np.arange(100_000) % 2 * 1.0),
    )

    def k_means(centres, points):
        squares = (points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
        return squares.min(1).values.sum()

    def k_means_derivatives(centres, points):
        return jvp(lambda c: grad(k_means)(c, points), (centres,), (torch.ones_like(centres),))

    task("kmeans-5", k_means, lambda: clusters(5, 494_019, 35), k_means_derivatives)
    task("kmeans-1024", k_means, lambda: clusters(1024, 10_000, 256), k_means_derivatives)

    def posterior(mixture, points):
        alpha, means, log_diagonals, lower = mixture
        (k, d), n = means.shape, len(points)
        entries = torch.cat([log_diagonals.exp(), lower, torch.zeros((k, 1), dtype=lower.dtype)], 1)
        factors = entries[:, torch.tensor(positions(d))]
        projected = torch.einsum("kij,nj->nki", factors, points) - torch.einsum("kij,kj->ki", factors, means)
        scores = alpha + log_diagonals.sum(1) - 0.5 * (projected**2).sum(2)
        return scores.logsumexp(1).sum() - n * alpha.logsumexp(0) - 0.5 * (factors**2).sum()

    for name, sizes in (("gmm-10-25", (1000, 10, 25)), ("gmm-20-50", (10_000, 20, 50)), ("gmm-64-200", (1000, 64, 200))):
        task(name, posterior, lambda sizes=sizes: mixture(*sizes))

    def perceptron(layers, images, digits):
        x = images
        for at, (weights, bias) in enumerate(layers):
            x = x @ weights + bias
            x = x.relu() if at + 1 < len(layers) else x
        return F.cross_entropy(x, digits)

    task("mlp", perceptron, lambda: (layers([784, 300, 100, 10]), normals(64, 784, dtype=np.float32), np.arange(64) % 10))


if __name__ == "__main__":
    words = sys.argv[2:]
    wanted = lambda name: not words or any(name.startswith(word) for word in words)
    {"jax": run_jax, "torch": run_torch}[sys.argv[1]](wanted)
