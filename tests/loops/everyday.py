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


PROGRAMS = {
    "simpson": (simpson, (0.0, 2.0, 100)),
    "long_integers": (long_integers, (row(20),)),
    "compares_exactly": (compares_exactly, (5, 1 << 40, 2.0**53)),
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
    "any_and_all": (any_and_all, (row(12).reshape(4, 3), np.zeros(4))),
}  # fmt: skip
SUMMED: frozenset[str] = frozenset()
