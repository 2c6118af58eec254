"""Loops in C give an array a second name: what is written is seen by both, or by neither."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import grid, row, words
from tests.loops.test_loops_in_c import called, is_same

pytestmark = pytest.mark.host


def generations(board, steps):
    for _ in range(steps):
        new = np.zeros_like(board)
        for i in range(board.shape[0]):
            for j in range(board.shape[1]):
                new[i, j] = board[i - 1, j] ^ board[i, j - 1]
        board = new
    return board


def cells(x, steps, out):
    for t in range(steps):
        out[t] = x
        new = x.copy()
        for i in range(len(x)):
            new[i] = (x[i - 1] + x[i]) % 5
        x = new
    return x


def until_it_stays(x, b, most):
    new, before = x, x * 0.0
    for _ in range(most):
        new = np.zeros_like(x)
        for i in range(len(b)):
            new[i] = (b[i] - 0.25 * x[i - 1]) / 2
        if np.max(np.abs(new - x)) < 1e-9:
            break
        before = x * 1.0
        x = new
    return x, before


def both_are_one(x, n):
    for k in range(n):
        new = x * 0.5
        new[0] = k
        x = new
    return x, new, x is new


def are_two(x, n):
    for _ in range(n):
        new = x * 0.5
        x = new
        new = x + 1
        new[1] = 7
    return x, new, x is new


def perhaps_one(x, n):
    new = x
    for k in range(n):
        new = x * 0.5
        if k % 2:
            x = new
        else:
            x = new + 1
            x[1] = k
    return x, new, x is new


def written_by_both(x, n):
    for k in range(n):
        new = x * 0.5
        x = new
        new[0] = k
        x[1] += k
    return x


def written_one_round_later(x, n):
    new = x * 1.0
    for k in range(n):
        new[0] += k
        x = new
        if k % 2:
            new = x * 2
    return x, new


def in_the_inner_loop(x, n):
    for k in range(n):
        new = np.zeros_like(x)
        for i in range(len(x)):
            new[i] = x[i] + k
            if i == 2:
                x = new
    return x


def last_of_inner(x, most, out):
    for i in range(len(x)):
        for n in range(most):
            if x[i] * n > 2:
                break
        out[i] = n
    return n


def smallest(x, n):
    best = None
    for k in range(n):
        if best is None or x[k] < best:
            best = x[k]
    return best


def list_or_number(x, n):
    for k in range(n):
        if k:
            x[0] += held  # noqa: F821
            held = 2.0
        else:
            held = [1.0] if x[0] > 5 else 1.5
    return x, held


def set_in_a_branch(x, n):
    for k in range(n):
        if x[k] > 0.5:
            found = k
    for k in range(n):
        x[k] = found
    return x


def heat(u, v, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, v = v, u
    return u


def heat_of_rows(u, v, steps):
    for _ in range(steps):
        v[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1]
        v[0] = u[-1]
        u, v = v, u
    return u, v


def three_in_turns(a, b, c, n):
    for k in range(n):
        a[k % 3] += b[0] + c[1]
        a, b, c = b, c, a
        if a[0] > 3:
            a, b = b, a
    return a, c


def shifted_itself(a, b, n):
    for _ in range(n):
        a[1:] = b[:-1] * 2
        b[:-1] += a[1:]
        a, b = b, a
    return a


def of_other_lengths(a, b, n):
    for k in range(n):
        a[k % 2] += 1
        a, b = b, a
    return a


def doubled(x):
    made = x * 2
    made[1:] += 1
    return made


def one_twice(x):
    made = x * 2
    return made, made


def one_and_a_part(x):
    made = x * 2
    return made, made[1:]


def returned_to_two_names(x, steps, out):
    p, q = x * 1, x * 1
    for k in range(steps):
        out[0] += p[0] + q[2]
        p = q = doubled(x + k)
        p[0] = k
    return p, q


def returned_twice(x, steps, out):
    p, q = x * 1, x * 1
    for k in range(steps):
        out[0] += p[0] + q[2]
        p, q = one_twice(x + k)
        p[0] = k
    return p, q


def returned_with_a_part(x, steps, out):
    p, q = x * 1, x[1:] * 1
    for k in range(steps):
        out[0] += p[0] + q[2]
        (p, q), out[1] = one_and_a_part(x + k), k
        p[1] = k
    return p, q


def returned_one_after_the_other(x, steps, out):
    p, q = x * 1, x * 1
    for k in range(steps):
        out[0] += p[0] + q[2]
        p, q = doubled(x + k), doubled(q * 0.25)
        p[0] = k
    return p, q


class Stepped:
    def __init__(self, x):
        self.x = x

    def step(self):
        made = self.x + 1
        self.x = made
        return made


def returned_and_kept(x, steps, out):
    held = Stepped(x * 1)
    p = x * 1
    for k in range(steps):
        out[k] = p[1] + held.x[0] * 10
        p = held.step()
        p[0] = 100.0
    return p, p is held.x


def two_of_one(x):
    p, c = x * 1.0, x * 2.0
    for _ in range(3):
        p = doubled(p + c)
        c = p
    return c, p


def returned_as_two(x, steps, out):
    p, q = x * 1.0, x * 2.0
    for k in range(steps):
        out[k] = p[0] + q[0] * 10
        p, q = two_of_one(q)
        p[0] = 100.0
    return p, q


def not_written(x, steps, out):
    p, q = x * 1.0, x * 2.0
    for k in range(steps):
        out[k] = p[0] + q[0] * 10
        p, q = two_of_one(q * 0.1)
    return p is q


def shaped_anew(x, steps, out):
    for k in range(steps):
        turned = np.swapaxes(np.outer(x, x) * 2, 0, 1) * 1
        flat = turned.reshape(-1)
        flat[1] = 100.0
        out[k] += turned[0, 1]


PROGRAMS = {
    "returned and kept": (returned_and_kept, (row(5), 4, row(4))),
    "returned as two": (returned_as_two, (row(5), 4, row(4))),
    "not written": (not_written, (row(5), 4, row(4))),
    "shaped anew": (shaped_anew, (row(5), 4, row(4))),
    "returned to two names": (returned_to_two_names, (row(5), 9, row(4))),
    "returned twice": (returned_twice, (row(5), 9, row(4))),
    "returned with a part": (returned_with_a_part, (row(5), 9, row(4))),
    "returned one after the other": (returned_one_after_the_other, (row(5), 9, row(4))),
    "heat": (heat, (row(7), row(7), 3)),
    "heat, even": (heat, (row(7), row(7), 4)),
    "heat, no step": (heat, (row(7), row(7), 0)),
    "heat of rows": (heat_of_rows, (grid(5, 6)[:, :], grid(5, 6) * 0, 3)),
    "three in turns": (three_in_turns, (row(3), row(3, seed=2), row(3, seed=3), 5)),
    "shifted itself": (shifted_itself, (row(6), row(6, seed=2), 3)),
    "of other lengths": (of_other_lengths, (row(6), row(5, seed=2), 3)),
    "last of inner": (last_of_inner, (row(4) * 3, 4, row(4))),
    "last of no inner": (last_of_inner, (row(4) * 3, 0, row(4))),
    "smallest": (smallest, (row(6), 6)),
    "list or number": (list_or_number, (row(4), 3)),
    "set in a branch": (set_in_a_branch, (row(4), 4)),
    "set in no branch": (set_in_a_branch, (row(4) * 0, 4)),
    "generations": (generations, (words(30, 3).reshape(5, 6) % 2, 4)),
    "no generation": (generations, (words(30, 3).reshape(5, 6) % 2, 0)),
    "cells": (cells, (words(8, 4) % 5, 4, np.zeros((4, 8), "i8"))),
    "until it stays": (until_it_stays, (row(6), row(6, seed=2), 40)),
    "both are one": (both_are_one, (row(4), 3)),
    "are two": (are_two, (row(4), 3)),
    "perhaps one": (perhaps_one, (row(4), 4)),
    "perhaps one, odd": (perhaps_one, (row(4), 5)),
    "written by both": (written_by_both, (row(4), 3)),
    "written one round later": (written_one_round_later, (row(4), 4)),
    "in the inner loop": (in_the_inner_loop, (grid(4, 4)[0], 3)),
}
IN_C = {
    "returned one after the other",
    "heat",
    "heat, even",
    "heat of rows",
    "three in turns",
    "last of inner",
    "last of no inner",
    "generations",
    "cells",
    "both are one",
    "are two",
    "perhaps one",
}


def rolled_on(rolled, args):
    try:
        return rolled(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_array_with_two_names_is_one_as_in_python(name):
    function, args = PROGRAMS[name]
    rolled = Rolled(function)
    own = copy.deepcopy(args)
    expected, found = called(function, args), rolled_on(rolled, own)
    assert is_same(expected[0], found, True)
    assert is_same(expected[1], own, True)
    assert rolled.ran or name not in IN_C
    assert name not in IN_C or not any(site.left for site in rolled.sites)
