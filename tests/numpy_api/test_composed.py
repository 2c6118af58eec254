"""NumPy's functions that are made of others: dtype, shape and value as NumPy's, in few kernels."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import like_numpy

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 20)).astype(np.float32)
V = RNG.standard_normal(20).astype(np.float32)
W = RNG.random((9, 20)).astype(np.float32)
HOLES = np.where(RNG.random((9, 20)) < 0.3, np.nan, X).astype(np.float32)
HOLES[2] = np.nan
I = RNG.integers(-9, 9, (9, 20)).astype(np.int32)

# name, function, arguments, kernels
CASES = [
    ("flip", lambda x: np.flip(x) * 2, (X,), 1),
    ("flip of one axis", lambda x: np.flip(x, 1) * 2, (X,), 1),
    ("flip of two axes", lambda x: np.flip(x, (0, -1)) * 2, (X,), 1),
    ("fliplr and flipud", lambda x: np.fliplr(x) + np.flipud(x), (X,), 1),
    ("diff", lambda x: np.diff(x), (X,), 1),
    ("diff twice", lambda x: np.diff(x, n=2, axis=0), (X,), 2),
    ("diff of bool", lambda x: np.diff(x > 0), (X,), 2),
    ("ptp", lambda x: np.ptp(x, axis=1), (X,), 1),
    ("ptp of integers", lambda x: np.ptp(x, axis=0, keepdims=True), (I,), 1),
    ("count_nonzero", lambda x: np.count_nonzero(x > 0, axis=1), (X,), 1),
    ("count_nonzero of integers", lambda x: np.count_nonzero(x, axis=0), (I,), 1),
    ("outer", lambda v, x: np.outer(v, x[0]), (V, X), 1),
    ("inner", lambda v, x: np.inner(x, v) + 1, (V, X), 1),
    ("inner of matrices", lambda x, w: np.inner(x, w), (X, W), 1),
    ("vdot", lambda x, w: np.vdot(x, w), (X, W), 1),
    ("average", lambda x: np.average(x, axis=0), (X,), 1),
    ("average with weights", lambda x, w: np.average(x, axis=1, weights=w), (X, W), 1),
    ("trapezoid", lambda x: np.trapezoid(x, dx=0.5), (X,), 1),
    ("trapezoid at points", lambda x, v: np.trapezoid(x, v), (X, V), 2),
    ("select", lambda x: np.select([x > 1, x > 0], [x * 2, -x], 0.5), (X,), 1),
    ("select of numbers", lambda x: np.select([x > 1, x > 0], [2, 1.5], x), (X,), 1),
    ("isclose", lambda x, w: np.isclose(x, w, rtol=0.5), (X, W), 1),
    ("isclose with NaN", lambda x: np.isclose(x, x * 1.0, equal_nan=True), (HOLES,), 1),
    ("nan_to_num", lambda x: np.nan_to_num(x * np.inf, nan=3.0), (HOLES,), 1),
    ("nansum", lambda x: np.nansum(x, axis=1), (HOLES,), 1),
    ("nansum of integers", lambda x: np.nansum(x, axis=1), (I,), 1),
    ("nanprod", lambda x: np.nanprod(x, axis=0), (HOLES,), 1),
    ("nanmax", lambda x: np.nanmax(x, axis=0), (HOLES,), 1),
    ("nanmin", lambda x: np.nanmin(x, axis=0, keepdims=True), (HOLES,), 1),
    ("nanmean", lambda x: np.nanmean(x, axis=0), (HOLES,), 1),
    ("nanvar", lambda x: np.nanvar(x, axis=0, ddof=1), (HOLES,), 1),
    ("nanstd", lambda x: np.nanstd(x[3:], axis=1), (HOLES,), 1),
    ("norm", lambda x: np.linalg.norm(x, axis=1), (X,), 1),
    ("norm of all", lambda x: np.linalg.norm(x), (X,), 1),
    ("norm 1", lambda x: np.linalg.norm(x, 1, axis=0), (X,), 1),
    ("norm inf", lambda v: np.linalg.norm(v, np.inf), (V,), 1),
    ("atleast_2d", lambda v: np.atleast_2d(v) * 2, (V,), 1),
    ("atleast_3d", lambda v, x: np.atleast_3d(v) + np.atleast_3d(x[:, :1]), (V, X), 1),
    # a number becomes an array of its own, by a copy
    ("atleast_1d", lambda x: np.atleast_1d(x.sum()) * 2, (X,), 2),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_it_is_numpys(case, target):
    _, function, arguments, kernels = case
    program = like_numpy(function, *arguments, target=target)

    assert len(program.kernels) <= kernels


@pytest.mark.parametrize("function", [
    lambda x: np.allclose(x, x), lambda x: np.allclose(x, x + 1), lambda x: np.count_nonzero(x > 0),
])  # fmt: skip
def test_a_python_number_is_a_scalar(function):
    assert ow.fuse(function, fullgraph=True)(X) == function(X)


@pytest.mark.parametrize("function", [
    lambda x: np.linalg.norm(x, 2, axis=(0, 0)), lambda x: np.pad(x, 1, mode="linear_ramp"),
    lambda x: np.average(x, axis=(0, 1), weights=x[:, 0]), lambda x: np.unique(x),
    lambda x: np.choose((x > 0).astype(int), [x[0], 0.5]), lambda x: np.ediff1d(x.astype(np.int32), to_end=0.5),
])  # fmt: skip
def test_the_rest_is_left_to_numpy(function):
    try:
        expected = function(X)
    except (TypeError, ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            ow.fuse(function)(X)
    else:
        np.testing.assert_allclose(ow.fuse(function)(X), expected, rtol=1e-5)
    with pytest.raises(ow.errors.OpweaveError):
        ow.fuse(function, fullgraph=True)(X)
