import inspect
import threading

import models
import numpy as np
from scipy.optimize import approx_fprime, minimize

x, y = np.arange(4.0), np.array([1.0, 3.0, 5.0, 7.5])
line = np.array([0.5, -1.0])
expected = np.mean((line[0] * x + line[1] - y) ** 2)
value, gradient = models.value_and_grad_loss(line, x, y)
assert type(models.loss(line, x, y)) is np.float64, type(models.loss(line, x, y))
assert abs(models.loss(line, x, y) - expected) < 1e-14 and abs(value - expected) < 1e-14
difference = approx_fprime(line, models.loss, 1e-7, x, y)
assert np.allclose(gradient, difference, rtol=1e-5), (gradient, difference)
found = minimize(models.value_and_grad_loss, line, args=(x, y), jac=True)
slope, height = np.polyfit(x, y, 1)
assert found.success and np.allclose(found.x, [slope, height], rtol=1e-5), found

# By name; lists, numbers of other types and arrays that are not contiguous are converted.
again = models.loss(y=[1, 3, 5, 7.5], line=np.array([[0.5, 9], [-1, 9]])[:, 0], x=np.arange(4, dtype=np.int32))
assert abs(again - expected) < 1e-14

# Trees.
random = np.random.default_rng(1)
layers = tuple(
    {"weights": random.normal(size=shape), "bias": random.normal(size=shape[1])} for shape in [(3, 5), (5, 2)]
)
inputs, classes = random.normal(size=(4, 3)), np.array([0, 1, 1, 0])
logits = np.tanh(inputs @ layers[0]["weights"] + layers[0]["bias"]) @ layers[1]["weights"] + layers[1]["bias"]
expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(4), classes])
value, gradient = models.value_and_grad_network(layers, inputs, classes)
assert abs(value - expected) < 1e-14, (value, expected)
assert isinstance(gradient, tuple) and [list(layer) for layer in gradient] == [["weights", "bias"]] * 2
for layer in (0, 1):
    for name in ("weights", "bias"):
        moved = [dict(layers[0]), dict(layers[1])]
        along = random.normal(size=moved[layer][name].shape)
        sides = []
        for step in (1e-6, -1e-6):
            moved[layer][name] = layers[layer][name] + step * along
            sides.append(models.network(tuple(moved), inputs, classes))
        slope = (sides[0] - sides[1]) / 2e-6
        assert abs(slope - np.sum(gradient[layer][name] * along)) < 1e-7, (layer, name)

# Element types.
single, short, long, mask = models.types([1.5, 2, 3], [1, -2, 2**31 - 1], [1, 2, 3], [True, False, True])
assert [part.dtype.name for part in (single, short, long, mask)] == ["float32", "int32", "int64", "bool"]
assert single.tolist() == [3, 4, 6] and short.tolist() == [2, -1, -(2**31)]
assert long.tolist() == [1, -2, 3] and mask.tolist() == [False, True, False]

# Any byte but 0 is true where bytes are looked at as booleans.
bytes_ = np.array([255, 0, 2], np.uint8).view(bool)
assert models.types([1] * 3, [1] * 3, [1, 2, 3], bytes_)[2:][0].tolist() == [1, -2, 3]
assert models.types([1] * 3, [1] * 3, [1, 2, 3], bytes_)[3].tolist() == [False, True, False]

# Sparse results.
assert str(inspect.signature(models.jacobian)) == "(x)", inspect.signature(models.jacobian)
jacobian = models.jacobian([1, 2, 3, 4])
assert jacobian.format == "csr" and jacobian.nnz == 6
assert np.array_equal(jacobian.toarray(), [[-1, 4, 0, 0], [0, -1, 6, 0], [0, 0, -1, 8]])
jacobian.indices[:] = 0
assert models.jacobian([1, 2, 3, 4]).indices.tolist() == [0, 1, 1, 2, 2, 3]

# Threads have memory of their own.
failures = []


def many():
    for _ in range(200):
        value, _ = models.value_and_grad_network(layers, inputs, classes)
        if abs(value - expected) > 1e-14:
            failures.append(value)


threads = [threading.Thread(target=many) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failures, failures

# Documentation.
assert str(inspect.signature(models.loss)) == "(line, x, y)"
assert "line : f64[2]" in models.loss.__doc__ and "gradient.line : f64[2]" in models.value_and_grad_loss.__doc__
assert "f64[3, 4], sparse, 6 entries" in models.jacobian.__doc__
assert "jacobian" in models.__all__
