"""Loops in C that end before a name gets a new array: it holds what it held, perhaps an argument."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled

pytestmark = pytest.mark.host


def settled(v, n, least):
    for _ in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            break
        v = new
    return v


def told(v, n, least):
    for i in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            return v, i
        v = new
    return new, n


def while_it_lasts(v, n, least):
    i = 0
    while i < n:
        i += 1
        new = v * 0.5 + 1
        if i % 3 == 0:
            continue
        if new[0] < least:
            break
        v = new
    return v, i


def before_the_last(v, n, least):
    last = v
    for _ in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            break
        last = v
        v = new
    return last, v


def with_its_first(v, n, least):
    first = v
    for _ in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            break
        v = new
    return first, v


def two_in_turns(u, v, n, least):
    for _ in range(n):
        new = u + v * 0.1
        if new[0] < least:
            break
        u, v = v, new
    return u, v


def one_of_two(u, v, n, least):
    for i in range(n):
        new = (u + v) * 0.4
        if new[0] < least:
            break
        if i % 2:
            u = new
        else:
            v = new
    return u, v


def copied_first(v, n, least):
    for _ in range(n):
        new = v.copy()
        new[1:] = v[:-1] * 0.5 + 1
        new[0] *= 0.5
        if new[0] < least:
            break
        v = new
    return v


def asked_first(v, n, least):
    for _ in range(n):
        if v[0] < least:
            break
        v = v * 0.5 + 1
    return v


def within_another(v, n, least):
    for _ in range(n):
        for j in range(3):
            new = v * 0.5 + 1
            if new[0] < least + j:
                break
            v = new
        v = v - 0.25
    return v


def written_behind(v, n, least):
    for _ in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            break
        v = new
    v[0] = 100.0
    return v


def written_before(v, n, least):
    for _ in range(n):
        v[0] += 1
        if v[0] > least:
            break
        v = v * 0.5
    return v


def written_sometimes(v, n, least):
    for i in range(n):
        if i > 2:
            v[0] += 1
        if v[0] < least:
            break
        if i > 3:
            v = v * 0.5 + 1
    return v


def written_when_new(v, n, least):
    for i in range(n):
        if v[0] < least:
            break
        v = v * 0.5 + 1
        v += i
    return v


def other_written(u, v, n, least):
    for _ in range(n):
        new = u * 0.5 + v * 0.1
        u[0] = new[1]
        if new[0] < least:
            break
        v = new
    return v


def a_part(v, n, least):
    for _ in range(n):
        new = v * 0.5 + 1
        if new[0] < least:
            break
        v = new[:]
    return v


def fewer(u, v, n, least):
    for _ in range(n):
        if not len(u):
            break
        u = u * 0.5 + v
        kept = u > least
        u = u[kept]
        v = v[kept]
    return u, v


def fewer_in_place(u, v, n, least):
    for i in range(n):
        if not len(u):
            break
        u *= 0.5
        np.add(u, v, out=u)
        kept = u > least
        v[~kept] = i
        np.logical_not(kept, kept)
        u = u[~kept]
        v = v[~kept]
    return u, v


def written_and_read(u, v, n, least):
    first = v
    for i in range(n):
        if u[0] < least:
            break
        v += first * 0.5
        u[1:] = v[:-1]
        v = v + u
        v[i % 4] = 0.0
    return u, v, first


def second_name(v, n, least):
    for _ in range(n):
        y = v
        if v[0] < least:
            break
        v = v * 0.5
        y[0] += 1
    return v


def second_name_of_a_part(v, n, least):
    for _ in range(n):
        y = v[:2]
        if v[0] < least:
            break
        v = v * 0.5
        y *= 2
    return v


def name_that_comes_back(v, n, least):
    for i in range(n):
        if v[0] < least or i > 2:
            break
        y = v
        v = v * 2
        v = y
        y = v * 1
        v[0] += 1
    return v


def given_back(v):
    return v


def second_name_by_a_call(v, n, least):
    for _ in range(n):
        y = given_back(v)
        if v[0] < least:
            break
        v = v * 0.5
        y[1] = 9.0
    return v


FUNCTIONS = (
    second_name, second_name_of_a_part, name_that_comes_back, second_name_by_a_call, fewer, fewer_in_place, written_and_read, settled, told, while_it_lasts, before_the_last, with_its_first, two_in_turns, one_of_two,
    copied_first, asked_first, within_another, written_behind, written_before, written_sometimes,
    written_when_new, other_written, a_part,
)  # fmt: skip
IN_C = {
    settled, before_the_last, with_its_first, copied_first, asked_first, other_written,
    written_behind, written_before, written_when_new, fewer, fewer_in_place,
}  # fmt: skip
LAYOUTS = {
    "rows": np.array,
    "backwards": lambda x: x[::-1],
    "every other": lambda x: np.repeat(x, 2)[::2],
    "read alone": lambda x: np.broadcast_to(x, (1, 4))[0],
    "floats": lambda x: x.astype(np.float32),
    "integers": lambda x: x.astype(np.int64),
}
ROUNDS = [(n, least) for n in (0, 1, 2, 7) for least in (-5, 1.2, 1.999, 2.5, 100)]


def arguments(function, layout, *numbers):
    count = function.__code__.co_argcount - 2
    rows = [np.array([4.0, 1.0, 2.5, -1.0]) + i for i in range(count)]
    return [*(LAYOUTS[layout](row) for row in rows), *numbers]


def outcome(function, args):
    """What a call gives, which of its arrays are one, and its arguments afterwards."""
    try:
        found = function(*args)
    except Exception as error:
        return type(error), str(error)
    made = found if isinstance(found, tuple) else (found,)
    every = [x for x in (*args, *made) if isinstance(x, np.ndarray)]
    one = [[x is y for y in every] for x in every]
    shared = [[np.shares_memory(x, y) for y in every] for x in every]
    return (
        [(type(x), getattr(x, "dtype", 0), np.array(x).tolist()) for x in (*made, *args)],
        one,
        shared,
    )


CELLS = [
    *((function, "rows") for function in FUNCTIONS),
    *(
        (f, layout)
        for f in (settled, two_in_turns, written_before, fewer_in_place)
        for layout in LAYOUTS
    ),
]


@pytest.mark.parametrize(("function", "layout"), dict.fromkeys(CELLS))
def test_a_name_holds_what_it_held_when_the_loop_was_left(function, layout):
    rolled = Rolled(function)
    for numbers in ROUNDS:
        expected = outcome(function, arguments(function, layout, *numbers))
        assert outcome(rolled, arguments(function, layout, *numbers)) == expected, numbers
    if function in IN_C and layout == "rows":
        assert rolled.ran
        assert not any(site.left for site in rolled.sites)


@pytest.mark.parametrize("function", [fewer, fewer_in_place, written_and_read, other_written])
def test_an_array_that_has_two_names_when_the_loop_begins(function):
    for numbers in ROUNDS:
        for begin, end in ((0, 4), (0, 3), (1, 4)):
            outcomes = []
            for run in (Rolled(function), function):
                whole = np.array([4.0, 1.0, 2.5, -1.0])
                given = [whole[begin:end], whole if end - begin == 4 else whole[:3]]
                outcomes.append((outcome(run, [*given, *numbers]), whole.tolist()))
            assert repr(outcomes[0]) == repr(outcomes[1]), (numbers, begin, end)


def test_an_array_of_the_call_is_not_copied_when_the_loop_begins():
    rolled = Rolled(asked_first)
    x = np.ones(4)

    assert rolled(x, 5, 2.0) is x
    (source,) = rolled.sites[0].sources
    assert source.index("for (int64 __0") < source.index("exchange(")


class Held:
    def __init__(self):
        self.x = np.ones(4)

    def settled(self, n, least, most):
        v = self.x
        for _ in range(n):
            new = v * 0.5
            if new[0] < least:
                break
            v = new
            if new[0] < most:
                self.x = v
        return v

    def halved(self, n, least, most):
        v = self.x
        for _ in range(n):
            v = v * 0.5
            if v[0] < least:
                break
            if v[0] < most:
                self.x = v
        return v


@pytest.mark.parametrize("least", [0, 0.2, 0.6])
@pytest.mark.parametrize("most", [0, 0.3, 1])
@pytest.mark.parametrize("method", [Held.settled, Held.halved])
def test_an_attribute_and_a_name_that_hold_one_array_still_do(method, most, least):
    found = []
    for function in (method, Rolled(method)):
        held = Held()
        left = function(held, 4, least, most)
        found.append((left is held.x, left.tolist(), held.x.tolist()))

    assert found[0] == found[1]
