"""Functions of arrays by blocks: elementwise, rows, stencils, reductions, products, places."""

import numpy as np

import opweave as ow

WEIGHTS = np.random.default_rng(7).random((6, 3)).astype(np.float32)
TAPS = np.array([0.25, 0.5, 0.25])


def tonemap(x):
    y = x * 1.4
    return (y / (1 + y)) ** 0.5


def masked(x):
    return np.where(x > 0.5, x, -x)


def two_results(x):
    return x + 1, {"rows": (x * x)[1:], "all": x.sum()}


def transposed(x):
    return x.T * 2


def outer(x):
    return x[:, :1] * x[:1, :]


def extents(x):
    return x * x.shape[0] + np.ones(x.shape, np.float32), x.size


def complex_parts(x):
    return np.exp(1j * x).real


def narrow(x):
    return (x * 100).astype(np.uint8)


def laplace(u):
    return u[1:-1, 1:-1] * 4 - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


def framed(u):
    w = np.zeros_like(u)
    w[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1]
    return w


def first_row(u):
    w = u.copy()
    w[0] = 0
    return w


def two_steps(u):
    v = u[1:] - u[:-1]
    return v[1:] * v[:-1]


def every_second(x):
    return x[::2] + x[1::2]


def backwards(x):
    return x[::-1] - x


def backwards_in_steps(x):
    return x[::-2, ::-1]


def rolled(x):
    return np.roll(x, 3, axis=0)


def padded(x):
    return np.pad(x, 1)


def joined(x):
    return np.concatenate([x, x * 2])


def stacked(x):
    return np.stack([x, -x])


def gradient(x):
    return np.gradient(x, axis=0)


def differences(x):
    return np.diff(x, axis=1)


def smoothed(x):
    return np.convolve(x[:, 0].astype(np.float64), TAPS, "same")


def numbered(x):
    return x * np.arange(x.shape[1]) + np.linspace(0, 1, x.shape[0])[:, None]


def lower(x):
    return np.tril(x)


def grid(x):
    columns, rows = np.meshgrid(np.arange(x.shape[1]), np.arange(x.shape[0]))
    return x * columns + rows


def picked(x):
    return x[np.array([0, 2, 3, -1])]


def raveled(x):
    return (x + 1).reshape(-1)


def mean(x):
    return x.mean()


def moments(x):
    return x.sum(), (x * x).sum(axis=0), x.max(axis=1), x.min(), x.prod()


def variance(x):
    return x.var(axis=0)


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def truths(x):
    return (x > 0.2).all(axis=0), (x > 2).any()


def places(x):
    return x.argmax(), x.argmin(axis=0)


def softmax(x):
    return ow.softmax(x)


def logsumexp(x):
    return ow.logsumexp(x, axis=0)


def norms(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True))


def counted(x):
    return (x > 0.5).sum(axis=0), np.count_nonzero(x > 0.5)


def half_sum(x):
    return x.astype(np.float16).sum(axis=0)


def layer(x):
    return np.maximum(x @ WEIGHTS, 0)


def gram(x):
    return x.T @ x


def product_and_rest(x):
    y = x @ x.T
    return np.tanh(y) - y.mean()


def dot(x):
    return x[:, 0] @ x[:, 1]


FUNCTIONS = [
    tonemap, masked, two_results, transposed, outer, extents, complex_parts, narrow, laplace,
    framed, first_row, two_steps, every_second, backwards, backwards_in_steps, rolled, padded,
    joined, stacked, gradient, differences, smoothed, numbered, lower, grid, picked, raveled, mean,
    moments, variance, standardised, truths, places, softmax, logsumexp, norms, counted, half_sum,
    layer, gram, product_and_rest, dot,
]  # fmt: skip
# Those with sums, products, or functions that NumPy rounds otherwise: bounded, not equal.
ROUNDED = {
    tonemap, complex_parts, two_results, mean, moments, variance, standardised, softmax, logsumexp,
    norms, half_sum, layer, gram, product_and_rest, dot,
}  # fmt: skip
# Those that join axes, which need rows in one chunk.
REFUSED = {raveled, places}


def leaves(result):
    """The arrays of a result, without the containers around them."""
    if isinstance(result, dict):
        result = [*result.values()]
    if isinstance(result, tuple | list):
        return [leaf for item in result for leaf in leaves(item)]
    return [result]
