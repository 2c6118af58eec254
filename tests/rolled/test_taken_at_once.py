"""Comprehensions and generators are run through in the names of the place where they stand."""

from __future__ import annotations

import copy

import pytest

import opweave as ow
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same

pytestmark = pytest.mark.host
X = row(70)


def other_names_bound_first(x):
    h, s = 1, 0
    for i in range(len(x)):
        h, made = h + 1, [h * v for v in range(3)]
        s += made[0] + made[1] + made[2] + int(x[i])
    return s


def lengths_bound_first(x):
    m, s = 3, 0
    for i in range(len(x)):
        m, made = m % 5 + 1, [0] * m
        s += len(made) + int(x[i])
    return s


def exchanged(x):
    p, q, s = [1, 2], [3], 0
    for i in range(len(x)):
        p, q = [v for v in q], [v for v in p]  # noqa: C416
        s += p[0] * 2 + q[0] + int(x[i])
    return s


def scaled(k, m):
    return [v * k for v in range(m)]


def of_another_function(x):
    k, m, s = 2, 4, 0
    for i in range(len(x)):
        s += sum(scaled(k + 1, m - 1)) + int(x[i])
    return s


def named_of_another(x):
    k, m, s = 2, 4, 0
    for i in range(len(x)):
        made = scaled(k + 1, m - 1)
        s += made[2] + int(x[i])
    return s


def totalled(g, k):
    return sum(g) + k


def given_to_another(x):
    k, s = 5, 0
    for i in range(len(x)):
        s += totalled((k * j for j in range(3)), 10) + int(x[i])
    return s


def twice(g, j):
    return sum(g) + sum(g) + j


def run_through_twice(x):
    s = 0
    for i in range(len(x)):
        s += twice((j for j in range(4)), 1) + int(x[i])
    return s


def changed_before(values, items):
    items.append(5)
    return sum(values)


def of_a_list_that_grows(x):
    items, s = [1, 2], 0
    for i in range(len(x)):
        s += changed_before([v for v in items], items) + int(x[i])  # noqa: C416
    return s


def extended_by_itself(x, items):
    s = 0
    for i in range(len(x)):
        if i < 3:
            items.extend([v * 2 for v in items])
        s += len(items) + int(x[i])
    return s


def popped_by_any(x, items):
    s = 0
    for i in range(len(x)):
        s += any([items.pop() > 0 for _ in range(3)]) + int(x[i])  # noqa: C419
    return s, len(items)


def failing_behind_any(x):
    s = 0
    for i in range(len(x)):
        s += any([10 // (2 - v) > 3 for v in range(3)]) + int(x[i])  # noqa: C419
    return s


def long_integers(x, big):
    p, t = 1, 0
    for i in range(len(x)):
        big[0] = p
        t = max(t, big[0] + big[0])
        if p < 2**62:
            p *= 2
        t += int(x[i])
    return t


def two_names(x):
    s = 0.0
    for i in range(len(x)):
        a = b = [0.0] * 3
        a[0] = 1.0
        s += b[0] + x[i]
    return s


def two_names_written_out(x):
    s = 0.0
    for i in range(len(x)):
        c = d = [0.0, 1.0]
        c[0] = 1.0
        s += d[0] + x[i]
    return s


def within_a_tuple(x):
    k, s = 0, 0.0
    for i in range(len(x)):
        k, made = k + 1, ([k * v for v in range(2)], k)
        s += made[0][1] + made[1] + x[i]
    return s


def of_a_pair(x):
    k, s = 0, 0
    for i in range(len(x)):
        k, made = k + 1, [(k, 0)] * 3
        s += made[2][0] + int(x[i])
    return s


def nested_tuples(x):
    a, b, c, s = 1, 2, 3, 0
    for i in range(len(x)):
        a, (b, c) = b, (a, c + 1)
        s += a * 3 + b * 2 + c + int(x[i])
    return s


def shadowed(x):
    v, s = 7, 0.0
    for i in range(len(x)):
        s += sum(v * x[i] for v in range(3)) + v
    return s


def in_a_choice(x):
    s = 0
    for i in range(len(x)):
        made = [v for v in range(i)] if i % 2 else [1]  # noqa: C416
        s += len(made) + int(x[i])
    return s


PROGRAMS = {
    function.__name__: (function, given)
    for function, *given in (
        (other_names_bound_first,), (lengths_bound_first,), (exchanged,), (of_another_function,),
        (named_of_another,), (given_to_another,), (run_through_twice,), (of_a_list_that_grows,),
        (extended_by_itself, [1.0, 2.0]), (extended_by_itself, [1, 2]),
        (popped_by_any, [1] * 300), (failing_behind_any,), (two_names,), (two_names_written_out,),
        (within_a_tuple,), (of_a_pair,), (nested_tuples,), (shadowed,), (in_a_choice,),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_what_python_does(name):
    function, given = PROGRAMS[name]
    fused = ow.fuse(function)
    for _ in range(3):
        ours, theirs = ([X, *copy.deepcopy(given)] for _ in range(2))
        assert is_same(called(fused, tuple(ours)), called(function, tuple(theirs)), False)
        assert ours[1:] == theirs[1:]


def test_integers_that_were_stored_before_the_first_read_are_as_long_as_they_are():
    fused = ow.fuse(long_integers)

    def run():
        for _ in range(3):
            fused(X, [0])

    with pytest.raises(ow.errors.OutOfRangeError):
        run()


def test_a_long_integer_around_a_lambda_is_its_key():
    def applied(x, f):
        return f(x)

    fused = ow.fuse(applied)
    for big in (10**5000, 10**5000 + 1, 10**5000):
        given = (lambda k: lambda v: v * (k % 7))(big)
        assert is_same(fused(X, given), applied(X, given), False)
