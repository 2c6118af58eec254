"""A place that there is not is refused once, though nobody reads what stands there."""

import contextlib

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e


def looked_up(x, i):
    x[i]
    return x * 2


def shape_of(x, i):
    return x[i].shape, x * 2


def overwritten(x, i):
    y = (x * 2)[i]
    y[:] = 5
    return y


def of_one_place(x, i):
    y = x * 1
    y[i[1]]
    return y.sum()


def in_parts(x, i):
    y = np.sort(x)
    x[i]
    return y


def of_nothing(x, i):
    np.sort(x)
    np.take(x, i)


def measured(x, i):
    return np.zeros_like(x[i]), 3


@pytest.mark.host
@pytest.mark.parametrize("function", [looked_up, shape_of, overwritten, of_one_place, in_parts,
                                      of_nothing, measured])  # fmt: skip
@pytest.mark.parametrize("fused", [True, False])
def test_a_place_is_checked_though_nobody_reads_it(function, fused):
    compiled = ow.fuse(function) if fused else ow.fuse(function).unfused()
    x, inside, beyond = np.arange(3.0), np.array([0, -1]), np.array([1, 9])
    assert repr(compiled(x, inside)) == repr(function(x, inside))
    with pytest.raises(e.BoundsError, match="index 9"):
        compiled(x, beyond)
    assert repr(compiled(x, inside)) == repr(function(x, inside))


def caught(x, i):
    try:
        y = np.sort(x[i])
    except IndexError:
        y = -x
    try:
        x[i]
        np.sort(x)
    except IndexError:
        y = y * 2
    return np.sort(y) + np.cumsum(y)


@pytest.mark.host
def test_a_place_that_there_is_not_is_caught_once():
    x = np.arange(2.0)
    for i in (np.array([0, 1]), np.array([0, 9])):
        np.testing.assert_array_equal(ow.fuse(caught)(x, i), caught(x, i))


def taken_or(x, i):
    try:
        return np.take(x, i) * 2
    except Exception:
        return x * 5


def indexed_or(x, i):
    try:
        return x[i] * 2
    except:  # noqa: E722
        return x * 5


def suppressed(x, i):
    y = x * 5
    with contextlib.suppress(LookupError):
        y = x[i] * 2
    return y


def helped(x, i):
    def found(k):
        return (x + 1)[k]

    try:
        return found(i)
    except IndexError:
        return x


def of_another_class(x, i):
    try:
        return x[i] * 2
    except ValueError:
        return x * 5


@pytest.mark.host
@pytest.mark.parametrize("function", [taken_or, indexed_or, suppressed, helped])
def test_a_function_that_catches_an_index_error_gets_it(function):
    fused = ow.fuse(function)
    x = np.arange(3.0)
    for i in (np.array([0, 1]), np.array([0, 9]), np.array([-4, 0]), np.array([2, 1])):
        np.testing.assert_array_equal(fused(x, i), function(x, i))
    with pytest.raises(e.UnsupportedError, match="may catch the IndexError"):
        ow.fuse(function, fullgraph=True)(x, np.array([0, 1]))


@pytest.mark.host
def test_a_function_that_catches_no_index_error_is_whole():
    fused = ow.fuse(of_another_class, fullgraph=True)
    with np.errstate(all="ignore"), pytest.raises(IndexError):
        fused(np.arange(3.0), np.array([9]))


def largest(x):
    x[1:].max()
    return x * 2


def smallest_in_parts(x):
    np.sort(x)
    x[1:].argmin()
    return x


@pytest.mark.host
@pytest.mark.parametrize("function", [largest, smallest_in_parts])
def test_an_extremum_of_nothing_is_refused_though_nobody_reads_it(function):
    compiled = ow.fuse(function)
    for x in (np.arange(3.0), np.arange(2.0)):
        np.testing.assert_array_equal(compiled(x), function(x))
    with pytest.raises(ValueError, match="arg|zero elements"):
        compiled(np.ones(1))


def test_only_what_may_raise_is_kept():
    program = ow.fuse(lambda x, i: (x.max(), x[i], np.exp(x), x * 2)[3]).lower(
        np.arange(3.0), np.array([0]), target="sm_80"
    )
    names = [node.operator.name for node in program.graph.nodes]

    assert sorted(names) == ["index", "multiply"]


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda x, i: x[i], lambda x, i: x[i + 1], lambda x, i: np.take(x, i, axis=0), lambda x, i: x[[0, 5]],
    lambda x, i: x.T[:, i], lambda x, i: x[i[0]], lambda x, i: x[None, i],
    lambda x, i: x[:, :0][i[:, None] * 1 + np.zeros(3, int)], lambda x, i: x.T[..., i[::-1]],
])  # fmt: skip
def test_a_place_that_is_not_there_is_refused_where_nothing_is_read(function):
    fused = ow.fuse(function, fullgraph=True)
    assert (
        fused(np.ones((7, 2)), np.array([1])).size == function(np.ones((7, 2)), np.array([1])).size
    )
    for called in (function, fused):
        with pytest.raises(IndexError, match="out of bounds"):
            called(np.ones((3, 0)), np.array([5]))
    inside = np.array([1])
    assert fused(np.ones((9, 0)), inside).shape == function(np.ones((9, 0)), inside).shape


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda x: x[[0, -3]], lambda x: x[::2][[0, 0]], lambda x: x.T[:, np.array([[2, -3]])],
    lambda x: x.T[:, [2]] * 2,
])  # fmt: skip
def test_places_of_a_list_are_checked_where_nothing_is_read(function):
    fused = ow.fuse(function, fullgraph=True)
    assert fused(np.ones((3, 0))).shape == function(np.ones((3, 0))).shape
    np.testing.assert_array_equal(fused(np.ones((3, 2))), function(np.ones((3, 2))))
    for called in (function, fused):
        with pytest.raises(IndexError, match="out of bounds"):
            called(np.ones((0, 0)))


@pytest.mark.host
@pytest.mark.parametrize("power", [0, 1, 3])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_a_power_of_no_square_matrix_is_refused(shape, power):
    def function(x):
        return np.linalg.matrix_power(x, power)

    for called in (function, ow.fuse(function)):
        with pytest.raises(np.linalg.LinAlgError):
            called(np.ones(shape))
