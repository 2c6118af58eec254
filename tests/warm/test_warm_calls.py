"""Calls that come again are C's from their arguments to their results: templates/host/calls.h."""

from __future__ import annotations

import gc
import resource
import sys
import threading

import numpy as np
import pytest

import opweave as ow
from tests.warm.by_c import copied, same

pytestmark = pytest.mark.host
X = np.arange(-30, 30, dtype=np.float32).reshape(4, 15)
D, I8, U = np.arange(12.0), np.arange(12, dtype=np.int8), np.arange(12, dtype=np.uint64)
I32, I64 = D.astype(np.int32), D.astype(np.int64)
W = np.arange(15, dtype=np.float32)
SCALE = 3.0
# More calls than it takes until C knows them.
ENOUGH = 16


def scaled(u):
    u *= 2


def smoothed(u):
    u[1:-1] = (u[2:] + u[:-2]) / 2


def counted(u, v):
    u += v
    return u


def by_mask(u):
    u[u > 0] = 0


def chosen(x, twice=True, name="a"):
    return x * 2 if twice else x + len(name)


def both(u, x):
    u += x
    return x.sum(), u


# name: (function, arguments)
CALLS = {
    "a map": (lambda x: np.maximum(x * 2 + 1, 0), (X,)),
    "an array that is no rows": (lambda x: x + 1, (X[::2, ::-1],)),
    "columns": (lambda x: x * 2, (X.T,)),
    "nothing in an axis": (lambda x: x.sum(1) + 1, (np.ones((3, 0)),)),
    "two types": (lambda x, y: x[:, :12] * y, (X, I8)),
    "uint64": (lambda x: x // 3, (U,)),
    "float16": (lambda x: x * 2, (X.astype(np.float16),)),
    "complex": (lambda x: x * 2j, (D,)),
    "big-endian": (lambda x: x.byteswap().view(x.dtype.newbyteorder()) if 0 else x, (D,)),
    "a number": (lambda x, a: x * a, (X, 2.5)),
    "a number of NumPy's": (lambda x, a: x * a, (D, np.float64(0.1))),
    "an integer": (lambda x, n: x + n, (I8.astype(np.int64), -7)),
    "an integer of 32 bits": (lambda x, n: x + n, (I8.astype(np.int32), -7)),
    "an integer as a float": (lambda x, n: x + n, (X, 16777215)),
    "numbers twice": (lambda x, a: (x * a, x + a), (X, 0.3)),
    "a bool and a text": (chosen, (X, False, "abc")),
    "defaults": (chosen, (X,)),
    "captured": (lambda x: x * W + SCALE, (X,)),
    "a sum": (lambda x: x.sum(), (X,)),
    "numbers of all kinds": (lambda x: (x.sum(), x.max(), x.mean(), x.argmax()), (D,)),
    "a complex number": (lambda x: x.sum(), (D * 1j,)),
    "a bool of Python's": (lambda x: np.allclose(x, x + 1e-12), (D,)),
    "a bool of NumPy's": (lambda x: (x > 0).any(), (D,)),
    "boxed": (lambda x: np.where(x.sum() > 0, x.max(), x.min()), (D,)),
    "rows and a number": (lambda x: (x - x.max(1, keepdims=True), x.sum()), (X,)),
    "two kernels": (lambda x: np.cumsum(x.sum(0)) + 1, (X,)),
    "temporaries": (lambda x: (x - x.mean(0)) @ x.T, (X,)),
    "a list": (lambda x: [x + 1, x * 2], (X,)),
    "a dict": (lambda x: {"a": x + 1, "b": (x * 2, None)}, (X,)),
    "an argument": (lambda x: x, (X,)),
    "a view": (lambda x: (x + 1)[1:], (X,)),
    "one array twice": (lambda x: (y := x + 1, y), (X,)),
    "nothing": (lambda x: None, (X,)),
    "a constant": (lambda x: "text", (X,)),
    "in place": (scaled, (D,)),
    "in place, of every other": (scaled, (D[::2],)),
    "by a temporary": (smoothed, (D,)),
    "in place and returned": (counted, (D, D + 1)),
    "by a mask": (by_mask, (D - 5,)),
    "in place and a number": (both, (D, D + 1)),
    "an index": (lambda x, i: x[i], (D, np.array([3, 0, -1]))),
}
# Such calls are Python's: a result that is an argument needs none, the others are rare.
PYTHONS = {"a constant", "nothing", "an argument", "big-endian"}


def warmed(function, args):
    """A fused function that C knows, and what C runs; None where Python runs such calls."""
    fused = ow.fuse(function)
    for _ in range(ENOUGH):
        fused(*map(copied, args))
    kept = fused.signature.kept
    return fused, None if kept is None or kept.warm is None else kept.warm.call


@pytest.mark.parametrize("name", CALLS)
def test_c_gives_what_numpy_gives(name):
    function, args = CALLS[name]
    fused, call = warmed(function, args)
    first, second, third = [[*map(copied, args)] for _ in range(3)]
    given = fused.signature.in_order(second, {})
    expected, by_python = function(*first), fused.bound(tuple(third))
    result = call(*given) if call is not None else NotImplemented
    if name in PYTHONS:
        assert result is NotImplemented
        result = fused(*given)
    assert result is not NotImplemented
    assert type(result) is type(expected)
    np.testing.assert_equal(result, expected)
    assert same(second, first)
    assert same(by_python[0](by_python[1]), result)
    assert same(third, second)


def test_what_is_returned_of_an_argument_is_that_argument():
    _, call = warmed(counted, (D, D))
    u = D.copy()
    assert call(u, D + 1) is u
    np.testing.assert_array_equal(u, D + D + 1)


class Own(np.ndarray):
    """A class of a user's."""


READ_ONLY = D.copy()
READ_ONLY.flags.writeable = False
TWELVE = np.arange(13.0)
BYTES = np.zeros(12 * 8 + 1, np.uint8)
# name: (function, arguments that C knows, arguments that it does not)
OTHERS = {
    "another shape": (scaled, (D,), (D[:6],)),
    "another dimension": (scaled, (D,), (D[None],)),
    "another type": (scaled, (D,), (D.astype(np.float32),)),
    "another type of the same size": (scaled, (D,), (D.astype(np.int64),)),
    "another byte order": (scaled, (D,), (D.astype(">f8"),)),
    "other strides": (scaled, (D,), (np.arange(24.0)[::2],)),
    "not aligned": (scaled, (D,), (BYTES[1:].view(np.float64),)),
    "a class of a user's": (scaled, (D,), (D.view(Own),)),
    "read-only": (scaled, (D,), (READ_ONLY,)),
    "that overlap": (counted, (D, D.copy()), (TWELVE[1:], TWELVE[:-1])),
    "one array twice": (counted, (D, D.copy()), (D, D)),
    "a list": (lambda x: x + 1, (D,), ([1.0, 2.0],)),
    "another number": (lambda x, a: x * a, (D, 2.5), (D, 2)),
    "an integer for an integer of NumPy's": (lambda x, a: x * a, (D, 2), (D, np.int64(2))),
    "an integer beyond a float": (lambda x, n: x + n, (X, 1), (X, 2**24 + 1)),
    "an integer beyond a double": (lambda x, n: x + n, (D, 1), (D, 2**53 + 1)),
    "an integer beyond 32 bits": (lambda x, n: x + n, (I32, 1), (I32, 2**31)),
    "an integer beyond 64 bits": (lambda x, n: x + n, (I64, 1), (I64, 2**64)),
    "another bool": (chosen, (D, True, "a"), (D, False, "a")),
    "another text": (chosen, (D, False, "a"), (D, False, "abc")),
    "one more": (lambda x, y: x + y, (D, D), (D,)),
    "one less": (lambda x: x, (D,), (D, D)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_c_leaves_other_calls_to_python(name):
    function, args, others = OTHERS[name]
    _, call = warmed(function, args)
    before = [copied(v) for v in others]
    assert (call or warmed(scaled, (D,))[1])(*others) is NotImplemented
    assert same(before, [*others])


def test_another_value_outside_is_seen():
    scope = {"a": 2.0}
    exec("def f(x): return x * a", scope)
    fused, call = warmed(scope["f"], (D,))
    np.testing.assert_array_equal(call(D), D * 2)
    scope["a"] = 3.0
    assert call(D) is NotImplemented
    np.testing.assert_array_equal(fused(D), D * 3)


def test_another_function_of_the_same_name_is_seen():
    scope = {"np": np}
    exec("def g(x): return x + 1\ndef f(x): return g(x) * 2", scope)
    fused, call = warmed(scope["f"], (D,))
    exec("def g(x): return x + 2", scope)
    assert call(D) is NotImplemented
    np.testing.assert_array_equal(fused(D), (D + 2) * 2)


def test_an_array_outside_that_is_reshaped_is_seen():
    scope = {"w": np.arange(12.0)}
    exec("def f(x): return x + w", scope)
    fused, _ = warmed(scope["f"], (D,))
    scope["w"].shape = 12, 1
    np.testing.assert_array_equal(fused(D), D + scope["w"])


def test_an_index_that_has_no_element_is_an_error_as_ever():
    fused, call = warmed(lambda x, i: x[i], (D, np.array([3, 0])))
    bad = np.array([3, 12])
    assert call(D, bad) is NotImplemented
    with pytest.raises(IndexError, match="12 is out of bounds"):
        fused(D, bad)


def test_errors_asked_for_and_other_devices_are_not_passed_by():
    fused, _ = warmed(lambda x: 1 / x, (D + 1,))
    with ow.config(errors="numpy"), np.errstate(all="raise"), pytest.raises(FloatingPointError):
        fused(D)


def test_no_array_is_held():
    def run(fused, args):
        for _ in range(ENOUGH):
            fused(*args)
        gc.collect()
        return [sys.getrefcount(a) for a in args]

    for name in ("a map", "in place", "by a temporary", "a dict", "in place and returned"):
        args = [copied(a) for a in CALLS[name][1]]
        before = [sys.getrefcount(a) for a in args]
        assert run(ow.fuse(CALLS[name][0]), args) == before, name


@pytest.mark.parametrize("name", sorted(CALLS.keys() - PYTHONS))
def test_nothing_is_lost_or_kept(name):
    """No object is left over, and none is given back twice."""
    function, args = CALLS[name]
    fused, _ = warmed(function, args)
    counted_before = [sys.getrefcount(value) for value in (True, False, None, NotImplemented)]
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        fused(*args)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
    counts = [sys.getrefcount(value) for value in (True, False, None, NotImplemented)]
    assert all(abs(a - b) < 500 for a, b in zip(counts, counted_before, strict=True))


def test_temporaries_are_given_back():
    x = np.ones((100, 60))
    fused, call = warmed(lambda x: np.cumsum(x.T * 2, 1).sum(0), (x,))
    np.testing.assert_array_equal(call(x), np.cumsum(x.T * 2, 1).sum(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        fused(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # KiB


def test_calls_of_many_shapes():
    fused = ow.fuse(lambda x: x * 2 + 1)
    for n in range(1, 40):
        for _ in range(ENOUGH):
            x = np.arange(float(n))
            np.testing.assert_array_equal(fused(x), x * 2 + 1)


def test_threads_at_once():
    fused, _ = warmed(lambda x, a: (np.cumsum(x) * a, x.sum()), (D, 2.0))
    wrong = []

    def run(n):
        x = np.arange(12.0) + n
        for _ in range(2000):
            found, total = fused(x, float(n))
            if total != x.sum() or not np.array_equal(found, np.cumsum(x) * n):
                wrong.append(n)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
