"""The tasks: of each the name of its objective, and random inputs, first those that it is differentiated by."""

import math

import numpy as np

SINGLE = np.float32
SPARSE_POINTS = 28_323


def normals(*shape, scale=1.0, seed=1, dtype=np.float64):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)


def uniforms(*shape, seed=2):
    return np.random.default_rng(seed).uniform(size=shape).astype(SINGLE)


def near_one(count):
    return 1 + 1e-3 * normals(count), normals(count, seed=2)


def regression(n, d):
    return normals(d), normals(n, d), np.arange(n) % 2 * 1.0


def mixture(n, d, k, dtype=np.float64):
    scales = ((k,), 1.0), ((k, d), 1.0), ((k, d), 0.1), ((k, d * (d - 1) // 2), 0.1)
    return tuple(normals(*shape, scale=scale, dtype=dtype) for shape, scale in scales), normals(n, d, dtype=dtype)


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


def clusters(k, n, d):
    points = uniforms(n, d)
    return points[-k:].copy(), points


def sparse_clusters(k, n, d, mean):
    """Sparse points as each element's row and column, and its value; and the first k as centres."""
    counts = np.ceil(uniforms(n, seed=3) * 2 * mean).astype(int)
    rows = np.repeat(np.arange(n), counts)
    at = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = (d * ((at + uniforms(len(rows), seed=4)) / counts[rows]) ** 2).astype(int).clip(0, d - 1)
    values, centres = uniforms(len(rows), seed=5), np.zeros((k, d), SINGLE)
    first = rows < k
    centres[rows[first], columns[first]] = values[first]
    return centres, (np.stack([rows, columns]), values)


def scene(n, m, p):
    cameras = normals(n, 11, scale=0.1)
    cameras[:, 6] += 500
    points = normals(m, 3)
    points[:, 2] += 10
    at = np.arange(p)
    return (cameras, points, 1 + 0.1 * normals(p)), (at % n, at % m, normals(p, 2))


def text(layer_count, characters, bits):
    main = normals(2 * layer_count, 4 * bits, scale=0.5)
    extra = normals(3, bits, scale=0.5)
    return (main, extra), normals(2 * layer_count, bits, scale=0.5), (normals(characters, bits) > 0).astype(np.float64)


def layer(inputs, outputs, terms=None):
    """Weights and biases, scaled as if outputs were sums of so many terms."""
    return normals(inputs, outputs, scale=1 / math.sqrt(terms or inputs), dtype=SINGLE), np.zeros(outputs, SINGLE)


def layers(*sizes):
    return [layer(*pair) for pair in zip(sizes, sizes[1:])]


def images(sizes, count):
    return layers(*sizes), normals(count, sizes[0], dtype=SINGLE), np.arange(count) % sizes[-1]


def pictures(count):
    kernels = [
        (normals(outputs, inputs, 5, 5, scale=0.2 / math.sqrt(inputs), dtype=SINGLE), np.zeros(outputs, SINGLE))
        for inputs, outputs in ((1, 6), (6, 16))
    ]
    return (kernels, layers(400, 120, 84, 10)), normals(count, 1, 28, 28, dtype=SINGLE), np.arange(count) % 10


def sequences(batch, steps, d, h):
    network = layer(d, 4 * h, h), layer(h, 4 * h, h), layer(h, d, h)
    state = tuple(normals(batch, h, scale=0.1, dtype=SINGLE) for _ in range(2))
    return network, state, *(normals(steps, batch, d, seed=seed, dtype=SINGLE) for seed in (1, 2))


def matrices(count, n):
    return normals(count, n, n) + math.sqrt(n) * np.eye(n)


def definite(count, n):
    a = matrices(count, n)
    return a @ a.transpose(0, 2, 1) / n + np.eye(n)


def single(arrays):
    return tuple(array.astype(SINGLE) for array in arrays)


def masses(n, steps):
    """Logarithms of noise, and a system of n masses and springs with measurements: that of examples/kalman, with other noise."""
    each = np.eye(n)
    springs = 3 * each - np.eye(n, k=1) - np.eye(n, k=-1)
    velocity = np.concatenate([-0.2 * springs, 0.96 * each], axis=1)
    measurement = np.concatenate([each, np.zeros((n, n))], axis=1)
    transition = np.concatenate([measurement + 0.2 * velocity, velocity])
    system = transition, np.concatenate([0.2 * each, each]), measurement, np.zeros(2 * n), np.eye(2 * n)
    return (np.full(n, -0.9), np.full(n, -1.2)), system, normals(steps, n)


def process(n):
    return np.array([-1.0, 0.0, -1.0]), 0.1 * normals(n), normals(n)


# So many matrices of so many rows.
SIZES = ((100_000, 4), (10_000, 16), (1, 100), (1, 400), (1, 1000))
LINEAR_ALGEBRA = {
    f"{task}-{of}{n}": (name, lambda count=count, n=n, inputs=inputs, cast=cast: cast(inputs(count, n)))
    for count, n in SIZES
    for of, cast in (("", tuple), ("f32-", single))
    for task, name, inputs in (
        ("cholesky", "cholesky", lambda count, n: (definite(count, n),)),
        ("logdet", "log_determinant", lambda count, n: (definite(count, n),)),
        ("solve", "solve", lambda count, n: (matrices(count, n), normals(count, n))),
        ("lu", "lu", lambda count, n: (matrices(count, n),)),
        ("qr", "qr", lambda count, n: (matrices(count, n),)),
        ("eigh", "eigenvalues", lambda count, n: (definite(count, n),)),
        ("svd", "singular_values", lambda count, n: (matrices(count, n),)),
    )
}
TASKS = LINEAR_ALGEBRA | {f"gp-{n}": ("gaussian_process", lambda n=n: process(n)) for n in (100, 400, 1000)}
TASKS |= {f"kalman-{n}": ("surprise", lambda n=n: masses(n // 2, 200)) for n in (4, 20)}
TASKS |= {
    "chain": ("chain", lambda: (normals(1_000_000),)),
    "cumsum": ("cumulative_sum", lambda: near_one(1_000_000)),
    "cumprod": ("cumulative_product", lambda: near_one(1_000_000)),
    "logsumexp": ("log_sum_exp", lambda: (normals(10_000, 100),)),
    "logistic": ("logistic", lambda: regression(100_000, 100)),
    "kmeans-5": ("k_means", lambda: clusters(5, 494_019, 35)),
    "kmeans-1024": ("k_means", lambda: clusters(1024, 10_000, 256)),
    "kmeans-sparse": ("sparse_k_means", lambda: sparse_clusters(10, SPARSE_POINTS, 193_886, 98)),
    "gmm-10-25": ("posterior", lambda: mixture(1000, 10, 25)),
    "gmm-20-50": ("posterior", lambda: mixture(10_000, 20, 50)),
    "gmm-64-200": ("posterior", lambda: mixture(1000, 64, 200)),
    "gmm-f32": ("posterior", lambda: mixture(1000, 64, 200, SINGLE)),
    "lstm": ("diagonal_lstm", lambda: text(2, 1024, 14)),
    "lstm-batched": ("batched_lstm", lambda: sequences(1024, 20, 300, 192)),
    "ba": ("errors", lambda: scene(49, 7776, 31843)),
    "mlp": ("perceptron", lambda: images((784, 300, 100, 10), 64)),
    "cnn": ("le_net", lambda: pictures(64)),
    "digits": ("perceptron", lambda: images((64, 128, 10), 32)),
}
