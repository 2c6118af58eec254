"""First rounds that do what all rounds do are one text with them; others stay apart."""

from __future__ import annotations

import random

import numpy as np
import pytest

from opweave.compiler.loops.order.first_rounds import FirstRounds
from tests.loops.random_programs import loaded
from tests.loops.test_loops_in_c import called, is_same, run_in_c
from tests.order.sources import BY_SIDE, drawn, sources
from tests.order.test_choices import envelope

__all__ = ["sources"]  # a fixture

pytestmark = pytest.mark.host


def smoothed(x, y, a):
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            s = a * s + x[c, t]
            y[c, t] = s


def from_below(x, y, a):
    for c in range(x.shape[0]):
        s = -1.5
        for t in range(x.shape[1]):
            y[c, t] = s - x[c, t]
            s = 0.5 * s + a * x[c, t]


def from_an_argument(x, y, a):
    for c in range(x.shape[0]):
        s = a
        for t in range(x.shape[1]):
            s = s * 0.25 + x[c, t]
            y[c, t] = s


def biquad(x, y, a):
    for c in range(x.shape[0]):
        z1 = 0.0
        z2 = 0.0
        for t in range(x.shape[1]):
            v = x[c, t]
            o = 0.2 * v + z1
            z1 = 0.4 * v + z2 - a * o
            z2 = 0.2 * v - 0.3 * o
            y[c, t] = o


def quotient(x, y, a):
    for c in range(x.shape[0]):
        s = 1.0
        for t in range(x.shape[1]):
            s = a / (s + x[c, t] * x[c, t])
            y[c, t] = s


def two_deep(x, y, a):
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            r = 2.0
            for _ in range(3):
                r = r * a + x[c, t] + s
            s = r * 0.1
            y[c, t] = s


def until(x, y, a):
    """Of the first round t is known."""
    for c in range(x.shape[0]):
        s, t = 0.0, 0
        while t < x.shape[1]:
            s = a * s + x[c, t]
            y[c, t] = s
            t += 1


JOINED = (smoothed, from_below, from_an_argument, biquad, envelope, quotient, two_deep)


def never_at_first(x, y, a):
    """The first round has no branch: s is known to be 0."""
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            if s > 0.0:
                y[c, t] = a
            s = 0.5 * s + x[c, t]


def now_and_then(x, y, a):
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            if x[c, t] > 0.5:
                s = s * a + x[c, t]
            y[c, t] = s


def read_behind(x, y, a):
    for c in range(x.shape[0]):
        s = 0.25
        for t in range(x.shape[1]):
            s = s * a + x[c, t]
        y[c] += s


def as_a_row_before(x, y, a):
    """Where a row has no elements, what the row before has left is read."""
    r = a
    for c in range(x.shape[0]):
        s = 0.0
        for t in range(x.shape[1]):
            s = s * a + x[c, t]
            r = s
        y[c] += r


OTHERS = (until, never_at_first, now_and_then, read_behind, as_a_row_before)
SHAPES = ((1, 1), (3, 0), (40, 1), (40, 2), (19, 70))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", [*JOINED, *OTHERS])
def test_rounds_give_what_python_gives(function, shape, sources):
    x, y = drawn(*shape), np.zeros(shape)

    expected, found = called(function, [x, y, 0.75]), run_in_c(function, [x, y, 0.75])

    assert is_same(found, expected, exactly=True)
    assert not (function in JOINED and "bool first" in sources[-1])


@pytest.mark.parametrize("function", [smoothed, from_below, from_an_argument, biquad])
def test_rows_of_such_rounds_go_side_by_side(function, sources):
    run_in_c(function, [drawn(19, 70), np.zeros((19, 70)), 0.75])

    assert BY_SIDE in sources[-1]


def recurrence(seed: int) -> str:
    """A function of rows whose numbers begin as Python's."""
    own = random.Random(seed)
    names = ["s", "r", "q"][: own.randint(1, 3)]

    def term() -> str:
        return own.choice(["x[c, t]", "x[c, t - 1]", "a", "0.5", "2.0", *names, *names])

    def value() -> str:
        return f"{term()} * {term()} {own.choice('+-')} {term()}"

    lines = [f"        {n} = {own.choice(['0.0', '1.0', '-0.5', 'a', 'b'])}" for n in names]
    lines.append(f"        for t in range({own.choice('01')}, x.shape[1]):")
    for _ in range(own.randint(1, 4)):
        name = own.choice(names)
        if own.random() < 0.3:
            lines.append(f"            if {term()} > {term()}:")
            lines.append(f"                {name} = 0.25 * ({value()})")
            if own.random() < 0.5:
                lines += ["            else:", f"                {own.choice(names)} = {value()}"]
        else:
            lines.append(f"            {name} = 0.25 * ({value()})")
    lines.append(f"            y[c, t] = {own.choice(names)} + x[c, t] * {own.choice(names)}")
    if own.random() < 0.4:
        lines.append(f"        y[c, 0] = {own.choice(names)} * x[c, 0]")
    if own.random() < 0.3:
        lines.append(f"        b = {own.choice(names)} * x[c, 0] * 0.5")
    text = "\n".join(["    b = 0.5", "    for c in range(x.shape[0]):", *lines])
    return f"def program(x, y, a):\n{text}\n    return b\n"


@pytest.mark.parametrize("seed", range(12))
def test_random_recurrences_are_those_of_python(seed, tmp_path, sources):
    joined = 0
    for each in range(seed * 8, seed * 8 + 8):
        text = recurrence(each)
        function = loaded(text, tmp_path, f"recurrence_{each}").program
        for shape in ((17, 40), (9, 1)):
            args = drawn(*shape), np.zeros(shape), 0.75
            assert is_same(called(function, args), run_in_c(function, args), exactly=True), text
        joined += "bool first" not in sources[-1]
    assert joined


VARIABLES = {
    "s": "double", "s_": "double", "u": "double", "u_": "double", "f": "float", "f_": "float",
    "q": "int64", "q_": "double", "b": "double", "c": "double", "chosen1": "double",
    "chosen2": "double", "chosen3": "double", "whole": "int64", "room1": "LoopRoom",
    "room2": "LoopRoom",
}  # fmt: skip
LOOP = """{before}
bool first0 = true;
for (int64 t_0 = 0; t_0 < {end}; t_0 += 1) {{
    if (first0) {{
        first0 = false;
        {first}
        continue;
    }}
    {other}
}}
{behind}"""
ALIKE = {
    "as it is": ("s_ = a * 0.0;", "s_ = a * s_;"),
    "by another name": (
        "const double v0 = a * 0.0;|s_ = v0;", "const double v1 = a * s_;|s_ = v1;"),
    "below 0": ("s_ = a * (-0.0);", "const double v1 = (-2.5) * s_;|s_ = a * v1;"),
    "computed": ("s_ = 2.5 + a;", "const double v1 = s_ + 2.5;|s_ = v1 + a;"),
    "in each branch": (
        "if (p) {|    s_ = 0.0 + a;|}|else {|    s_ = 0.0 - a;|}|b = s_;",
        "if (p) {|    s_ = s_ + a;|}|else {|    s_ = s_ - a;|}|b = s_;"),
}  # fmt: skip
OWN = ("chosen1 = 0.0;|s_ = chosen1 * a;", "chosen2 = s_;|s_ = chosen2 * a;")
ALIKE |= {
    "by variables of their own": OWN,
    "by rooms of their own": (
        "double* const t1 = room1.of<double>(n);|s_ = 0.0 + load(t1);",
        "double* const t2 = room2.of<double>(n);|s_ = s_ + load(t2);"),
}  # fmt: skip
UNLIKE = {
    "two variables in one's place": (
        "chosen1 = a;|chosen1 = b;|s_ = 0.0 + chosen1 * chosen1;",
        "chosen2 = a;|chosen3 = b;|s_ = s_ + chosen2 * chosen3;"),
    "one variable in the place of two": (
        "chosen1 = a;|chosen3 = b;|s_ = 0.0 + chosen1;",
        "chosen2 = a;|chosen2 = b;|s_ = s_ + chosen2;"),
    "a variable of another type": (
        "chosen1 = b;|s_ = chosen1 * 0.0;", "whole = b;|s_ = whole * s_;"),
    "a variable that the round before has left": (
        "s_ = chosen1 + 0.0;|chosen1 = a;", "s_ = chosen2 + s_;|chosen2 = a;"),
    "another number": ("s_ = a * 1.0;", "s_ = a * s_;"),
    "another name": ("s_ = a * 0.0;", "s_ = b * s_;"),
    "another sign": ("s_ = a + 0.0;", "s_ = a - s_;"),
    "a line more": ("s_ = a * 0.0;|b = 1;", "s_ = a * s_;"),
    "a line less": ("s_ = a * 0.0;", "s_ = a * s_;|b = 1;"),
    "two names in one's place": (
        "const double v0 = a;|const double v1 = b;|s_ = 0.0 + v0 * v1;",
        "const double v2 = a;|const double v3 = b;|s_ = s_ + v2 * v2;"),
    "read where a branch may have assigned it": (
        "if (p) {|    s_ = 0.0 + a;|}|b = 0.0;", "if (p) {|    s_ = s_ + a;|}|b = s_;"),
    "left as it was by a branch": (
        "c = 0.0;|if (p) {|    s_ = a;|}|b = s_;", "c = s_;|if (p) {|    s_ = a;|}|b = s_;"),
    "assigned by one branch of two": (
        "c = 0.0;|if (p) {|    s_ = a;|}|else {|    b = a;|}|b = s_;",
        "c = s_;|if (p) {|    s_ = a;|}|else {|    b = a;|}|b = s_;"),
    "left as it was by a loop": (
        "c = 0.0;|for (int64 k = 0; k < n; k += 1) {|    s_ = a;|}|b = s_;",
        "c = s_;|for (int64 k = 0; k < n; k += 1) {|    s_ = a;|}|b = s_;"),
    "in a block that is not known": (
        "switch (p) {|    s_ = 0.0 + a;|}", "switch (p) {|    s_ = s_ + a;|}"),
    "read where another round has assigned it": (
        "for (int64 k = 0; k < 3; k += 1) {|    s_ = 0.0 + a;|}",
        "for (int64 k = 0; k < 3; k += 1) {|    s_ = s_ + a;|}"),
    "changed by itself": ("s_ = 0.0 + a;|++s_;", "s_ = s_ + a;|++s_;"),
}  # fmt: skip


def text_of(case, before="s = 0.0;", end="n", behind="b = 0;"):
    first, other = case
    text = LOOP.format(
        first=first.replace("|", "\n        "), other=other.replace("|", "\n    "),
        before=before, end=end, behind=behind,
    )  # fmt: skip
    return text.split("\n")


@pytest.mark.parametrize("case", ALIKE)
def test_texts_that_are_alike_become_one(case):
    found = FirstRounds(VARIABLES, "").joined(text_of(ALIKE[case]))

    assert "s_ = 0.0;" in found
    assert not any("first0" in line for line in found)


@pytest.mark.parametrize("case", UNLIKE)
def test_texts_that_are_not_alike_stay(case):
    text = text_of(UNLIKE[case])

    assert FirstRounds(VARIABLES, "").joined(text) == text


PLAIN = ALIKE["as it is"]
AROUND = {
    "read behind of the others": (text_of(OWN, behind="b = chosen2;"), ""),
    "read before of the others": (text_of(OWN, before="b = chosen2;\ns = 0.0;"), ""),
    "read behind of the first": (text_of(OWN, behind="b = chosen1;"), ""),
    "left by the others": (text_of(OWN), "chosen2"),
    "read behind a loop without rounds": (text_of(PLAIN, behind="b = s_;"), ""),
    "a result": (text_of(PLAIN), "s_"),
    "read by the loop's head": (text_of(PLAIN, end="s_"), ""),
    "of a name that the round changes": (
        text_of(("s = b;|s_ = a * s;", "s = b;|s_ = a * s_;"), before="s = c;"), ""),
    "of another type": (text_of(("q_ = a / q;", "q_ = a / q_;"), before="q = 3;"), ""),
    "of less digits": (text_of(("f_ = a * 0.1;", "f_ = a * f_;"), before="f = 0.1;"), ""),
    "not left by a line": ([line.replace("continue", "b = 1") for line in text_of(PLAIN)], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", AROUND)
def test_what_lies_around_a_loop_may_keep_its_first_round_apart(case):
    text, results = AROUND[case]

    assert FirstRounds(VARIABLES, results).joined(text) == text


def test_only_what_is_read_first_begins_with_something():
    case = ("u_ = a;|s_ = 0.0 + u_;", "u_ = a;|s_ = s_ + u_;")
    found = FirstRounds(VARIABLES, "").joined(text_of(case, before="u = 1.0;\ns = 0.0;"))

    assert found[:3] == ["u = 1.0;", "s = 0.0;", "s_ = 0.0;"]
    assert found[3].startswith("for ")


def test_a_variable_may_begin_with_another():
    found = FirstRounds(VARIABLES, "").joined(text_of(("s_ = a * s;", PLAIN[1]), before="s = b;"))

    assert found[:2] == ["s = b;", "s_ = s;"]
