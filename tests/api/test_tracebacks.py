"""Errors that reach the user end at the user's line; what they are stays as it is."""

import functools
import gc
import sys
import traceback
import weakref

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

X = np.ones((4, 8), np.float32)
Y = np.ones((8, 4), np.float32)
HERE = "test_tracebacks.py"
LIBRARY_IN_PARTS = True


def helper(v):
    return v + Y


@ow.fuse
def adds(x):
    y = x * 2
    return helper(y)


@ow.fuse
def raises(x):
    np.sort(x)
    raise KeyError("mine")


@ow.fuse
def chains(x):
    try:
        return {}["first"]
    except KeyError as error:
        raise ValueError("second") from error


@ow.fuse
def nested(x):
    return adds(x)


@ow.fuse(fullgraph=True)
def sorts(x):
    return np.sort(x)


@ow.fuse
def fits(x, i=0):
    return x[i] * 2


def by_key(v):
    raise KeyError("not this")


@ow.fuse
def calls_numpy(x):
    return np.apply_along_axis(by_key, 0, np.sort(x))


def graph():
    made = ow.Graph("g")
    x = made.host_to_device("x", 4)
    made.device_to_host(made.add(x, made.host_to_device("y", 5)), "z")
    return made


def runner():
    made = ow.Graph("g")
    made.device_to_host(made.exp(made.host_to_device("x", 4)), "z")
    return made.runner()


SUM = ow.kernel([ow.load("x"), ow.opcodes.sum(), ow.opcodes.exp, ow.opcodes.sum(), ow.store("y")])
# A call, the error, and the functions of this file that the traceback names, outermost first.
CALLS = {
    "call": (lambda: adds(X), e.ShapeError, "<lambda> adds helper"),
    "keyword": (lambda: adds(x=X), e.ShapeError, "<lambda> adds helper"),
    "lower": (lambda: adds.lower(X, target="sm_80"), e.ShapeError, "<lambda> adds helper"),
    "check": (lambda: adds.check(X), e.ShapeError, "<lambda> adds helper"),
    "explain": (lambda: adds.explain(X), e.ShapeError, "<lambda> adds helper"),
    "bisect": (lambda: adds.bisect(X), e.ShapeError, "<lambda> adds helper"),
    "reference": (lambda: adds.reference(X), e.ShapeError, "<lambda> adds helper"),
    "a fused function in another": (lambda: nested(X), e.ShapeError, "<lambda> nested adds helper"),
    "in parts": (lambda: raises(X), KeyError, "<lambda> raises"),
    "explained in parts": (lambda: raises.explain(X), KeyError, "<lambda> raises"),
    "called by NumPy": (lambda: calls_numpy(X), KeyError, "<lambda> calls_numpy by_key"),
    "refused": (lambda: sorts(X), e.UnsupportedError, "<lambda> sorts"),
    "argument": (lambda: adds(range(3)), e.ArgumentError, "<lambda>"),
    "arity": (lambda: adds(X, X, X), e.ArgumentError, "<lambda>"),
    "out": (lambda: fits(X, out=[1]), e.ArgumentError, "<lambda>"),
    "index": (lambda: fits(X, np.array([99])), IndexError, "<lambda>"),
    "toggle": (lambda: adds.with_toggles(SPEED=1), e.ToggleError, "<lambda>"),
    "program": (lambda: fits.lower(X)(X[0]), e.ArgumentError, "<lambda>"),
    "compile": (lambda: fits.lower(X).compile(source="?"), e.ArgumentError, "<lambda>"),
    "repeat": (lambda: ow.repeat(fits, 3)(X), e.ArgumentError, "<lambda>"),
    "repeat, lowered": (lambda: ow.repeat(adds, 3).lower(X), e.ShapeError, "<lambda> adds helper"),
    "op-codes": (lambda: SUM(X), e.EditError, "<lambda>"),
    "graph": (lambda: graph().check(), e.GraphError, "<lambda>"),
    "graph, node": (lambda: ow.Graph("g").node("nonsense"), e.GraphError, "<lambda>"),
    "runner": (lambda: runner()(x=X), e.ArgumentError, "<lambda>"),
}  # fmt: skip


def frames(error):
    """Files and functions of a traceback, without the test's own frame."""
    found = traceback.extract_tb(error.__traceback__)[1:]
    return [f for f in found if "numpy" not in f.filename]


def caught(call):
    with pytest.raises(Exception) as found:  # noqa: PT011
        call()
    return found.value


@pytest.mark.parametrize(("call", "kind", "names"), CALLS.values(), ids=list(CALLS))
def test_a_traceback_has_the_users_lines_alone(call, kind, names):
    error = caught(functools.partial(call))
    found = frames(error)
    own = [f for f in found if f.name != "caught"]

    assert isinstance(error, kind)
    assert " ".join(f.name for f in own) == names
    assert all(f.filename.endswith(HERE) for f in found)


def test_the_last_line_is_the_users_own():
    last = traceback.extract_tb(caught(lambda: adds(X)).__traceback__)[-1]

    assert (last.name, last.line) == ("helper", "return v + Y")


def test_causes_stay_and_are_folded_too():
    error = caught(lambda: chains(X))

    assert isinstance(error.__cause__, KeyError)
    assert error.__suppress_context__
    assert [f.name for f in traceback.extract_tb(error.__cause__.__traceback__)] == ["chains"]


def test_what_was_caught_within_opweave_is_not_told():
    for name in ("call", "in parts", "explained in parts", "refused", "argument", "index"):
        text = "".join(traceback.format_exception(caught(CALLS[name][0])))
        assert "During handling" not in text, name


def test_what_the_caller_was_handling_is_told():
    def handling():
        try:
            {}["theirs"]
        except KeyError:
            adds(X)

    error = caught(handling)
    assert isinstance(error.__context__, KeyError)
    assert "theirs" in str(error.__context__)
    assert "During handling" in "".join(traceback.format_exception(error))


def test_messages_and_notes_stay():
    def noted(x):
        np.sort(x)
        error = KeyError("mine")
        error.add_note("a note of mine")
        raise error

    error = caught(lambda: ow.fuse(noted)(X))
    assert error.args == ("mine",)
    assert error.__notes__ == ["a note of mine"]


def test_a_fault_of_ours_says_how_to_see_it(monkeypatch):
    monkeypatch.setattr(
        "opweave._functions.calls.Calls.quickly", _of_opweave("def f(*a): raise RuntimeError")
    )
    for _ in range(2):
        error = caught(lambda: adds(X))
        assert [f.name for f in frames(error)] == ["<lambda>"]
        assert error.__notes__ == [
            "frames of opweave are left out: OPWEAVE_LOGS=traceback shows them"
        ]


def _of_opweave(text):
    scope = {"__name__": "opweave.made_up"}
    exec(text, scope)
    return scope["f"]


def test_a_topic_of_the_logs_keeps_our_frames(monkeypatch):
    monkeypatch.setenv("OPWEAVE_LOGS", "breaks,traceback")
    files = [f.filename for f in frames(caught(lambda: adds(X)))]

    assert any(f.endswith("fused.py") for f in files)
    assert any(f.endswith("trace.py") for f in files)


@pytest.mark.parametrize("name", ["call", "in parts", "argument", "index"])
def test_no_cycle_keeps_what_an_error_held(name):
    def call():
        own = np.ones((4, 8), np.float32)
        watched.append(weakref.ref(own))
        {"call": adds, "in parts": raises, "index": lambda x: fits(x, np.array([99])),
         "argument": lambda x: adds(range(3), x)}[name](own)  # fmt: skip

    watched = []
    gc.collect()
    gc.disable()
    try:
        try:
            call()
        except Exception:
            pass
        else:
            raise AssertionError("nothing was raised")
        assert watched[0]() is None
    finally:
        gc.enable()


def test_a_warm_call_passes_no_frame_more():
    fits(X)
    depths = []

    def profile(frame, event, arg):
        if event == "call" and "opweave" in str(frame.f_globals.get("__name__")):
            depths.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        fits(X)
    finally:
        sys.setprofile(None)
    assert depths[0] == "Fused.__call__"
    assert not {"folded.<locals>.called", "fold"} & set(depths)
