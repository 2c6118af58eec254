"""Forms of one loop: what is relied on holds of some calls, and others get a form of their own."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from opweave._loops.sites import MOST_FORMS
from tests.loops.test_loops_in_c import called, is_same

pytestmark = pytest.mark.host


def shifted(x, y, by):
    for i in range(3, x.shape[0] - 3):
        y[i + by] = x[i] * 2 + y[i - by]


def framed(img, out, r):
    h, w = img.shape
    for i in range(r, h - r):
        for j in range(r, w - r):
            s = 0.0
            for di in range(-r, r + 1):
                for dj in range(-r, r + 1):
                    s += img[i + di, j + dj]
            out[i, j] = s


def of_planes(x, out, k):
    for i in range(x.shape[0]):
        out[i] = x[i, k] - x[i, k - 1]


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


CALLS = {
    "shifted": (shifted, [(drawn(20), np.zeros(20), by) for by in (1, -1, 3, -3, 4, 30, 1)]),
    "framed": (framed, [(drawn(9, 11), np.zeros((9, 11)), r) for r in (1, 0, 2, -1, 1)]),
    "planes": (of_planes, [(drawn(5, 4), np.zeros(5), k) for k in (1, 0, -1, 3, 4, -3, 2)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_differ_in_what_is_relied_on_are_all_in_c(name):
    function, calls = CALLS[name]
    rolled = Rolled(function)
    for args in calls:
        assert is_same(called(function, args), called(rolled, args), exactly=True)
    (site,) = [site for site in rolled.sites if site.compiled]
    (first,) = site._known.values()
    assert len(first.others) < MOST_FORMS
    served = sum(not isinstance(called(function, args)[0], tuple) for args in calls)
    assert site.compiled >= served


def test_an_index_from_a_number_of_the_call_needs_no_question():
    rolled = Rolled(framed)
    rolled(drawn(9, 11), np.zeros((9, 11)), 1)
    (source,) = [text for _, text in rolled.in_c]
    assert "LOOP_INDEX" not in source.split("what the loop computes")[1].split("s += ")[0]
    assert "LOOP_SHARE(" in source


def test_arrays_that_share_memory_are_compiled_for_once():
    rolled = Rolled(shifted)
    rolled(drawn(20), np.zeros(20), 1)
    for _ in range(3):
        own, other = (drawn(40) for _ in range(2))
        rolled(own[:20], own[10:30], 1)
        shifted(other[:20], other[10:30], 1)
        assert np.array_equal(own, other)
    (first,) = rolled.sites[0]._known.values()
    assert first.is_alone
    assert len(first.others) == 1
