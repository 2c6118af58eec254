"""Numbers that are assigned to elements of integers: NumPy's error where one does not fit."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host


def copied(i, x):
    for k in range(len(x)):
        i[k] = x[k]


def running(i, x):
    for k in range(1, len(x)):
        i[k] = i[k - 1] + x[k]


def of_python(i, x):
    s = 0.5
    for k in range(len(x)):
        s = s * 0.5 + 1.5
        i[k] = s * 3
        i[k] += x[k]


def known(i, x):
    for k in range(len(x)):
        i[k] = 2.7


def slices(i, x):
    for k in range(len(x)):
        i[k : k + 2] = x[k]


def first(i, x):
    i[0] = x[0]


def largest(i, x):
    i[1:] = x.max()


def added(i, x):
    i[0] += x[0]


def filled(i, x):
    i.fill(x[0])


def masked(i, x):
    i[i == 0] = x[0]  # wraps, as by NumPy


def outcome(function, i, x):
    """The kind of error, if any, and what the array holds then."""
    error = None
    with np.errstate(all="ignore"):
        try:
            function(i, x)
        except (ValueError, OverflowError) as found:
            error = ValueError if isinstance(found, ValueError) else OverflowError
    return error, i.tolist()


LOOPS = [copied, running, of_python, known, slices]
VALUES = [[1.5, -2.5, 3], [1, np.nan], [1, np.inf], [1, 300.5], [2.0**31], [-(2.0**31) - 1.5],
          [-129.5], [-128.9], [2.0**63], [-(2.0**63)], [1, 1e30]]  # fmt: skip


@pytest.mark.parametrize("function", [*LOOPS, first, largest, added, filled])
@pytest.mark.parametrize("target", ["i1", "i4", "i8"])
@pytest.mark.parametrize("given", VALUES, ids=str)
def test_a_number_that_does_not_fit_is_numpys_error(function, target, given):
    x = np.zeros(200)
    x[: len(given)] = given
    wanted = outcome(function, np.zeros(200, target), x)

    assert outcome(ow.fuse(function), np.zeros(200, target), x) == wanted


@pytest.mark.parametrize("given", [[300, 1], [-129, 1], [2**31 + 5, 1], [-1, 255]], ids=str)
@pytest.mark.parametrize("target", ["i1", "i4", "u1"])
@pytest.mark.parametrize("function", [copied, first, largest, added, filled, masked])
def test_integers_do_as_floats_do(function, target, given):
    x = np.zeros(200, "i8")
    x[: len(given)] = given
    wanted = outcome(function, np.zeros(200, target), x)

    assert outcome(ow.fuse(function), np.zeros(200, target), x) == wanted


@pytest.mark.parametrize("function", LOOPS)
def test_c_runs_loops_that_truncate(function):
    text = ow.fuse(function).explain(np.zeros(200, "i4"), np.ones(200)).text

    assert "C runs 1 loop(s)" in text


def test_a_kernel_refuses_what_it_cannot_check():
    with pytest.raises(ow.errors.UnsupportedError, match="a number of f64 may not fit i32"):
        ow.fuse(first, fullgraph=True)(np.zeros(3, "i4"), np.ones(3))


def test_a_place_fits():
    def nearest(i, x):
        i[0] = x.argmin()

    i = np.zeros(3, "i4")
    ow.fuse(nearest, fullgraph=True)(i, np.array([3.0, 1, 2]))

    assert i[0] == 1


@pytest.mark.parametrize("key", [True, np.True_, (None, 0), ..., slice(None)], ids=str)
def test_what_is_no_element_takes_one(key):
    def put(u):
        u[key] = np.array([7.0])

    wanted, found = np.ones(3), np.ones(3)
    put(wanted)
    ow.fuse(put)(found)

    np.testing.assert_array_equal(found, wanted)


def test_an_element_takes_no_array():
    def of_one(u):
        u[0] = np.array([7.0])

    u = np.ones(3)
    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        ow.fuse(of_one)(u)
    np.testing.assert_array_equal(u, 1)
