"""Values that a function leaves in objects, dicts and lists of its arguments, as one program."""

import copy
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures.tree import flatten

AS_FOR_USERS = False
X = np.arange(6.0)
pytestmark = pytest.mark.host


class State:
    """What the functions below change."""

    def __init__(self):
        self.step, self.x, self.before = 0, X.copy(), X.copy()
        self.rate, self.name, self.done = 0.5, "first", False
        self.pair, self.deep = (X.copy(), 1), SimpleNamespace(m=X.copy(), n=[1, 2.0])


@dataclass(slots=True)
class Slots:
    step: int
    x: object


def counted(s, x):
    s.step += 1
    return x * s.step


def momentum(s, x):
    s.x = 0.9 * s.x + s.rate * x
    s.rate *= 0.99
    return s.x * 2


def exchanged(s, x):
    s.before, s.x = s.x, s.x + x
    return s.x - s.before


def returned_as_well(s, x):
    s.x = x * 2
    return s.x, s


def an_argument(s, x):
    s.x = x
    return x + 1


def a_part_of_an_argument(s, x):
    s.before = s.x[1:]
    return x + 1


def twice(s, x):
    s.x = s.before = x * 3
    return s.x


def other_kinds(s, x):
    s.name, s.done, s.rate, s.pair = "second", s.step > 0, None, (x + 1, s.step + 2)
    return x * 2


def deep(s, x):
    s.deep.m, s.deep.n[1] = s.deep.m + x, s.deep.n[0] + 1
    return s.deep.m.sum()


def a_new_name(s, x):
    s.mean = x.mean()
    return x - s.mean


def written_too(s, x):
    s.x *= 2
    x += s.x
    s.step = s.step + len(x)


def a_list_grows(s, x):
    s.deep.n.append(3)
    return x * 2


def a_name_goes(s, x):
    if hasattr(s, "name"):
        del s.name
    return x * 2


def an_index(s, x):
    s.x[s.step] = x[0]
    s.step = (s.step + 1) % len(s.x)
    return s.x.mean()


def through_methods(s, x):
    def update(state, value):
        state.step, state.x = state.step + 1, np.maximum(state.x, value)

    update(s, x)
    update(s, x + s.step)
    return s.x


def a_number_is_asked_for(s, x):
    s.deep.n[s.step % 2] = x.sum()
    s.step += 1
    return x * 2


def a_number_is_made_another(s, x):
    s.rate = np.float32(s.rate) * np.float32(1.5)
    return x * s.rate


def a_number_is_told(s, x):
    s.name = f"{s.step}"
    s.step += 1
    return x * 2


WHOLE = (
    counted, momentum, exchanged, returned_as_well, an_argument, a_part_of_an_argument, twice,
    other_kinds, deep, a_new_name, written_too, an_index, through_methods,
)  # fmt: skip
NEVER_TWICE_THE_SAME = (a_number_is_asked_for, a_number_is_made_another, a_number_is_told)
IN_PARTS = (a_list_grows, a_name_goes, *NEVER_TWICE_THE_SAME)


def told(value, arrays):
    """Kinds and values of what an object holds, and which of its arrays share memory."""
    leaves = flatten(value, "s", (str,))[0]
    arrays = [*arrays, *(leaf for _, leaf in leaves if isinstance(leaf, np.ndarray))]
    shared = [np.shares_memory(a, b) for a in arrays for b in arrays]
    same = [a is b for a in arrays for b in arrays]
    kept = {k: v for k, v in vars(value).items() if isinstance(v, str | bool)}
    return [(path, type(leaf)) for path, leaf in leaves], shared, same, kept, [
        np.asarray(leaf).tolist() for _, leaf in leaves
    ]  # fmt: skip


@pytest.mark.parametrize("function", [*WHOLE, *IN_PARTS], ids=lambda f: f.__name__)
def test_objects_hold_what_python_leaves_in_them(function):
    fused, ours, theirs = ow.fuse(function), State(), State()
    for n in range(4):
        x, y = X + n, X + n
        found, wanted = fused(ours, x), function(theirs, y)
        if isinstance(wanted, tuple):
            assert found[1] is ours
            found, wanted = found[0], wanted[0]
        assert type(found) is type(wanted)
        if wanted is not None:
            np.testing.assert_allclose(found, wanted)
        own = [a for a in (found,) if isinstance(a, np.ndarray)]
        assert told(ours, [x, *own]) == told(theirs, [y, *([wanted] if own else [])])


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_a_function_that_leaves_values_is_a_whole(function):
    fused, state = ow.fuse(function, fullgraph=True), State()
    for _ in range(5):
        fused(state, X.copy())
    assert len(fused.traces) <= 3  # of other kinds of what is held, never for each number


@pytest.mark.parametrize("function", NEVER_TWICE_THE_SAME, ids=lambda f: f.__name__)
def test_a_number_of_the_guard_that_moves_on_is_not_compiled_for_each_call(function):
    fused, state = ow.fuse(function), State()
    for _ in range(5):
        fused(state, X)
    assert not fused.traces
    with pytest.raises(ow.errors.TraceError, match="State.(step|rate) is another number after"):
        ow.fuse(function, fullgraph=True)(State(), X)


@pytest.mark.parametrize("make", [dict, lambda: Slots(0, X.copy())], ids=["dict", "slots"])
def test_dicts_and_slots_are_left_values_too(make):
    def function(s, x):
        if isinstance(s, dict):
            s["step"] = s.get("step", 0) + 1
            s["x"] = x * s["step"]
            return s["x"].sum()
        s.step += 1
        s.x = x * s.step
        return s.x.sum()

    fused, ours, theirs = ow.fuse(function, fullgraph=True), make(), make()
    for n in range(3):
        assert fused(ours, X + n) == function(theirs, X + n)
        for name in ("step", "x"):
            value, wanted = (s[name] if make is dict else getattr(s, name) for s in (ours, theirs))
            np.testing.assert_array_equal(value, wanted)


class Watching:
    """Setting an attribute does more than that."""

    def __init__(self):
        vars(self).update(x=X.copy(), count=0)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, "count", self.count + 1)

    @property
    def half(self):
        return self.x / 2

    @half.setter
    def half(self, value):
        self.x = value * 2


def test_what_a_class_does_when_an_attribute_is_set_is_done_once():
    def function(s, x):
        s.x = s.x + x
        s.half = s.half + 1
        return s.count

    fused, ours, theirs = ow.fuse(function, fullgraph=True), Watching(), Watching()
    for _ in range(3):
        assert fused(ours, X) == function(theirs, X)
        assert told(ours, []) == told(theirs, [])


def goes_to_the_end(d, x):
    d["a"] = d.pop("a") + x
    return x * 2


def a_number_is_the_key(d, x):
    d["n"] += 1
    d[d["n"] % 3] = x * 2


def keys_of_all_kinds(d, x):
    d[1, 2], d[None], d[2.5] = x * 2, x.sum(), 1
    return d["n"]


def is_cleared(d, x):
    d.clear()
    d["n"] = x


@pytest.mark.parametrize(
    "function", [goes_to_the_end, a_number_is_the_key, keys_of_all_kinds, is_cleared]
)
def test_dicts_have_the_keys_and_the_order_that_python_gives_them(function):
    fused = ow.fuse(function)
    ours, theirs = ({"a": X.copy(), "n": 1, "b": X.copy()} for _ in range(2))
    for _ in range(4):
        np.testing.assert_array_equal(fused(ours, X), function(theirs, X))
        assert [(k, type(k)) for k in ours] == [(k, type(k)) for k in theirs]
        for key, value in theirs.items():
            np.testing.assert_array_equal(ours[key], value)


def test_what_is_outside_is_changed_beside_an_argument():
    def made():
        outside = State()

        def function(s, x):
            s.step += 1
            outside.x = outside.x + x
            return outside.x * s.step

        return function, outside

    (ours, our_outside), (theirs, their_outside) = made(), made()
    fused, one, other = ow.fuse(ours), State(), State()
    for a, b in ((one, other), (our_outside, their_outside), (one, other)):
        np.testing.assert_array_equal(fused(a, X), theirs(b, X))
        assert told(a, []) == told(b, [])
        assert told(our_outside, []) == told(their_outside, [])


def test_lists_and_dicts_outside_are_changed_beside_an_argument():
    def made():
        counts, arrays = [1, 2.0], {"x": X.copy()}

        def function(s, x):
            s.step += 1
            counts[0], arrays["x"] = counts[0] + s.step, arrays["x"] + x
            return arrays["x"] * counts[0]

        return function, counts, arrays

    (ours, *our_outside), (theirs, *their_outside) = made(), made()
    fused, one, other = ow.fuse(ours), State(), State()
    for _ in range(3):
        np.testing.assert_array_equal(fused(one, X), theirs(other, X))
        assert told(one, []) == told(other, [])
        assert our_outside[0] == their_outside[0]
        np.testing.assert_array_equal(our_outside[1]["x"], their_outside[1]["x"])


@pytest.mark.parametrize("key", [7, np.int64(7), 7.0, True, np.str_("a"), "a", (1, 2)])
def test_a_key_that_is_an_argument_is_that_very_key(key):
    def function(d, x, key):
        d[key] = x * 2

    fused, ours, theirs = ow.fuse(function), {"n": 1}, {"n": 1}
    for _ in range(3):
        fused(ours, X, key)
        function(theirs, X, key)
        assert [(k, type(k)) for k in ours] == [(k, type(k)) for k in theirs]
        np.testing.assert_array_equal(ours[key], theirs[key])


def test_an_error_in_a_number_that_is_returned_comes_before_a_kernel_writes_to_an_argument():
    def function(u, s, n):
        u *= 2
        s.rate = 1 / n
        return 3 / n

    fused = ow.fuse(function)
    for n in (1, 0, 2, 0):
        u, v, ours, theirs = X + 1, X + 1, State(), State()
        for run, array, state in ((fused, u, ours), (function, v, theirs)):
            try:
                run(array, state, n)
            except ZeroDivisionError:
                state.step = -1  # both raise
        np.testing.assert_array_equal(u, v)
        assert told(ours, []) == told(theirs, [])


def test_what_only_looks_at_a_function_changes_no_object():
    fused, state = ow.fuse(momentum), State()
    before = told(copy.deepcopy(state), [])
    program = fused.lower(state, X)
    for look in (
        fused.lower, fused.explain, fused.check, fused.reference, fused.bisect, program.reference,
        program.check, ow.fuse(momentum).lower(state, X, target="sm_80").verify,
    ):  # fmt: skip
        look(state, X)
        assert told(state, []) == before


def test_it_is_said_what_is_left():
    text = ow.fuse(momentum).explain(State(), X).text
    assert "State.x is set anew at each call" in text
    assert "State.rate is set anew at each call" in text


def test_under_numpys_errors_and_with_out_objects_are_left_the_same():
    out = np.zeros(6)
    for settings in ({"errors": "numpy"}, {}):
        fused, ours, theirs = ow.fuse(momentum), State(), State()
        for _ in range(3):
            with ow.config(**settings), np.errstate(all="ignore"):
                assert fused(ours, X, out=out) is out
            np.testing.assert_allclose(out, momentum(theirs, X))
            assert told(ours, []) == told(theirs, [])


def test_an_error_leaves_what_python_leaves():
    def function(s, x, i):
        s.step += 1
        s.x[i] = x[0]
        s.rate = 9.0
        return s.x * 2

    fused, ours, theirs = ow.fuse(function), State(), State()
    for i in (1, 2, 6, -7, 3):
        for run, state in ((fused, ours), (function, theirs)):
            try:
                run(state, X, i)
            except IndexError:
                state.rate = -1.0  # both raise
        assert told(ours, []) == told(theirs, [])


def raises_in_a_kernel(s, x, i):
    s.step += 1
    s.x = x * 2
    s.before = x[np.array([0, i])]
    s.rate = 9.0


def raises_for_a_number(s, x, i):
    s.step += 1
    s.x = x / 2
    s.rate = 1.5 / (i - 3)
    s.name = "behind"


def raises_in_a_library(s, x, i):
    s.step += 1
    s.x = np.linalg.solve(np.eye(6) * (i - 3), x)
    s.rate = 9.0


@pytest.mark.parametrize(("function", "i"), [
    (raises_in_a_kernel, 6), (raises_for_a_number, 3), (raises_in_a_library, 3),
])  # fmt: skip
def test_a_call_that_raises_leaves_what_came_before(function, i):
    fused, ours, theirs = ow.fuse(function), State(), State()
    for n in (1, 2, i, 1):
        raised = []
        for run, state in ((fused, ours), (function, theirs)):
            try:
                run(state, X, n)
            except (IndexError, ArithmeticError, np.linalg.LinAlgError) as error:
                raised.append(type(error))
        assert len(raised) in (0, 2)
        assert not raised or issubclass(*raised)
        assert told(ours, []) == told(theirs, [])


def test_a_function_that_fails_in_the_middle_leaves_what_came_before():
    def function(s, x):
        s.step += 1
        s.x = x.reshape(2, -1) if s.step < 3 else x.reshape(4, -1)
        s.rate = 7.0

    fused, ours, theirs = ow.fuse(function), State(), State()
    for _ in range(4):
        for run, state in ((fused, ours), (function, theirs)):
            try:
                run(state, X)
            except ValueError:
                state.rate = -1.0
        assert told(ours, []) == told(theirs, [])


def test_objects_of_several_threads_are_their_own():
    fused, states = ow.fuse(counted), [State() for _ in range(4)]

    def run(state):
        for _ in range(50):
            fused(state, X)

    threads = [threading.Thread(target=run, args=(state,)) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [state.step for state in states] == [50] * 4


def test_a_program_that_leaves_values_is_not_saved(tmp_path):
    def function(s, x):
        s["step"] += 1
        return x * s["step"]

    program = ow.fuse(function).lower({"step": 1}, X)
    with pytest.raises(ow.errors.SavedError, match=r"dict\['step'\]"):
        program.save(tmp_path / "saved")


def test_an_integer_that_no_kernel_takes_leaves_what_came_before_it():
    def function(s, x, n):
        s.x = s.x + 1
        s.step += 1
        y = x.astype(np.int8) + n
        s.before = s.x * 3
        return y

    fused, ours, theirs = ow.fuse(function), State(), State()
    for n in (1, 200, 2, -300, 3):
        raised = []
        for run, state in ((fused, ours), (function, theirs)):
            try:
                run(state, X, n)
            except OverflowError:
                raised.append(run)
        assert len(raised) in (0, 2)
        assert told(ours, []) == told(theirs, [])
