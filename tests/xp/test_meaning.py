"""What functions mean: NumPy's answers, by NumPy and by kernels, in the standard's dtypes."""

import numpy as np
import pytest

import opweave.xp as xp
from opweave.xp.dtypes import DTYPES, LETTER
from opweave.xp.maps import MAPS

V = np.array([[0.5, -1.25, 3.0], [2.0, 0.75, -0.5]])
X, Y = xp.asarray(V), xp.asarray(V[::-1])
I = xp.asarray([[3, 1, 2], [9, 8, 7]])

# By what is tried: ours, NumPy's.
SAME = {
    "sum": (lambda: xp.sum(X, axis=1, keepdims=True), np.sum(V, 1, keepdims=True)),
    "sum of small integers": (lambda: xp.sum(xp.astype(I, xp.int8)), np.int64(30)),
    "sum of unsigned": (lambda: xp.sum(xp.astype(I, xp.uint8)), np.uint64(30)),
    "sum as": (lambda: xp.sum(I, dtype=xp.float32), np.float32(30)),
    "max": (lambda: xp.max(X, axis=(0, 1)), np.float64(3)),
    "argmax": (lambda: xp.argmax(X, axis=-1), np.array([2, 0])),
    "argmin of all": (lambda: xp.argmin(X), np.int64(1)),
    "mean": (lambda: xp.mean(X), np.mean(V)),
    "std": (lambda: xp.std(X, correction=1), np.std(V, ddof=1)),
    "any": (lambda: xp.any(X > 2.5, axis=0), np.array([False, False, True])),
    "count_nonzero": (lambda: xp.count_nonzero(I - 1, axis=1), np.array([2, 3])),
    "cumulative_sum": (lambda: xp.cumulative_sum(X, axis=1), np.cumsum(V, 1)),
    "cumulative_sum from 0": (
        lambda: xp.cumulative_sum(X[0], include_initial=True),
        np.array([0, *np.cumsum(V[0])]),
    ),
    "cumulative_prod from 1": (lambda: xp.cumulative_prod(X[0], include_initial=True), np.array([1, *np.cumprod(V[0])])),
    "diff": (lambda: xp.diff(X, n=2), np.diff(V, 2)),
    "diff with ends": (lambda: xp.diff(X, axis=0, prepend=X[:1], append=Y[:1]), np.diff(V, axis=0, prepend=V[:1], append=V[1:])),
    "clip": (lambda: xp.clip(X, -1.0, xp.asarray(2.0)), np.clip(V, -1, 2)),
    "clip of integers": (lambda: xp.clip(xp.astype(I, xp.int8), max=1000), np.asarray(I, dtype=np.int8)),
    "where": (lambda: xp.where(X > 0, X, 0), np.where(V > 0, V, 0)),
    "where of float32": (lambda: xp.where(X > 0, xp.astype(X, xp.float32), 1.5), np.where(V > 0, V.astype(np.float32), np.float32(1.5))),
    "pow": (lambda: X**2 + 2.0**X + X**xp.asarray(2.0), V**2 + 2.0**V + V**2),
    "a complex number": (lambda: xp.astype(X, xp.float32) * 1j, V.astype(np.float32) * np.complex64(1j)),
    "rounding of integers": (lambda: xp.floor(I), np.asarray(I)),
    "concat": (lambda: xp.concat([X, Y[:1]], axis=0), np.concatenate([V, V[1:]])),
    "concat of dtypes": (lambda: xp.concat([xp.astype(X, xp.float32), Y], axis=None), np.concatenate([V.astype(np.float32), V[::-1]], axis=None)),
    "stack": (lambda: xp.stack([X, Y], axis=-1), np.stack([V, V[::-1]], -1)),
    "roll": (lambda: xp.roll(X, (1, -1), axis=(0, 1)), np.roll(V, (1, -1), (0, 1))),
    "flip of what waits": (lambda: xp.flip(X + 1.0, axis=1), (V + 1)[:, ::-1]),
    "moveaxis of what waits": (lambda: xp.moveaxis(X[None] + 1.0, 0, 2), np.moveaxis(V[None] + 1, 0, 2)),
    "a step of what waits": (lambda: (X + 1.0)[1, None, ::-2], (V + 1)[1, None, ::-2]),
    "squeeze of what waits": (lambda: xp.squeeze((X + 1.0)[:1], axis=0), V[0] + 1),
    "broadcast_to": (lambda: xp.broadcast_to(X[0], (2, 3)), np.broadcast_to(V[0], (2, 3))),
    "matmul": (lambda: X @ Y.T, V @ V[::-1].T),
    "matmul of stacks": (lambda: xp.ones((4, 2, 3)) @ X.T, np.ones((4, 2, 3)) @ V.T),
    "vecdot": (lambda: xp.vecdot(X * 1j, Y), np.vecdot(V * 1j, V[::-1])),
    "tensordot": (lambda: xp.tensordot(X, Y), np.tensordot(V, V[::-1])),
    "sort down": (lambda: xp.sort(X, descending=True), -np.sort(-V)),
    "argsort down is stable": (lambda: xp.argsort(xp.asarray([1, 2, 1, 2]), descending=True), np.array([1, 3, 0, 2])),
    "unique": (lambda: xp.unique_inverse(xp.asarray([[3, 1], [1, 3]])).inverse_indices, np.array([[1, 0], [0, 1]])),
    "NaN differ": (lambda: xp.unique_values(xp.asarray([np.nan, np.nan])), np.array([np.nan, np.nan])),
    "isin": (lambda: xp.isin(I, 3), np.isin(np.asarray(I), 3)),
    "searchsorted": (lambda: xp.searchsorted(xp.asarray([1.0, 2.0]), 1.5), np.int64(1)),
    "take_along_axis": (lambda: xp.take_along_axis(X, xp.argsort(X, axis=1), axis=1), np.sort(V, 1)),
    "repeat": (lambda: xp.repeat(X, 2, axis=0), np.repeat(V, 2, 0)),
    "tile": (lambda: xp.tile(X, (2, 1)), np.tile(V, (2, 1))),
    "solve": (lambda: xp.linalg.solve(X @ X.T, xp.ones((2,))), np.linalg.solve(V @ V.T, np.ones(2))),
    "vector_norm": (lambda: xp.linalg.vector_norm(X, axis=(0, 1)), np.float64(np.linalg.norm(V.ravel()))),
    "matrix_rank": (lambda: xp.linalg.matrix_rank(X), np.int64(2)),
    "fft in its precision": (lambda: xp.fft.fft(xp.astype(X, xp.float32)), np.fft.fft(V.astype(np.float32))),
    "linspace": (lambda: xp.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False)),
    "asarray of arrays": (lambda: xp.asarray([X[0, 0], 2.0]), np.array([0.5, 2])),
    "bytes in another order": (lambda: xp.asarray(np.array([1.0, 2.0], dtype=">f4")), np.array([1, 2], dtype=np.float32)),
    "a buffer": (lambda: xp.asarray(memoryview(b"ab")), np.array([97, 98], dtype=np.uint8)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_call_gives_what_numpy_gives(at_once, name):
    call, expected = SAME[name]
    made = call()
    found = np.asarray(made)

    assert (
        (made.shape, made.dtype) == (found.shape, found.dtype) == (expected.shape, expected.dtype)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12 if found.dtype.itemsize > 4 else 1e-6)


@pytest.mark.host
@pytest.mark.parametrize("name", SAME)
def test_kernels_give_the_same(kept, name):
    call, expected = SAME[name]

    np.testing.assert_allclose(
        np.asarray(call()), expected, rtol=1e-12 if expected.dtype.itemsize > 4 else 1e-6
    )
    assert all(program.compiles for program in kept._known.values())


SAMPLES = {letter: np.array([1, 0, 1, 1]) for letter in "bifc"}


@pytest.mark.host
@pytest.mark.parametrize("name", MAPS)
def test_kernels_run_every_function_of_elements(kept, name):
    row = MAPS[name]
    for kind in row.kinds:
        dtype = next(
            DTYPES[n]
            for n in ("bool", "int32", "float32", "complex64")
            if LETTER[DTYPES[n]] == kind
        )
        x = xp.asarray(SAMPLES[kind].astype(dtype))
        made = getattr(xp, name)(*[x] * row.operands)
        assert np.asarray(made).dtype == made.dtype

    assert all(program.compiles for program in kept._known.values())


# Dtypes

PROMOTED = [
    ("int8", "uint8", "int16"), ("uint32", "int32", "int64"), ("float32", "complex64", "complex64"),
    ("float64", "complex64", "complex128"), ("float32", "float64", "float64"), ("bool", "bool", "bool"),
    ("int8", "int8", "int8"), ("uint64", "int8", None), ("bool", "int8", None), ("int64", "float32", None),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two", "made"), PROMOTED)
def test_dtypes_promote_as_the_standard_says(one, two, made):
    first, second = (getattr(xp, name) for name in (one, two))
    if made is None:
        with pytest.raises(TypeError, match="do not promote"):
            xp.result_type(first, second)
        with pytest.raises(TypeError, match="do not promote"):
            xp.equal(xp.ones((1,), dtype=first), xp.ones((1,), dtype=second))
        return

    assert xp.result_type(second, first) == getattr(xp, made)
    assert xp.result_type(first, second, 1 if one != "bool" else True) == getattr(xp, made)


def test_the_namespace_says_what_it_has():
    info = xp.__array_namespace_info__()

    assert info.dtypes(kind="complex floating") == {
        n: DTYPES[n] for n in ("complex64", "complex128")
    }
    assert info.dtypes(kind=("bool", "real floating")).keys() == {"bool", "float32", "float64"}
    assert info.devices() == ("cpu",)
    assert info.default_device() == X.device == "cpu"
    assert info.default_dtypes()["integral"] == xp.int64
    assert X.__array_namespace__() is xp
    assert X.to_device("cpu") is X
    assert (xp.finfo(xp.complex64).bits, xp.iinfo(I).max) == (32, 2**63 - 1)
    assert type(xp.finfo(xp.float32).eps) is float
    assert xp.isdtype(xp.uint8, ("bool", "integral"))
    assert not xp.can_cast(xp.float64, xp.float32)
