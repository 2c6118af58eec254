"""Clusters, correlations, pictures' histograms, mixtures and small networks."""

from __future__ import annotations

from typing import Any

import numpy as np


def lloyd(x: Any, centres: Any, rounds: int) -> Any:
    """k-means: each point to the nearest centre, each centre to the mean of its points."""
    for _ in range(rounds):
        apart = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argmin(apart, axis=1)
        for k in range(len(centres)):
            own = x[nearest == k]
            if len(own) > 0:
                centres[k] = own.mean(axis=0)
    return nearest


def correlations(x: Any) -> Any:
    """The correlation of each two columns."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    n = z.shape[1]
    found = np.eye(n)
    for i in range(n):
        for j in range(i + 1, n):
            found[i, j] = found[j, i] = np.sum(z[:, i] * z[:, j]) / len(z)
    return found


def equalised(picture: Any) -> Any:
    """A picture whose grey values are about as frequent as each other."""
    counts = np.bincount(picture.ravel(), minlength=256)
    total = np.cumsum(counts)
    low = total[total > 0][0]
    table = np.round(255 * (total - low) / max(1, picture.size - low))
    return np.clip(table, 0, 255).astype(np.uint8)[picture]


def median_filter(x: Any, width: int) -> Any:
    """The middle of each window."""
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    return np.median(windows, axis=-1)


def mixture(x: Any, mean: Any, spread: Any, share: Any, rounds: int) -> Any:
    """A mixture of normal distributions, by expectation and maximisation."""
    for _ in range(rounds):
        z = (x[:, None] - mean) / spread
        p = share * np.exp(-0.5 * z * z) / (spread * np.sqrt(2 * np.pi))
        p /= p.sum(axis=1, keepdims=True)
        weight = p.sum(axis=0)
        mean = (p * x[:, None]).sum(axis=0) / weight
        spread = np.sqrt((p * (x[:, None] - mean) ** 2).sum(axis=0) / weight)
        share = weight / len(x)
    return mean, spread, share


def trained(x: Any, y: Any, W: Any, b: Any, V: Any, rate: float, steps: int) -> Any:
    """Steps of gradient descent of a network with one hidden layer, its weights in place."""
    loss = 0.0
    for _ in range(steps):
        h = np.tanh(x @ W + b)
        off = h @ V - y
        loss = np.mean(off**2)
        grad = 2 * off / off.size
        back = (grad @ V.T) * (1 - h * h)
        V -= rate * (h.T @ grad)
        W -= rate * (x.T @ back)
        b -= rate * back.sum(axis=0)
    return loss


def recurrent(x: Any, W: Any, U: Any, b: Any) -> Any:
    """The states of a recurrent network."""
    h = np.zeros((x.shape[1], U.shape[0]), x.dtype)
    states = np.zeros((len(x), *h.shape), x.dtype)
    for t in range(len(x)):
        h = np.tanh(x[t] @ W + h @ U + b)
        states[t] = h
    return states
