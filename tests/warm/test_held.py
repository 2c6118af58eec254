"""What calls by C hold, and for how long: nothing is lost, kept, or let go of too early."""

from __future__ import annotations

import gc
import resource
import signal
import sys
import threading
from itertools import cycle

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.host import pool
from opweave.runtime.host.warm_layout import UNKNOWN
from tests.warm.by_c import arrays_in, copied
from tests.warm.test_warm_calls import CALLS, ENOUGH, Body, Counting, D, warmed

pytestmark = pytest.mark.host

HELD = ("a map", "in place", "by a temporary", "a dict", "in place and returned",
        "a dict of arrays", "nested", "objects", "the same containers")  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _what_earlier_tests_left():
    """It holds many a None, and would be visited by each collection here."""
    gc.collect()
    gc.freeze()


def test_no_array_is_held():
    def run(fused, args):
        for _ in range(ENOUGH):
            fused(*args)
        gc.collect()

    for name in HELD:
        args = [copied(a) for a in CALLS[name][1]]
        before = [sys.getrefcount(a) for a in arrays_in(args)]
        run(ow.fuse(CALLS[name][0]), args)
        assert [sys.getrefcount(a) for a in arrays_in(args)] == before, name


@pytest.mark.parametrize("name", sorted(CALLS))
def test_nothing_is_lost_or_kept(name):
    """No object is left over, and none is given back twice."""
    function, args = CALLS[name]
    fused, _ = warmed(function, args)
    args = [*map(copied, args)]
    gc.collect()
    counted_before = [sys.getrefcount(value) for value in (True, False, None, UNKNOWN)]
    before = sys.getallocatedblocks()
    for _ in range(1000):
        fused(*args)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
    counts = [sys.getrefcount(value) for value in (True, False, None, UNKNOWN)]
    assert all(abs(a - b) < 500 for a, b in zip(counts, counted_before, strict=True))


class Moving(Counting):
    def step(self, a):
        self.x[:] = self.x + self.v * a
        self.t += self.dt


def test_objects_and_their_dicts_are_not_held():
    body, other = Moving(), Body()
    fused, method = ow.fuse(lambda b, x: b.x + x), ow.fuse(body.step)
    for _ in range(ENOUGH):
        fused(other, D)
        method(0.5)
    held = body, vars(body), other, vars(other), body.parts, body.x, other.x, other.v
    before = [*map(sys.getrefcount, held)]
    for _ in range(50):
        fused(other, D)
        fused(other, D[None])  # C has taken the object apart before it finds another shape
        method(0.5)
        method(np.float64(0.5))
    gc.collect()
    assert [*map(sys.getrefcount, held)] == before


@pytest.mark.parametrize("rows", [100, 400])  # of a heap, and of the pool
def test_temporaries_are_given_back(rows):
    x = np.ones((rows, 60))
    fused, call = warmed(lambda x: np.cumsum(x.T * 2, 1).sum(0), (x,))
    np.testing.assert_array_equal(call(x), np.cumsum(x.T * 2, 1).sum(0))
    before, mapped = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, pool.counts().mapped
    for _ in range(2000):
        fused(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # KiB
    assert pool.counts().mapped == mapped


def swapped(held, key, made):
    """Another thread puts other values into a container while it runs."""
    done, count = [], [0]

    def swap():
        values = cycle((0.0, 1.0))
        while not done:
            held[key] = made(next(values))
            count[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    yield count
    done.append(True)
    thread.join()
    yield


N = 1 << 21
SWAPPED = {
    "arrays": ({"x": np.ones(N)}, lambda v: np.full(N, v), lambda p: np.sqrt(p["x"]).sum()),
    "lists": ({"x": [np.ones(N)]}, lambda v: [np.full(N, v)], lambda p: np.sqrt(p["x"][0]).sum()),
    "lists that come back": (
        {"x": [np.ones(N)]}, lambda v: [np.full(N, v)],
        lambda p: (np.sqrt(p["x"][0]).sum(), p["x"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SWAPPED)
def test_what_lies_in_containers_is_held_while_kernels_run(name):
    """Another thread takes it from a dict while Python's lock is let go of."""
    held, made, function = SWAPPED[name]
    fused, call = warmed(function, (held,))
    assert call(held) is not UNKNOWN
    swapping = swapped(held, "x", made)
    count = next(swapping)
    try:
        for _ in range(3000):
            if count[0] > 50:
                break
            found = fused(held)
            total, *same = found if isinstance(found, tuple) else (found,)
            assert total in (0.0, float(N))
            assert all(one[0][0] * N == total for one in same)
    finally:
        next(swapping)


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


def test_what_a_handler_of_a_signal_raises_is_not_lost():
    class Alarm(Exception):
        pass

    def raising(number, frame):
        came.append(number)
        raise Alarm

    body, came, raised = Moving(), [], 0
    fused = ow.fuse(lambda b: b.x * 2)
    for _ in range(ENOUGH):
        fused(body)
    before = signal.signal(signal.SIGALRM, raising)
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    fused(body)
            except Alarm:
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised == len(came)


def test_an_index_that_has_no_element_is_an_error_as_ever():
    fused, call = warmed(lambda x, i: x[i], (D, np.array([3, 0])))
    bad = np.array([3, 12])
    assert call(D, bad) is UNKNOWN
    with pytest.raises(IndexError, match="12 is out of bounds"):
        fused(D, bad)


def test_an_index_that_has_no_element_leaves_arguments_as_numpy_does():
    def moved_and_read(u, i):
        u += 1
        return u[i] * 2

    fused, call = warmed(moved_and_read, (D, np.array([3, 0])))
    ours, plain, bad = D.copy(), D.copy(), np.array([3, 12])
    for function, u in ((fused, ours), (moved_and_read, plain)):
        with pytest.raises(IndexError):
            function(u, bad)
    np.testing.assert_array_equal(ours, plain)
    assert call is not None


def test_a_call_that_a_kernel_cannot_compute_is_left_to_python():
    x = np.arange(40)
    _, call = warmed(
        lambda x: (x * 2, np.bincount(x, minlength=50), np.bincount(x // 2, minlength=20)), (x,)
    )
    assert call(x) is not UNKNOWN
    for wrong in (-1, 60, 45):  # 45 has a bin of the first kernel that counts, none of the second
        given = x.copy()
        given[3] = wrong
        assert call(given) is UNKNOWN
