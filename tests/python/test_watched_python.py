"""Beside profilers, debuggers, signals and threads, which watch Python or interrupt it."""

import cProfile
import gc
import logging
import os
import signal
import sys
import threading
import weakref
from contextlib import suppress

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.pipeline import specialise

LIBRARY_IN_PARTS = True
X = np.arange(6.0, dtype=np.float32) + 1
log = logging.getLogger("tests.effects")


def logged(x):
    log.info("hello")
    return x * 2


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


class Plain:
    pass


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


def many_lists(x):
    return x * len([[n] for n in range(5000)])


@pytest.mark.host
def test_a_generator_of_others_that_is_collected_during_a_trace_comes_to_its_end():
    def steps():
        try:
            yield 1
        finally:
            ended.append(len([str(n) for n in range(3)]))

    fused, before, ended = ow.fuse(many_lists, fullgraph=True), gc.get_threshold(), []
    gc.collect()
    going = steps()
    next(going)
    holding = [going]
    holding.append(holding)
    del going, holding
    try:
        gc.set_threshold(4000)
        np.testing.assert_array_equal(fused(X), X * 5000)
    finally:
        gc.set_threshold(*before)

    assert ended == [3]
    assert not [c for c in gc.callbacks if "opweave" in getattr(c, "__module__", "")]


@pytest.mark.host
def test_callbacks_of_references_that_die_during_a_trace_are_called():
    fused, before = ow.fuse(many_lists), gc.get_threshold()
    gc.collect()
    told, dying = [], Plain()
    dying.itself = dying
    reference = weakref.ref(dying, lambda found, end="": print(end=end) or told.append(found))
    del dying
    try:
        gc.set_threshold(4000)  # reached in the function itself
        np.testing.assert_array_equal(fused(X), X * 5000)
    finally:
        gc.set_threshold(*before)

    assert told == [reference]
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
def test_a_profiler_in_python_goes_on():
    seen = []

    def profiler(frame, event, arg):
        seen.append(event)

    sys.setprofile(profiler)
    try:
        ow.fuse(lambda x: x * 2 + 1)(X)
        ow.fuse(logged)(X)
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
    ow.fuse(logged)(X)
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
@pytest.mark.parametrize("fn", [logged, lambda x: x / 0 if x.ndim == 9 else 1 / 0])
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
