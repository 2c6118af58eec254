"""A call that learns whether C runs its loops does what every other call does, once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import opweave as ow
from bench.experiments.rolled.series import tracked
from bench.experiments.rolled.solvers import triangular
from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square

pytestmark = pytest.mark.host
OUTSIDE = row(6)


class Holder:
    state = row(6)


def rounds(x, y):
    """Many short kernels, in a loop that C does not run, and a write behind it."""
    t = x
    for k in range(14):
        t = np.tanh(np.nancumsum(t[::-1]) + k)
    y += t
    y[0] *= 2
    return t


def of_a_global(x):
    return rounds(x, OUTSIDE)


def of_a_class(x):
    return rounds(x, Holder.state)


def of_a_default(x, y=row(6)):
    return rounds(x, y)


def _of_a_closure():
    kept = row(6)

    def inside(x):
        return rounds(x, kept)

    return inside, kept


OF_A_CLOSURE, KEPT = _of_a_closure()
WRITTEN = {
    "a global": (of_a_global, OUTSIDE),
    "an attribute of a class": (of_a_class, Holder.state),
    "a default": (of_a_default, of_a_default.__defaults__[0]),
    "a closure": (OF_A_CLOSURE, KEPT),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_outside_of_the_arguments_is_written_once(name):
    function, written = WRITTEN[name]
    x, before = row(6), written.copy()
    expected = [function(x), written.copy()]
    written[:] = before
    fused = ow.fuse(function)
    if name != "an attribute of a class":  # which runs in parts: explain runs it
        fused.explain(x)
        np.testing.assert_array_equal(written, before)
    found = [fused(x), written.copy()]
    written[:] = before
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])


def of_pieces(x, ends):
    seen, total = {}, 0.0
    for n in range(len(ends)):
        for k in range(ends[n]):
            total += x[k] * 0.5
        seen[n] = total
    return seen


def of_sums(x, ends):
    seen, total = {}, 0.0
    for n in range(len(ends)):
        for k in range(ends[n]):
            total += x[: k + 1].sum()
        seen[n] = total
    return seen


@pytest.mark.parametrize(
    ("function", "rounds", "in_c"),
    [(of_pieces, 3, False), (of_pieces, 400, True), (of_sums, 3, True)],
)
def test_short_rounds_in_a_loop_of_pythons_are_pythons_too(function, rounds, in_c):
    x, ends = row(400), np.full(20, rounds)
    rolled = Rolled(function)
    found = rolled(x, ends)
    settled = rolled.settled()
    assert (settled is not None) is in_c
    for again in (found, *([settled(x, ends)] if settled else [])):
        np.testing.assert_allclose([*again.values()], [*function(x, ends).values()])
    assert ow.fuse(function)(x, ends).keys() == found.keys()


class Motion:
    def __init__(self):
        self.x, self.t, self.seen, self.of = row(6), 0.0, [0], {"n": 0}


class Slots:
    __slots__ = ("of", "seen", "t", "x")
    __init__ = Motion.__init__


def moves(o, steps):
    for k in range(steps):
        o.x = np.tanh(np.nancumsum(o.x[::-1]) + k)
        o.t = o.t + 0.5
        o.seen[0] = k
        o.of["n"] += 1
    return o.t


@pytest.mark.parametrize("kind", [Motion, Slots])
def test_what_a_call_leaves_in_objects_is_left_once(kind):
    expected, fused = kind(), ow.fuse(moves)
    moves(expected, 14)
    for explained_first in (False, True):
        found = kind()
        if explained_first:
            fused = ow.fuse(moves)
            fused.explain(found, 14)
            assert (found.t, found.seen, found.of) == (0.0, [0], {"n": 0})
            np.testing.assert_array_equal(found.x, row(6))
        for _ in range(2):
            found = kind()
            assert fused(found, 14) == 7.0
            assert (found.t, found.seen, found.of) == (expected.t, expected.seen, expected.of)
            np.testing.assert_allclose(found.x, expected.x)


def test_explain_writes_to_no_argument():
    def folded(x):
        for i in range(1, len(x)):
            if x[i] > 2:
                x[i] += x[i - 1]

    x = row(9)
    assert "C runs 1 loop(s)" in ow.fuse(folded).explain(x).text
    np.testing.assert_array_equal(x, row(9))


def test_explain_says_why_c_does_not_run_a_loop():
    found = ow.fuse(lambda x, y: rounds(x, y)).explain(row(6), row(6))
    assert not found.loops

    def rolled_by_hand(x):
        t = x
        for k in range(14):
            t = np.tanh(np.nancumsum(t[::-1]) + k)
        return t

    (note,) = ow.fuse(rolled_by_hand).explain(row(6)).notes
    assert "C does not run the loop at line" in note
    assert "cumsum" in note


@pytest.mark.parametrize("short_first", [True, False])
def test_a_call_runs_alike_whatever_was_called_before(short_first):
    def smoothed(x):
        for _ in range(20):
            x = np.tanh(x[::-1] * 0.5 + x)
        return x

    short, long = np.linspace(0, 1, 64), np.linspace(0, 1, 1 << 20)
    fused = ow.fuse(smoothed)
    for x in (short, long) if short_first else (long, short):
        fused(x)
    assert fused.explain(short).loops
    assert not fused.explain(long).loops


def test_a_matrix_argument_is_written_once():
    def sums(x):
        for k in range(14):
            x += np.nancumsum(x[::-1], axis=0) * 1e-3 + k

    x, y = square(5), square(5)
    sums(x)
    fused = ow.fuse(sums)
    fused(y)
    np.testing.assert_allclose(x, y)


def running_sums(x):
    for k in range(60):
        x = np.nancumsum(x[::-1]) / 8 + k
    return x


@pytest.mark.parametrize("explained_first", [True, False])
@pytest.mark.parametrize(
    ("function", "args", "in_c"),
    [
        (triangular, (square(60) + 9 * np.eye(60), row(60)), True),
        (running_sums, (row(60),), False),
    ],
)
def test_c_is_asked_for_a_long_loop_before_all_of_it_is_traced(
    monkeypatch, function, args, in_c, explained_first
):
    monkeypatch.setattr("opweave.compiler.pipeline.specialise.UNASKED", 50)
    fused = ow.fuse(function)
    for _ in range(2):
        if explained_first:
            assert bool(fused.explain(*args).loops) is in_c
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = fused(*args)
        compare = np.testing.assert_allclose if in_c else np.testing.assert_array_equal
        compare(found, function(*args))
        assert all("many short operations" in str(w.message) for w in told)
    assert not fused._specialised.variants
    text = fused.explain(*args).text
    assert ("C runs 1 loop" if in_c else "runs by NumPy") in text


def test_what_is_behind_a_long_loop_is_done_once(monkeypatch, capsys):
    monkeypatch.setattr("opweave.compiler.pipeline.specialise.UNASKED", 50)

    def says(x):
        for k in range(60):
            x = np.nancumsum(x[::-1]) / 8 + k
        print("done")
        return x

    fused = ow.fuse(says)
    with pytest.warns(ow.OpweaveWarning, match="many short operations"):
        fused(row(60))
    assert capsys.readouterr().out == "done\n"
    fused(row(60))
    assert capsys.readouterr().out == "done\n"


def traced_back(back, last):
    path = np.zeros(len(back), np.int64)
    path[-1] = np.argmax(last)
    for t in range(len(back) - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


@pytest.mark.usefixtures("loops_of_python")
def test_places_that_follow_from_places_are_read_however_many_there_are():
    back = np.random.default_rng(3).integers(0, 5, (400, 5))
    fused = ow.fuse(traced_back)
    np.testing.assert_array_equal(fused(back, row(5)), traced_back(back, row(5)))


@pytest.mark.parametrize("count", [3, 12, 300])
def test_a_number_that_grows_round_by_round_costs_no_more_than_its_rounds(count):
    fused = ow.fuse(tracked)
    z = row(count)
    for r in (0.1, 0.2):
        np.testing.assert_allclose(fused(z, 1e-3, r), tracked(z, 1e-3, r))
    with ow.config(loops=False):
        np.testing.assert_allclose(ow.fuse(tracked)(z, 1e-3, 0.1), tracked(z, 1e-3, 0.1))


def drawn_walk(seed, n, step):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(n)
    x, kept = np.empty(n), 0
    at = 0.0
    for i in range(n):
        to = at + step * noise[i]
        if to * to < 4.0:
            at = to
            kept += 1
        x[i] = at
    return x, kept


def test_c_runs_loops_of_a_function_that_is_no_whole_for_what_is_outside_of_them():
    fused = ow.fuse(drawn_walk)
    for _ in range(2):
        found, expected = fused(3, 500, 0.7), drawn_walk(3, 500, 0.7)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1] == expected[1]
    assert "C runs 1 loop(s)" in fused.explain(3, 500, 0.7).text
