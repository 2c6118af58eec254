"""Innermost loops that ask once for many rounds, and ranges whose step C computes."""

from __future__ import annotations

import numpy as np
import pytest

from opweave.runtime.host import loops
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host

SHORT_BLOCKS = "#define LOOP_BLOCK 4\n"


@pytest.fixture(params=["", SHORT_BLOCKS], ids=["as it is", "short blocks"])
def sources(request, monkeypatch):
    """The sources that are compiled, as they are or with blocks of four rounds."""
    found, build = [], loops.builder

    class Builder:
        def build_loop(self, source):
            found.append(source)
            return build().build_loop(request.param + source)

    monkeypatch.setattr(loops, "builder", Builder)
    return found


def multiplied(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def stencil(u, v, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] += 0.1 * v[i, j]


def shifted(x, y, by):
    for i in range(x.shape[0]):
        y[i + by] = x[i] * 2


def copied(x, y):
    for i in range(x.shape[0]):
        y[i + 1] = x[i] * 2


def backwards(x, y):
    for i in range(x.shape[0]):
        y[x.shape[0] - 1 - i] = x[i] - y[2 * i]


def gathered(x, places, y):
    for i in range(y.shape[0]):
        y[i] = x[places[i]]


def counted(x, limit):
    inside, outside = 3, -5
    for i in range(x.shape[0]):
        if x[i] < limit:
            inside += 1
        elif x[i] > 2 * limit:
            outside -= 2
    return inside, outside


def counted_far(x, start, more):
    for k in range(1):
        n = (start + k) * 1048576 * 1048576 + more
        for i in range(x.shape[0]):
            n += 3
            x[i] = n
    return n


def with_continue(x, y):
    for i in range(x.shape[0]):
        if x[i] < 0:
            continue
        y[i] = x[i] + 1


def with_break(x, y):
    for i in range(x.shape[0]):
        if x[i] > 2:
            break
        y[i] = x[i] + 1
    return i


def smoothed(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a * x[i - 1] + (1 - a) * x[i]


def folded(table):
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def divided(x, y, n):
    for i in range(x.shape[0]):
        y[i] = x[i] + 100 // (n - i)


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


PROGRAMS = {
    "product": (multiplied, (drawn(5, 6), drawn(6, 7), np.zeros((5, 7)))),
    "stencil": (stencil, (drawn(9, 11), np.zeros((9, 11)), 3)),
    "shifted": (shifted, (drawn(2500), np.zeros(2501), 1)),
    "shifted beyond": (shifted, (drawn(2500), np.zeros(2500), 1)),
    "shifted before": (shifted, (drawn(2500), np.zeros(2500), -3)),
    "shifted too far": (shifted, (drawn(2500), np.zeros(1100), 0)),
    "copied": (copied, (drawn(2500), np.zeros(2501))),
    "copied beyond": (copied, (drawn(2500), np.zeros(1500))),
    "backwards": (backwards, (drawn(25), np.zeros(50))),
    "backwards beyond": (backwards, (drawn(25), np.zeros(40))),
    "gathered": (gathered, (drawn(50), np.arange(30) - 7, np.zeros(30))),
    "gathered beyond": (gathered, (drawn(20), np.arange(30), np.zeros(30))),
    "counted": (counted, (drawn(2000), 0.3)),
    "counted far": (counted_far, (drawn(2000), 5, 0)),
    "counted too far": (counted_far, (drawn(30), 2**23 - 1, 2**40 - 50)),
    "counted nearly too far": (counted_far, (drawn(16), 2**23 - 1, 2**40 - 50)),
    "continue": (with_continue, (drawn(1500), np.zeros(1500))),
    "break": (with_break, (drawn(1500), np.zeros(1500))),
    "smoothed": (smoothed, (drawn(1500), 0.3)),
    "folded": (folded, (np.random.default_rng(0).integers(0, 5, (12, 12)),)),
    "divided": (divided, (drawn(1500), np.zeros(1500), 1200)),
    "none": (shifted, (drawn(0), np.zeros(0), 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_rounds_without_questions_do_what_python_does(name, sources):
    function, args = PROGRAMS[name]
    expected, found = called(function, args), run_in_c(function, args)
    if name == "counted too far":  # Python's integers are longer
        assert found[0][0].__name__ == "OutOfRangeError"
    else:
        assert is_same(expected, found, exactly=True)


def test_what_is_asked_once_is_asked_no_more(sources):
    run_in_c(multiplied, PROGRAMS["product"][1])
    run_in_c(copied, PROGRAMS["copied"][1])
    run_in_c(counted, PROGRAMS["counted"][1])
    product, shift, count = (source.split("loop_block(")[1] for source in sources)
    assert "LOOP_FAULT" not in product
    assert shift.count("LOOP_FAULT") == 1  # of the rounds that ask
    assert "if ((uint64)(" in shift.split("else {")[1]
    assert "loop_is_far(inside_) && loop_is_far(outside)" in count
    assert count.split("else {")[0].count("overflow") == 0


def sieve(s):
    for i in range(2, s.shape[0]):
        if s[i]:
            for j in range(i * i, s.shape[0], i):
                s[j] = False


def by_steps(starts, stops, steps, out):
    last = 7
    for k in range(starts.shape[0]):
        n = 0
        for j in range(starts[k], stops[k], steps[k]):
            n += j
            last = j
        out[k] = n
    return last


def halves(x):
    width = x.shape[0] // 2
    while width > 0:
        for i in range(0, x.shape[0] - width, 2 * width):
            x[i] += x[i + width]
        width //= 2


def test_ranges_whose_steps_c_computes(sources):
    for function, args in [
        (sieve, (np.ones(200, bool),)),
        (halves, (drawn(32),)),
        (by_steps, (np.arange(9), np.arange(9) * 3, np.arange(9) + 1, np.zeros(9))),
        (by_steps, (np.arange(9), 5 - np.arange(9), -np.arange(9) - 1, np.zeros(9))),
        (by_steps, (np.zeros(3, int), np.full(3, 9), np.array([2, -2, 0]), np.zeros(3))),
        (by_steps, (np.zeros(2, int), np.full(2, 9), np.array([2**62, 9]), np.zeros(2))),
        (by_steps, (np.zeros(2, int), np.full(2, 2**62), np.array([2**61, 2**62]), np.zeros(2))),
    ]:
        assert is_same(called(function, args), run_in_c(function, args), exactly=True)
