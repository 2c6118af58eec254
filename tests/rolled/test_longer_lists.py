"""Loops in C make lists longer by ``extend`` and ``insert``, as Python does."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def pairs(x, out):
    for i in range(len(x)):
        out.extend([x[i], x[i] * 2])
    return out


def parts_and_others(x, out):
    for i in range(len(x)):
        out.extend(x[:i])
        out.extend(v * 2 for v in x if v > 0.5)
    return out


def doubled(ws, out):
    for _ in range(3):
        out.extend(ws)
        ws.extend(ws)
    return out


def at_places(x, out):
    for i in range(len(x)):
        out.insert(0, x[i])
        out.insert(-1, x[i] + 10)
        out.insert(i, x[i] + 20)
        out.insert(100, 1.0)
        out.insert(-100, 2.0)
    return out


def in_order(x, out):
    for v in x:
        j = 0
        while j < len(out) and out[j] < v:
            j += 1
        out.insert(j, v)
    return out


def tuples_and_ranges(x, out):
    for i in range(4):
        out.extend((i, i + 1))
        out.extend(range(i))
    return out


def of_tuples(x, out):
    for i in range(3):
        out.extend([(i, x[i])])
        out.insert(0, (i + 5, x[i]))
    return out


def by_a_number(x, out):
    for _ in range(3):
        out.extend(5)
    return out


def at_a_float(x, out):
    for i in range(3):
        out.insert(x[i], 5)
    return out


X, WS = row(6), row(6).tolist()
IN_C = [
    (pairs, (WS, [])),
    (pairs, (X, [])),
    (pairs, (WS, [1.0])),
    (pairs, (WS, [1])),
    (parts_and_others, (X, [])),
    (parts_and_others, (WS, [])),
    (doubled, ([1, 2], [])),
    (doubled, ([1, 2.0], [3])),
    (at_places, (WS, [])),
    (at_places, (X, [])),
    (at_places, (WS, [1.0, 2.0, 3.0])),
    (in_order, (WS[::-1], [0.0])),
    (of_tuples, (X, [])),
    (of_tuples, (X, [(1, np.float64(2.0))])),
]
PYTHONS = [
    (tuples_and_ranges, (WS, [])),
    (by_a_number, (WS, [])),
    (at_a_float, (X, [])),
    (pairs, (WS, ["a"])),
    (pairs, (["a"], [])),
]


def named(cases):
    return [pytest.param(*c, id=f"{c[0].__name__}-{n}") for n, c in enumerate(cases)]


@pytest.mark.parametrize(("function", "args"), named(IN_C))
def test_a_loop_makes_a_list_longer_as_python_does(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


@pytest.mark.parametrize(("function", "args"), named(PYTHONS))
def test_what_else_makes_a_list_longer_is_pythons(function, args):
    rolled = Rolled(function)
    assert is_same(called(rolled, args), called(function, args), True)
    assert not rolled.ran


def sorted_into(x, out):
    for v in x:
        j = 0
        while j < len(out) and out[j] < v:
            j += 1
        out.insert(j, v)
    return out


def falling(x, stack):
    t = 0.0
    for v in x:
        while stack and stack[-1] > v:
            t += stack.pop()
        stack.append(v)
    return t, stack


def records(x):
    best = []
    for i in range(len(x)):
        if not best or x[i] > best[-1]:
            best.append(x[i])
    return best


def stack_of_tuples(n):
    st = []
    for i in range(n):
        if st and st[-1][0] % 3 == 1:
            a, b = st.pop()
            st.append((a + b, i))
        st.append((i, i * i))
    return st


def of_two_types(x, out):
    for i in range(len(x)):
        if i > 2:
            x[i] += out[0]
        if i % 2:
            out.append(i)
        else:
            out.append(x[i])
    return out


def of_a_later_name(x, out):
    for i in range(len(x)):
        if out:
            x[i] = out[-1] + 1
        y = x[i] * 2
        out.append(y)
    return x, out


def read_too_early(x, out):
    for i in range(len(x)):
        x[i] = out[0]
        out.append(i)
    return x


def next_larger(x, _):
    ans = [0] * len(x)
    st = []
    for i in range(len(x)):
        while st and x[st[-1]] < x[i]:
            j = st.pop()
            ans[j] = i - j
        st.append(i)
    return ans


def distinct(x, out):
    for i in range(len(x)):
        seen = []
        for v in x[:i]:
            if v not in seen:
                seen.append(v)
        out.append(len(seen))
    return out


INTS = [3, 1, 2, 3, 5, 4]
EMPTY = [
    *(
        (f, (xs, []))
        for f in (sorted_into, falling, of_two_types, next_larger)
        for xs in (WS, X, INTS)
    ),
    *((records, (xs,)) for xs in (WS, X, INTS)),
    (stack_of_tuples, (9,)),
    (read_too_early, (X, [])),
    (read_too_early, (INTS, [])),
    (distinct, (INTS, [])),
    (distinct, (np.array(INTS), [])),
]


@pytest.mark.parametrize(("function", "args"), named(EMPTY))
def test_a_list_may_be_read_before_it_has_an_item(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


def test_a_list_of_what_is_not_known_yet_is_pythons():
    rolled = Rolled(of_a_later_name)
    assert is_same(called(rolled, (X, [])), called(of_a_later_name, (X, [])), True)
