"""Calls of functions with ``*args`` and ``**kwargs`` are C's too, and NumPy's as they are given."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ArgumentError
from tests.warm.by_c import copied, same
from tests.warm.test_warm_calls import ENOUGH, UNKNOWN, D, warmed

pytestmark = pytest.mark.host


def in_place(*arrays, by=2.0):
    for array in arrays:
        array *= by
    return arrays


# name: (function, arguments)
CALLS = {
    "any": (lambda *a: sum(a) * 2, (D, D + 1, D)),
    "none": (lambda *a, **k: len(a) + len(k) + D, ()),
    "in a tuple": (lambda x, *a: (x + 1, len(a)), (D, D)),
    "no others": (lambda x, *a, s=2.0, **k: x * s + len(a) + len(k), (D,)),
    "a default that is a function": (lambda *a, of=np.sqrt: of(*a), (D,)),
    "by position alone": (lambda x, y=1.0, /, **k: x * y + len(k), (D,)),
    "in place": (in_place, (D, D + 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_c_gives_what_numpy_gives(name):
    function, args = CALLS[name]
    fused, call = warmed(function, args)
    first, second, third = ([*map(copied, args)] for _ in range(3))
    found, expected = call(*fused.signature.in_order(first, {})), function(*second)
    assert found is not UNKNOWN
    assert same(found, expected)
    assert same(fused(*third), expected)
    assert same(first, second)
    assert same(third, second)


def weighed(x, *rest, s=2.0, **more):
    return x * s + sum(rest) + sum(more.values())


GIVEN = [
    ((D,), {}),
    ((D, D), {}),
    ((D, D, 1.5), {"s": 3.0}),
    ((D,), {"s": 3.0, "y": D, "z": 2.0}),
    ((), {"x": D, "y": D}),
]


def test_arguments_by_position_and_by_name():
    fused = ow.fuse(weighed)
    for _ in range(ENOUGH):
        for args, kwargs in GIVEN:
            np.testing.assert_array_equal(fused(*args, **kwargs), weighed(*args, **kwargs))
    call = fused.signature.latest.warm.call
    np.testing.assert_array_equal(call(D, (), 2.0, {"y": D}), weighed(D, y=D))
    assert call(D, (), 2.0, {"z": D}) is UNKNOWN
    assert call(D, (D,), 2.0, {"y": D}) is UNKNOWN


def test_another_default_is_seen():
    def f(*arrays, s=2.0):
        return sum(arrays) * s

    fused, _ = warmed(f, (D, D))
    f.__kwdefaults__ = {"s": 5.0}
    np.testing.assert_array_equal(fused(D, D), D * 10)


def ranked(*arrays, **numbers):
    smallest = np.unique(arrays[0]) + np.argsort(arrays[-1]).max()
    return smallest + len(arrays) + sum(numbers.values())


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_numpy_gets_them_as_they_are_given():
    fused = ow.fuse(ranked)
    for _ in range(ENOUGH):
        for args, kwargs in [((D,), {}), ((D, D), {}), ((D,), {"n": 2.0}), ((D,), {"m": 3.0})]:
            np.testing.assert_array_equal(fused(*args, **kwargs), ranked(*args, **kwargs))


# (arguments by position, by name, what the error says)
REFUSED = [
    ((), {}, "missing a required argument: 'x'"),
    ((D,), {"x": D}, "multiple values for argument 'x'"),
]


@pytest.mark.parametrize(("args", "kwargs", "says"), REFUSED)
def test_what_python_refuses_is_refused(args, kwargs, says):
    fused, _ = warmed(weighed, (D,))
    with pytest.raises(ArgumentError, match=says):
        fused(*args, **kwargs)
