"""Loops in C read lists of Python, change them, and leave them as Python does."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.programs import row, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def weighted(x, ws):
    for i in range(len(x)):
        x[i] *= ws[i]
    return x


def filtered(x, taps, y):
    for i in range(len(x)):
        acc = 0.0
        for k, w in enumerate(taps):
            if i - k >= 0:
                acc += w * x[i - k]
        y[i] = acc


def beside(ws, x):
    total = 0.0
    for w, v in zip(ws, x, strict=False):
        total += w * v
    return total


def flooded(grid, i, j):
    seen = np.zeros(grid.shape, bool)
    stack = [(i, j)]
    count = 0
    while stack:
        a, b = stack.pop()
        if a < 0 or b < 0 or a >= grid.shape[0] or b >= grid.shape[1]:
            continue
        if seen[a, b] or grid[a, b] < 0.5:
            continue
        seen[a, b] = True
        count += 1
        stack.append((a + 1, b))
        stack.append((a - 1, b))
        stack.append((a, b + 1))
        stack.append((a, b - 1))
    return count, seen, stack


def sorted_by_halves(a):
    stack = [(0, len(a) - 1)]
    while len(stack) > 0:
        low, high = stack.pop()
        if low >= high:
            continue
        p, i = a[high], low - 1
        for j in range(low, high):
            if a[j] <= p:
                i += 1
                a[i], a[j] = a[j], a[i]
        a[i + 1], a[high] = a[high], a[i + 1]
        stack.append((low, i))
        stack.append((i + 2, high))


def ways(coins, amount):
    found = [0] * (amount + 1)
    found[0] = 1
    for c in coins:
        for v in range(c, amount + 1):
            found[v] += found[v - c]
    return found


def longest_rising(a):
    length = [1] * len(a)
    for i in range(len(a)):
        for j in range(i):
            if a[j] < a[i] and length[j] + 1 > length[i]:
                length[i] = length[j] + 1
    return max(length), length


def smoothed(x, alpha):
    y = [0.0]
    for v in x:
        y.append(alpha * v + (1 - alpha) * y[-1])
    return y


def counted(x, counts):
    for v in x:
        counts[int(v * len(counts))] += 1
    return counts


def first_in_first_out(steps, queue):
    seen = []
    while queue:
        a = queue.pop(0)
        seen.append(a)
        for s in steps:
            if a + s < 30 and (a + s) not in seen and a + s not in queue:
                queue.append(a + s)
    return seen, queue


def cheapest(grid):
    cost = np.zeros(grid.shape)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            options = []
            if i:
                options.append(cost[i - 1, j])
            if j:
                options.append(cost[i, j - 1])
            cost[i, j] = grid[i, j] + (min(options) if options else 0)
    return cost


def made_anew(x):
    for i in range(len(x)):
        pair = [x[i], x[-1 - i]]
        pair[0] = pair[1] * 2
        x[i] = pair[0] - max(pair) + len(pair)
    return pair


def mixed_with_numpys(x, sums):
    for i in range(len(x)):
        if x[i] > 0.5:
            sums.append(x[i])
        elif x[i] > 0.25:
            sums.append(1.5)
        else:
            sums.append(i)
        if i > 3:
            sums[i - 3] = sums[i - 2] * 2
    return sums


def totals(x, w, k):
    found = []
    for i in range(len(x) - k + 1):
        found.append(sum(x[i : i + k]) / k + sum(w))
    return found


def cleared(x, held):
    for v in x:
        if len(held) == 3:
            held.clear()
        held.append(v)
    return held


def grows_as_it_goes(held, most):
    for v in held:
        if len(held) < most:
            held.append(v + 2)
    return held


def from_nothing(x, stack):
    for i in range(len(x)):
        stack.append((i, x[i]))
        while len(stack) > 2:
            k, v = stack.pop(0)
            x[k] = v * 2
    return stack


def last_of_each(x, pairs):
    for i in range(len(pairs)):
        low, high = pairs[i]
        x[low:high] += i
        pairs[i] = (high, low)


def narrow(x, ws):
    for i in range(len(ws)):
        x[i] = ws[i] * x[i]
        ws[i] = x[i]


class Weights:
    def __init__(self):
        self.w, self.seen = [0.5, 1.5, 2.5], [1]


def of_an_object(self, x):
    for i in range(len(self.w)):
        x[i] *= self.w[i]
        self.w[i] = self.w[i] * 2
        self.seen.append(self.seen[-1] + i)


def by_a_helper(x, held):
    def put(v):
        held.append(v)
        return held[-2]

    for v in x:
        x[0] += put(v)


PROGRAMS = {
    f.__name__ + suffix: (f, args)
    for f, suffix, args in (
        (weighted, "", (row(6), [0.5, 1.5, -2.0, 0.0, 3.0, 1.0])),
        (weighted, "_integers", (row(6), [1, 2, 3, 4, 5, 6])),
        (weighted, "_numpys", (row(6), list(row(6, seed=2)))),
        (weighted, "_mixed", (row(4), [1.5, 2.5, np.float64(3.0), 4.0])),
        (weighted, "_real", (row(4), [1, 2.5, np.float64(3.0), 4])),
        (weighted, "_narrow", (row(3, "f4"), list(row(3, "f4")))),
        (weighted, "_truths", (row(3), [True, False, True])),
        (filtered, "", (row(20), [0.25, 0.5, 0.25], row(20))),
        (beside, "", ([1.0, 2.0, 3.0], row(5))),
        (flooded, "", (row(64).reshape(8, 8), 0, 0)),
        (sorted_by_halves, "", (words(40, 3),)),
        (ways, "", ([1, 5, 10], 60)),
        (longest_rising, "", (words(40, 5),)),
        (longest_rising, "_list", (words(40, 5).tolist(),)),
        (smoothed, "", (row(20), 0.25)),
        (counted, "", (row(30), [0] * 5)),
        (first_in_first_out, "", ([3, 5], [0])),
        (cheapest, "", (row(30).reshape(5, 6),)),
        (made_anew, "", (row(7),)),
        (mixed_with_numpys, "", (row(20), [])),
        (mixed_with_numpys, "_given", (row(20), [7.5])),
        (totals, "", (row(20), [1.0, 2.5], 3)),
        (totals, "_numpys", (row(20), list(row(3)), 3)),
        (cleared, "", (row(8), [])),
        (cleared, "_integers", (words(8, 4), [1, 2, 3])),
        (grows_as_it_goes, "", ([1, 2], 9)),
        (from_nothing, "", (row(6), [])),
        (from_nothing, "_given", (row(6), [(2, np.float64(0.5))])),
        (last_of_each, "", (row(9), [(0, 3), (2, 6), (5, 9)])),
        (narrow, "", (row(4, "f4"), list(row(4, "f4", 3)))),
        (of_an_object, "", (Weights(), row(4))),
        (by_a_helper, "", (row(4), [1.0])),
    )
}


def beyond(x, ws):
    for i in range(len(x)):
        x[i] *= ws[i]


def stored_beyond(x, ws):
    for i in range(len(x)):
        ws[i] = x[i]


def added_beyond(x, ws):
    for i in range(len(x)):
        ws[i] += 1.0


def popped_too_often(x, ws):
    for i in range(len(x)):
        x[i] = ws.pop()


def popped_beyond(x, ws):
    for i in range(len(x)):
        x[i] = ws.pop(5)


def largest_of_none(x, ws):
    for i in range(len(x)):
        x[i] = max(ws)
        ws.pop()


def divides_by_an_item(x, ws):
    for i in range(len(x)):
        ws.append(1 / ws[i])


ERRORS = {
    f.__name__: (f, (row(5), ws))
    for f, ws in (
        (beyond, [1.0, 2.0]),
        (stored_beyond, [1.0, 2.0]),
        (added_beyond, [1.0, 2.0]),
        (popped_too_often, [1.0, 2.0]),
        (popped_beyond, [1.0, 2.0]),
        (largest_of_none, [1.0, 2.0]),
        (divides_by_an_item, [1.0, 0.0]),
    )
}


def plain(found):
    """The same, with what objects hold in their place."""
    if isinstance(found, list | tuple):
        return type(found)(map(plain, found))
    return [*vars(found).values()] if isinstance(found, Weights) else found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_that_reads_lists_does_what_python_does(name):
    function, args = PROGRAMS[name]
    assert is_same(plain(called(function, args)), plain(run_in_c(function, args)), True)


@pytest.mark.parametrize("name", ERRORS)
def test_an_item_that_is_not_there_is_pythons_error_and_lists_hold_what_came_before(name):
    function, args = ERRORS[name]
    assert is_same(called(function, args), run_in_c(function, args), True)


def test_a_list_that_changes_its_length_and_its_types_is_read_as_it_is():
    rolled = Rolled(weighted)
    lists = [[1.0] * 4, [2.0] * 5, [1, 2, 3, 4], list(row(4)), [1, 2.0, 3, 4]]
    for ws in lists + lists[::-1]:
        assert is_same(called(rolled, (row(4), ws)), called(weighted, (row(4), ws)), True)
    assert not any(site.left for site in rolled.sites)


@pytest.mark.parametrize(
    "ws",
    [["a", 1.0, 2.0], [1.0, None, 2.0], [1 << 70, 1, 2], [[1.0], [2.0], [3.0]], [1j, 2j, 3j]],
    ids=["texts", "none", "long", "lists", "complex"],
)
def test_a_list_of_other_things_is_pythons(ws):
    rolled = Rolled(beyond)
    assert is_same(called(rolled, (row(3), ws)), called(beyond, (row(3), ws)), True)
    assert not rolled.ran


def two_names(a, b):
    for i in range(len(a)):
        a[i] = b[-1 - i] + 1
    return a


def test_a_list_by_two_names_is_pythons():
    rolled = Rolled(two_names)
    one = [1, 2, 3]
    assert rolled(one, one) == two_names([1, 2, 3], [1, 2, 3]) or one
    assert one == [4, 3, 5]
    assert not rolled.ran
    assert rolled([1, 2, 3], [1, 2, 3]) == [4, 3, 2]
    assert rolled.ran


def found_at(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def test_a_long_list_of_which_a_loop_reads_few_items_is_pythons():
    rolled = Rolled(found_at)
    values = list(range(5000))
    assert [rolled(values, k) for k in (3, 4000, 9999)] == [3, 4000, 5000]
    assert rolled.ran
    assert rolled.settled() is None


def test_lists_of_other_lengths_are_one_kind_of_calls():
    def lost(dp, weights, values):
        for i in range(len(weights)):
            for c in range(len(dp) - 1, weights[i] - 1, -1):
                dp[c] = max(dp[c], dp[c - weights[i]] + values[i])
        return dp

    fused = ow.fuse(lost)
    for n in (17, 30, 23, 31):
        weights, values = [2 + k % n for k in range(n)], [k % 7 + 0.5 for k in range(n)]
        expected = lost(np.zeros(500), weights, values)
        np.testing.assert_array_equal(fused(np.zeros(500), weights, values), expected)
    assert len(fused.fallback.loops.known) == 1
