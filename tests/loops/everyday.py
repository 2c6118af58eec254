"""Loops as they stand in programs of every day, and what they are called with."""

from __future__ import annotations

import numpy as np

from tests.loops.programs import row, square, words


def simpson(a, b, n):
    h = (b - a) / n
    total = np.exp(a) + np.exp(b)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * np.exp(a + i * h)
    return total * h / 3


def long_integers(x):
    k = 1
    for i in range(len(x)):
        k = k * 3 + 1
        x[i] += k * 0.5
        if k > x[i] * 2 or k * 0.5 < x[i]:
            x[i] -= k
    return k


def compares_exactly(n, k, bound):
    found = 0
    for i in range(n):
        if (k + i) * 8192 - i * 8191 > bound:
            found += i
        if bound <= (k + i) * 8192 + 1:
            found += 100
    return found


def between_rows(indptr, indices, data, x, y):
    for i in range(len(y)):
        s = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            s += data[p] * x[indices[p]]
        y[i] = s


def rotated(A, c, s):
    for p in range(A.shape[0] - 1):
        a, b = A[p].copy(), A[p + 1].copy()
        A[p] = c * a - s * b
        A[p + 1] = s * a + c * b


def of_two_views(x, y):
    for _ in range(3):
        left, right = x[:-1], x[1:]
        y += np.where(y > 0, left, right)


def resonance(x, coeff):
    s1 = s2 = 0.0
    for v in x:
        s0 = v + coeff * s1 - s2
        s2, s1 = s1, s0
    return s1 * s1 + s2 * s2


def secant(a, b):
    fa, fb = np.cos(a) - a, np.cos(b) - b
    n = 0
    while abs(fb) > 1e-12 and n < 50:
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = np.cos(b) - b
        n += 1
    return b, n


def weighted(counts):
    total, below = 0.0, 0
    for t in range(len(counts)):
        below += counts[t]
        if below == 0:
            continue
        total += t * counts[t]
    return total, below


def step_sizes(x, least):
    h = 0.5
    for i in range(len(x)):
        h *= min(2.0, max(least, 0.9 * np.sqrt(x[i])))
        x[i] = h
    return h


def settles(x, y):
    rounds = 0
    for _k in range(10):
        changed = False
        for i in range(len(x)):
            if x[i] > y[i]:
                x[i] -= 1
                changed = True
        if not changed:
            break
        rounds += 1
    return rounds, changed


def pendulum(theta, omega, dt, steps):
    def slopes(th, om):
        return om, -9.81 * np.sin(th)

    out = np.empty(steps)
    for k in range(steps):
        a1, b1 = slopes(theta, omega)
        a2, b2 = slopes(theta + dt * a1, omega + dt * b1)
        theta = theta + dt / 2 * (a1 + a2)
        omega = omega + dt / 2 * (b1 + b2)
        out[k] = theta
    return out


def any_and_all(x, found):
    for i in range(len(x)):
        found[i] = (x[i] > 0.1).all() + 2 * np.any(x[i] > 0.8)
        if (x[i] * 0).any():
            found[i] = -1
    return found, (x > 0.5).any(axis=0)


def strength(x, n, found):
    up = 0.0
    for i in range(len(x)):
        up = (up * (n - 1) + x[i]) / n
        found[i] = found[-1 - i] = 100 - 100 / (1 + up) if up > 0.4 else 1
    return up


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def found_in_grid(A, wanted, least=1):
    seen = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] == wanted:
                seen += 1
                if seen > least:
                    return i, j
        if seen > 100:
            return None
    return seen, 0.5


def are_all_above(x, limit):
    for i in range(len(x)):
        if x[i] <= limit:
            break
        x[i] = limit
    else:
        return True
    return False


def primes_below(n, found):
    count = 0
    for k in range(2, n):
        for d in range(2, k):
            if d * d > k:
                continue
            if k % d == 0:
                break
        else:
            found[count] = k
            count += 1
    else:
        found[-1] = 9
    return count


def converges(u, tol, most):
    it = 0
    while True:
        worst = 0.0
        for i in range(1, len(u) - 1):
            d = 0.5 * (u[i - 1] + u[i + 1]) - u[i]
            u[i] += d
            worst = max(worst, abs(d))
        it += 1
        if worst < tol:
            return it
        if it >= most:
            return -it


def place_in(sorted_values, x):
    lo, hi = 0, len(sorted_values)
    while lo < hi:
        mid = (lo + hi) // 2
        if sorted_values[mid] == x:
            return mid
        if sorted_values[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return -1


def places_in(sorted_values, x, found):
    for i in range(len(x)):
        found[i] = place_in(sorted_values, x[i])
    return found


def last_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            found = i
            value = x[i]
    try:
        return found, value
    except UnboundLocalError:
        return None


def bisected(lo, hi, wanted):
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        above = mid * mid * mid > wanted
        hi[above] = mid[above]
        lo[~above] = mid[~above]
    return 0.5 * (lo + hi)


def escapes(c, rounds):
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=np.int32)
    for k in range(rounds):
        live = np.abs(z) <= 2
        z[live] = z[live] ** 2 + c[live]
        count[live] += 1
        count[~live & (count < k)] |= 64
    return z, count


def swaps_rows(A, order):
    for k in range(len(order)):
        p = order[k]
        if p != k:
            A[[k, p]] = A[[p, k]]
            A[:, [k, p]] = A[:, [p, k]] + 1
    return A


def by_places(x, places, W):
    for k in range(3):
        x[places] += k + 1.0
        x[places[::-1]] = x[places] * 2
        W[k, places] = x[places]
        W[places, places] += 1
        W[1:, places] *= 0.5
    return x, W


def of_masked_rows(A, m, y):
    for k in range(3):
        A[m, k] += 1
        A[m] *= y
        A[:, 0][m] = k
        if A[m].sum() > 1e6:
            break
        y[k] = A[m].mean() + A[m].max()
    return A, y


def longest_rising(x):
    best = np.ones(len(x), dtype=int)
    for i in range(1, len(x)):
        smaller = x[:i] < x[i]
        if smaller.any():
            best[i] = 1 + best[:i][smaller].max()
    return best.max()


def breadth_first(adj, start):
    dist = np.full(len(adj), -1)
    dist[start] = 0
    frontier = np.zeros(len(adj), dtype=bool)
    frontier[start] = True
    d = 0
    while frontier.any():
        d += 1
        reach = adj[frontier].any(axis=0) & (dist < 0)
        dist[reach] = d
        frontier = reach
    return dist, d


def topples(z):
    rounds = 0
    while (z > 3).any():
        over = z > 3
        z[over] -= 4
        z[1:] += over[:-1]
        z[:-1] += over[1:]
        z[:, 1:] += over[:, :-1]
        z[:, :-1] += over[:, 1:]
        rounds += 1
    return rounds


def walk(seed, steps):
    rng = np.random.default_rng(seed)
    moves = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    at = np.zeros((steps + 1, 2))
    for k, m in enumerate(rng.integers(0, 4, steps)):
        at[k + 1] = at[k] + moves[m]
    total = 0.0
    for a, b in zip(np.diff(at[:, 0]), np.sort(at[:, 1]), strict=False):
        total += a * b
    for v in np.cumsum(at[:, 0]):
        if v > 3:
            return at, total, v
    return at, total, None


def crossings(x):
    found, places, ends = [], [7], []
    for i in range(1, len(x)):
        if x[i - 1] < 0.5 <= x[i]:
            found.append(i - 1 - x[i - 1] / (x[i] - x[i - 1]))
            places.append(i)
        ends.append(x[i] > 0.5)
    return found, places, ends, np.array(places)


def common(a, b, L):
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                L[i + 1, j + 1] = L[i, j] + 1
            else:
                L[i + 1, j + 1] = max(L[i, j + 1], L[i + 1, j])
    i, j, out = len(a), len(b), []
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            out.append(a[i - 1])
            i -= 1
            j -= 1
        elif L[i - 1, j] >= L[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return out[::-1]


def appends_before_an_error(x, found):
    for i in range(len(x)):
        found.append(0.5 * i)
        x[i] = x[i + 1]


def roots_of_sets(edges, n):
    parent = np.arange(n)

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for e in range(len(edges)):
        ra, rb = find(edges[e, 0]), find(edges[e, 1])
        if ra != rb:
            parent[rb] = ra
    return parent


def least_by_sections(x, lo, hi):
    g = (5**0.5 - 1) / 2
    cost = lambda t: np.sum((x - t) ** 2)  # noqa: E731
    rounds = 0
    while abs(hi - lo) > 1e-3:
        c, d = hi - g * (hi - lo), lo + g * (hi - lo)
        if cost(c) < cost(d):
            hi = d
        else:
            lo = c
        rounds += 1
    return lo, hi, rounds


def ant(n, steps):
    grid = np.zeros((n, n), dtype=bool)
    x = y = n // 2
    d = 0
    dx, dy = (0, 1, 0, -1), (-1, 0, 1, 0)
    for _ in range(steps):
        d = (d + (1 if not grid[y, x] else -1)) % 4
        grid[y, x] = not grid[y, x]
        x = (x + dx[d]) % n
        y = (y + dy[-4 + d]) % n
    return grid


def neighbours(z, weights=(0.5, 0.25, -0.25)):
    for i in range(1, len(z) - 1):
        for step, w in ((-1, 0.1), (1, 0.2)):
            z[i] += w * z[i + step]
        for w in weights:
            z[i] += w
    return len(weights), weights[-1], z


def normed(C, rounds):
    v = np.ones(len(C))
    for k in range(rounds):
        v = C @ v
        v /= np.linalg.norm(v)
        k += np.count_nonzero(v > 0.4)
    return v, k


def of_rest(x, *rest):
    for r in rest:
        x[0] += r


PROGRAMS = {
    "of_rest": (of_rest, (row(5), 1.0, 2.0)),
    "ant": (ant, (12, 60)),
    "neighbours": (neighbours, (row(9),)),
    "normed": (normed, (square(5), 6)),
    "roots_of_sets": (roots_of_sets, (words(40, 3).reshape(20, 2) * 3, 12)),
    "least_by_sections": (least_by_sections, (row(9), -2.0, 2.0)),
    "crossings": (crossings, (row(200),)),
    "crossings_none": (crossings, (np.zeros(1),)),
    "common": (common, (words(20, 1), words(25, 2), np.zeros((21, 26), int))),
    "appends_before_an_error": (appends_before_an_error, (row(5), [1.0])),
    "walk": (walk, (3, 40)),
    "bisected": (bisected, (np.zeros(9), np.full(9, 3.0), row(9))),
    "escapes": (escapes, (row(20) * 3 - 2 + 1j * row(20, seed=3), 12)),
    "escapes_grid": (escapes, (2 * row(20).reshape(4, 5) + 0.5j, 12)),
    "swaps_rows": (swaps_rows, (square(4), np.array([2, 1, 3, 0]))),
    "swaps_columns": (swaps_rows, (np.asfortranarray(square(4)), np.array([2, 1, 3, 0]))),
    "by_places": (by_places, (row(6), np.array([2, -1, 0, 2]), square(6))),
    "of_masked_rows": (of_masked_rows, (square(4), np.array([True, False, True, True]), row(4))),
    "longest_rising": (longest_rising, (row(40),)),
    "breadth_first": (breadth_first, (square(20) > 0.9, 3)),
    "topples": (topples, (words(30, 4).reshape(5, 6) * 2,)),
    "last_above": (last_above, (row(30), 0.4)),
    "last_above_none": (last_above, (row(30), 4)),
    "first_above": (first_above, (row(30), 0.9)),
    "first_above_none": (first_above, (row(30), 2.0)),
    "first_above_nothing": (first_above, (np.zeros(0), 2.0)),
    "found_in_grid": (found_in_grid, (words(20, 3).reshape(4, 5), 3)),
    "found_in_grid_none": (found_in_grid, (words(20, 3).reshape(4, 5), 7)),
    "are_all_above": (are_all_above, (row(9), -1.0)),
    "are_all_above_not": (are_all_above, (row(9), 0.5)),
    "are_all_above_nothing": (are_all_above, (np.zeros(0), 0.5)),
    "primes_below": (primes_below, (60, np.zeros(30, int))),
    "converges": (converges, (row(9), 1e-3, 100)),
    "converges_not": (converges, (row(9), 1e-9, 5)),
    "places_in": (places_in, (np.arange(0, 40, 2), words(9, 1) * 3, np.zeros(9, int))),
    "simpson": (simpson, (0.0, 2.0, 100)),
    "long_integers": (long_integers, (row(20),)),
    "compares_exactly": (compares_exactly, (5, 1 << 40, 2.0**53)),
    "compares_with_fractions": (compares_exactly, (5, 1, 8192.5)),
    "compares_with_infinity": (compares_exactly, (5, 1, float("-inf"))),
    "compares_as_numpy": (compares_exactly, (5, 1 << 40, np.float64(2.0**53))),
    "between_rows": (
        between_rows, (np.array([0, 2, 2, 5]), words(5, 1), row(5), row(4), np.zeros(3)),
    ),
    "between_rows_i4": (
        between_rows, (np.array([0, 2, 2, 5], "i4"), words(5, 1), row(5), row(4), np.zeros(3)),
    ),
    "rotated": (rotated, (square(6), 0.8, 0.6)),
    "of_two_views": (of_two_views, (row(9), row(8) - 0.5)),
    "resonance": (resonance, (row(50), 1.9)),
    "secant": (secant, (0.0, 1.0)),
    "weighted": (weighted, (words(30, 3),)),
    "weighted_u1": (weighted, (words(30, 3, "u1"),)),
    "step_sizes": (step_sizes, (row(30) * 4, 0.2)),
    "settles": (settles, (words(9, 1), words(9, 2))),
    "settles_at_once": (settles, (np.zeros(4), np.ones(4))),
    "pendulum": (pendulum, (0.5, 0.0, 0.01, 40)),
    "strength": (strength, (row(9), 3, np.zeros(9))),
    "strength_f4": (strength, (row(9), 3, np.zeros(9, "f4"))),
    "any_and_all": (any_and_all, (row(12).reshape(4, 3), np.zeros(4))),
}  # fmt: skip
# Sums meet in another order than NumPy's, and so do the parts of a complex square.
SUMMED = frozenset(("of_masked_rows", "normed", "escapes", "escapes_grid"))
