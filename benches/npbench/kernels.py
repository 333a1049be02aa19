"""The kernels of examples/npbench, and how the references of DaCe's tests are called for each.

A [Reference] names functions of `tests/npbench` in a checkout of spcl/dace: their file, the function in JAX, the modules that it is
given, its other arguments, the function in NumPy and its arguments. `x` are the arrays that the example writes, in its order, `s` its
numbers of steps. Gradients are those by all of the arrays.
"""

import collections

ALPHA, BETA = 1.5, 1.2

Reference = collections.namedtuple("Reference", "file jax modules arguments numpy numpy_arguments")

# The fields of [Reference].
TABLE = {
    "cholesky": ("polybench/cholesky", "cholesky_jax_kernel", "jnp lax", lambda x, s: (x[0],),
                 "ground_truth", lambda x, s: (len(x[0]), x[0])),
    "ludcmp": ("polybench/ludcmp", "ludcmp_jax_kernel", "jnp lax", lambda x, s: (x[0], x[1]),
               "ground_truth", lambda x, s: (x[0], x[1])),
    "trisolv": ("polybench/trisolv", "trisolv_jax_kernel", "jnp lax", lambda x, s: (x[0], 0 * x[1], x[1]),
                "ground_truth", lambda x, s: (x[0], 0 * x[1], x[1])),
    "symm": ("polybench/symm", "symm_jax_kernel", "jnp lax", lambda x, s: (ALPHA, BETA, x[2], x[0], x[1]),
             "ground_truth", lambda x, s: (ALPHA, BETA, x[2], x[0], x[1])),
    "syrk": ("polybench/syrk", "syrk_jax_kernel", "jnp lax", lambda x, s: (ALPHA, BETA, x[1], x[0]),
             "ground_truth", lambda x, s: (*x[0].shape, ALPHA, BETA, x[1], x[0])),
    "trmm": ("polybench/trmm", "trmm_jax_kernel", "jnp lax", lambda x, s: (ALPHA, x[0], x[1]),
             "ground_truth", lambda x, s: (ALPHA, x[0], x[1])),
    "jacobi_1d": ("polybench/jacobi_1d", "jacobi_1d_jax_kernel", "jax jnp", lambda x, s: (s[0], x[0], x[1]),
                  "ground_truth", lambda x, s: (s[0], x[0], x[1])),
    "jacobi_2d": ("polybench/jacobi_2d", "kernel_jax", "jnp lax", lambda x, s: (s[0], x[0], x[1]), None, None),
    "heat_3d": ("polybench/heat_3d", "heat_3d_jax_kernel", "jnp lax", lambda x, s: (s[0], x[0], x[1]),
                "ground_truth", lambda x, s: (s[0], x[0], x[1])),
    "fdtd_2d": ("polybench/fdtd_2d", "fdtd_2d_jax_kernel", "jnp lax", lambda x, s: tuple(x),
                "ground_truth", lambda x, s: (len(x[3]), *x[0].shape, *x)),
    "seidel_2d": ("polybench/seidel_2d", "seidel_2d_jax_kernel", "jnp lax", lambda x, s: (s[0], x[0]),
                  "ground_truth", lambda x, s: (s[0], len(x[0]), x[0])),
    "adi": ("polybench/adi", "adi_jax_kernel", "jnp lax", lambda x, s: (s[0], x[0]),
            "numpy_kernel", lambda x, s: (s[0], len(x[0]), x[0])),
    "deriche": ("polybench/deriche", "deriche_jax_kernel", "jnp lax", lambda x, s: (x[1], x[0]),
                "ground_truth", lambda x, s: (float(x[1]), x[0])),
    "atax": ("polybench/atax", "atax_jax_kernel", "jnp", lambda x, s: tuple(x), None, None),
    "bicg": ("polybench/bicg", "bicg_jax_kernel", "jnp", lambda x, s: tuple(x), None, None),
    "gemm": ("polybench/gemm_npbench", "gemm_jax_kernel", "jnp", lambda x, s: (ALPHA, BETA, *x), None, None),
    "gemver": ("polybench/gemver", "gemver_jax_kernel", "jnp", lambda x, s: (ALPHA, BETA, *x), None, None),
    "gesummv": ("polybench/gesummv", "gesummv_jax_kernel", "jnp", lambda x, s: (ALPHA, BETA, *x), None, None),
    "k2mm": ("polybench/k2mm", "k2mm_jax", "jnp", lambda x, s: (ALPHA, BETA, *x), None, None),
    "k3mm": ("polybench/k3mm", "k3mm_jax", "jnp", lambda x, s: tuple(x), None, None),
    "doitgen": ("polybench/doitgen", "doitgen_jax_kernel", "jnp", lambda x, s: tuple(x),
                "ground_truth", lambda x, s: (*x[0].shape, *x)),
    "correlation": ("polybench/correlation", "correlation_jax_kernel", "jnp", lambda x, s: (float(len(x[0])), x[0]),
                    "ground_truth", lambda x, s: (x[0].shape[1], float(len(x[0])), x[0])),
    "covariance": ("polybench/covariance", "covariance_jax_kernel", "jnp", lambda x, s: (float(len(x[0])), x[0]),
                   "ground_truth", lambda x, s: (x[0].shape[1], len(x[0]), float(len(x[0])), x[0])),
    "floyd_warshall": ("polybench/floyd_warshall", None, "", None, "ground_truth", lambda x, s: (x[0], len(x[0]))),
    "softmax": ("deep_learning/softmax", "softmax_jax_kernel", "jnp", lambda x, s: tuple(x),
                "ground_truth", lambda x, s: tuple(x)),
    "mlp": ("deep_learning/mlp", "mlp_jax_kernel", "jnp", lambda x, s: tuple(x), "mlp_np", lambda x, s: tuple(x)),
    "conv2d_bias": ("deep_learning/conv2d_bias", "conv2d_bias_jax_kernel", "jnp lax", lambda x, s: tuple(x),
                    "conv2d_bias_np", lambda x, s: tuple(x)),
    "lenet": ("deep_learning/lenet", "lenet_jax_kernel", "jnp lax", lambda x, s: tuple(x),
              "lenet5_np", lambda x, s: (*x, len(x[0]), len(x[5]))),
    "nbody": ("misc/nbody", None, "", None,
              "nbody_np", lambda x, s: (x[2][:, None], x[0], x[1], len(x[0]), s[0], 0.01, 1.0, 0.1)),
    "cavity_flow": ("misc/cavity_flow", "cavity_flow_jax_kernel", "jnp",
                    lambda x, s: (*reversed(x[0].shape), s[0], s[1], x[0], x[1], 0.001, spacing(x), spacing(x), x[2], 1.0, 0.1),
                    "numpy_cavity_flow",
                    lambda x, s: (*reversed(x[0].shape), s[0], s[1], x[0], x[1], 0.001, spacing(x), spacing(x), x[2], 1.0, 0.1)),
    "channel_flow": ("misc/channel_flow", None, "", None, "numpy_channel_flow",
                     lambda x, s: (s[0], x[0], x[1], 0.1 / (x[0].size - sum(x[0].shape) + 1.0), spacing(x), spacing(x),
                                   x[2], 1.0, 0.1, 1.0)),
    "resnet": ("deep_learning/resnet", "resnet_jax_kernel", "jnp lax", lambda x, s: tuple(x),
               "resnet_basicblock_np", lambda x, s: tuple(x)),
}

REFERENCES = {name: Reference(*fields) for name, fields in TABLE.items()}

# The result of each kernel of kernels.c, from the arrays that it has changed and the room for results, whose sum is compared.
IN_C = {name: lambda x, out: x[0] for name in ("cholesky", "seidel_2d", "adi", "floyd_warshall", "jacobi_1d", "jacobi_2d", "heat_3d")}
IN_C |= {name: lambda x, out: x[1] for name in ("syrk", "trmm")}
IN_C |= {name: lambda x, out: x[2] for name in ("symm", "fdtd_2d")}
IN_C |= {
    "ludcmp": lambda x, out: out[: len(x[1])],
    "trisolv": lambda x, out: out[: len(x[1])],
    "deriche": lambda x, out: out[: x[0].size],
    "atax": lambda x, out: out[: len(x[1])],
    "bicg": lambda x, out: out[x[0].shape[1] :][: len(x[2])],
    "gesummv": lambda x, out: out[: len(x[2])],
}


def spacing(x):
    """The distance of neighbours in a cavity of length 2."""
    return 2.0 / (x[0].shape[0] - 1.0)
