"""The tasks in JAX: compiled, with x64 enabled."""

import math

import jax
import jax.numpy as jnp
from inputs import SPARSE_POINTS, positions
from jax import grad, jit, jvp, lax, value_and_grad, vmap

jax.config.update("jax_enable_x64", True)


def calls(f, arguments):
    """The objective and the derivative, which wait for their results."""
    arguments = jax.tree.map(jnp.asarray, arguments)
    objective, gradient = jit(f), jit(DERIVATIVES.get(f) or value_and_grad(f))
    wait = jax.block_until_ready
    return lambda: wait(objective(*arguments)), lambda: wait(gradient(*arguments))


def chain(x):
    return jnp.sum(jnp.sin(x) * jnp.exp(-x * x) + jnp.tanh(x))


def cumulative_sum(x, w):
    return jnp.sum(w * jnp.cumsum(x) ** 2)


def cumulative_product(x, w):
    return jnp.sum(w * jnp.cumprod(x))


def log_sum_exp(x):
    return jnp.sum(jax.nn.logsumexp(x, axis=1))


def logistic(w, x, y):
    z = x @ w
    return jnp.mean(jax.nn.softplus(z) - y * z)


def gradient_and_diagonal(f):
    """The gradient and the diagonal of the Hessian by centres, where nothing else of it is other than zero."""
    return lambda centres, *points: jvp(lambda c: grad(f)(c, *points), (centres,), (jnp.ones_like(centres),))


def k_means(centres, points):
    # Squares of differences spelled out as a product, which is the fastest form here.
    squares = jnp.sum(points**2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres**2, 1)
    return jnp.sum(jnp.min(squares, 1))


def sparse_k_means(centres, points):
    (rows, columns), values = points
    total = lambda x: jax.ops.segment_sum(x, rows, SPARSE_POINTS, indices_are_sorted=True)
    products = total(values[:, None] * centres.T[columns])
    squares = total(values**2)[:, None] - 2 * products + jnp.sum(centres**2, 1)
    return jnp.sum(jnp.min(squares, 1))


def posterior(mixture, points):
    alpha, means, log_diagonals, lower = mixture
    (k, d), n = means.shape, len(points)
    entries = jnp.concatenate([jnp.exp(log_diagonals), lower, jnp.zeros((k, 1), lower.dtype)], 1)
    factors = entries[:, positions(d)]
    projected = jnp.einsum("kij,nj->nki", factors, points) - jnp.einsum("kij,kj->ki", factors, means)
    scores = alpha + jnp.sum(log_diagonals, 1) - 0.5 * jnp.sum(projected**2, 2)
    prior = 0.5 * jnp.sum(factors**2)
    return jnp.sum(jax.nn.logsumexp(scores, axis=1)) - n * jax.nn.logsumexp(alpha) - prior


def diagonal_lstm(network, state, text):
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


def apply(layer, rows):
    weights, bias = layer
    return rows @ weights + bias


def batched_lstm(network, state, inputs, targets):
    to_input, to_hidden, to_output = network

    def step(state, signal):
        hidden, cell = state
        gates = jnp.split(apply(to_input, signal) + apply(to_hidden, hidden), 4, 1)
        enter, keep, leave = (jax.nn.sigmoid(gates[at]) for at in (0, 1, 3))
        cell = keep * cell + enter * jnp.tanh(gates[2])
        hidden = leave * jnp.tanh(cell)
        return (hidden, cell), hidden

    _, outputs = lax.scan(step, state, inputs)
    return jnp.mean((apply(to_output, outputs) - targets) ** 2)


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


def perceptron(layers, images, digits):
    x = apply(layers[0], images)
    for layer in layers[1:]:
        x = apply(layer, jax.nn.relu(x))
    return -jnp.mean(jax.nn.log_softmax(x)[jnp.arange(len(x)), digits])


def le_net(network, images, digits):
    kernels, layers = network
    x = images
    for (weights, bias), padding in zip(kernels, (2, 0)):
        seen = lax.conv_general_dilated(x, weights, (1, 1), [(padding, padding)] * 2) + bias[:, None, None]
        x = lax.reduce_window(jax.nn.relu(seen), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return perceptron(layers, x.reshape(len(x), -1), digits)


def cholesky(a):
    return jnp.linalg.cholesky(a).sum()


def log_determinant(a):
    return 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky(a), axis1=1, axis2=2)).sum()


def solve(a, b):
    return jnp.linalg.solve(a, b[..., None]).sum()


def lu(a):
    return jax.scipy.linalg.lu_factor(a)[0].sum()


def qr(a):
    return jnp.linalg.qr(a)[1].sum()


def eigenvalues(a):
    return jnp.log(jnp.linalg.eigvalsh(a)).sum()


def singular_values(a):
    return jnp.linalg.svd(a, compute_uv=False).sum()


def gaussian_process(parameters, x, y):
    distance = (x[:, None] - x[None, :]) * jnp.exp(-parameters[0])
    kernel = jnp.exp(2 * parameters[1] - 0.5 * distance**2)
    lower = jnp.linalg.cholesky(kernel + jnp.exp(2 * parameters[2]) * jnp.eye(len(x)))
    inner = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
    return 0.5 * inner @ inner + jnp.log(jnp.diagonal(lower)).sum()


def surprise(noise, system, measurements):
    log_process, log_measurement = noise
    transition, inputs, measurement, mean, covariance = system
    process_noise = (inputs * jnp.exp(2 * log_process)) @ inputs.T
    measurement_noise = jnp.diag(jnp.exp(2 * log_measurement))
    constant = len(measurement) * math.log(2 * math.pi)

    def step(state, measured):
        mean, covariance = state
        mean = transition @ mean
        predicted = transition @ covariance @ transition.T + process_noise
        cross = measurement @ predicted
        lower = jnp.linalg.cholesky(cross @ measurement.T + measurement_noise)
        innovation = measured - measurement @ mean
        inner = jax.scipy.linalg.solve_triangular(lower, innovation, lower=True)
        log_density = -0.5 * (inner @ inner + 2 * jnp.log(jnp.diagonal(lower)).sum() + constant)
        gain = jax.scipy.linalg.cho_solve((lower, True), cross)
        return (mean + innovation @ gain, predicted - cross.T @ gain), log_density

    return -lax.scan(step, (mean, covariance), measurements)[1].sum()


# Of what has none here, the value and the gradient are asked for.
DERIVATIVES = {f: gradient_and_diagonal(f) for f in (k_means, sparse_k_means)} | {errors: jacobian}
