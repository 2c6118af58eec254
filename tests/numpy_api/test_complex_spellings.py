"""Functions of NumPy's that are made of others, of complex arrays: types and values are NumPy's."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
RNG = np.random.default_rng(7)
Z = RNG.standard_normal((5, 6)) + 1j * RNG.standard_normal((5, 6))
M = RNG.random((5, 6)) < 0.6
N = RNG.integers(0, 3, 6)

CALLS = {
    "mean, where": lambda z: np.mean(z, where=M),
    "variance, where": lambda z: np.var(z, axis=0, where=M, ddof=1),
    "deviation, where": lambda z: np.std(z, where=M),
    "variance, mean": lambda z: np.var(z, axis=0, mean=z.mean(axis=0, keepdims=True)),
    "covariance": lambda z: np.cov(z),
    "covariance of one": lambda z: np.cov(z[0]),
    "covariance of two": lambda z: np.cov(z[0], z[1]),
    "correlation coefficients": lambda z: np.corrcoef(z),
    "correlation": lambda z: np.correlate(z[0], z[1][:3]),
    "vecdot": lambda z: np.vecdot(z[0], z[1]),
    "vdot": lambda z: np.vdot(z, z[::-1]),
    "norms": lambda z: (np.linalg.norm(z), np.linalg.norm(z, 1, axis=0), np.linalg.norm(z, 0, 0)),
    "choice": lambda z: np.choose(N, [z[0], z[1], 0.5], mode="clip"),
    "nan to number": lambda z: np.nan_to_num(z),
    "gradient": lambda z: np.gradient(z[0]),
    "real if close": lambda z: np.real_if_close(z),
}


LOST = {
    "sum": lambda z: (np.nansum(z), np.nansum(z, axis=1)),
    "product": lambda z: (np.nanprod(z), np.nanprod(z, axis=0)),
    "running sum": lambda z: np.nancumsum(z, axis=1),
    "running product": lambda z: np.nancumprod(z, axis=1),
    "mean": lambda z: (np.nanmean(z), np.nanmean(z, axis=1)),
    "variance": lambda z: (np.nanvar(z), np.nanvar(z, axis=1, ddof=1)),
    "deviation": lambda z: np.nanstd(z, axis=1),
    "largest": lambda z: (np.nanmax(z), np.nanmax(z, axis=1), np.fmax.reduce(z, axis=1)),
    "largest of the endless": lambda z: np.nanmax(
        np.where(np.isnan(z), z, complex(-np.inf, -1)), axis=1
    ),
    "smallest": lambda z: (np.nanmin(z), np.nanmin(z, axis=1)),
    "numbers instead": lambda z: (np.nan_to_num(z), np.nan_to_num(z / 0, nan=1.0, posinf=9.0)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", LOST)
def test_nan_in_either_part_counts_as_nan(name, dtype):
    z = Z.astype(dtype)
    z[0, 1], z[2, 3], z[2, 4], z[2, 5] = np.nan, 2 + 1j * np.nan, np.nan + 3j, np.nan
    z[1] -= 20
    expected, found = (f(z) for f in (LOST[name], ow.fuse(LOST[name])))
    pairs = zip(expected, found, strict=True) if type(expected) is tuple else [(expected, found)]

    for wanted, made in pairs:
        assert (type(made), made.dtype) == (type(wanted), wanted.dtype)
        np.testing.assert_allclose(made, wanted, rtol=256 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CALLS)
def test_functions_that_are_made_of_others_take_complex_arrays(name, dtype):
    z = Z.astype(dtype)
    expected, found = (f(z) for f in (CALLS[name], ow.fuse(CALLS[name])))
    pairs = zip(expected, found, strict=True) if type(expected) is tuple else [(expected, found)]

    for wanted, made in pairs:
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=64 * np.finfo(dtype).eps, atol=1e-6)
