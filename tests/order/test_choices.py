"""Branches that only compute numbers are choices where rows are computed side by side."""

from __future__ import annotations

import numpy as np
import pytest

from opweave.compiler.loops.order.choices import without_branches
from tests.loops.test_loops_in_c import called, is_same, run_in_c
from tests.order.sources import BY_SIDE, drawn, sources

__all__ = ["sources"]  # a fixture

pytestmark = pytest.mark.host


def envelope(x, y, a):
    for c in range(x.shape[0]):
        e = 0.0
        for t in range(x.shape[1]):
            v = abs(x[c, t])
            if v > e:  # noqa: SIM108 (a statement; the expression is below)
                e = 0.1 * e + 0.9 * v
            else:
                e = a * e + (1 - a) * v
            y[c, t] = e


def by_an_expression(x, y, a):
    for c in range(x.shape[0]):
        e = x[c, 0]
        for t in range(1, x.shape[1]):
            e = 0.5 * e + x[c, t] if x[c, t] > e else a * e
            y[c, t] = e


def clipped(x, y, a):
    """One way assigns nothing; a branch in a branch."""
    for c in range(x.shape[0]):
        s = x[c, 0]
        for t in range(1, x.shape[1]):
            s += x[c, t] * a
            if s > 1.0:
                s = 1.0 + (s - 1.0) * 0.125
                if s > 1.25:
                    s = 1.25
            elif s < -1.0:
                s = -1.0
            y[c, t] = s


def with_a_state(x, y, a):
    """A truth value and a count beside the number."""
    for c in range(x.shape[0]):
        is_on, count, s = False, 0, x[c, 0]
        for t in range(1, x.shape[1]):
            if is_on:
                is_on = x[c, t] > -0.5
            else:
                is_on = x[c, t] > 0.5
                count = count + 1
            s = s * a + count
            y[c, t] = s


def divided(x, y, a):
    """What is not chosen may be NaN or infinite."""
    for c in range(x.shape[0]):
        s = x[c, 0]
        for t in range(1, x.shape[1]):
            v = x[c, t] * (t % 3)
            if v > 0.25:
                s = s * 0.5 + 1.0 / v
            y[c, t] = s


SIDE = (envelope, by_an_expression, clipped, divided)
SHAPES = ((40, 70), (16, 17), (9, 16), (3, 2))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", [*SIDE, with_a_state])
def test_choices_are_what_python_chooses(function, shape, sources):
    x = drawn(*shape)
    x.flat[1:3] = np.nan, np.inf

    expected, found = (run(function, [x, np.zeros(shape), 0.75]) for run in (called, run_in_c))

    np.testing.assert_array_equal(found[1][1], expected[1][1])
    assert is_same(found[0], expected[0], exactly=True)
    assert function not in SIDE or BY_SIDE in sources[-1]


def of_another_row(x, y, a):
    """An element that is read by one way alone is read nowhere else."""
    for c in range(x.shape[0]):
        s = x[c, 0]
        for t in range(1, x.shape[1]):
            if t > 5:
                s = s * a + x[c, t - 6]
            y[c, t] = s


def test_a_branch_that_reads_stays_one(sources):
    x, y = drawn(20, 40), np.zeros((20, 40))

    assert is_same(
        called(of_another_row, [x, y, 0.5]), run_in_c(of_another_row, [x, y, 0.5]), True
    )
    assert BY_SIDE not in sources[-1]


VARIABLES = {"e": "double", "s": "double", "n": "int64", "b": "bool", "f": "float", "p": "double*"}
MADE = {
    "both ways": (
        "if (v1) {|    // one|    e = v2;|}|else {|    e = v3;|}",
        "// one|e = select_bits<double>(v1, v2, v3);"),
    "one way": ("if (v1) {|    n = v2;|}", "n = select_bits<int64>(v1, v2, n);"),
    "the other way": (
        "if (v1) {|    // pass|}|else {|    b = v2;|}", "// pass|b = select_bits<bool>(v1, b, v2);"),
    "what was assigned is read": (
        "if (v1) {|    e = v2;|    const double v3 = e * s;|    s = v3 + e;|}",
        "const double v3 = v2 * s;|e = select_bits<double>(v1, v2, e);"
        "|s = select_bits<double>(v1, (v3 + v2), s);"),
    "two of them": (
        "if (v1) {|    e = v2;|}|s = e;|if (v4) {|    e = v5;|}",
        "e = select_bits<double>(v1, v2, e);|s = e;|e = select_bits<double>(v4, v5, e);"),
    "an element that is read before": (
        "const double v2 = load(x + i);|if (v1) {|    e = load(x + i);|}",
        "const double v2 = load(x + i);|e = select_bits<double>(v1, (load(x + i)), e);"),
    "one in the other": (
        "if (v1) {|    const bool v2 = e > s;|    if (v2) {|        e = s;|    }|}",
        None),
}  # fmt: skip
KEPT = {
    "an element is read before by a loop": (
        "s = v0;|for (int64 k = 0; k < n; ++k) {|    s = load(x + i);|}|if (v1) {|    e = load(x + i);|}"),
    "an element is read before by chance": (
        "const bool v0 = v2 && load(x + i) > 0;|if (v1) {|    e = load(x + i);|}"),
    "an element is read before at another place": (
        "e = load(x + n);|n = v3;|if (v1) {|    e = load(x + n);|}"),
    "an element is read before by another way": (
        "if (v0) {|    store(x, load(x + i));|}|if (v1) {|    e = load(x + i);|}"),
    "an element is read": "if (v1) {|    const double v2 = load(x + i);|    e = v2;|}",
    "an element is written": "if (v1) {|    store(x + i, v2);|}",
    "a call": "if (v1) {|    const double v2 = exp(e);|    e = v2;|}",
    "an integer is divided": "if (v1) {|    const int64 v2 = n / k;|    n = v2;|}",
    "a remainder": "if (v1) {|    const double v2 = e % s;|    e = v2;|}",
    "another type": "if (v1) {|    p = v2;|}",
    "a variable of the call": "if (v1) {|    other = v2;|}",
    "a declared variable": "if (v1) {|    double v2 = e;|    e = v2;|}",
    "an end": "if (v1) {|    break;|}",
    "a condition that has no name": "if (e > s) {|    e = s;|}",
    "a condition that is assigned": "if (b) {|    b = v2;|}",
    "numbers that change places": "if (v1) {|    e = s;|    s = v2;|}",
    "much": "if (v1) {|    e = " + " + ".join(f"v{n}" for n in range(2, 20)) + ";|}",
    "a loop": "for (int64 k = 0; k < n; ++k) {|    e = v2;|}",
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_lines_that_become_choices(case):
    text, expected = MADE[case]
    found = without_branches(text.split("|"), VARIABLES)

    assert not any(line.lstrip().startswith(("if ", "else")) for line in found)
    assert expected is None or found == expected.split("|")


@pytest.mark.parametrize("case", KEPT)
def test_branches_that_stay(case):
    text = KEPT[case].split("|")

    assert without_branches(text, VARIABLES) == text
