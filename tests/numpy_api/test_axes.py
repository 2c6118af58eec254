"""Reductions over any set of axes: one kernel, the plan's order, NumPy's shapes."""

from itertools import combinations

import numpy as np
import pytest

import opweave as ow
from tests.support.data import hold, wide
from tests.support.variants import aligned

X = aligned(np.random.default_rng(0).standard_normal((3, 4, 5, 6)).astype(np.float32))
SETS = [axes for count in (1, 2, 3, 4) for axes in combinations(range(4), count)]
FUNCTIONS = {
    "sum": lambda x, axis: x.sum(axis=axis),
    "kept": lambda x, axis: x - x.max(axis=axis, keepdims=True),
    "mean": lambda x, axis: np.mean(x * x, axis=axis) + 1,
    "var": lambda x, axis: x.var(axis=axis, keepdims=True),
    "softmax": lambda x, axis: ow.softmax(x, axis=axis),
    "any": lambda x, axis: np.any(x > 2, axis=axis),
    "of a transpose": lambda x, axis: (x + 1).transpose(2, 0, 3, 1).sum(axis=axis),
    "of a slice": lambda x, axis: x[1:, ::2, 1:-1, ::-1].sum(axis=axis),
    "over a new axis": lambda x, axis: np.expand_dims(x.sum(axis=0), 1).sum(axis=axis),
}


@pytest.mark.host
@pytest.mark.parametrize(
    ("name", "axes", "target"),
    [
        (name, axes, ("host", "sm_80")[(i + j) % 2])
        for i, name in enumerate(FUNCTIONS)
        for j, axes in enumerate(SETS)
    ],
)
def test_any_set_of_axes_is_reduced_as_by_numpy(name, axes, target):
    def function(x):
        return FUNCTIONS[name](x, axes)

    fused = ow.fuse(function)
    program = fused.lower(X, target=target)
    made, expected = program(X), function(X)

    assert (np.shape(made), type(made)) == (np.shape(expected), type(expected))
    hold(program, (X,), function(wide(X)), made)
    # the sum along the new axis alone is a map
    assert len(program.kernels) == (2 if name == "over a new axis" and axes != (1,) else 1)
    assert (
        np.asarray(fused.unfused().lower(X, target=target)(X)).tobytes()
        == np.asarray(made).tobytes()
    )


def test_axes_are_told_apart_by_their_set_alone():
    shapes = {
        ow.fuse(lambda x, a=axes: x.sum(axis=a)).lower(X, target="sm_80").source
        for axes in ((0, 2), (2, 0), (-2, -4), (0, -2))
    }

    assert len(shapes) == 1


@pytest.mark.host
def test_standardised_images_are_one_kernel():
    def standardise(x):
        centred = x - x.mean(axis=(1, 2), keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=(1, 2), keepdims=True) + 1e-5)

    images = X.reshape(12, 5, 6)[..., None] * np.ones(3, np.float32)
    fused = ow.fuse(standardise)

    assert fused.check(images).ok
    assert len(fused.lower(images, target="sm_80").kernels) == 1


def number(x):
    return x.sum()


OF_NO_DIMENSIONS = [
    lambda x: x.sum(axis=0), lambda x: np.max(x, axis=-1), lambda x: x.any(axis=0, keepdims=True),
    lambda x: np.logical_or.reduce(x), lambda x: x.argmax(axis=0), lambda x: x.cumsum(axis=0),
    lambda x: np.repeat(x, 2, axis=-1), lambda x: np.squeeze(x, axis=0), lambda x: np.take(x, [0], axis=0),
    lambda x: x.mean(axis=0), lambda x: x.std(axis=-1), lambda x: np.flip(x, axis=0),
    lambda x: x.sum(axis=1), lambda x: x.max(axis=(0,)), lambda x: np.add.accumulate(x),
    lambda x: np.pad(x, 1), lambda x: np.pad(x, 1, mode="reflect"), lambda x: np.tile(x, ()),
    lambda x: x[()], lambda x: x[...], lambda x: x.reshape(()), lambda x: x,
    lambda x: number(x)[...], lambda x: number(x)[()], lambda x: number(x).reshape(()), lambda x: number(x).T,
    lambda x: (v := np.broadcast_arrays(x, x)[0], v.__setitem__(v != 1, 1), x * 1)[::2], lambda x: np.convolve(x, [1.0, 2.0]), lambda x: (np.sort(x[None])[0], np.sort(x[None])[0].T),
    lambda x: np.flip(x), lambda x: np.flip(x, axis=()), lambda x: np.flip(np.sort(x, axis=None).sum()), lambda x: np.einsum("->", x),
    lambda x: np.nan_to_num(x, copy=False), lambda x: np.nan_to_num(x.astype(int)), lambda x: np.nan_to_num(x.astype(int), copy=False),
    lambda x: np.logaddexp(x, 1), lambda x: np.logaddexp2(x, x), lambda x: np.real_if_close(x), lambda x: np.real_if_close(x.sum()),
    lambda x: np.cross(x, x), lambda x: np.cross(x[None], x),
]  # fmt: skip


def outcome(function, *arguments):
    """What a function gives, as text, which tells numbers from arrays; or the class of NumPy's error."""
    try:
        return repr(function(*arguments))
    except Exception as error:
        classes = (np.exceptions.AxisError, TypeError, ValueError)
        return next(c for c in classes if isinstance(error, c))


@pytest.mark.host
@pytest.mark.parametrize("function", OF_NO_DIMENSIONS)
def test_an_array_without_dimensions_is_numpys(function):
    x = np.array(3.0)

    assert outcome(ow.fuse(function), x) == outcome(function, x)


OF_ONE = {
    "sums": lambda x: (x.sum(0), x.sum((0, 2)), x.sum(0, keepdims=True), np.add.reduce(x, 0)),
    "means": lambda x: (x.mean(0), x.mean(2, keepdims=True)),
    "products": lambda x: (x.prod(0), x.prod((0, 2))),
    "extremes": lambda x: (x.max(0), x.min(2), np.maximum.reduce(x, (0, 2))),
    "truths": lambda x: (x.any(0), x.all((0, 2)), np.logical_and.reduce(x, 0)),
    "of another type": lambda x: (x.sum(0, dtype=np.float32), x.prod(2, dtype=np.float64)),
    "with a mask": lambda x: (x.sum(0, where=x != 0), x.max(0, initial=1, where=x != 0)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("name", OF_ONE)
def test_an_axis_of_one_element_is_reduced_by_a_map(name, dtype):
    values = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -3, 255]
    with np.errstate(invalid="ignore"):
        x = np.array(values).astype(dtype).reshape(1, -1, 1)
        made, expected = ow.fuse(OF_ONE[name])(x), OF_ONE[name](x)
    for one, other in zip(made, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        if one.dtype.kind == "f":
            sure = ~np.isnan(one)
            np.testing.assert_array_equal(np.signbit(one[sure]), np.signbit(other[sure]))
        assert not np.shares_memory(one, x)
    assert ow.fuse(lambda x: x.sum(0))(x).flags.owndata
    if dtype != "c16":
        kernels = ow.fuse(OF_ONE[name]).lower(x, target="host").kernels
        assert {kernel.data.template for kernel in kernels} == {"map"}
