"""The tasks in PyTorch, eager."""

import math
import os

import torch
import torch.nn.functional as F
from inputs import SPARSE_POINTS, positions
from torch.func import grad, jvp

torch.set_num_threads(len(os.sched_getaffinity(0)))


def mapped(f, tree):
    return type(tree)(mapped(f, part) for part in tree) if isinstance(tree, (list, tuple)) else f(tree)


def calls(f, arguments):
    """The objective and the derivative."""
    arguments = mapped(torch.tensor, arguments)
    parameters = []
    mapped(parameters.append, arguments[0])

    def objective():
        with torch.no_grad():
            return f(*arguments)

    def gradient():
        for parameter in parameters:
            parameter.requires_grad_()
        value = f(*arguments)
        return value, torch.autograd.grad(value, parameters)

    return objective, (lambda: DERIVATIVES[f](*arguments)) if f in DERIVATIVES else gradient


def chain(x):
    return (x.sin() * (-x * x).exp() + x.tanh()).sum()


def cumulative_sum(x, w):
    return (w * x.cumsum(0) ** 2).sum()


def cumulative_product(x, w):
    return (w * x.cumprod(0)).sum()


def log_sum_exp(x):
    return x.logsumexp(1).sum()


def logistic(w, x, y):
    z = x @ w
    return (F.softplus(z) - y * z).mean()


def k_means(centres, points):
    squares = (points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
    return squares.min(1).values.sum()


def gradient_and_diagonal(centres, points):
    """The gradient and the diagonal of the Hessian by centres, where nothing else of it is other than zero."""
    return jvp(lambda c: grad(k_means)(c, points), (centres,), (torch.ones_like(centres),))


def sparse_k_means(centres, points):
    places, values = points
    shape = (SPARSE_POINTS, centres.shape[1])
    sparse = torch.sparse_coo_tensor(places, values, shape, check_invariants=False, is_coalesced=True)
    squares = torch.zeros(shape[0]).index_add(0, places[0], values**2)
    return (squares[:, None] - 2 * torch.sparse.mm(sparse, centres.T) + (centres**2).sum(1)).min(1).values.sum()


def sparse_gradient_and_diagonal(centres, points):
    # The Hessian is symmetric; products with sparse tensors have no forward derivative.
    centres.requires_grad_()
    (gradient,) = torch.autograd.grad(sparse_k_means(centres, points), centres, create_graph=True)
    return gradient, *torch.autograd.grad(gradient, centres, torch.ones_like(centres))


def posterior(mixture, points):
    alpha, means, log_diagonals, lower = mixture
    (k, d), n = means.shape, len(points)
    entries = torch.cat([log_diagonals.exp(), lower, torch.zeros((k, 1), dtype=lower.dtype)], 1)
    factors = entries[:, torch.tensor(positions(d))]
    projected = torch.einsum("kij,nj->nki", factors, points) - torch.einsum("kij,kj->ki", factors, means)
    scores = alpha + log_diagonals.sum(1) - 0.5 * (projected**2).sum(2)
    return scores.logsumexp(1).sum() - n * alpha.logsumexp(0) - 0.5 * (factors**2).sum()


def apply(layer, rows):
    weights, bias = layer
    return rows @ weights + bias


def batched_lstm(network, state, inputs, targets):
    to_input, to_hidden, to_output = network
    (hidden, cell), outputs = state, []
    for signal in inputs:
        gates = (apply(to_input, signal) + apply(to_hidden, hidden)).chunk(4, 1)
        enter, keep, leave = (gates[at].sigmoid() for at in (0, 1, 3))
        cell = keep * cell + enter * gates[2].tanh()
        hidden = leave * cell.tanh()
        outputs.append(hidden)
    return F.mse_loss(apply(to_output, torch.stack(outputs)), targets)


def perceptron(layers, images, digits):
    x = apply(layers[0], images)
    for layer in layers[1:]:
        x = apply(layer, x.relu())
    return F.cross_entropy(x, digits)


def le_net(network, images, digits):
    kernels, layers = network
    x = images
    for (weights, bias), padding in zip(kernels, (2, 0)):
        x = F.max_pool2d(F.conv2d(x, weights, bias, padding=padding).relu(), 2)
    return perceptron(layers, x.flatten(1), digits)


def cholesky(a):
    return torch.linalg.cholesky(a).sum()


def log_determinant(a):
    return 2 * torch.linalg.cholesky(a).diagonal(dim1=1, dim2=2).log().sum()


def solve(a, b):
    return torch.linalg.solve(a, b.unsqueeze(2)).sum()


def lu(a):
    return torch.linalg.lu_factor(a)[0].sum()


def qr(a):
    return torch.linalg.qr(a)[1].sum()


def eigenvalues(a):
    return torch.linalg.eigvalsh(a).log().sum()


def singular_values(a):
    return torch.linalg.svdvals(a).sum()


def gaussian_process(parameters, x, y):
    distance = (x[:, None] - x[None, :]) * (-parameters[0]).exp()
    kernel = (2 * parameters[1] - 0.5 * distance**2).exp()
    lower = torch.linalg.cholesky(kernel + (2 * parameters[2]).exp() * torch.eye(len(x), dtype=x.dtype))
    inner = torch.linalg.solve_triangular(lower, y.unsqueeze(1), upper=False).squeeze(1)
    return 0.5 * inner @ inner + lower.diagonal().log().sum()


def surprise(noise, system, measurements):
    log_process, log_measurement = noise
    transition, inputs, measurement, mean, covariance = system
    process_noise = (inputs * (2 * log_process).exp()) @ inputs.T
    measurement_noise = (2 * log_measurement).exp().diag()
    total = len(measurements) * len(measurement) * math.log(2 * math.pi)
    for measured in measurements:
        mean = transition @ mean
        predicted = transition @ covariance @ transition.T + process_noise
        cross = measurement @ predicted
        lower = torch.linalg.cholesky(cross @ measurement.T + measurement_noise)
        innovation = measured - measurement @ mean
        inner = torch.linalg.solve_triangular(lower, innovation.unsqueeze(1), upper=False).squeeze(1)
        total = total + inner @ inner + 2 * lower.diagonal().log().sum()
        gain = torch.cholesky_solve(cross, lower)
        mean, covariance = mean + innovation @ gain, predicted - cross.T @ gain
    return 0.5 * total


# Of what has none here, the value and the gradient are asked for.
DERIVATIVES = {k_means: gradient_and_diagonal, sparse_k_means: sparse_gradient_and_diagonal}
