"""Views that a function returns, of what it has computed: each is made, for every target."""

import numpy as np
import pytest

import opweave as ow

RETURNED = {
    "a column of sums": lambda x: np.sum(x, axis=-1)[:, None],
    "a row of sums": lambda x: x.sum(0)[None],
    "a product with new ones": lambda x: np.expand_dims(np.prod(x, axis=-1), (0, -1)),
    "a mean turned": lambda x: x.mean(1)[:, None].T,
    "the largest": lambda x: x.max(axis=0)[:, None],
    "where it is": lambda x: x.argmax(axis=1)[:, None],
    "all": lambda x: (x > 0).all(1)[None, :, None],
    "a sum of what is turned": lambda x: x.T.sum(0)[:, None],
    "a cumulative sum turned": lambda x: np.cumsum(x, axis=1).T,
    "a cumulative sum of what is turned": lambda x: np.cumsum(x.T, axis=0)[None],
    "a map turned": lambda x: np.exp(x.T)[:, None],
    "a product of matrices": lambda x: (x @ x.T).T[None],
    "a part of a sum": lambda x: x.sum(1)[1:, None],
    "two of one": lambda x: (lambda s: (s[:, None], s[None]))(x.sum(1)),
    "a sum and its column": lambda x: (lambda s: (s, s[:, None]))(x.sum(1)),
    "two columns": lambda x: (x.sum(1)[:, None], x.max(1)[:, None]),
    "kept": lambda x: x.sum(1, keepdims=True)[None],
    "of all": lambda x: x.sum()[None] if hasattr(x.sum(), "ndim") else x.sum(),
}


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
@pytest.mark.parametrize("what", RETURNED)
def test_a_returned_view_is_lowered(what, target):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert ow.fuse(RETURNED[what]).lower(x, target=target).kernels


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("what", RETURNED)
def test_a_returned_view_is_numpys(what, dtype):
    x = np.arange(12).reshape(4, 3).astype(dtype)
    found, expected = ow.fuse(RETURNED[what])(x), RETURNED[what](x)
    found = found if isinstance(found, tuple) else (found,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, 1e-6)
