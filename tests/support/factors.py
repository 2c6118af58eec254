"""Factors of products, and what is fused with them."""

import numpy as np

import opweave as ow
from tests.support.data import dtype_of
from tests.support.variants import aligned


def array(name, *shape, seed=0):
    count = int(np.prod(shape))
    rng = np.random.default_rng([seed, *shape])
    dtype = dtype_of(name)
    if name == "bool":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 100, count).astype(dtype).reshape(shape)
    return aligned(rng.standard_normal(count).astype(dtype).reshape(shape))


def linear_relu(x, w, b):
    return ow.relu(ow.linear(x, w, b))


def linear_relu_softmax(x, w, b):
    return ow.softmax(ow.relu(x @ w + b))


def bits(array):
    return np.asarray(array).tobytes()
