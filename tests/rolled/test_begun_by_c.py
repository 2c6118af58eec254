"""Loops that C itself begins, at calls that are like an earlier one: templates/host/loop_calls.h."""

from __future__ import annotations

import gc
import math
import re
import resource
import signal
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from opweave import templates
from opweave._loops.rolled import Rolled
from opweave._loops.sites import MOST_BY_C, Site
from opweave.opcodes.errors import OutOfRangeError
from opweave.runtime.host import warm_loops
from opweave.runtime.host.warm_layout import (
    UNKNOWN,
    CArrayWord,
    CKnownLoop,
    CLeft,
    CLoopTable,
    COutsideWord,
)
from tests.loops.test_loops_in_c import called_once, is_same

pytestmark = pytest.mark.host
SCALE = 2.0


def filtered(x, y, a):
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + x[i]
    return i


def counted(x, limit):
    last, many, is_large = 0.5, 0, False
    for i in range(len(x)):
        if x[i] > limit:
            many += 1
            last = x[i] * 1.0
            is_large = x[i] > 2
    return many, last, is_large


def found_first(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            where = i
            value = float(x[i])
    return where, value


def iterated(A, x, steps):
    for _ in range(steps):
        x = A @ x
    return x


def halved(x, n):
    total = x[0]
    for i in range(n):
        total = total + x[i]
    return total


def doubled_halves(x, y, n):
    for i in range(n // 2, n):
        y[i] = x[i] * 2
    return y


def scaled(x, y):
    for i in range(len(x)):
        y[i] = x[i] * SCALE
    return y


def divided(x, y, n):
    for i in range(n):
        y[i] = 1 // int(x[i])
    return y


def powers(x, n):
    k = 1
    for i in range(len(x)):
        k = k * n
        x[i] = k
    return k


def late(x, y, n):
    if n > 3:
        extra = 2.0
    for i in range(n):
        y[i] = x[i]
        if i > 3:
            y[i] *= extra
    return y


def row(n, dtype=np.float64, step=1):
    return (np.arange(n * step) % 7 + 1).astype(dtype)[::step]


class Watched:
    """A function in parts, whose loops ran so often by Python's hand."""

    def __init__(self, function):
        self.rolled = Rolled(function)
        (self.site,) = (site for site in self.rolled.sites if isinstance(site, Site))
        self.begun = 0
        run = self.site.run
        self.site.run = lambda names: self._noted(run, names)
        self.site.start = self.site.run

    def _noted(self, run, names):
        self.begun += 1
        return run(names)

    def __call__(self, *args):
        return self.rolled(*args)

    def by_c(self, *args):
        """A call, and whether C began its loop itself."""
        before = self.begun
        found = called_once(self.rolled, args)
        return found, self.begun == before


# By name: a function and a call of it.
ALIKE = {
    "numbers of Python": (filtered, (row(9), np.zeros(9), 0.5)),
    "an integer for a float": (filtered, (row(9), np.zeros(9), 2)),
    "NumPy's numbers": (filtered, (row(9, np.float32), np.zeros(9, np.float32), np.float32(0.5))),
    "integers of 8 bits": (filtered, (row(9, np.int8), np.zeros(9, np.int8), np.int8(3))),
    "bools": (filtered, (row(9), np.zeros(9), True)),
    "steps apart": (filtered, (row(9, step=3), np.zeros(18)[::2], 0.5)),
    "numbers that are left": (counted, (row(9), 3.0)),
    "none of them": (counted, (row(9), 30.0)),
    "numbers of 32 bits": (halved, (row(9, np.float32), 5)),
    "no round": (filtered, (row(1), np.zeros(1), 0.5)),
    "an array that is made": (iterated, (np.eye(3) * 2, row(3), 4)),
    "one of no elements": (iterated, (np.zeros((0, 0)), row(0), 4)),
    "one that is not made": (iterated, (np.eye(3), row(3), 0)),
    "a number of the array's": (halved, (row(9, np.int16), 5)),
    "a bound that Python computes": (doubled_halves, (row(9), np.zeros(9), 9)),
    "a global": (scaled, (row(9), np.zeros(9))),
    "a name that is bound": (late, (row(9), np.zeros(9), 9)),
    "numbers that may be": (found_first, (row(9), 3.0)),
    "numbers that are not": (found_first, (row(9), 30.0)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_call_that_comes_again_is_begun_by_c(name):
    function, args = ALIKE[name]
    expected, watched = called_once(function, args), Watched(function)
    for n in range(5):
        found, by_c = watched.by_c(*args)
        assert is_same(expected, found, exactly=True)
        assert by_c is (n > 1)


# By name: a function, a call that C begins then, and one that is not alike.
OTHERS = {
    "another number": (filtered, (row(9), np.zeros(9), 0.5), (row(9), np.zeros(9), 0.25)),
    "another type of number": (filtered, (row(9), np.zeros(9), 0.5), (row(9), np.zeros(9), 1)),
    "NumPy's number": (filtered, (row(9), np.zeros(9), 0.5), (row(9), np.zeros(9), np.float64(2))),
    "another length": (filtered, (row(9), np.zeros(9), 0.5), (row(5), np.zeros(5), 0.5)),
    "another dtype": (filtered, (row(9), np.zeros(9), 0.5), (row(9, np.int64), np.zeros(9), 0.5)),
    "another byte order": (filtered, (row(9), np.zeros(9), 0.5), (row(9, ">f8"), np.zeros(9), 0.5)),
    "others apart": (filtered, (row(9), np.zeros(9), 0.5), (row(9, step=2), np.zeros(9), 0.5)),
    "a list": (filtered, (row(9), np.zeros(9), 0.5), (row(9), [0.0] * 9, 0.5)),
    "a subclass": (filtered, (row(9), np.zeros(9), 0.5), (np.ma.array(row(9)), np.zeros(9), 0.5)),
    "an index beyond": (halved, (row(9), 5), (row(9), 12)),
    "none": (filtered, (row(9), np.zeros(9), 0.5), (row(9), np.zeros(9), None)),
    "a large integer": (doubled_halves, (row(9), np.zeros(9), 9), (row(9), np.zeros(9), 1 << 70)),
    "one that is too large": (powers, (row(4), 3), (row(4), (1 << 40) + 1)),
    "and as far below": (powers, (row(4), 3), (row(4), -(1 << 40) - 1)),
    "a division by zero": (divided, (row(9), np.zeros(9), 9), (row(9) - 4, np.zeros(9), 9)),
    "no bound name": (late, (row(9), np.zeros(9), 9), (row(9), np.zeros(9), 2)),
    "no round": (filtered, (row(9), np.zeros(9), 0.5), (row(1), np.zeros(1), 0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_call_does_what_it_did(name):
    function, args, other = OTHERS[name]
    watched = Watched(function)
    for _ in range(3):
        watched.by_c(*args)
    for _ in range(3):
        assert is_same(called_once(function, other), watched.by_c(*other)[0], exactly=True)
        found, by_c = watched.by_c(*args)
        assert is_same(called_once(function, args), found, exactly=True)
        assert by_c


HEADER = Path(templates.__file__).parent / "host" / "loop_calls.h"
STRUCTURES = {
    "Left": CLeft, "ArrayWord": CArrayWord, "OutsideWord": COutsideWord, "KnownLoop": CKnownLoop,
    "LoopTable": CLoopTable,
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_have_the_members_of_the_header(name):
    (body,) = re.findall(rf"struct {name} {{(.*?)}};", HEADER.read_text(), re.DOTALL)
    members = [
        re.search(r"\(\*(\w+)\)|(\w+)$", part)
        for line in re.sub("//.*", "", body).split(";")
        for part in re.sub(r"\)\(.*", ")", line.strip()).split(",")
    ]
    found = [match[1] or match[2] for match in members if match]
    assert found == [field[0] for field in STRUCTURES[name]._fields_]


def test_results_have_the_types_of_python():
    watched = Watched(counted)
    found = [watched(row(9), 3.0) for _ in range(3)]
    assert [[type(v) for v in each] for each in found] == [[int, np.float64, np.bool_]] * 3
    assert watched.begun == 2


def test_what_is_an_error_raises_what_python_raises():
    watched = Watched(divided)
    for _ in range(3):
        watched(row(4), np.zeros(4), 4)
    mine, y, begun = row(4), np.zeros(4), watched.begun
    mine[2] = 0
    with pytest.raises(ZeroDivisionError, match="division or modulo by zero") as error:
        watched(mine, y, 4)
    assert watched.begun == begun
    assert y.tolist() == [1, 0, 0, 0]
    assert "in a loop that opweave has compiled" in error.value.__notes__[0]


def test_an_integer_that_leaves_64_bits_is_an_error():
    watched = Watched(powers)
    for _ in range(3):
        watched(np.zeros(5), 3)
    begun = watched.begun
    with pytest.raises(OutOfRangeError):
        watched(np.zeros(5), 1 << 20)
    assert watched.begun == begun


def test_arrays_that_share_memory_are_pythons():
    watched = Watched(filtered)
    for _ in range(3):
        watched(row(20), np.zeros(20), 0.5)
    for _ in range(2):
        mine, other = row(40), row(40)
        watched(mine[:20], mine[10:30], 0.5)
        filtered(other[:20], other[10:30], 0.5)
        np.testing.assert_array_equal(mine, other)


def test_what_may_not_be_written_to_is_not():
    watched, y = Watched(filtered), np.zeros(9)
    for _ in range(3):
        watched(row(9), y, 0.5)
    y[:] = 3
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        watched(row(9), y, 0.5)
    assert y.tolist() == [3] * 9


def test_a_bound_of_another_type_is_an_error():
    def to_a_power(x, k):
        for i in range(2**k, len(x)):
            x[i] = 0.0
        return x

    watched = Watched(to_a_power)
    for _ in range(3):
        assert watched.by_c(row(9), 1)[0][0].tolist() == [1, 2] + [0] * 7
    with pytest.raises(TypeError, match="float"):
        watched(row(9), -1)


def test_what_a_name_held_is_let_go_of_behind_the_loop():
    def summed(n):
        x, total = np.ones(n), 0.0
        for i in range(len(x)):
            total += x[i]
        told = weakref.ref(x)
        x = None
        return told() is None

    watched = Watched(summed)
    assert [watched(50) for _ in range(4)] == [True] * 4
    assert watched.begun == 2


def test_memory_of_results_is_given_back():
    def grown(x, n):
        for _ in range(n):
            x = x + 1
        return x

    watched, x = Watched(grown), np.zeros(1 << 15)
    for _ in range(20):
        watched(x, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):  # 100 MB
        watched(x, 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000
    assert watched.begun == 2


def test_calls_that_are_left_to_python_hold_nothing():
    watched = Watched(filtered)
    for _ in range(3):
        watched(row(9), np.zeros(9), 0.5)
    before = sys.getrefcount(UNKNOWN)
    for _ in range(50):
        watched(row(8), np.zeros(8), 1)
    assert sys.getrefcount(UNKNOWN) == before


def of_names(names, x, k):
    for name in names:
        part = {"a": 1.0}.get(name.lower(), 0.5)
        for i in range(k):
            x[i] += part
    return x


@pytest.mark.parametrize(("steps", "stays"), [(1, False), (20, True)])
def test_an_inner_loop_of_few_rounds_is_pythons(steps, stays):
    rolled = Rolled(of_names)
    rolled(["a", "b"] * 20, np.zeros(40), steps)
    assert (rolled.settled() is not None) is stays


def test_a_global_may_change(monkeypatch):
    watched = Watched(scaled)
    for _ in range(3):
        watched(row(4), np.zeros(4))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    for _ in range(3):
        assert watched(row(4), np.zeros(4)).tolist() == [5, 10, 15, 20]


def test_a_function_of_the_caller_may_have_other_numbers():
    def applied(x, f):
        for i in range(len(x)):
            x[i] = f(x[i])
        return x

    watched = Watched(applied)
    for by in (2.0, 3.0, 3.0, 4.0, 4.0):
        assert watched(row(3), lambda v, by=by: v * by).tolist() == [by, 2 * by, 3 * by]


def test_nothing_is_held_longer():
    watched = Watched(iterated)
    A, dtype = np.eye(3), np.dtype(np.float64)
    counts = []
    for _ in range(400):
        x = row(3)
        told = weakref.ref(x)
        made = watched(A, x, 2)
        assert sys.getrefcount(made) == 2
        del x, made
        assert told() is None
        counts.append((sys.getrefcount(A), sys.getrefcount(dtype), sys.getrefcount(watched.site)))
    assert counts[-1] == counts[10]
    rolled = Rolled(iterated)
    for _ in range(3):
        rolled(A, row(3), 2)
    told = weakref.ref(rolled.sites[0])
    del rolled
    gc.collect()
    assert told() is None


def test_a_signal_ends_it():
    def counts(x, n):
        for i in range(n):
            x[0] += math.sqrt(i)

    watched = Watched(counts)
    for _ in range(3):
        watched(np.zeros(1), 10)
    begun = watched.begun

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            watched(np.zeros(1), 1 << 39)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert watched.begun == begun


def test_no_signal_is_lost_where_python_computes_a_bound():
    watched, raised, seen = Watched(doubled_halves), 0, 0
    x, y = row(9), np.zeros(9)
    for _ in range(3):
        watched(x, y, 9)

    def stop(*_):
        nonlocal raised
        raised += 1
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 50e-6)
                had = raised
                while raised == had:
                    watched(x, y, 9)
            except KeyboardInterrupt:
                seen += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == raised == 300


def stepped(x, a, b, k):
    for i in range(a, b, k):
        x[i] = x[i] + 1


def test_forms_that_differ_in_numbers_are_all_begun():
    watched = Watched(stepped)
    calls = [(row(10), 0, 10, 1)] * 4 + [(row(10), 9, -1, -1)] * 4 + [(row(10), 0, 10, 1)] * 2
    begun = [watched.by_c(*args)[1] for args in calls]
    assert begun == [False, False, True, True, False, True, True, True, True, True]
    for args in (calls[0], calls[4]):
        assert is_same(called_once(stepped, args), watched.by_c(*args)[0], exactly=True)


def test_threads_begin_it_at_once():
    watched = Watched(filtered)
    for _ in range(3):
        watched(row(5000), np.zeros(5000), 0.5)
    expected, wrong = np.zeros(5000), []
    filtered(row(5000), expected, 0.5)

    def calls():
        for _ in range(200):
            y = np.zeros(5000)
            if watched(row(5000), y, 0.5) != 4999 or not np.array_equal(y, expected):
                wrong.append(y)

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_so_many_forms_of_calls_are_known():
    watched = Watched(filtered)
    for n in range(2, 2 + MOST_BY_C + 3):
        for _ in range(3):
            found = watched.by_c(row(n), np.zeros(n), 0.5)[1]
        assert found is (n < 2 + MOST_BY_C)


def test_where_objects_lie_otherwise_python_begins_it(monkeypatch):
    monkeypatch.setattr(warm_loops, "is_known", lambda: False)
    watched = Watched(filtered)
    found = [watched.by_c(row(9), np.zeros(9), 0.5)[1] for _ in range(5)]
    assert found == [False] * 5
