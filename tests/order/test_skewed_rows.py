"""Rows side by side, each some columns behind the one above it: which, and that nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from opweave.compiler.lines.values import Size
from opweave.compiler.loops.order.sharing import ArrayUses
from opweave.compiler.loops.order.skewing import Skewing
from tests.loops.test_loops_in_c import called, is_same, run_in_c
from tests.order.sources import BY_SIDE, drawn, sources, whole

__all__ = ["sources"]  # a fixture

pytestmark = pytest.mark.host


def sweep(u, f):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return i, j


def over(u, w, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                r = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4 - u[i, j]
                u[i, j] += w * r
    return r


def of_nine(u):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = (
                u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1] + u[i, j - 1] + u[i, j] + u[i, j + 1]
                + u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
            ) / 9.0  # fmt: skip


def scaled(u, is_column, y):
    for i in range(1, u.shape[0]):
        s = u[i, 0]
        for j in range(1, u.shape[1]):
            s += u[i, j] * is_column
        y[i] = s


def named_alike(x, y, left_s):
    for i in range(x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j] * left_s
        y[i] = s
    return s


def with_the_last(x, y):
    for i in range(x.shape[0]):
        s = t = x[i, 0]
        for j in range(1, x.shape[1]):
            t = x[i, j] * 2
            s += t
        y[i] = s + t


def in_all(x, total):
    for i in range(x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j]
        total[0] = total[0] * 0.5 + s


def further_left_below(u):
    for i in range(u.shape[0] - 1):
        for j in range(3, u.shape[1]):
            u[i, j] = u[i + 1, j - 3] * 0.5 + u[i, j - 1]


def by_columns(u):
    for j in range(1, u.shape[1]):
        for i in range(1, u.shape[0]):
            u[i, j] = 0.5 * (u[i - 1, j] + u[i, j - 1])


def far_ahead(u):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1] - 3):
            u[i, j] += u[i - 1, j + 3] - u[i, j - 1]


def further_down(u):
    for i in range(u.shape[0] - 2):
        for j in range(1, u.shape[1] - 1):
            u[i + 2, j] = u[i, j + 1] + u[i + 2, j - 1] - u[i + 1, j]


def aligned(h, e, f, s, opened, extended):
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            e[i, j] = max(e[i, j - 1] - extended, h[i, j - 1] - opened)
            f[i, j] = max(f[i - 1, j] - extended, h[i - 1, j] - opened)
            h[i, j] = max(h[i - 1, j - 1] + s[i, j], e[i, j], f[i, j], 0.0)


def warped(d, x, y):
    for i in range(1, d.shape[0]):
        xi = x[i - 1]
        for j in range(1, d.shape[1]):
            d[i, j] = abs(xi - y[j - 1]) + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return xi


def filtered(y, x, a):
    for c in range(y.shape[0]):
        for t in range(1, y.shape[1]):
            y[c, t] = a * y[c, t - 1] + x[c, t]


def of_pictures(u):
    for k in range(u.shape[0]):
        for i in range(1, u.shape[1]):
            for j in range(1, u.shape[2]):
                u[k, i, j] = (u[k, i - 1, j] + u[k, i, j - 1]) * 0.5


def tables(d):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = d[i, j] + d[i - 1, j] + d[i, j - 1] - d[i - 1, j - 1]


def eliminated(c, d, a, b):
    for i in range(d.shape[0]):
        for j in range(1, d.shape[1]):
            w = a[i, j] / (b[i, j] - a[i, j] * c[i, j - 1])
            d[i, j] = d[i, j] - w * d[i, j - 1]
            c[i, j] = c[i, j] * w
    return w


def beyond_rows(u, n):
    for i in range(1, n):
        for j in range(1, u.shape[1]):
            u[i, j] = 0.5 * (u[i - 1, j] + u[i, j - 1])


def beyond_columns(u, x):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = 0.5 * (x[j] + u[i, j - 1])


def sums(x, y):
    for i in range(x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j]
        y[i] = s
    return s, i, j


def multiplied(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def products(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[j, k]
            C[i, j] = s


def nearest(x, m, out):
    for i in range(x.shape[0]):
        best, arg = 1e30, 0
        for c in range(m.shape[0]):
            d = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - m[c, k]
                d += t * t
            if d < best:
                best = d
                arg = c
        out[i] = arg
    return best, arg, t


def moments(x, y, n):
    for i in range(n):
        s = q = 0.0
        least = x[i, 0]
        for j in range(x.shape[1]):
            s += x[i, j]
            q += x[i, j] * x[i, j]
            least = min(least, x[i, j])
        y[i, 0], y[i, 1], y[i, 2] = s, q - s * s, least


def down_columns(x, y):
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j]
        y[j] = s


def decayed(x, y, a):
    for c in range(x.shape[0]):
        s = x[c, 0]
        for t in range(1, x.shape[1]):
            s = a * s + x[c, t]
            y[c, t] = s
        y[c, 0] = s


def joined(x, y):
    last = x[0, 0]
    for i in range(x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j] * 0.5
        last = last * 0.5 + s
        y[i] = last
    return last


# A function, its arguments, and how far a row is behind the one above it.
PROGRAMS = {
    "sweep": (sweep, (drawn(30, 50), drawn(30, 50)), 1),
    "sweep of a few rows": (sweep, (drawn(9, 50), drawn(9, 50)), 1),
    "sweep of a few columns": (sweep, (drawn(30, 33), drawn(30, 33)), 1),
    "sweep of eight rows": (sweep, (drawn(10, 34), drawn(10, 34)), 1),
    "sweep of floats": (sweep, (*(drawn(30, 50).astype("f4") for _ in "uf"),), 1),
    "sweep of complex numbers": (sweep, (drawn(30, 50) + 1j, drawn(30, 50) - 2j), 1),
    "sweep of a part": (sweep, (drawn(60, 100)[::2, ::-2], drawn(30, 50)), 1),
    "steps": (over, (drawn(37, 80), 1.5, 3), 1),
    "no step": (over, (drawn(20, 40), 1.5, 0), 1),
    "nine": (of_nine, (drawn(25, 60),), 2),
    "columns": (by_columns, (drawn(50, 30),), 1),
    "columns of columns": (by_columns, (np.asfortranarray(drawn(50, 30)),), 1),
    "far ahead": (far_ahead, (drawn(25, 120),), 4),
    "further down": (further_down, (drawn(25, 120),), 1),
    "aligned": (aligned, (*(drawn(40, 45) for _ in range(4)), 1.5, 0.5), 1),
    "warped": (warped, (drawn(31, 51), drawn(30), drawn(50)), 1),
    "filtered": (filtered, (drawn(21, 90), drawn(21, 90), 0.7), 0),
    "pictures": (of_pictures, (drawn(3, 20, 44),), 1),
    "tables": (tables, (whole(28, 41),), 1),
    "tables of short integers": (tables, (whole(28, 41).astype("i4"),), 1),
    "eliminated": (
        eliminated,
        (drawn(19, 64), drawn(19, 64), drawn(19, 64), drawn(19, 64) + 9),
        0,
    ),
    "sums": (sums, (drawn(30, 50), np.zeros(30)), 0),
    "sums of floats": (sums, (drawn(30, 50).astype("f4"), np.zeros(30)), 0),
    "sums into too few": (sums, (drawn(30, 50), np.zeros(21)), 0),
    "multiplied": (multiplied, (drawn(5, 40), drawn(40, 21), np.zeros((5, 21))), 0),
    "multiplied with too few": (multiplied, (drawn(5, 40), drawn(39, 21), np.zeros((5, 21))), 0),
    "products": (products, (drawn(7, 33), drawn(29, 33), np.zeros((7, 29))), 0),
    "nearest": (nearest, (drawn(20, 17), drawn(19, 17), np.zeros(20, int)), 0),
    "moments": (moments, (drawn(30, 50), np.zeros((30, 3)), 30), 0),
    "moments of too many": (moments, (drawn(30, 50), np.zeros((30, 3)), 31), 0),
    "down columns": (down_columns, (drawn(40, 31), np.zeros(31)), 0),
    "decayed": (decayed, (drawn(21, 60), np.zeros((21, 60)), 0.5), 0),
    "joined": (joined, (drawn(30, 40), np.zeros(30)), 0),
    "a name of ours": (scaled, (drawn(30, 50), 3.0, np.zeros(30)), 0),
    "names alike": (named_alike, (drawn(30, 50), np.zeros(30), 2.0), 0),
    "with the last": (with_the_last, (drawn(30, 50), np.zeros(30)), 0),
    "further left below": (further_left_below, (drawn(30, 120),), 4),
    "in all": (in_all, (drawn(30, 50), np.zeros(1)), 0),
    "rows beyond": (beyond_rows, (drawn(30, 50), 32), 1),
    "columns beyond": (beyond_columns, (drawn(30, 50), drawn(45)), 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_side_by_side_do_what_python_does(name, sources):
    function, args, behind = PROGRAMS[name]
    assert is_same(called(function, args), run_in_c(function, args), exactly=True)
    assert f"{BY_SIDE}{behind}>(" in sources[0]


def rows_by_hand(u, w, n):
    for i in range(3, n):
        for t in range(20, u.shape[1] - 3):
            w[i, t] = u[i - 1, t]
            u[i, t] = u[i, t - 2] + 1
            w[i + 1, t - 1] = u[i, t - 1]
            u[i + 1, t - 1] = u[i + 1, t - 3] + 1
            w[i + 2, t - 2] = u[i + 1, t - 2]
            u[i + 2, t - 2] = u[i + 2, t - 4] + 1


def test_the_compiler_of_c_keeps_the_order_of_rows_by_hand():
    """Which g++ 12 did not, see ``NO_DISTRIBUTION`` of hostcc.py."""
    args = drawn(40, 150), drawn(40, 150), 30
    assert is_same(called(rows_by_hand, args), run_in_c(rows_by_hand, args), exactly=True)


def test_one_array_by_two_names_is_one():
    expected, found, rolled = drawn(30, 50), drawn(30, 50), Rolled(sweep)
    sweep(expected, expected[:, 1:])
    for _ in range(3):
        found[:] = drawn(30, 50)
        rolled(found, found[:, 1:])
    np.testing.assert_array_equal(found, expected)


SECTIONS = """
    for (int64 i_0 = 0; i_0 < n; i_0 += 1) {{
        LOOP_TICK(1);
        {before}
        for (int64 j_0 = 0; j_0 < m; j_0 += 1) {{
            LOOP_TICK(1);
            t = load(x + i_0 * m + j_0) * v0;
            s = s + t;
        }}
        {after}
    }}
"""


@pytest.mark.parametrize(
    ("before", "after", "captured"),
    [
        ("const double v0 = load(x + i_0 * m); s = 0.0;", "", "&left_s = s, v0 = v0, s = s]"),
        ("s = 0.0;", "last = s + t;", "&left_s = s, &left_t = t, s = s, t = t]"),
        ("s = 0.0;", "last = last + s;", "&left_s = s, s = s]"),
        ("const double v0[2] = {1.0, 2.0}; s = 0.0;", "", ""),
        ("const double v0 = items.sum(); s = 0.0;", "", ""),
        ("s = 0.0; other = s;", "", ""),
        ("s = last;", "last = s;", ""),
    ],
)
def test_what_a_row_has_for_itself_is_held_by_value(before, after, captured):
    columns = {"x": {((Size.of("i_0"),) * 2, (Size.of("j_0"),) * 2)}}
    arrays = ArrayUses({"x": "double*"}, (), columns, str, lambda a, b: False)
    text = SECTIONS.format(before=before.replace("; ", ";\n        "), after=after)
    lines = [line for line in text.split("\n") if line.strip()]
    skewing = Skewing(dict.fromkeys(("s", "t", "last"), "double"), ["items"], arrays)
    made = "\n".join(skewing.skewed(lines))
    assert (f"[&, i_0, {captured}" in made) if captured else (made == "\n".join(lines))
