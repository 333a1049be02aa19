import models
import numpy as np


line, x = np.zeros(2), np.zeros(4)
fails(ValueError, "loss: x has shape (3,), not (4,)", lambda: models.loss(line, np.zeros(3), x))
fails(ValueError, "loss: y has shape (4, 1), not (4,)", lambda: models.loss(line, x, np.zeros((4, 1))))
fails(ValueError, "loss: line has shape (), not (2,)", lambda: models.loss(1.0, x, x))
fails(TypeError, "loss: line has elements of complex128, not float64", lambda: models.loss(line + 1j, x, x))
fails(TypeError, "loss: x has elements of <U1, not float64", lambda: models.loss(line, list("abcd"), x))
fails(TypeError, "loss: x has elements of object, not float64", lambda: models.loss(line, [None] * 4, x))
fails(ValueError, "loss: x is no array", lambda: models.loss(line, [1, [2, 3], 4, 5], x))
fails(TypeError, "missing 1 required positional argument: 'y'", lambda: models.loss(line, x))

masked = np.ma.array([1.0, 2.0], mask=[False, True])
fails(TypeError, "loss: line is a masked array, whose mask would be lost", lambda: models.loss(masked, x, x))

zeros, mask = np.zeros(3), np.zeros(3, bool)
fails(
    TypeError,
    "types: single has elements of float64, not float32",
    lambda: models.types(zeros, [1] * 3, [1] * 3, mask),
)
fails(TypeError, "types: short has elements of int64, not int32", lambda: models.types([1] * 3, np.ones(3, int), [1] * 3, mask))
fails(TypeError, "types: long has elements of float64, not int64", lambda: models.types([1] * 3, [1] * 3, [1.5] * 3, mask))
fails(TypeError, "types: mask has elements of int64, not bool", lambda: models.types([1] * 3, [1] * 3, [1] * 3, [1] * 3))
fails(
    ValueError,
    "types: short has numbers out of the range of int32",
    lambda: models.types([1] * 3, [1, 2, 2**31], [1] * 3, mask),
)

# Numbers that are larger than what elements can be; infinity is what it is.
others = ([1] * 3, [1] * 3, mask)
for large in (1e300, -1e300, 10**40):
    fails(
        ValueError,
        "types: single has numbers out of the range of float32",
        lambda: models.types([1, large, float("inf")], *others),
    )
assert models.types([float("inf"), float("-inf"), 1], *others)[0].tolist() == [float("inf"), float("-inf"), 2]
fails(ValueError, "loss: line has numbers out of the range of float64", lambda: models.loss([10**400, 0], x, x))
fails(
    ValueError,
    "types: long has numbers out of the range of int64",
    lambda: models.types([1] * 3, [1] * 3, [1, 2, 2**64], mask),
)
fails(
    ValueError,
    "types: long has numbers out of the range of int64",
    lambda: models.types([1] * 3, [1] * 3, [1, 2, 2**63], mask),
)
assert models.loss([2**64, -(2**70)], x, x) == 2.0**140
fails(TypeError, "loss: x has elements of object, not float64", lambda: models.loss(line, [2**64, None, 1, 2], x))

layer = {"weights": np.zeros((3, 5)), "bias": np.zeros(5)}
last = {"weights": np.zeros((5, 2)), "bias": np.zeros(2)}
inputs, classes = np.zeros((4, 3)), np.zeros(4, int)
fails(TypeError, "network: layers is a dict, not a tuple", lambda: models.network(layer, inputs, classes))
fails(ValueError, "network: layers has 1 parts, not 2", lambda: models.network((layer,), inputs, classes))
fails(TypeError, "network: layers[1] is a ndarray, not a dict", lambda: models.network((layer, zeros), inputs, classes))
fails(
    ValueError,
    "network: layers[1] has the keys 'weights', not 'weights', 'bias'",
    lambda: models.network((layer, {"weights": zeros}), inputs, classes),
)
fails(
    ValueError,
    "network: layers[0]['bias'] has shape (2,), not (5,)",
    lambda: models.network(({**layer, "bias": last["bias"]}, last), inputs, classes),
)
models.network([layer, last], inputs, classes)

# Integers beyond 64 bits beside NaN give no warning.
assert np.isnan(models.loss([2**70, float("nan")], [0] * 4, [0] * 4))
