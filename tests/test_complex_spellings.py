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


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CALLS)
def test_functions_that_are_made_of_others_take_complex_arrays(name, dtype):
    z = Z.astype(dtype)
    expected, found = (f(z) for f in (CALLS[name], ow.fuse(CALLS[name])))
    pairs = zip(expected, found, strict=True) if type(expected) is tuple else [(expected, found)]

    for wanted, made in pairs:
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=64 * np.finfo(dtype).eps, atol=1e-6)
