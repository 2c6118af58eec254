"""What a function does besides computing happens at each call, once, as by the plain function."""

import functools
import io
import itertools
import logging
import queue
import sys
import threading
import time
import warnings
from collections import deque
from contextlib import contextmanager

import numpy as np
import pytest

import opweave as ow
from tests.support.differential import does_the_same, ran

LIBRARY_IN_PARTS = True
X = np.arange(6.0, dtype=np.float32) + 1
log = logging.getLogger("tests.effects")
MANY = list(range(5000))
MANY_SET = set(MANY)
UNREAD = {"numbers": [list(range(100)) for _ in range(40)]}
STREAM = io.StringIO()
WAITING = queue.Queue()
TICKS = itertools.count()


def helper(x):
    log.debug("helper sees %d elements", x.size)
    return x * 2


def printed_before_a_sort(x):
    print("before", x.shape)
    y = np.sort(x)
    print("after")
    return y * 2


def in_finally(x):
    try:
        return x * 2
    finally:
        print("done")


def caught(x):
    try:
        print("trying")
        raise ValueError("no")
    except Exception as error:
        print("caught", error)
    finally:
        log.info("finally")
    return x + 1


def in_a_with(x):
    with told():
        return x * 2


@contextmanager
def told():
    print("enter")
    try:
        yield
    finally:
        print("exit")


class Model:
    """Holds more than the call reads."""

    def __init__(self):
        self.history = list(range(3000))
        self.nested = [list(range(100)) for _ in range(40)]
        self.names = set(range(3000))
        self.w = np.float32(2.0)

    def __call__(self, x):
        return x * self.w

    def uncalled(self):
        return MANY, self.history


def logged_by_a_method(x, m):
    return m(x) + 1


class Talking:
    def __init__(self):
        self.n = 2.0

    def __call__(self, x):
        log.warning("called")
        return x * self.n


def retried(x):
    for _ in range(2):
        log.info("again")
        x = x + 1
    return x


def decorated(fn):
    @functools.wraps(fn)
    def inner(*args):
        log.info("calls %s", fn.__name__)
        return fn(*args)

    return inner


@decorated
def with_a_decorator(x):
    return x * 3


def warned(x):
    warnings.warn("careful", UserWarning, stacklevel=1)
    return x + 1


def warned_of_the_caller(x):
    warnings.warn("from above", DeprecationWarning, stacklevel=2)
    return x + 1


def quiet(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.sqrt(x)


EFFECTS = {
    "logging": lambda x: (log.info("hello"), x * 2)[1],
    "logging of a value": lambda x: (log.info("sum %.1f", x.sum()), x * 2)[1],
    "logging in a helper": helper,
    "logging by a method": lambda x: Talking()(x),
    "logging in a loop": retried,
    "logging by a decorator": with_a_decorator,
    "a warning": warned,
    "a warning of the caller": warned_of_the_caller,
    "warnings caught": quiet,
    "printing": lambda x: (print("hello", x.ndim), x * 2)[1],
    "printing before a refusal": printed_before_a_sort,
    "printing in finally": in_finally,
    "printing what was caught": caught,
    "printing in a with": in_a_with,
    "a stream": lambda x: (STREAM.write("a"), x + len(STREAM.getvalue()) * 0)[1],
    "standard output": lambda x: (sys.stdout.write("written\n"), x * 2)[1],
    "a queue": lambda x: (WAITING.put(1), x * 2)[1],
    "a file": lambda x: (open("/dev/null").close(), x * 2)[1],
    "sorted by print": lambda x: x * sorted([2.0, 3.0], key=lambda v: (print(v), v)[1])[0],
    "a lock": lambda x: locked(x),
    "a map of print": lambda x: (list(map(print, [1, 2])), x * 2)[1],
}


@pytest.mark.host
@pytest.mark.parametrize("name", EFFECTS)
def test_effects_happen_as_by_the_plain_function(name):
    does_the_same(EFFECTS[name], X)


@pytest.mark.host
def test_a_counter_counts_each_call():
    fused = ow.fuse(lambda x: (next(TICKS), x * 2)[1])
    start = next(TICKS)
    for _ in range(3):
        fused(X)

    assert next(TICKS) == start + 4


@pytest.mark.host
def test_a_clock_is_asked_at_each_call():
    fused = ow.fuse(lambda x: x * 0 + time.perf_counter())
    x = X.astype(np.float64)  # float32 has steps of a millisecond after two hours

    assert fused(x)[0] < fused(x)[0] < fused(x)[0]


@pytest.mark.host
def test_a_sleep_sleeps_at_each_call():
    fused = ow.fuse(lambda x: (time.sleep(0.02), x * 2)[1])
    fused(X)
    start = time.perf_counter()
    fused(X)

    assert time.perf_counter() - start >= 0.02


@pytest.mark.host
def test_a_librarys_counter_counts_each_call(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "counting_library"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "calls = 0\nseen = []\ndef scaled(x, by=2):\n    global calls\n    calls += 1\n"
        "    seen.append(type(x).__name__)\n    return x * by\n"
        "class Scaler:\n    def __init__(self, by):\n        self.by = by\n"
        "    def apply(self, x):\n        seen.append(type(x).__name__)\n        return x * self.by\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    import counting_library

    scaler = counting_library.Scaler(3)
    fused = ow.fuse(lambda x: counting_library.scaled(x + 1, by=3) + scaler.apply(x))
    for _ in range(3):
        np.testing.assert_array_equal(fused(X), (X + 1) * 3 + X * 3)

    assert counting_library.calls == 3
    assert counting_library.seen == ["ndarray"] * 6


@pytest.mark.host
def test_a_warning_is_shown_once_for_a_line_as_python_does():
    found = {}
    for name, function in (("plain", warned), ("fused", ow.fuse(warned))):
        warned.__globals__.pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            for _ in range(3):
                function(X)
        found[name] = [(str(w.message), w.lineno) for w in told]

    assert found["fused"] == found["plain"]
    assert len(found["plain"]) == 1


@pytest.mark.host
def test_the_whole_is_refused_with_line_and_remedy():
    with pytest.raises(
        ow.errors.TraceError, match=r"logging\.Logger\.info.*test_effects\.py:\d+.*call it outside"
    ):
        ow.fuse(EFFECTS["logging"], fullgraph=True)(X)


UNREAD_LISTS = {
    "a global list": lambda x: x * 2 if x is not MANY else MANY,
    "a global set": lambda x: x * 2 if x is not MANY_SET else MANY_SET,
    "a nested global": lambda x: x * 2 if x is not UNREAD else UNREAD,
}


@pytest.mark.host
@pytest.mark.parametrize("name", UNREAD_LISTS)
def test_a_large_container_that_is_not_read_is_no_reason_to_refuse(name):
    fused = ow.fuse(UNREAD_LISTS[name], fullgraph=True)

    np.testing.assert_array_equal(fused(X), X * 2)


@pytest.mark.host
def test_an_object_may_hold_large_containers():
    does_the_same(logged_by_a_method, X, Model())
    assert len(ow.fuse(logged_by_a_method, fullgraph=True).lower(X, Model()).kernels) == 1


@pytest.mark.host
@pytest.mark.parametrize("index", [3, 4000])
def test_a_large_list_that_is_read_is_read_at_each_call(index):
    fused = ow.fuse(lambda x, i: x * MANY[i])
    before = MANY[index]
    try:
        np.testing.assert_array_equal(fused(X, index), X * before)
        MANY[index] = 7
        np.testing.assert_array_equal(fused(X, index), X * 7)
    finally:
        MANY[index] = before


STATE = {"n": 0, "last": None}
LOCK = threading.Lock()


def locked(x):
    with LOCK:
        STATE["n"] += 1
        return x * 2


@pytest.mark.host
def test_deques_and_local_containers_are_no_effects():
    def windowed(x):
        recent = deque(maxlen=2)
        for n in range(4):
            recent.append(x * n)
        return sum(recent)

    assert len(ow.fuse(windowed, fullgraph=True).lower(X).kernels) == 1
    assert ran(windowed, [X])[0] == ran(ow.fuse(windowed), [X])[0]
