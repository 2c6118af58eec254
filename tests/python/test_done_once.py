"""What a trace would do once is done at each call, or refused: time, settings, counters."""

import collections
import datetime

import numpy as np
import pytest

import opweave as ow

LIBRARY_IN_PARTS = True
X = np.arange(3.0)
pytestmark = pytest.mark.host


def test_the_time_is_asked_for_at_each_call():
    for asked in (lambda: datetime.datetime.now(), lambda: datetime.date.today()):
        fused = ow.fuse(lambda x, asked=asked: x * asked().year)
        np.testing.assert_array_equal(fused(X), X * asked().year)
        with pytest.raises(ow.errors.TraceError, match="another value at each call"):
            ow.fuse(lambda x: x * asked().year, fullgraph=True)(X)  # noqa: B023


def test_nothing_of_ours_stays_in_objects_of_the_user():
    held, seen = collections.deque(), set()
    fused = ow.fuse(lambda x: (held.append([np.sort(x)]), seen.add(x.shape), x * 2)[-1])
    fused(X)

    assert type(held[0][0]) is np.ndarray
    assert [tuple(map(type, shape)) for shape in seen] == [(int,)]


SETTINGS = {kind: np.errstate(divide=kind) for kind in ("ignore", "raise")}


def with_settings(kind):
    def function(x):
        with np.errstate(all=kind):
            return 1 / x

    return function


def with_given(kind):
    settings = SETTINGS[kind]

    def function(x):
        with settings:
            return np.sort(1 / x)

    return function


@pytest.mark.parametrize("make", [with_settings, with_given])
def test_what_no_kernel_does_about_errors_is_refused(make):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ow.fuse(make("ignore"))(X), make("ignore")(X))
    for fullgraph in (False, True):
        fused = ow.fuse(make("raise"), fullgraph=fullgraph)
        with pytest.raises(ow.errors.UnsupportedError, match=r"'raise'.*neither raise nor call"):
            fused(X)


def test_numpys_settings_are_not_changed_by_a_fused_function():
    for change in (lambda: np.seterr(all="raise"), lambda: np.seterrcall(print)):
        with pytest.raises(ow.errors.UnsupportedError, match="changes NumPy's settings"):
            ow.fuse(lambda x, change=change: (change(), x)[1])(X)

    assert np.geterr()["divide"] == "warn"
