"""Loops that once did something else than Python, each with its reason in its name."""

# ruff: noqa: B007, F823, F841, RET504, SIM108
from __future__ import annotations

import types

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called, is_same

pytestmark = pytest.mark.host
# Names that locals have, too: a local that is not bound is no global one.
k = s = 7.0


def bump(x):
    x[0] += 1
    return 1


def maybe_more(x, n):
    if x > 3:
        n = n + 1
    return n


def helper_loop(x, n):
    c = 0
    for j in range(n):
        c = c + 1
    return c + 3


def h(x, n):
    z = x * n
    return z


def short_negative_write(x, a):
    for i in range(2):
        x[-3] = a


def short_negative_read(x):
    t = 0.0
    for i in range(2):
        t = t + x[-1]
    return t


def new_axis_zip(A, B):
    for i in range(2):
        B[:] = A[:, 1][:, None] * B[0][None, :]


def helper_param_branch(x):
    for i in range(6):
        x[i] = maybe_more(x[i], 5)


def chain_short2(x, y):
    c = 0
    for i in range(4):
        if x[i] < 2 < y[i]:
            c += 1
    return c


def clash_prefix(x, a):
    h0_z = 1.0
    for i in range(3):
        h0_z = h0_z + 1.0
        x[i] = h(a, 3.0) + h0_z


def lazy_out(x, y):
    for i in range(3):
        x[1:] = (x[1:] + 1) * np.add(x[:-1], 1, out=x[:-1])


def unbound_local_reads_global(x, n):
    for i in range(n):
        if i < 2:
            x[i] = k
        k = 1.0
    return x


def join_drops_to_global(x):
    for i in range(4):
        if i > 1:
            s = 1
        else:
            s = 1.5
        x[i] = s


def lazy_before_helper(x):
    for i in range(2):
        x[:] = (x + 1) * bump(x)


def lazy_before_target(x):
    for i in range(2):
        x[bump(x) : 3] = x[:2] + 1


def minus_zero(x, y):
    for i in range(6):
        if x[i] > 3:
            z = 0.0
        else:
            z = -0.0
        y[i] = z


def abs_either(x, y):
    t = 0.0
    for i in range(6):
        if x[i] > 10:
            t = x[i]
        r = abs(t)
    return r


def max_either(x, y):
    t = 0.0
    u = 1.0
    for i in range(6):
        if x[i] > 10:
            t = x[i]
            u = x[i]
        r = max(t, u)
    return r


def choice_either(x, y):
    t = 0.0
    u = 1.0
    for i in range(6):
        if x[i] > 10:
            t = x[i]
            u = x[i]
        r = t if i > 2 else u
    return r


def bool_plus(x):
    for i in range(3):
        b = i > 1
        c = +b
    return c


def bool_and(x):
    for i in range(3):
        c = (i > 1) & (i < 9)
        d = (i > 1) | (i < 9)
    return c, d


def invert_float(x, a):
    for i in range(3):
        x[i] = ~a
    return x


def rows_of_rebound_view(x):
    t = 0.0
    for i in range(2):
        v = x[i:]
        for e in v:
            v = x[3:]
            t = t + e
    return t


def clash_v_n0(x, m):
    for i in range(3):
        v_n0 = 100
        v_n0 = v_n0 + i
        v = x[i:]
        v[0] += v_n0
        x[0] += v_n0


def shift_untaken(x, n, m):
    for i in range(3):
        if x[i] > 100:
            x[i] = n << m
        x[i] += 1


def shift_taken(x, n, m):
    for i in range(3):
        x[i] += 1
        if i == 2:
            x[i] = n << m


def typeerror_untaken(x, n, m):
    for i in range(3):
        if x[i] > 100:
            x[i] = n & m
        x[i] += 1


def huge_int(x, n):
    for i in range(3):
        if x[i] > 100:
            x[i] = n
        x[i] += 1


def method_keyword(x):
    for i in range(3):
        x[i] = x.sum(dtype=np.float64)


def list_truth(x, opts):
    for i in range(3):
        if opts:
            x[i] = 0


def carried_by_inner(x):
    t = 0.0
    for i in range(3):
        print(end="")
        for j in range(4):
            t = t + x[j]
            x[j] = t


def scalar_where(x):
    for i in range(3):
        t = np.where(x[i] > 2, 1.0, 2.0)
    return t


def key_of_unbound(x, flag):
    if flag:
        t = 1.0
    else:
        u = 2.0
    for i in range(3):
        t = x[i] * 2
        u = t + 1
        x[i] = t + u


def range_of_helper(x, n):
    for i in range(helper_loop(x, n)):
        x[i] = 0


def imatmul(x, y):
    for i in range(1):
        x @= y


def uint_slice2(x, u):
    for i in range(1):
        x[: u[i]] += 1


def default_lambda(x, key=lambda: 3):
    for i in range(2):
        x[i] = 0
    return x[0]


def row_apart(A):
    for i in range(2):
        A[0][1:] = A[0, :-1] + 5


def transposed_rebound(A):
    for i in range(2):
        v = A[i:3, i:]
        v = v.T
        v[0] += i
        v[-1, -1] = 9


def minus_zero_outside(x):
    for i in range(len(x)):
        x[i] = ZERO if x[i] < 9 else 1.0


ZERO = -0.0


def stores_global(x):
    global k
    for i in range(3):
        k = k + x[i]
    return k


def chained_not(x):
    a = False
    for i in range(5):
        a = b = not a
        x[i] += 1.0 if b else 0.0
    return a, b


def rows_of_part_of_rebound(x, y):
    v = x[0]
    for i in range(2):
        v = x[i]
        for e in v[1:]:
            y[i] += e
            v = x[0]


def rows_of_indexed_by_rebound(A, idx, y):
    for i in range(2):
        m = idx[i]
        for v in A[m]:
            y[i] += v
            m = idx[0]


mod = types.ModuleType("mod")
mod.poke = bump


def add_first(x, y):
    x[0] += y
    return y


def effects_of_ones_own_max(x, max=add_first):
    for i in range(3):
        x[:] = (x * 2) + max(x, 5.0)


def effects_of_an_output(x, z):
    for i in range(3):
        z[:] = (x * 2) + np.minimum(x, z, x)


def effects_of_an_attribute(x):
    for i in range(2):
        x[:] = (x * 2) + mod.poke(x)


def place_of_a_branch(x):
    m = 0
    for i in range(6):
        if x[i] > 3.5:
            continue
        m = (i * 2) % 7
        x[m] = 9.0


def stale_bounds(x):
    for i in range(4):
        m = 5
        if x[i] > 2.5:
            m = i - 9
        x[m] += 1


def named_as_the_template(made, given, watch, loop):
    for i in range(3):
        made[i] = given[i] + watch * loop


def insertion(x):
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v


def truths_of_numbers(x, n):
    c = 0
    for i in range(6):
        if (n and x[i]) or i > 4:
            c += 1
        if not (x[i] > 3 or n > 9) and True:
            c += 10
    return c


def abs_of_integers(x):
    t = 0
    for i in range(6):
        t += abs(i - 3) * abs(-i) + abs(i > 2)
        x[abs(i - 3)] += abs(i - 2)
    return t


def index_by_a_sum(x, idx):
    t = 0.0
    for i in range(3):
        v = x[idx + 1]
        t = t + v[i]
    return t


def matrix_and_vector(A, x, y):
    for i in range(3):
        y[:] = A @ x
        x[:] = y / 8


CASES = {
    'short_negative_write': (short_negative_write, (np.arange(1.0, 3.0), 1.0,)),
    'short_negative_read': (short_negative_read, (np.zeros(0),)),
    'new_axis_zip': (new_axis_zip, (np.ones((3,3)), np.ones((3,3)),)),
    'helper_param_branch': (helper_param_branch, (np.arange(1, 7),)),
    'chain_short2': (chain_short2, (np.arange(4), np.array([5, 6]),)),
    'clash_prefix': (clash_prefix, (np.arange(1.0, 7.0), 2.0,)),
    'lazy_out': (lazy_out, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'unbound_local_reads_global': (unbound_local_reads_global, (np.arange(1.0, 7.0), 3,)),
    'join_drops_to_global': (join_drops_to_global, (np.arange(1.0, 7.0),)),
    'lazy_before_helper': (lazy_before_helper, (np.arange(1.0, 7.0),)),
    'lazy_before_target': (lazy_before_target, (np.arange(1.0, 7.0),)),
    'minus_zero': (minus_zero, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'abs_either': (abs_either, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'max_either': (max_either, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'choice_either': (choice_either, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'bool_plus': (bool_plus, (np.arange(1.0, 7.0),)),
    'bool_and': (bool_and, (np.arange(1.0, 7.0),)),
    'invert_float': (invert_float, (np.arange(1.0, 7.0), 1.5,)),
    'rows_of_rebound_view': (rows_of_rebound_view, (np.arange(1.0, 7.0),)),
    'clash_v_n0': (clash_v_n0, (np.arange(1.0, 7.0), 2,)),
    'shift_untaken': (shift_untaken, (np.arange(1.0, 7.0), 5, -1,)),
    'shift_taken': (shift_taken, (np.arange(1.0, 7.0), 5, -1,)),
    'typeerror_untaken': (typeerror_untaken, (np.arange(1.0, 7.0), 5, 1.5,)),
    'huge_int': (huge_int, (np.arange(1.0, 7.0), 10**5000,)),
    'method_keyword': (method_keyword, (np.arange(1.0, 7.0),)),
    'list_truth': (list_truth, (np.arange(1.0, 7.0), [1],)),
    'carried_by_inner': (carried_by_inner, (np.arange(1.0, 7.0),)),
    'scalar_where': (scalar_where, (np.arange(1.0, 7.0),)),
    'key_of_unbound': (key_of_unbound, (np.arange(1.0, 7.0), True,)),
    'range_of_helper': (range_of_helper, (np.arange(1.0, 7.0), 0,)),
    'imatmul': (imatmul, (np.arange(1.0, 7.0), np.arange(1.0, 7.0),)),
    'uint_slice2': (uint_slice2, (np.arange(1.0, 7.0), np.array([2**64-1], "u8"),)),
    'default_lambda': (default_lambda, (np.arange(1.0, 7.0),)),
    "chained_not": (chained_not, (np.arange(6.0),)),
    "rows_of_part_of_rebound": (rows_of_part_of_rebound, (np.arange(8.0).reshape(2, 4), np.zeros(2),)),
    "rows_of_indexed_by_rebound": (rows_of_indexed_by_rebound, (np.arange(8.0).reshape(2, 4), np.array([1, 0], "u1"), np.zeros(2),)),
    "effects_of_ones_own_max": (effects_of_ones_own_max, (np.arange(1.0, 7.0),)),
    "effects_of_an_output": (effects_of_an_output, (np.arange(1.0, 7.0), np.arange(6.0, 0.0, -1.0),)),
    "effects_of_an_attribute": (effects_of_an_attribute, (np.arange(1.0, 7.0),)),
    "place_of_a_branch": (place_of_a_branch, (np.arange(1.0, 8.0),)),
    "stale_bounds": (stale_bounds, (np.arange(1.0, 9.0),)),
    "named_as_the_template": (named_as_the_template, (np.zeros(3), np.arange(3.0), 2.0, 3,)),
    "insertion": (insertion, (np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.5]),)),
    "truths_of_numbers": (truths_of_numbers, (np.arange(6.0), 3,)),
    "abs_of_integers": (abs_of_integers, (np.arange(6.0),)),
    "index_by_a_sum": (index_by_a_sum, (np.arange(6.0), np.array([0, 2, 4]),)),
    "matrix_and_vector": (matrix_and_vector, (np.arange(9.0).reshape(3, 3), np.arange(3.0), np.zeros(3),)),
    "row_apart": (row_apart, (np.arange(12.0).reshape(3, 4),)),
    "transposed_rebound": (transposed_rebound, (np.arange(12.0).reshape(3, 4),)),
    "minus_zero_outside": (minus_zero_outside, (np.arange(3.0),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_it_does_what_python_does(name):
    function, args = CASES[name]
    expected, found = called(function, args), called(Rolled(function), args)
    if isinstance(expected[0], tuple) and isinstance(expected[0][0], type):
        assert found[0][0] is expected[0][0]
    else:
        assert is_same(expected[0], found[0], exactly=True)
    assert [repr(a) for a in expected[1] if type(a) is not int] == [
        repr(a) for a in found[1] if type(a) is not int
    ]


def test_a_name_of_others_is_stored_by_python():
    global k
    k = 7.0
    expected = stores_global(np.arange(3.0))
    k = 7.0
    try:
        found = Rolled(stores_global)(np.arange(3.0))
    except Exception:
        found = stores_global(np.arange(3.0))
    assert expected == found == k
    k = 7.0
