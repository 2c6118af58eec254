"""What a function does besides computing happens at each call, once, as by the plain function."""

import atexit
import cProfile
import functools
import gc
import heapq
import io
import itertools
import logging
import os
import queue
import signal
import string
import sys
import threading
import time
import warnings
import weakref
from collections import defaultdict, deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from differential import described, does_the_same, ran

import opweave as ow
from opweave.compiler.pipeline import specialise

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


def put(x):
    WAITING.put(1)
    return x + WAITING.qsize()


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

    assert fused(X)[0] < fused(X)[0] < fused(X)[0]


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


# What a function changes outside of itself


COUNT = 0
SEEN = []
STATE = {"n": 0, "last": None}


class Counter:
    def __init__(self):
        self.n = 0
        self.inner = {"all": []}

    def __call__(self, x):
        self.n += 1
        self.inner["all"].append(self.n)
        self.new = x.sum()
        return x * self.n


HOLDER = Counter()


def counted(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def appended(x):
    SEEN.append(float(x.sum()))
    return x + len(SEEN)


def changed_before_an_exception(x):
    SEEN.append(2)
    raise ValueError("after all")


def changed_before_numpys_exception(x):
    SEEN.append(3)
    return x @ np.ones(100)


def remembered_by_hand(x, n):
    if n not in STATE:
        STATE[n] = np.arange(n)
    STATE["last"] = STATE[n]
    return x[:n] * STATE[n]


def of_a_new_attribute(x):
    HOLDER.fresh = x * 2
    return HOLDER.fresh + 1


def arguments_are_changed(x, numbers, table):
    numbers.append(x.shape[0])
    numbers[0] += 1
    table["x"] = x * 2
    table["numbers"] = numbers
    del table["old"]
    return x + 1


def nested(x):
    total = 0

    def add(n):
        nonlocal total
        total += n

    add(2)
    add(3)
    return x * total


def swapped(x, pair):
    pair["a"], pair["b"] = pair["b"], pair["a"]
    return x


def closure():
    calls = 0

    def counting(x):
        nonlocal calls
        calls += 1
        return x * calls

    return counting


@dataclass(slots=True, eq=False)
class Slotted:
    n: int
    last: object = None


def of_slots(x, p):
    p.n += 1
    p.last = x * 2
    return x * p.n


@dataclass
class Open:
    n: int = 0


OPEN = Open()


def of_a_new_field(x):
    OPEN.fresh = 2
    return


def stores_a_default(x):
    SEEN.append(lambda v, k=x * 2: v + k)
    return SEEN[0](1)


class Key:
    seen = []  # noqa: RUF012

    def __init__(self):
        self.n = 0

    def noted(self, x):
        if self not in Key.seen:
            Key.seen.append(self)
        self.n += 1
        return x * len(Key.seen)


KEY = Key()
TALLY = {}


def tallied(x):
    TALLY[KEY] = TALLY.get(KEY, 0) + 1
    return x + TALLY[KEY]


def noted_by_its_class(x):
    Key.seen.clear()
    y = KEY.noted(x) + KEY.noted(x)
    return y * (2 if Key.seen[0] is KEY else 3)


def looked_up(x):
    return x + TALLY.get(KEY, 5)


HELD = [1]
push = HELD.append
take = HELD.pop
note = HOLDER.__call__


def pushed(x):
    push(x.sum())
    return np.sort(x) * (len(HELD) if HELD is not None else 0)


def pushed_unseen(x):
    push(x * 2)
    return np.sort(x) * take()


def by_a_bound_method(x):
    return note(np.sort(x)) + HOLDER.n


class Link:
    def __init__(self, behind):
        self.behind, self.value = behind, 1


LINKS = functools.reduce(lambda behind, _: Link(behind), range(5000), None)


def deep_within(x):
    print(end="")
    LINKS.value = x * 2
    return LINKS.value + 1


@functools.cache
def cached(key):
    SEEN.append("cached")
    return [key, 1]


class Keeper:
    @functools.lru_cache  # noqa: B019
    def kept(self, n):
        SEEN.append(n)
        return n + len(SEEN)


class Duck:
    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        SEEN.append("array")
        return np.array(self.data, dtype)


def noted(v):
    SEEN.append("noted")
    return v


VECTORIZED = np.vectorize(noted)


def beside_a_cache(x):
    SEEN.append("first")
    found = cached("text")
    SEEN.append(len(SEEN))
    return np.sort(x) * len(found)


def beside_a_method_that_numpy_calls(x):
    SEEN.append("first")
    made = np.add(Duck(x), 1)
    SEEN.append(len(SEEN))
    return made


def beside_a_function_of_others(x):
    global COUNT
    SEEN.append("first")
    COUNT += 1
    made = VECTORIZED(x)
    SEEN.append(len(SEEN))
    return made * COUNT


def called_back(x):
    SEEN.append("first")
    made = sorted([3, 1, 2], key=lambda v: (SEEN.append(v), v)[1])
    SEEN.append(len(SEEN))
    return np.sort(x) * made[0]


def called_back_by_a_library(x):
    SEEN.append("first")
    found = string.Formatter().vformat("{0}", (Formatted(),), {})
    SEEN.append(found)
    return np.sort(x)


class Formatted:
    def __format__(self, spec):
        SEEN.append("formatted")
        return str(len(SEEN))


def of_an_empty_part(x):
    return np.piecewise(np.sort(x), [x > 100, x > 2], [noted, noted, 0])


def a_view_in_a_container(x):
    part = x[:2]
    found = defaultdict(list, a=[part])
    print(end="")
    return found, found, part


def a_partial_comes_back(x, p):
    print(p is None)
    return x * 2, p, p


CHANGES = {
    "beside a cache": lambda: (beside_a_cache, X),
    "a cache alone": lambda: (lambda x: x * cached("alone")[1], X),
    "a cache of a method": lambda: (lambda x, c: np.sort(x) * c.kept(2) * c.kept(2), X, Keeper()),
    "beside a method that NumPy calls": lambda: (beside_a_method_that_numpy_calls, X),
    "beside a function of others": lambda: (beside_a_function_of_others, X),
    "called back": lambda: (called_back, X),
    "called back by a library": lambda: (called_back_by_a_library, X),
    "a piece without elements": lambda: (of_an_empty_part, X),
    "a method in a variable": lambda: (pushed, X),
    "a method of a list that is not read": lambda: (pushed_unseen, X),
    "a method of an object": lambda: (by_a_bound_method, X),
    "objects linked deeply": lambda: (deep_within, X),
    "a dataclass's new attribute": lambda: (of_a_new_field, X),
    "a dataclass with slots": lambda: (of_slots, X, Slotted(1)),
    "a look-up by an object": lambda: (looked_up, X, TALLY.setdefault(KEY, 1))[:2],
    "a table by an object": lambda: (tallied, X),
    "an object in a list of its class": lambda: (noted_by_its_class, X),
    "a global": lambda: (counted, X),
    "a global list": lambda: (appended, X),
    "before an exception": lambda: (changed_before_an_exception, X),
    "a table of results": lambda: (remembered_by_hand, X, 3),
    "an object": lambda: (lambda x, c: c(x), X, Counter()),
    "a global object": lambda: (lambda x: HOLDER(x), X),
    "a new attribute": lambda: (of_a_new_attribute, X),
    "arguments": lambda: (arguments_are_changed, X, [1, 2], {"old": 1}),
    "a variable of its own": lambda: (nested, X),
    "a variable of an enclosing function": lambda: (closure(), X),
    "one for the other": lambda: (swapped, X, {"a": X, "b": [1]}),
}


@pytest.mark.host
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_outside_is_changed_at_each_call(name):
    found = {}
    for kind in ("plain", "fused"):
        global COUNT
        COUNT = 0
        SEEN.clear()
        STATE.clear()
        STATE.update(n=0, last=None)
        TALLY.clear()
        HELD[:] = [1]
        cached.cache_clear()
        HOLDER.__dict__.clear()
        HOLDER.__init__()
        fn, *args = CHANGES[name]()
        did = ran(fn if kind == "plain" else ow.fuse(fn), args)
        state = STATE, HOLDER, dict(vars(OPEN)), HELD, LINKS.value
        vars(OPEN).pop("fresh", None)
        found[kind] = [did, COUNT, list(SEEN), described(state)]

    assert found["fused"] == found["plain"]


@pytest.mark.host
def test_what_is_one_object_is_one_in_a_result():
    found, again, part = ow.fuse(a_view_in_a_container)(X)
    assert found is again
    assert found["a"][0] is part
    given = functools.partial(helper, 2)
    _, one, other = ow.fuse(a_partial_comes_back)(X, given)
    assert one is other is given


# What is returned, and runs after the call.
LATER = {
    "a function": (lambda x: lambda y: y + x * 2, lambda made: made(1)),
    "a function of helpers": (lambda x: lambda: helper(x), lambda made: made()),
    "a generator": (lambda x: (v * x for v in range(3)), list),
    "a generator of arrays": (lambda x: (v + 1 for v in [x, x * 2]), list),
    "a generator that has begun": (lambda x: begun(x), list),
    "an iterator": (lambda x: iter([x * 2, x + 1]), list),
    "a map": (lambda x: map(np.sin, [x * 2, x + 1]), list),
    "zipped lists": (lambda x: zip([x * 2], [x + 1], strict=True), list),
    "a dict's values": (lambda x: {"a": x * 2}.values(), list),
    "a list with a function": (lambda x: [x, lambda: x + 1], lambda made: made[1]()),
}


def begun(x):
    def steps(y):
        z = yield y * 2
        while True:
            z = yield z if z is not None else y + 1
            if y.sum() > 0:
                return

    made = steps(x + 1)
    next(made)
    return made


@pytest.mark.host
@pytest.mark.parametrize("name", LATER)
def test_what_runs_after_the_call_is_returned(name):
    function, use = LATER[name]
    expected, found = function(X), ow.fuse(function)(X)
    assert type(found) is type(expected)

    used = use(found)
    assert described(used) == described(use(expected))
    assert all(type(v) is not v.__class__ or type(v) is np.ndarray
               for v in (used if isinstance(used, list) else [used])
               if not isinstance(v, tuple))  # fmt: skip


@pytest.mark.host
def test_threads_that_change_one_list_lose_nothing():
    held = []

    def noted(x):
        held.append(1)
        print(end="")
        return x * 2

    fused = ow.fuse(noted)
    threads = [threading.Thread(target=lambda: [fused(X) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(held) == 400


def many_steps(x):
    for _ in range(300):
        x = x + 1
    return x


@pytest.mark.host
def test_a_signal_during_a_trace_is_handled():
    found = []

    def handler(number, frame):
        print("handled", end="")
        found.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        while len(found) < 20:
            fused = ow.fuse(many_steps)
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            made = fused(X)
            signal.setitimer(signal.ITIMER_REAL, 0)
            np.testing.assert_array_equal(made, X + 300)
            assert not fused._parts.reasons
    finally:
        signal.signal(signal.SIGALRM, before)


class Dying:
    found = 0

    def __del__(self):
        print("gone", end="")
        Dying.found += 1


@pytest.mark.host
def test_what_dies_during_a_trace_is_told():
    for _ in range(10):
        dying = Dying()
        dying.itself = dying
    del dying
    before, fused = gc.get_threshold(), ow.fuse(many_steps)
    phases = []
    gc.callbacks.append(lambda phase, info: print(end="") or phases.append(phase))
    try:
        gc.set_threshold(1, 1, 1)
        np.testing.assert_array_equal(fused(X), X + 300)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()

    assert Dying.found == 10
    assert "stop" in phases
    assert not fused._parts.reasons


@pytest.mark.host
def test_a_function_that_is_never_whole_is_not_traced_for_each_new_kind(monkeypatch):
    traced = []
    trace = specialise.trace
    monkeypatch.setattr(specialise, "trace", lambda *a, **k: traced.append(1) or trace(*a, **k))
    grown = []

    def growing(x):
        grown.append(1)
        return x * len(grown)

    fused = ow.fuse(growing)
    for n in range(100):
        np.testing.assert_array_equal(fused(X), X * (n + 1))

    assert len(traced) <= 20


@pytest.mark.host
def test_what_is_changed_before_an_error_of_ours_is_changed():
    SEEN.clear()
    fused = ow.fuse(changed_before_numpys_exception)
    for _ in range(2):
        with pytest.raises(ValueError, match="matmul"):
            fused(X)

    assert SEEN == [3, 3]


LOCK = threading.Lock()


def locked(x):
    with LOCK:
        STATE["n"] += 1
        return x * 2


class Oops(Exception):
    pass


RAISING = {
    "raised": lambda x: raising(Oops("mine")),
    "raised behind an effect": lambda x: (print("before"), raising(Oops("mine")))[1],
    "a key": lambda x: x * {}["nothing"],
    "an index": lambda x: x * [1, 2][x.shape[0]],
    "a division": lambda x: x * (1 / (x.ndim - 1)),
    "a division that nobody reads": lambda x: (1 / (x.shape[0] - 6), x * 2)[1],
    "an attribute": lambda x: x.nothing,
    "a call of an array": lambda x: x(1),
    "a method of int": lambda x: x * int.bit_length(x.shape[0]),
    "an assertion": lambda x: asserted(x),
    "a number's index": lambda x: np.int64(2)[0],
    "a view of memory": lambda x: x * memoryview(x).nbytes,
    "raised and caught": lambda x: x * caught_within(),
}


def raising(error):
    raise error


def asserted(x):
    assert x.ndim == 2, "two dimensions"


def caught_within():
    try:
        raising(Oops("inner"))
    except Oops as error:
        return len(str(error))


@pytest.mark.host
@pytest.mark.parametrize("name", RAISING)
def test_exceptions_are_those_of_the_plain_function(name):
    does_the_same(RAISING[name], X)


@pytest.mark.host
def test_a_container_of_the_arguments_is_returned_as_itself():
    given = {"w": X}
    for fn in (lambda x, d: d, lambda x, d: (np.sort(x), d)[1]):
        assert ow.fuse(fn)(X, given) is given
    assert ow.fuse(lambda x: (STATE, x))(X)[0] is STATE


# Bad input: what watches Python already


@pytest.mark.host
def test_a_profiler_in_python_goes_on():
    seen = []

    def profiler(frame, event, arg):
        seen.append(event)

    sys.setprofile(profiler)
    try:
        ow.fuse(lambda x: x * 2 + 1)(X)
        ow.fuse(EFFECTS["logging"])(X)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    count = len(seen)

    assert count > 100


@pytest.mark.host
def test_under_a_profiler_a_compiled_kernel_is_no_code_of_others():
    def kept(x, held):
        held["n"] = x * 2 + 0.125  # a kernel of this test alone, which is compiled now
        one = held["n"]
        with open(os.devnull, "a"):
            pass
        return one, one

    held = {}
    sys.setprofile(lambda *_: None)
    try:
        one, same = ow.fuse(kept)(X, held)
    finally:
        sys.setprofile(None)

    assert one is same is held["n"]


@pytest.mark.host
def test_cprofile_goes_on():
    profile = cProfile.Profile()
    profile.enable()
    ow.fuse(lambda x: x * 2 + 1)(X)
    ow.fuse(EFFECTS["logging"])(X)
    np.linalg.norm(X)
    profile.disable()
    names = {entry.code.co_name for entry in profile.getstats() if hasattr(entry.code, "co_name")}

    assert "norm" in names
    assert sys.getprofile() is None


@pytest.mark.host
def test_a_debugger_goes_on():
    lines = []

    def tracing(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            lines.append(event)
        return tracing

    def watched():
        ow.fuse(in_finally)(X)
        ow.fuse(caught)(X)
        return 1

    sys.settrace(tracing)
    try:
        watched()
        assert sys.gettrace() is tracing
        count = len(lines)
        watched()
    finally:
        sys.settrace(None)

    assert len(lines) > count


@pytest.mark.host
@pytest.mark.parametrize("fn", [EFFECTS["logging"], lambda x: x / 0 if x.ndim == 9 else 1 / 0])
def test_no_hook_is_left_behind(fn):
    fused = ow.fuse(fn)
    for _ in range(2):
        with suppress(ZeroDivisionError):
            fused(X)
        assert sys.getprofile() is None
        assert sys.gettrace() is None


@pytest.mark.host
def test_a_profiler_that_raises_is_the_users_own_error():
    def raising(frame, event, arg):
        if frame.f_code.co_name == "fails":
            raise RuntimeError("in the profiler")

    def fails(x):
        return x * 2

    fused = ow.fuse(fails)
    sys.setprofile(raising)
    try:
        with pytest.raises(RuntimeError, match="in the profiler"):
            fused(X)
    finally:
        sys.setprofile(None)

    np.testing.assert_array_equal(fused(X), X * 2)


@pytest.mark.host
def test_threads_trace_at_once():
    def logged(x, n):
        log.info("n %d", n)
        return x * n

    wrong = []

    def work(n):
        fused = ow.fuse(logged)
        for _ in range(3):
            if not np.array_equal(fused(X, n), X * n) or sys.getprofile() is not None:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


@pytest.mark.host
def test_deques_and_local_containers_are_no_effects():
    def windowed(x):
        recent = deque(maxlen=2)
        for n in range(4):
            recent.append(x * n)
        return sum(recent)

    assert len(ow.fuse(windowed, fullgraph=True).lower(X).kernels) == 1
    assert ran(windowed, [X])[0] == ran(ow.fuse(windowed), [X])[0]


# What outlives a call


@pytest.mark.host
def test_a_tuple_that_stands_twice_in_a_result_is_one():
    def f(x):
        pair = (np.sort(x) * 2, x + 1)
        return pair, [pair]

    found = ow.fuse(f)(X)

    assert [type(v) for v in found[1][0]] == [np.ndarray] * 2
    assert found[1][0] is found[0]


@pytest.mark.host
def test_a_default_that_is_stored_is_an_array():
    SEEN.clear()
    fused = ow.fuse(stores_a_default)
    for _ in range(3):
        assert type(fused(X)) is np.ndarray
    SEEN.clear()


@pytest.mark.host
def test_numbers_have_methods_of_their_own():
    does_the_same(lambda x: (x * 2, x[2].is_integer(), x[1].as_integer_ratio()), X)


@pytest.mark.host
def test_operators_are_left_to_others():
    sparse = scipy.sparse.csr_matrix(np.diag(X))
    fused = ow.fuse(lambda x: (x @ sparse) * 2 + x)
    for _ in range(2):
        np.testing.assert_array_equal(fused(X), X * X * 2 + X)


class Base:
    count = 0

    def scaled(self, x):
        type(self).count += 1
        return x * 2


class Derived(Base):
    def scaled(self, x):
        return super().scaled(x) + 1


class Node:
    def __init__(self, v):
        self.v = v
        self.me = self

    def scaled(self, x):
        self.v += 1
        return x * self.v


class Carrying(Exception):
    pass


STORED = []


def stores_a_closure(x):
    k = x * 2
    STORED.append(lambda v: v + k)
    return [h(1) for h in STORED]


def raises_with_an_array(x):
    np.sort(x)
    raise Carrying(x * 2)


@pytest.mark.host
def test_a_class_is_asked_through_super():
    Derived.count = 0
    b = Derived()
    fused = ow.fuse(lambda x: b.scaled(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        for _ in range(3):
            np.testing.assert_array_equal(fused(X), X * 2 + 1)

    assert Derived.count == 3


@pytest.mark.host
def test_a_closure_that_is_stored_holds_arrays():
    STORED.clear()
    fused = ow.fuse(stores_a_closure)
    for n in range(1, 4):
        found = fused(X)
        assert [type(v) for v in found] == [np.ndarray] * n
        np.testing.assert_array_equal(found[-1], X * 2 + 1)


@pytest.mark.host
@pytest.mark.parametrize("fn", [raises_with_an_array, lambda x: raising(Carrying(x * 2))])
def test_an_exception_carries_arrays(fn):
    with pytest.raises(Carrying) as caught:
        ow.fuse(fn)(X)

    assert type(caught.value.args[0]) is np.ndarray


@pytest.mark.host
def test_an_object_that_holds_itself():
    node = Node(1.0)
    fused = ow.fuse(lambda x: node.scaled(x))
    for n in range(2, 5):
        np.testing.assert_array_equal(fused(X), X * n)

    assert node.v == 4
    assert node.me is node


def in_place(x):
    x += 1
    return x


def through_a_view(x):
    y = x[::2]
    y *= 2
    return y


KEPT_FUNCTIONS = {
    "whole": lambda x: x * 2,
    "a helper": lambda x: helper(x),
    "parts": lambda x: np.sort(x) * 2,
    "in place": in_place,
    "through a view": through_a_view,
    "a mask": lambda x: np.ma.array(x, mask=x > 3).sum(),
    "an object": lambda x: HOLDER(x),
}


@pytest.mark.host
@pytest.mark.parametrize("name", KEPT_FUNCTIONS)
def test_nothing_keeps_the_arrays_of_a_call(name):
    fused = ow.fuse(KEPT_FUNCTIONS[name])

    def call():
        given = X.copy()
        kept.append(weakref.ref(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fused(given)

    kept = []
    call()
    gc.collect()
    gc.disable()
    try:
        call()
        assert kept[1]() is None or name == "an object"
    finally:
        gc.enable()
    gc.collect()

    assert kept[1]() is None


class Last:
    last = None


def a_view_and_its_array(x, o):
    print(end="")
    y = x + 1
    o.last = y
    z = y.T
    return {"a": z, "b": (z, None), "same": y}


@pytest.mark.host
def test_a_view_of_all_is_another_object_than_its_array():
    holder = Last()
    found = ow.fuse(a_view_and_its_array)(X, holder)

    assert found["a"] is found["b"][0]
    assert found["same"] is holder.last
    assert found["a"] is not holder.last
    assert np.shares_memory(found["a"], holder.last)


INTERRUPTED = 0


def interrupted(x):
    global INTERRUPTED
    INTERRUPTED += 1
    raise KeyboardInterrupt


@pytest.mark.host
def test_ctrl_c_is_not_taken_for_a_refusal():
    with pytest.raises(KeyboardInterrupt):
        ow.fuse(interrupted)(X)

    assert sys.getprofile() is None


@pytest.mark.host
def test_what_the_plain_function_runs_is_not_traced_at_each_call(monkeypatch):
    traced = []
    trace = specialise.trace
    monkeypatch.setattr(specialise, "trace", lambda *a, **k: traced.append(1) or trace(*a, **k))
    fused = ow.fuse(lambda x, y: np.sort(x) * (2 if np.asarray(x) is y else 3))
    with pytest.warns(ow.OpweaveWarning) as told:
        for _ in range(5):
            np.testing.assert_array_equal(fused(X, X), np.sort(X) * 2)

    assert len(told) == 1
    assert len(traced) == 1


@pytest.mark.host
def test_a_function_that_others_keep_is_the_users_own():
    REGISTERED.clear()

    def own(x):
        return x + 1

    def registers(x):
        heapq.heappush(REGISTERED, (0, own))
        atexit.register(own)
        atexit.unregister(own)
        return np.sort(x)

    np.testing.assert_array_equal(ow.fuse(registers)(X), np.sort(X))
    assert REGISTERED[0][1] is own


REGISTERED = []


@pytest.mark.host
def test_a_profile_function_that_is_set_inside_stays():
    def own(frame, event, arg):
        pass

    def setting(x):
        sys.setprofile(own)
        return np.sort(x)

    fused = ow.fuse(setting)
    try:
        np.testing.assert_array_equal(fused(X), np.sort(X))
        assert sys.getprofile() is own
    finally:
        sys.setprofile(None)


class Announced:
    """An array that says so when it is asked for."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        ANNOUNCED.append("asked")
        return np.array(self.data, dtype)


ANNOUNCED = []


def fails_after_a_change(x):
    np.asarray(Announced(1.0))
    raise LookupError("after it")


@pytest.mark.host
def test_a_change_before_an_exception_is_never_lost():
    ANNOUNCED.clear()
    with pytest.raises(LookupError, match="after it"):
        ow.fuse(fails_after_a_change)(X)
    assert ANNOUNCED == ["asked"]
    with pytest.raises(ow.OpweaveError, match="changes ANNOUNCED"):
        ow.fuse(fails_after_a_change, fullgraph=True)(X)
