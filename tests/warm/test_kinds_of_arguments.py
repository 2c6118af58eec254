"""Named tuples, constants and what stands for none are compared by C: templates/host/arguments.h."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
import pytest

from tests.warm.by_c import copied, same
from tests.warm.test_warm_calls import UNKNOWN, D, X, scaled, warmed

pytestmark = pytest.mark.host


class Pair(NamedTuple):
    x: np.ndarray
    s: float


class Mode(Enum):
    UP = 1
    DOWN = 2


NONE = object()


def or_none(x, y=NONE):
    return x * 2 if y is NONE else x + y


# name: (function, arguments)
CALLS = {
    "a named tuple": (lambda p: p.x * p.s + p[0], (Pair(X, 2.0),)),
    "a named tuple in a dict": (lambda d: d["p"].x * d["p"].s, ({"p": Pair(X, 2.0)},)),
    "a slice": (lambda x, part: x[part] + 1, (D, slice(2, None))),
    "one of an enumeration": (lambda x, mode: x + 1 if mode is Mode.UP else x, (D, Mode.UP)),
    "a module": (lambda xp, x: xp.sin(x), (np, D)),
    "a function of NumPy's with defaults": (np.sum, (X,)),
    "a default that stands for none": (or_none, (D,)),
    "views that turn around": (lambda x: (x[::-1], x[:, 9:2:-2], x[2::-1, ::-3].T), (X,)),
}
# name: (function, arguments that C knows, arguments that it does not)
OTHERS = {
    "another of an enumeration": (
        lambda x, mode: x + 1 if mode is Mode.UP else x,
        (D, Mode.UP),
        (D, Mode.DOWN),
    ),
    "a tuple for a named tuple": (lambda p: p[0] * p[1], (Pair(X, 2.0),), ((X, 2.0),)),
    "another array in a named tuple": (lambda p: p.x * p.s, (Pair(X, 2.0),), (Pair(D, 2.0),)),
    "another slice": (lambda x, part: x[part] + 1, (D, slice(2, None)), (D, slice(3, None))),
    "a value for a default": (or_none, (D, NONE), (D, 1.0)),
    "arrays that are one": (lambda x, y: x + 1 if x is y else x - y, (D, D.copy()), (D, D)),
}


@pytest.mark.parametrize("name", CALLS)
def test_c_gives_what_numpy_gives(name):
    function, args = CALLS[name]
    fused, call = warmed(function, args)
    given = fused.signature.in_order([*map(copied, args)], {})
    found, expected = call(*given), function(*args)
    assert found is not UNKNOWN
    assert same(found, expected)


@pytest.mark.parametrize("name", OTHERS)
def test_c_leaves_other_calls_to_python(name):
    function, args, others = OTHERS[name]
    fused, call = warmed(function, args)
    assert (call or warmed(scaled, (D,))[1])(*others) is UNKNOWN
    assert same(fused(*others), function(*others))
