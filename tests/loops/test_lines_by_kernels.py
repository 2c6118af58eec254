"""Functions with loops that are no whole: kernels run lines between those that break."""

import ast
import gc
import sys
import traceback
import warnings
import weakref

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.opcodes.errors import OpweaveError

pytestmark = pytest.mark.host
X = np.linspace(0.1, 1, 24)
GAIN = 3.0


def written_behind_a_view(x):
    for k in range(2):
        u = np.unique(x[:10])
        a = x * 2 + x * x - k
        b = a[1:]
        b[0] = 5
        c = a.sum() + b.sum()
    return a, b, c, u


def written_arguments(x):
    for _ in range(3):
        u = np.unique(x[:10])
        x[1:-1] = x[1:-1] * 0.5 + x[2:] * 0.25 + x[:-2] * 0.25
        x += u[0] * np.sqrt(x) * x - x
        y = x
    return y is x, u


def raises_behind_writes(x):
    for k in range(3):
        u = np.unique(x[:10])
        y = x * 2 + x * x - x
        x += np.sqrt(y) * y - x
        w = x + y[: len(x) - 5 * k]
    return w, u


def without_an_element(x):
    for k in range(3):
        i = np.argsort(np.unique(x[:10])) + 24 * (k == 1)
        x += np.sqrt(x) * x - x
        y = x[i] * 2 + x[0]
        x += np.sqrt(x) * x - x
    return y


def unbound(x):
    for k in range(2):
        u = np.unique(x[:10])
        y = x * 2 + x * x - x
        if k:
            z = last + y * x  # noqa: F821
        last = y  # noqa: F841
    del y
    return z * x + z - x + missing, u  # noqa: F821


def carried(x):
    s, t, n = 0.0, x, 0
    for _k in range(5):
        u = np.unique(x[:10])
        s = s + (t * x - t + x * t).sum()
        t = t * x + u[1]
        n += 1  # noqa: SIM113
        m = t[t > 0.3]
        r = m * 2 + m * m - m * np.sqrt(m)
        if n > 3:
            return s, t, n, r
        x = x + np.unique(x)[0]
    return None


def in_lists(x):
    out = []
    for k in range(3):
        u = np.unique(x[:10])
        y = x * k + x * x - x * u[0]
        out.append(y * 2 + y * y - x * y)
        known = out
        both = [y, x]
        o = both[0] * x + both[1] * both[0] - x
        found = {"a": o * o + x * o}
    return tuple(out), known is out, both[1] is x, found["a"]


def of_other_types(x):
    y = 0
    for k in range(3):
        u = np.unique(x[:10])
        y = y * 2 + x * x - x * u[0] * y
        x = x.astype(np.float32) if k == 1 else x
        z = y.T * 2 + y.T * y.T - y.T
        n, flag = x.shape[0] * 2, x.shape[0] > k
    return y, z, x, n, flag


def places_that_a_loop_counts(x):
    y = np.zeros((3, 24))
    for k in range(3):
        part = x[x > 0.2 * k]
        mean, spread = part.mean(), np.nancumsum(part)[-1] + 1e-9
        y[k] = np.log(len(part) / len(x)) - 0.5 * (np.log(spread) + (x - mean) ** 2 / spread)
        y[k, 0] = y[k].max() - GAIN * k
    return y, np.argmax(y, axis=0)


def functions_inside(x):
    total = 0.0

    def shifted(a):
        return a * total + x

    for _k in range(3):
        u = np.unique(x[:10])
        y = shifted(x) * 2 + x
        total = total + y.sum() * u[0]
    return y, total


def made_anew(x):
    kept = []
    for k in range(3):
        w = np.zeros(4)
        kept.append(w)
        y = np.unique(x) * w[0] + k
        w += y.sum()
    return tuple(kept), y


def tried(x):
    found = []
    for k in range(3):
        try:
            y = x * 2 + x[k * 12]
            found.append(np.unique(y).sum())
        except IndexError as error:
            found.append(isinstance(error, IndexError))
    return tuple(found), y


def names_of_the_questions(x):
    site = 2
    for k in range(3):
        u = np.unique(x[:10])
        made, end = x * site + k, x[1:] * 2
        name0 = made * made + end.sum()
        site = name0 * made - u[0]
        named = made * name0 + end[0]
        x = x + made.mean() * 1e-3
    return made, end, name0, site, named


def evaluated(text):
    names = dict(sys._getframe(1).f_locals)
    return names["a"] * names["b"] if text == "a * b" else None


def names_in_texts(x):
    """Without a name of y."""
    for k in range(3):
        u = np.unique(x[:10])
        y = x * 2 + k
        a = y * 3 + x
        b = a * y - u[0]  # noqa: F841
        z = evaluated("a * b")
        w = z * 2 + x
    return w, z


def elements_of_other_arrays(x):
    found = []
    for mode in np.array(["a", "b"]):
        u = np.unique(x[:10])
        y = x * 2 if mode == "a" else x + 1
        found.append(y * y + x * y)
    for is_long in np.array([True, False]):
        u = np.unique(x[:10])
        y = x * 2 if is_long else x + u[0]
        found.append(y * y + x * y)
    return tuple(found)


class Solver:
    def __init__(self):
        self.weight, self.last = 2.0, None

    def step(self, x):
        for _ in range(3):
            u = np.unique(x[:10])
            y = x * self.weight + x * x - x
            self.last = y * x - y + x * y
            self.weight += 1
            q = GAIN + x * x - x * y * x
        return y, q, u


FUNCTIONS = [
    written_behind_a_view, written_arguments, raises_behind_writes, without_an_element, unbound,
    carried, in_lists, of_other_types, places_that_a_loop_counts, functions_inside, made_anew,
    tried, names_of_the_questions, names_in_texts, elements_of_other_arrays,
]  # fmt: skip


def outcome(function, args):
    """What a call returns, or raises and where; and what its arguments hold then."""
    try:
        made = function(*args)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        made = type(error), str(error), last.lineno
    return made, args


def assert_same(made, expected):
    assert type(made) is type(expected)
    if isinstance(expected, tuple):
        assert len(made) == len(expected)
        for a, b in zip(made, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, np.ndarray | np.generic):
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-12)
    else:
        assert made == expected


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lines_by_kernels_do_what_lines_of_python_do(function):
    fused = ow.fuse(function)
    for scale in (1, 2, 1):
        expected = outcome(function, (X * scale,))
        assert_same(outcome(fused, (X * scale,)), expected)


@pytest.mark.parametrize(
    ("function", "first"),
    [(carried, "s = s +"), (places_that_a_loop_counts, "mean, spread"), (of_other_types, "y = y")],
)
def test_explain_names_the_lines(function, first):
    fused = ow.fuse(function)
    found = fused.explain(X.copy())
    assert "kernels run lines at" in found.text
    assert found.kernels
    assert f"{function.__name__}_" in found.sources[0]
    line = function.__code__.co_firstlineno
    with open(__file__) as file:
        lines = file.read().split("\n")
    while first not in lines[line]:
        line += 1
    assert f"  lines {line + 1} to" in found.text


def test_methods_and_what_they_assign_to_attributes():
    made, expected = Solver(), Solver()
    fused = ow.fuse(Solver.step)
    for _ in range(2):
        assert_same(fused(made, X), Solver.step(expected, X))
    assert_same(made.last, expected.last)
    assert made.weight == expected.weight


def test_a_global_that_changes_is_seen(monkeypatch):
    fused = ow.fuse(places_that_a_loop_counts)
    for gain in (3.0, 5.0, np.float32(2)):
        monkeypatch.setitem(globals(), "GAIN", gain)
        assert_same(fused(X), places_that_a_loop_counts(X))


def test_arguments_that_share_memory_are_written_to_by_python():
    def steps(x, y):
        for _ in range(3):
            u = np.unique(x[:3])
            x += y * 2 - x * u[0]
            y *= x
        return u

    def shared(function):
        both = X.copy()
        function(both[:-1], both[1:])
        return both

    fused = ow.fuse(steps)
    fused(X.copy(), X.copy())
    np.testing.assert_array_equal(shared(fused), shared(steps))


def test_arrays_are_let_go_of_as_by_python():
    held = []

    def watched(x):
        for _ in range(2):
            y = x * 2 + np.unique(x)[0]
            y = y * y + x
            held.append(weakref.ref(y))
            del y
            gc.collect()
            held.append(held[-1]() is None)
        return x * 2 - 1

    def told(function):
        held.clear()
        function(X)
        return [h for h in held if isinstance(h, bool)]

    rolled = Rolled(watched, make=ow.fuse(watched).fallback.loops._make)
    assert told(watched) == [True, True]
    assert told(rolled) == [True, True]
    assert rolled.ran
    settled = rolled.settled()
    assert settled is not None
    assert told(settled) == [True, True]


def test_a_function_that_asks_for_its_frame_is_pythons():
    def asks(x):
        for _ in range(2):
            y = x * 2 + np.unique(x)[0]
        return y, sorted(sys._getframe().f_locals)

    with pytest.raises(OpweaveError, match="sees its own names"):
        Rolled(asks, make=ow.fuse(asks).fallback.loops._make)


@pytest.mark.parametrize("changed", ["toggles", "unfused", "fast"])
def test_options_leave_lines_to_parts(changed):
    options = {"unfused": {}, "fast": {"fast": True}, "toggles": {}}[changed]
    fused = ow.fuse(carried, **options)
    fused = {
        "unfused": fused.unfused,
        "fast": lambda: fused,
        "toggles": lambda: fused.with_toggles(USE_VECTOR_IO=0),
    }[changed]()
    assert "kernels run lines" not in fused.explain(X.copy()).text
    made, expected = fused(X), carried(X)
    np.testing.assert_allclose(made[1], expected[1], rtol=1e-6)


def test_more_rounds_make_no_more_kernels():
    def rounds(x, n):
        for _ in range(n):
            u = np.unique(x[:5])
            x = x * 0.5 + np.sqrt(x) * u[0]
        return x

    fused = ow.fuse(rounds)
    fused(X, 3)
    (rolled,) = fused.fallback.loops.known.values()
    before = len(rolled.by_kernels)
    np.testing.assert_allclose(fused(X, 3), rounds(X, 3))
    assert before == len(rolled.by_kernels) > 0


def test_what_is_known_of_lines_stays_where_questions_are_left_out():
    def stored(x):
        rows = np.zeros((3, 24))
        for k in range(3):
            u = np.unique(x[:10])
            rows[1] = x * 2 + k
            y = rows.sum() * 2 + x * u[0]
        return y

    run = Rolled(stored, make=ow.fuse(stored).fallback.loops._make)
    run(X)
    settled = run.settled()
    asked = {id(s._known): s.node for s in run.sites}
    assert len(settled.sites) < len(run.sites)
    for site in settled.sites:
        assert ast.dump(asked[id(site._known)]) == ast.dump(site.node)


def between_breaks(x):
    u = np.unique(x[:5])
    y = x * u[0] + np.sqrt(x) * x - np.abs(x) * 0.5 + x * x
    if y[0] > 100:
        return y
    z = y[y > 0.5]
    return z * 2 + np.sqrt(z) * z, y, u


def test_lines_of_a_function_without_loops_are_kernels_where_parts_do_not_pay(monkeypatch):
    monkeypatch.setattr("opweave._functions.short.PAYS", 1)  # second, an operation
    monkeypatch.setattr("opweave._functions.short.STEADY_LINES", -1)
    fused = ow.fuse(between_breaks)
    for scale in (1, 2, 1000, 1):
        assert_same(fused(X * scale), between_breaks(X * scale))
    assert "kernels run lines at" in fused.explain(X).text
    made, alone = fused(X), fused.unfused()(X)
    for a, b in zip(made, alone, strict=True):
        np.testing.assert_array_equal(a, b)


def test_short_arrays_are_numpys_and_it_says_so(monkeypatch):
    monkeypatch.setattr("opweave._functions.short.PAYS", 1)
    fused = ow.fuse(between_breaks)
    with pytest.warns(ow.OpweaveWarning, match="np.unique"):
        assert_same(fused(X), between_breaks(X))
    assert not fused.fallback.loops.known


def divided(x):
    for _ in range(2):
        u = np.unique(x[:3])
        y = x / (x - x[0]) + np.log(x - x[0]) * x + u[0]
    return y


def divided_in_c(x):
    y = x.copy()
    for k in range(len(x)):
        if x[k] > 0:
            y[k] = x[k] / (x[k] - x[0])
    return y


@pytest.mark.parametrize("function", [divided, divided_in_c])
def test_with_numpys_errors_warnings_are_given_whoever_ran_before(function):
    def told(run):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(X)
        return [(str(w.message), w.lineno) for w in caught if w.category is RuntimeWarning]

    fused = ow.fuse(function)
    fused(X)
    expected = told(function)
    assert expected
    with ow.config(errors="numpy"):
        for run in (fused, fused, ow.fuse(function)):
            assert told(run) == expected
            with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                run(X)
