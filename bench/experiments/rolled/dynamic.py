"""Dynamic programming and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np


def shortest_paths(D: Any) -> None:
    """Floyd and Warshall: all pairs, by way of each vertex."""
    for k in range(len(D)):
        np.minimum(D, D[:, k, None] + D[None, k, :], out=D)


def edit_distance(a: Any, b: Any) -> Any:
    """Levenshtein's distance of two texts, by rows of one table."""
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[len(a), len(b)]


def knapsack(values: Any, weights: Any, capacity: int) -> Any:
    """The best value at each capacity, item by item."""
    best = np.zeros(capacity + 1)
    for v, w in zip(values, weights, strict=True):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best


def viterbi(steps: Any, seen: Any, observed: Any) -> Any:
    """The most likely states, from logarithms of probabilities."""
    n, count = len(observed), len(steps)
    back = np.zeros((n, count), np.int64)
    score = seen[:, observed[0]].copy()
    for t in range(1, n):
        every = score[:, None] + steps
        back[t] = np.argmax(every, axis=0)
        score = np.max(every, axis=0) + seen[:, observed[t]]
    path = np.zeros(n, np.int64)
    path[-1] = np.argmax(score)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def page_rank(links: Any, damping: float, steps: int) -> Any:
    """Ranks of pages, by so many steps."""
    n = len(links)
    out = np.maximum(links.sum(axis=1), 1)
    rank = np.full(n, 1 / n)
    for _ in range(steps):
        rank = (1 - damping) / n + damping * (links.T @ (rank / out))
    return rank


def matrix_chain(sizes: Any) -> Any:
    """The fewest multiplications of a chain of matrices."""
    n = len(sizes) - 1
    best = np.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            least = np.inf
            for k in range(i, j):
                cost = best[i, k] + best[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if cost < least:
                    least = cost
            best[i, j] = least
    return best[0, n - 1]
