"""Calls that NumPy runs pass through C: the user's own function is called at once."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.host.warm_layout import UNKNOWN

pytestmark = pytest.mark.host
AS_FOR_USERS = True
D = np.arange(12.0)
ENOUGH = 16


def ranked(x):
    return np.unique(x) + np.argsort(x).max()


def of_keywords(x, *, n):
    return np.unique(x) + np.argsort(x).max() + n


def refusing(x, n):
    if np.unique(x).size < n:
        raise KeyError(n)
    return np.unique(x)


def counting(x):
    """Down to zero, by the fused function itself."""
    return np.unique(x) if np.sort(x)[0] <= 0 else FUSED(x - 1)


FUSED = ow.fuse(counting)


def warmed(function, *args, **kwargs):
    fused = ow.fuse(function)
    with pytest.warns(ow.OpweaveWarning):
        fused(*args, **kwargs)
    for _ in range(ENOUGH):
        fused(*args, **kwargs)
    return fused, fused.signature.latest.warm.call


def test_c_calls_the_function_itself():
    fused, call = warmed(ranked, D)
    np.testing.assert_array_equal(call(D + 1), ranked(D + 1))
    np.testing.assert_array_equal(fused(D + 1), ranked(D + 1))
    assert call(D[:3]) is UNKNOWN
    assert fused.signature.latest.warm.into(np.empty(12), D) is UNKNOWN
    out = np.empty(12)
    assert fused(D, out=out) is out
    np.testing.assert_array_equal(out, ranked(D))


def none_of_pythons(u):
    u += 1
    return NotImplemented


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_it_runs_once_whatever_it_returns():
    u, fused = D.copy(), ow.fuse(none_of_pythons)
    for _ in range(ENOUGH):
        assert fused(u) is NotImplemented
    np.testing.assert_array_equal(u, D + ENOUGH)


def test_a_keyword_of_its_own_is_passed_by_name():
    fused, call = warmed(of_keywords, D, n=2)
    assert call(D, 2) is UNKNOWN
    np.testing.assert_array_equal(fused(D, n=2), of_keywords(D, n=2))


def test_what_it_raises_is_what_the_caller_gets():
    fused, call = warmed(refusing, D, 3)
    assert call(D, 4) is UNKNOWN  # numbers decide who runs a call
    zeros = np.zeros(12)
    with pytest.raises(KeyError):
        call(zeros, 3)
    with pytest.raises(KeyError):
        fused(zeros, 3)
    before = sys.getrefcount(zeros)
    for _ in range(100):
        with pytest.raises(KeyError):
            fused(zeros, 3)
    assert sys.getrefcount(zeros) == before


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_it_may_call_itself_as_deep_as_python_allows():
    for _ in range(ENOUGH):
        FUSED(D)
    assert FUSED.signature.latest.warm.call(D) is not UNKNOWN
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        np.testing.assert_array_equal(FUSED(D + 100), D)
    finally:
        sys.setrecursionlimit(limit)
