"""Selections by a mask that nobody counts: elementwise on the whole array, in one kernel."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.data import like_numpy

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 8)).astype(np.float32)
Y = RNG.standard_normal((30, 8)).astype(np.float32)


def in_place(x):
    z = x * 2
    z[x > 0] += 1
    z[z < -1] *= 0.5
    return z


def from_another(x, y):
    z, m = x * 2, y > 0
    z[m] = y[m]
    z[x > 1] = np.exp(y[x > 1]) * 2  # the same mask, computed twice
    return z


def a_copy(x):
    z, m = x * 2, x > 0
    part = z[m]
    z[m] = 0
    return z + part.sum()


def of_integers(x):
    z = (x * 10).astype(np.int32)
    z[x > 0] //= 3
    z[x < 0] = x[x < 0] * 7
    return z


def powers(x):
    z = abs(x)
    z[x > 0] **= 0.5
    z[x < 0] = -z[x < 0]
    z[x > 1] = 1 - z[x > 1].astype(np.float64)
    return z


def rows_of(x, y):
    z, m = x * 2, y[:, 1] > 0
    z[m] = y[m]
    z[y[:, 2] > 1] = 0
    z[m] *= 3
    return z


def columns_of(x, y):
    z, m = x * 2, y[1] > 0
    z[:, m] = y[:, m] * 3
    z[..., y[2] > 1] = 0
    z[y[:, 0] > 0, :] -= 1
    return z


def by_classes(x, y):
    k = (y[:, 0] * 3).astype(np.int32) % 3
    means = np.array([x[k == c].mean(axis=0) for c in range(3)])
    spread = np.array([((x[k == c] - means[c]) ** 2).sum(0) for c in range(3)])
    return means, spread


def along_axes(x):
    z = np.stack([x, x * 2, x - 1])
    m = x[:4] > 0
    part = z[:, :4][:, m]
    return (
        part.sum(1), part.mean(axis=-1), part.sum(axis=(0, 1)), part.prod(axis=(1,)),
        z[:, :, x[0] > 0].any(axis=2), z[:, x[:, 0] > 0].var(axis=1, ddof=1),
        z[:, x[:, 0] > 0].sum(axis=2).mean(axis=0).sum(),
    )  # fmt: skip


FUSED = {
    "a mean of rows": (lambda x: np.mean(x[x[:, 0] > 0], axis=0), X),
    "columns": (columns_of, X, Y),
    "a mean of columns": (lambda x: x[:, x[0] > 0].mean(), X),
    "rows": (rows_of, X, Y),
    "a sum of rows": (lambda x: x[x[:, 0] > 0].sum(), X),
    "a spread of rows": (lambda x: x[x[:, 0] > 0].std(ddof=1), X),
    "in place": (in_place, X),
    "from another": (from_another, X, Y),
    "a copy": (a_copy, X),
    "integers": (of_integers, X),
    "powers": (powers, X),
    "a sum": (lambda x: x[x > 0].sum(), X),
    "a mean": (lambda x: np.mean(x[x > 0] * 2), X),
    "a mean of integers": (lambda x: x.astype(np.int32)[x > 0].mean(), X),
    "a spread": (lambda x: x[x > 0].std(ddof=1), X),
    "truth": (lambda x: (x[x > 0] > 1e-9).all(), X),
    "of nothing": (lambda x: x[x > 99].sum(), X),
}


@pytest.mark.host
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_what_a_mask_selects_stays_in_the_kernel(name, target):
    function, *args = FUSED[name]
    program = like_numpy(function, *args, target=target)

    assert len(program.kernels) == 1


@pytest.mark.host
@pytest.mark.parametrize(("function", "args"), [(by_classes, (X, Y)), (along_axes, (X,))])
def test_what_a_mask_selects_is_reduced_along_axes(function, args):
    found = ow.fuse(function, fullgraph=True)(*args)
    for one, other in zip(found, function(*args), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.host
@pytest.mark.parametrize("shape", [(3, 4, 4, 4), (3, 4, 5, 2)])
@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_what_a_mask_selects_is_reduced_along_each_axis_and_then_another(shape, dims, first):
    if first + dims > 3:
        return
    x = np.arange(float(np.prod(shape))).reshape(shape) % 7
    masked = shape[first : first + dims]
    m = np.arange(np.prod(masked)).reshape(masked) % 3 > 0
    for one in range(5 - dims):
        for other in range(4 - dims):

            def function(x, m, one=one, other=other):
                part = x[(*[slice(None)] * first, m)].sum(axis=one)
                is_counted = first not in (one, other + (other >= one))
                both = part.sum(axis=other)
                return both.sum() if is_counted else both, part.mean()

            found, wanted = ow.fuse(function, fullgraph=True)(x, m), function(x, m)
            for a, b in zip(found, wanted, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, err_msg=f"{one} {other}")


def test_an_axis_that_a_selection_has_not_is_refused():
    with pytest.raises(e.AxisError, match="axis 2 does not exist in an array of 2 dimensions"):
        ow.fuse(lambda x: x[x[:, 0] > 0].sum(axis=2))(X)


def mixed(x):
    z = x * 1
    z[x > 0] = z[x >= 0][:3].sum()
    return z


def square(x):
    z, m = x * 1, x[0] > 0
    z[m] = x[:, m].T
    return z


PARTS = {
    "returned": lambda x: x[x > 0],
    "counted": lambda x: len(x[x > 0]) + x[x > 1].size,
    "the largest": lambda x: x[x > 0].max(),
    "sorted": lambda x: np.sort(x[x > 0]),
    "a part of it": mixed,
    "rows": lambda x: x[x[:, 0] > 0] * 2,
    "columns": lambda x: x[:, x[0] > 0] * 2,
    "rows to columns": lambda x: square(x[:8]),
    "of two masks": lambda x: x[x > 0][:5] + x[x < 0][:5],
    "beside a vector": lambda x: x[x > 0] + np.arange(np.count_nonzero(x > 0)),
    "walked": lambda x: [float(v) for v in x[x > 2]],
}


@pytest.mark.host
@pytest.mark.parametrize("name", PARTS)
def test_what_asks_for_the_elements_runs_in_parts(name):
    function = PARTS[name]

    np.testing.assert_allclose(ow.fuse(function)(X), function(X), rtol=1e-6)
    with pytest.raises((e.UnsupportedError, e.TraceError)):
        ow.fuse(function, fullgraph=True)(X)


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda x: x.astype(np.int32)[x > 0].__iadd__(1.5), lambda x: (x * 1)[x > 0].__iand__(1),
])  # fmt: skip
def test_a_type_that_numpy_refuses_is_refused(function):
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises(TypeError):
        ow.fuse(function)(X)


@pytest.mark.host
def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(IndexError):
        ow.fuse(lambda x, m: x[m].sum())(X, np.ones((30, 1), bool))


ASKED = {
    "isinstance": lambda v: isinstance(v, np.ndarray),
    "issubclass": lambda v: issubclass(type(v), np.ndarray),
    "type": lambda v: type(v) is np.ndarray,
    "__class__": lambda v: v.__class__ is np.ndarray,
    "a name": lambda v: type(v).__name__,
    "an attribute": lambda v: (hasattr(v, "shape"), hasattr(v, "nothing"), callable(v)),
    "a match": lambda v: matched(v),
}


def matched(v):
    match v:
        case np.ndarray():
            return "an array"
    return "none"


@pytest.mark.host
@pytest.mark.parametrize("name", ASKED)
def test_a_selection_is_an_array_to_who_asks(name):
    def f(x):
        v = x[x > 1]
        return ASKED[name](v), v.sum()

    x = np.arange(5.0)
    assert repr(ow.fuse(f)(x)) == repr(f(x))


NUMBERS = (3, 4, -1, 2.5, -0.0, float("nan"), float("inf"), 1e300, 2**40)


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32", "float16", "complex128"])
def test_a_number_behind_a_mask_is_stored_as_numpy_stores_it(dtype):
    def filled(x, mask, n):
        x[mask] = n

    fused, mask = ow.fuse(filled), np.arange(60) % 3 == 0
    for number in NUMBERS[: 3 if dtype == "int64" else None]:
        made, expected = (np.arange(60).astype(dtype) for _ in "xy")
        with np.errstate(over="ignore"):
            filled(expected, mask, number)
        fused(made, mask, number)

        assert made.tobytes() == expected.tobytes(), number


@pytest.mark.host
def test_another_number_behind_a_mask_is_no_other_kernel():
    def filled(x, mask, n):
        x[mask] = n
        x[2:5] = n + 1

    fused, mask, x = ow.fuse(filled), np.arange(60) % 3 == 0, np.zeros(60, np.int64)
    sources = {fused.lower(x, mask, n).kernels[0].source for n in (3, 4, 100)}

    assert len(sources) == 1


def test_a_number_that_no_array_of_integers_holds_is_refused_as_by_numpy():
    def filled(x, mask, n):
        x[mask] = n

    fused, mask, x = ow.fuse(filled), np.ones(3, bool), np.zeros(3, np.int64)
    fused(x, mask, 3)
    with pytest.raises(OverflowError):
        fused(x, mask, 2**63)
