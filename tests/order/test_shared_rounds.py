"""Loops whose rounds all cores share: which they are, and that nobody can tell."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.compiler.loops.order import sharing
from opweave.runtime.host import loops
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host

# Shared as soon as a loop has two rounds; each round alone, the last one first.
AT_ONCE = "#define LOOP_BLOCK 1\n#define LOOP_SHORT 1\n#define LOOP_WORTH_SHARING 0\n#define LOOP_WORTH_KEEPING 0\n"
BACKWARDS = f"#define LOOP_BACKWARDS\n{AT_ONCE}"


def by_rows(A, out):
    for i in range(A.shape[0]):
        out[i] = np.sqrt(A[i] * A[i] + 1).sum() + A[i].max()


def by_elements(A, B, out):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[j, k]
            out[i, j] = s


def by_columns(A, w):
    for j in range(A.shape[1]):
        A[1:, j] = A[1:, j] * w + A[:-1, j]


def along_rows(A):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, j - 1] * 0.5


def chosen(x, y, out):
    for i in range(out.shape[0]):
        near = np.logical_and(x >= i, x < i + 3)
        out[i] = y[near].sum()


def branches(x, out):
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            a, b = 1.0, x[i, 0]
        else:
            a, b = 2.0, x[i, 1]
        if a > b:
            continue
        out[i] = a * b + x[i].min()


def steps(x, out):
    for t in range(3):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] + t
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                x[i, j] = out[i, j] * 0.25


def shifted(x, out):
    for i in range(x.shape[0] - 1):
        out[i + 1, ::2] = x[i, ::2] + np.cumsum(x[i])[::2]


def left_behind(x, out):
    last = -1.0
    for i in range(x.shape[0]):
        last = x[i].sum()
        out[i] = last
    return i, last


def eliminated(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            f = A[i, k] / A[k, k]
            for j in range(k, A.shape[0]):
                A[i, j] -= f * A[k, j]


def escapes(c, out):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            z, n = c[i, j], 0
            while z < 10.0 and n < 50:
                z = z * z + c[i, j]
                n += 1
            out[i, j] = n


def enumerated(A, out):
    for i, row in enumerate(A):
        out[i] = row @ row + row.mean()


def of_triangles(A, out):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            out[i, j] = (A[i] * A[j]).sum()


def gathered(table, places, out):
    for i in range(places.shape[0]):
        s = table[0] * 0
        for j in range(places.shape[1]):
            s = s + table[places[i, j]]
        out[i] = s


def read_behind(x, out):
    last = 0.0
    for t in range(4):
        for i in range(x.shape[0]):
            last = x[i].sum() + t
            out[i] = last
        if last > 1:
            break
        last = -1.0
    return last


def own_rows(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i].max()
        x[i] = x[i] / x[i].sum()


def named_as_ours(A, out, pause, written):
    for i in range(written):
        first = A[i].sum() + pause
        last = A[i].max() - first
        out[i] = first * last


def counted_as_ours(A, out):
    for pause in range(A.shape[0]):
        of = A[pause]
        out[pause] = of.sum()


def scalars(x, y):
    for i in range(x.shape[0]):
        y[i] = np.sqrt(abs(x[i])) * 2.0


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


SHARED = {
    "rows": (by_rows, (drawn(9, 20), np.zeros(9))),
    "elements": (by_elements, (drawn(6, 5), drawn(7, 5), np.zeros((6, 7)))),
    "columns": (by_columns, (drawn(6, 9), 0.5)),
    "along rows": (along_rows, (drawn(7, 9),)),
    "chosen": (chosen, (drawn(50) * 9, drawn(50), np.zeros(12))),
    "branches": (branches, (drawn(40, 3), np.zeros(40))),
    "steps": (steps, (drawn(8, 9), np.zeros((8, 9)))),
    "shifted": (shifted, (drawn(8, 9), np.zeros((8, 9)))),
    "left behind": (left_behind, (drawn(8, 9), np.zeros(8))),
    "eliminated": (eliminated, (drawn(9, 9),)),
    "escapes": (escapes, (abs(drawn(5, 6)), np.zeros((5, 6)))),
    "enumerated": (enumerated, (drawn(6, 7), np.zeros(6))),
    "triangles": (of_triangles, (drawn(6, 7), np.zeros((6, 6)))),
    "behind": (read_behind, (drawn(8, 3), np.zeros(8))),
    "own rows": (own_rows, (drawn(8, 3), np.zeros(8))),
    "our names": (named_as_ours, (drawn(8, 3), np.zeros(8), 7, 8)),
    "our counter": (counted_as_ours, (drawn(8, 3), np.zeros(8))),
    "scalars": (scalars, (drawn(30), np.zeros(30))),
    "gathered": (
        gathered, (drawn(9, 4), np.arange(40).reshape(8, 5) % 9, np.zeros((8, 4))),
    ),
}  # fmt: skip


def carried(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i].sum()
        out[i] = s


def of_the_round_before(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i] * 0.5 + x[i - 1].sum()


def of_the_next_round(x):
    for i in range(x.shape[0] - 1):
        x[i] = x[i] + x[i + 1].sum()


def two_places(x):
    for i in range(x.shape[0] - 1):
        x[i, 0] = x[i, 1:].sum()
        x[i + 1, 1] = x[i, 0]


def in_part(x, out):
    for i in range(x.shape[0] - 2):
        out[i : i + 2] += x[i : i + 2].sum()


def of_other_columns(x):
    for i in range(x.shape[0]):
        x[i, 0] = x[:, 1].sum()
        x[i, 1] = x[i, 0]


def into_one(x, out):
    for i in range(x.shape[0]):
        out[0] += x[i].sum()


def of_a_view(x):
    for k in range(3):
        row = x[k]
        for i in range(x.shape[0]):
            x[i] = x[i] + row.sum()


def with_room(x, room, out):
    for i in range(x.shape[0]):
        room[i % 2] = x[i].sum()
        out[i] = room.sum()


def that_stops(x, out):
    for i in range(x.shape[0]):
        if x[i].sum() > 3:
            break
        out[i] = x[i].sum()


def kept_if(x, out):
    last = 0.0
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            last = x[i].sum()
        out[i] = last


def left_if(x, out):
    last = 0.0
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            last = x[i].sum()
            out[i] = last
    return last


def by_a_number(x, step):
    for i in range(x.shape[0] - 1):
        x[i * step] = x[i + 1].sum()


def upside_down(x):
    for i in range(x.shape[0]):
        x[i] = x[x.shape[0] - 1 - i].sum()


def negative(x):
    for i in range(x.shape[0]):
        x[i] = x[-1].sum() + x[i]


def flipped(A):
    for i in range(A.shape[0] - 1):
        A[i, 0] = A[-1, 0] * 0.5 + np.flip(A[:, 0]).sum()


def array_behind(x, out):
    for _ in range(3):
        row = x[0] * 2
        for i in range(x.shape[0]):
            row = x[i] * 2
            out[i] = row.sum()
        out[0] += row[1]


def renamed_behind(x, out):
    for _ in range(3):
        kept = x[0] * 2
        for i in range(x.shape[0]):
            row = x[i] + kept[1]
            kept = row
            out[i] = row.sum()
        out[0] += kept[1]


def view_behind(x, out):
    for _ in range(3):
        row = x[0]
        for i in range(x.shape[0]):
            row = x[i]
            out[i] = row.sum()
        out[0] += row[1]


def in_pieces(A):
    for i in range(A.shape[0] - 2):
        first, second = np.split(A[:, 0], 2)
        A[i, 0] = A[-1, 0] + second[0] + first[1]


def appended(x, out):
    found = []
    for i in range(x.shape[0]):
        out[i] = x[i].sum()
        found.append(out[i])
    return found


ALONE = {
    "carried": (carried, (drawn(8, 3), np.zeros(8))),
    "before": (of_the_round_before, (drawn(8, 3),)),
    "next": (of_the_next_round, (drawn(8, 3),)),
    "two places": (two_places, (drawn(8, 3),)),
    "in part": (in_part, (drawn(8, 3), np.zeros(8))),
    "other columns": (of_other_columns, (drawn(8, 3),)),
    "into one": (into_one, (drawn(8, 3), np.zeros(1))),
    "a view": (of_a_view, (drawn(8, 3),)),
    "room": (with_room, (drawn(8, 3), np.zeros(2), np.zeros(8))),
    "stops": (that_stops, (drawn(8, 3), np.zeros(8))),
    "kept": (kept_if, (drawn(8, 3), np.zeros(8))),
    "left": (left_if, (drawn(8, 3), np.zeros(8))),
    "by a number": (by_a_number, (drawn(8, 3), 1)),
    "upside down": (upside_down, (drawn(8, 3),)),
    "negative": (negative, (drawn(8, 3),)),
    "flipped": (flipped, (drawn(8, 3),)),
    "array behind": (array_behind, (drawn(8, 3), np.zeros(8))),
    "renamed behind": (renamed_behind, (drawn(8, 3), np.zeros(8))),
    "view behind": (view_behind, (drawn(8, 3), np.zeros(8))),
    "pieces": (in_pieces, (drawn(8, 3),)),
    "appended": (appended, (drawn(8, 3), np.zeros(8))),
}


@pytest.fixture(params=[BACKWARDS, AT_ONCE], ids=["backwards", "threads"])
def shared(request, monkeypatch):
    """All shared loops are from now on shared at once; the sources that are compiled."""
    sources, build = [], loops.builder

    class Builder:
        def build_loop(self, source):
            sources.append(request.param + source)
            return build().build_loop(sources[-1])

    monkeypatch.setattr(loops, "builder", Builder)
    return sources


@pytest.mark.parametrize("name", SHARED)
def test_rounds_of_their_own_are_shared_to_the_same_bits(name, shared):
    function, args = SHARED[name]
    expected = called(function, args)
    alone = run_in_c_as_it_is(function, args)
    found = run_in_c(function, args)
    assert "LOOP_SHARE(" in shared[-1]
    assert is_same(expected, found, exactly=False)
    assert is_same(alone, found, exactly=True)


def run_in_c_as_it_is(function, args):
    """By one thread."""
    before = ow.config.threads
    ow.config.threads = 1
    try:
        return run_in_c(function, args)
    finally:
        ow.config.threads = before


@pytest.mark.parametrize("name", ALONE)
def test_rounds_that_need_others_run_one_after_the_other(name, shared):
    function, args = ALONE[name]
    expected, found = called(function, args), run_in_c(function, args)
    assert "LOOP_SHARE(" not in shared[-1]
    assert is_same(expected, found, exactly=False)


def test_the_worst_order_shows_a_loop_that_is_shared_in_error(monkeypatch, shared):
    monkeypatch.setattr(sharing, "is_by_rounds", lambda *_: True)
    args = (drawn(200, 3),)
    expected, found = called(of_the_round_before, args), run_in_c(of_the_round_before, args)
    assert "LOOP_SHARE(" in shared[-1]
    if "BACKWARDS" in shared[-1]:
        assert not is_same(expected, found, exactly=False)


def beyond(x, places, out):
    for i in range(out.shape[0]):
        out[i] = x[places[i]].sum()


def divided(x, n, out):
    for i in range(out.shape[0]):
        out[i] = x[i].sum() + 6 // (n - i)


@pytest.mark.parametrize("bad", [0, 3, 7])
def test_an_error_leaves_what_it_leaves_in_python(bad, shared):
    places = np.arange(8)
    places[bad] = 99
    args = drawn(8, 3), places, np.zeros(8)
    assert is_same(called(beyond, args), run_in_c(beyond, args), exactly=False)
    args = drawn(8, 3), bad, np.zeros(8)
    assert is_same(called(divided, args), run_in_c(divided, args), exactly=False)
    assert all("LOOP_SHARE(" in source for source in shared)


def many_rounds(A, out):
    for i in range(A.shape[0]):
        out[i] = np.exp(A[i]).sum()


def test_explain_says_that_all_cores_share_a_loop():
    args = np.ones((2000, 300)), np.zeros(2000)
    fused = ow.fuse(many_rounds)
    fused(*args)
    text = str(fused.explain(*args))
    assert "C runs 1 loop(s), 1 of them on all cores" in text
    assert "its rounds touch nothing of each other's" in fused.explain(*args).sources[0]


def test_steps_of_all_threads_are_counted(shared):
    rolled = Rolled(many_rounds)
    rolled(np.ones((50, 300)), np.zeros(50))
    (found,) = [f for site in rolled.sites for f in site._known.values()]
    assert 50 * 300 <= found.steps < 50 * 700


def endless(A, out):
    for i in range(out.shape[0]):
        s = 0.0
        for r in range(A.shape[0]):
            s += np.exp(A[r]).sum()
        out[i] = s


def test_a_signal_ends_rounds_on_all_threads():
    def stop(*_):
        raise TimeoutError

    rolled, A = Rolled(endless), drawn(40, 2000)
    rolled(A, np.zeros(3))
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError):
            rolled(A, np.zeros(1_000_000))  # some minutes
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rolled.ran


def test_what_lies_between_elements_is_never_put_back(shared):
    whole = drawn(8, 4)
    args = whole[:, :2], np.array([1, 2, 3, 4, 5, 99, 6, 7]), np.zeros((16, 3))[::2, 1]
    assert is_same(called(beyond, args), run_in_c(beyond, args), exactly=False)
