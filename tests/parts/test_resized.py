"""Arrays that a function resizes while it runs in parts."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host


def computed(x):
    return x[x > 0.5].sum(), np.exp(x) + np.sin(x) * np.cos(x) - np.tanh(x)


def shrunk(z, x):
    _, y = computed(x)
    z.resize((3,), refcheck=False)
    z[:] = y[:3]
    return z.sum()


def grown(z, x):
    m, y = computed(x)
    z.resize((2 * x.size,), refcheck=False)
    z[x.size :] = y * m
    return z.sum()


def scaled(z, x):
    _, y = computed(x)
    z.resize((3,), refcheck=False)
    z *= 2
    return y.sum()


def squared(z, x):
    _, y = computed(x)
    z.resize((100, 100), refcheck=False)
    z[0] += y[:100]
    return z.shape


@pytest.mark.parametrize("function", [shrunk, grown, scaled, squared])
def test_it_has_its_new_shape_from_there_on(function):
    fused = ow.fuse(function)
    x = np.random.default_rng(0).random(1_000_000)
    for _ in range(2):
        theirs, ours = np.ones(x.size), np.ones(x.size)
        wanted, found = function(theirs, x), fused(ours, x)

        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
