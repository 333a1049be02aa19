"""The kernels in JAX as one would write them for speed: library routines where there are some, loops that carry no more than they
must. Each sums the result that the example sums. A kernel that is not here is as the reference has it.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from kernels import ALPHA, BETA, spacing


def cholesky(x, steps):
    return jnp.sum(jnp.linalg.cholesky(x[0], symmetrize_input=False)) + jnp.sum(jnp.triu(x[0], 1))


def ludcmp(x, steps):
    return jnp.sum(jnp.linalg.solve(x[0], x[1]))


def trisolv(x, steps):
    return jnp.sum(solve_triangular(x[0], x[1], lower=True))


def symm(x, steps):
    lower = jnp.tril(x[0], -1)
    symmetric = lower + lower.T + jnp.diag(jnp.diag(x[0]))
    return jnp.sum(ALPHA * symmetric @ x[1] + BETA * x[2])


def syrk(x, steps):
    return jnp.sum(jnp.tril(ALPHA * x[0] @ x[0].T + BETA * x[1])) + jnp.sum(jnp.triu(x[1], 1))


def trmm(x, steps):
    unit = jnp.tril(x[0], -1) + jnp.eye(len(x[0]))
    return jnp.sum(ALPHA * unit.T @ x[1])


def jacobi_1d(x, steps):
    def mean(a):
        return 0.33333 * (a[:-2] + a[1:-1] + a[2:])

    def step(both, _):
        a, b = both
        b = b.at[1:-1].set(mean(a))
        return (a.at[1:-1].set(mean(b)), b), None

    (a, _), _ = lax.scan(step, (x[0], x[1]), None, length=steps[0] - 1)
    return jnp.sum(a)


def seidel_2d(x, steps):
    def row(above, three):
        old, below = three
        others = above[:-2] + above[1:-1] + above[2:] + old[1:-1] + old[2:] + below[:-2] + below[1:-1] + below[2:]

        def element(left, other):
            new = (other + left) / 9.0
            return new, new

        _, inner = lax.scan(element, old[0], others)
        new = jnp.concatenate([old[:1], inner, old[-1:]])
        return new, new

    def sweep(a, _):
        _, inner = lax.scan(row, a[0], (a[1:-1], a[2:]))
        return jnp.concatenate([a[:1], inner, a[-1:]]), None

    a, _ = lax.scan(sweep, x[0], None, length=steps[0] - 1)
    return jnp.sum(a)


def adi(x, steps):
    n = len(x[0])
    dx, dt = 1.0 / n, 1.0 / steps[0]
    along, across = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, b, d, e = -along / 2.0, 1.0 + across, -across / 2.0, 1.0 + across
    ones = jnp.ones(n - 2)

    def solve(low, middle, from_, first):
        """Solves for rows whose last one is 1: forwards for p and q, then backwards."""

        def forward(before, row):
            p, q = before
            divisor = low * p + middle
            after = (-low / divisor, (row - low * q) / divisor)
            return after, after

        _, (p, q) = lax.scan(forward, (jnp.zeros(n - 2), first), from_)

        def backward(after, pq):
            before = pq[0] * after + pq[1]
            return before, before

        _, rows = lax.scan(backward, ones, (p, q), reverse=True)
        return jnp.concatenate([ones[None], rows, ones[None]])

    def step(u, _):
        v = solve(a, b, -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:], ones)
        # Rows of v are those of the grid, without the first column and the last.
        from_ = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - a * v[2:]
        columns = solve(d, e, from_.T, ones)
        return u.at[1:-1].set(columns.T), None

    u, _ = lax.scan(step, x[0], None, length=steps[0])
    return jnp.sum(u)


def deriche(x, steps):
    image, alpha = x
    decay = jnp.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + alpha * decay - jnp.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * decay * (alpha - 1.0), k * decay * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -jnp.exp(-2.0 * alpha)

    def both_ways(rows):
        zeros = jnp.zeros_like(rows[0])

        def filtered(before, term):
            one, two = before
            now = term + b1 * one + b2 * two
            return (now, one), now

        before = jnp.concatenate([zeros[None], rows[:-1]])
        _, down = lax.scan(filtered, (zeros, zeros), a1 * rows + a2 * before)
        after = jnp.concatenate([rows[1:], zeros[None]])
        second = jnp.concatenate([rows[2:], zeros[None], zeros[None]])
        _, up = lax.scan(filtered, (zeros, zeros), a3 * after + a4 * second, reverse=True)
        return down + up

    return jnp.sum(both_ways(both_ways(image.T).T))


def correlation(x, steps):
    n, m = x[0].shape
    centred = x[0] - jnp.mean(x[0], axis=0)
    deviation = jnp.sqrt(jnp.mean(centred**2, axis=0))
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    scaled = centred / (jnp.sqrt(float(n)) * deviation)
    products = scaled.T @ scaled
    return jnp.sum(jnp.where(jnp.eye(m, dtype=bool), 1.0, products))


def covariance(x, steps):
    centred = x[0] - jnp.mean(x[0], axis=0)
    return jnp.sum(centred.T @ centred / (len(x[0]) - 1.0))


def doitgen(x, steps):
    return jnp.sum(x[0] @ x[1])


def floyd_warshall(x, steps):
    def step(k, path):
        return jnp.minimum(path, path[:, k, None] + path[None, k, :])

    # A loop of a known length has a gradient.
    return jnp.sum(lax.fori_loop(0, len(x[0]), step, x[0]))


def convolution(image, weights):
    return lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(x):
    n, rows, columns, channels = x.shape
    x = x[:, : rows // 2 * 2, : columns // 2 * 2]
    return x.reshape(n, rows // 2, 2, columns // 2, 2, channels).max((2, 4))


def conv2d_bias(x, steps):
    return jnp.sum(convolution(x[0], x[1]) + x[2])


def lenet(x, steps):
    image, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = x
    y = pooled(jax.nn.relu(convolution(image, w1) + b1))
    y = pooled(jax.nn.relu(convolution(y, w2) + b2))
    y = jax.nn.relu(y.reshape(len(image), -1) @ w3 + b3)
    return jnp.sum(jax.nn.relu(y @ w4 + b4) @ w5 + b5)


def normalised(x):
    return (x - jnp.mean(x, axis=0)) / jnp.sqrt(jnp.std(x, axis=0) + 1e-5)


def resnet(x, steps):
    image, first, second, third = x
    y = jnp.pad(convolution(image, first), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = convolution(jax.nn.relu(normalised(y)), second)
    y = convolution(jax.nn.relu(normalised(y)), third)
    return jnp.sum(jax.nn.relu(normalised(y) + image))


def nbody(x, steps):
    positions, velocities, masses = x
    gravity, softening, dt = 1.0, 0.1, 0.01

    def acceleration(positions):
        apart = positions[None] - positions[:, None]
        squares = jnp.sum(apart**2, axis=2) + softening**2
        return gravity * jnp.sum(apart * (masses / squares**1.5)[:, :, None], axis=1)

    def kinetic(velocities):
        return 0.5 * jnp.sum(masses * jnp.sum(velocities**2, axis=1))

    velocities = velocities - jnp.mean(masses[:, None] * velocities, axis=0) / jnp.mean(masses)

    def step(state, _):
        positions, velocities, force = state
        velocities = velocities + force * (dt / 2.0)
        positions = positions + velocities * dt
        force = acceleration(positions)
        velocities = velocities + force * (dt / 2.0)
        return (positions, velocities, force), kinetic(velocities)

    _, energies = lax.scan(step, (positions, velocities, acceleration(positions)), None, length=steps[0])
    return kinetic(velocities) + jnp.sum(energies)


def cavity_flow(x, steps):
    dt, dx, nu = 0.001, spacing(x), 0.1

    def along(a):
        return a[1:-1, 2:] - a[1:-1, :-2]

    def across(a):
        return a[2:, 1:-1] - a[:-2, 1:-1]

    def moved(a, u, v):
        inner, left, below = a[1:-1, 1:-1], a[1:-1, :-2], a[:-2, 1:-1]
        convection = u[1:-1, 1:-1] * (inner - left) + v[1:-1, 1:-1] * (inner - below)
        diffusion = a[1:-1, 2:] + left + a[2:, 1:-1] + below - 4.0 * inner
        return inner - dt / dx * convection + nu * dt / dx**2 * diffusion

    def step(state, _):
        u, v, p = state
        ux, uy, vx, vy = (f(a) / (2.0 * dx) for a in (u, v) for f in (along, across))
        source = (ux + vy) / dt - ux**2 - 2.0 * uy * vx - vy**2

        def relaxed(p, _):
            inner = (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]) / 4.0 - dx**2 / 4.0 * source
            p = p.at[1:-1, 1:-1].set(inner)
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0), None

        p, _ = lax.scan(relaxed, p, None, length=steps[1])
        inner_u = moved(u, u, v) - dt / (2.0 * dx) * along(p)
        inner_v = moved(v, u, v) - dt / (2.0 * dx) * across(p)
        return (jnp.pad(inner_u, 1).at[-1].set(1.0), jnp.pad(inner_v, 1), p), None

    (_, v, _), _ = lax.scan(step, tuple(x), None, length=steps[0])
    return jnp.sum(v)
