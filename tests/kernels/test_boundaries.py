"""Row 4 of docs/trust.md: every form at empty, 0-d, size 1, prime and power-of-two extents."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ShapeError
from tests.support.variants import softmax

pytestmark = pytest.mark.host

SWEEP = [*(("host", n) for n in (0, 1, 2, 3, 31, 37)), *(("sm_80", n) for n in (0, 1, 37))]


def data(*shape, dtype=np.float32):
    rng = np.random.default_rng(sum(shape) + len(shape))
    return rng.uniform(-2, 2, shape).astype(dtype)


# form: function, shapes of its arguments from an extent n, dtype
FORMS = {
    "map": (lambda x: x * 1.5 + 0.25, lambda n: [(n,)], "f4"),
    "map of bytes": (lambda x: x + 1, lambda n: [(n,)], "u1"),
    "map of doubles, broadcast": (lambda x, y: x * y, lambda n: [(n, 3), (3,)], "f8"),
    "map, outer": (lambda x, y: x - y, lambda n: [(n, 1), (1, n)], "f4"),
    "row": (softmax, lambda n: [(3, n)], "f4"),
    "row, many": (lambda x: x - x.sum(axis=-1, keepdims=True), lambda n: [(n, 5)], "f4"),
    "row of columns": (lambda x: (x * x).sum(axis=0), lambda n: [(n, 4)], "f4"),
    "reduce": (lambda x: (x * x).sum(), lambda n: [(n, 7)], "f4"),
    "reduce, no identity": (lambda x: x.max(), lambda n: [(n, 2)], "f4"),
    "scan": (lambda x: x - x.cumsum(axis=-1), lambda n: [(3, n)], "f4"),
    "scan, many": (lambda x: x.cumsum(axis=-1), lambda n: [(n, 5)], "i4"),
    "scan of columns": (lambda x: x.cumsum(axis=0).cumsum(axis=0), lambda n: [(n, 20)], "f4"),
    "scan of columns, many": (lambda x: x.cumsum(axis=1), lambda n: [(2, 5, n)], "u1"),
    "product": (lambda x, w: x @ w + 1, lambda n: [(n, 5), (5, n)], "f4"),
    "product, inner": (lambda x, w: x @ w, lambda n: [(3, n), (n, 2)], "f4"),
    "product of rows": (lambda x, w: softmax(x @ w), lambda n: [(n, 6), (6, n)], "f4"),
    "pixel": (lambda x: ow.pixels.saturation(x, 1.5), lambda n: [(n, 5, 3)], "f4"),
    "tile": (lambda x, y: x.T * y, lambda n: [(37, n), (n, 37)], "f4"),
    "view returned": (lambda x: (x + 1).T, lambda n: [(n, 2)], "f4"),
}


@pytest.mark.parametrize(("target", "extent"), SWEEP)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_right_at_an_extent(form, extent, target):
    function, shapes, dtype = FORMS[form]
    arguments = [data(*shape, dtype=dtype) for shape in shapes(extent)]
    refuses = extent == 0 and form in ("reduce, no identity", "row", "product of rows")
    if refuses:
        with pytest.raises(ShapeError, match="zero elements"):
            ow.fuse(function)(*arguments)
        with pytest.raises(ValueError, match="zero-size"):
            function(*arguments)
        return
    program = ow.fuse(function).lower(*arguments, target=target)
    made = program(*arguments)

    assert program.check(*arguments).ok
    if "pixel" not in form:
        with np.errstate(all="ignore"):
            expected = function(*arguments)
        assert np.shape(made) == np.shape(expected)
        assert made.dtype == expected.dtype


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("function", [
    lambda x, y: x * y + 1, lambda x, y: x.sum() + y, lambda x, y: np.where(x > y, x, y),
    lambda x, y: x.max() - y.min(), lambda x, y: np.exp(x) / y.sum(axis=None, keepdims=True),
])  # fmt: skip
def test_arrays_without_dimensions(function, target):
    x, y = np.array(1.5, np.float32), np.array(-2.25, np.float32)
    made = ow.fuse(function).lower(x, y, target=target)(x, y)

    np.testing.assert_allclose(function(x, y), made, rtol=1e-6)
    assert np.shape(made) == ()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (2, 0, 3), (1, 1, 0)], ids=str)
def test_empty_arrays_of_every_shape(shape):
    x = np.ones(shape, np.float32)

    def function(x):
        scans = x.cumsum(), x.cumsum(axis=0), np.maximum.accumulate(x, axis=-1)
        return x + 1, x.sum(), x.sum(axis=0), x.T, x.prod(axis=-1), x.any(), x.all(), *scans

    for expected, made in zip(function(x), ow.fuse(function)(x), strict=True):
        np.testing.assert_array_equal(expected, made)
        assert made.dtype == expected.dtype


@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_no_rows_of_a_length_that_blocks_share(target):
    x = np.ones((0, 1 << 19), np.float32)
    program = ow.fuse(lambda x: x.sum(axis=1)).lower(x, target=target)

    assert [kernel.data.template for kernel in program.kernels] == ["reduce"]
    assert program(x).shape == (0,)
