"""Signals, histories and prices."""

from __future__ import annotations

from typing import Any

import numpy as np


class History:
    """The last frames in a ring, and their mean and range."""

    def __init__(self, frames: int, size: int):
        self.ring = np.zeros((frames, size), np.float32)
        self.mean, self.spread = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.head = 0

    def push(self, frame: Any) -> None:
        """Put a frame in the place of the oldest one."""
        self.ring[self.head] = frame
        self.head = (self.head + 1) % len(self.ring)
        self.mean[:] = self.ring.mean(axis=0)
        self.spread[:] = self.ring.max(axis=0) - self.ring.min(axis=0)


def ring_mean(history: History, frame: Any) -> None:
    """A frame into the ring of the last ones."""
    history.push(frame)


def fir(x: Any, taps: Any, y: Any) -> None:
    """An audio filter tap by tap, then a soft limiter."""
    y[:] = 0
    for k in range(len(taps)):
        y[k:] += taps[k] * x[: len(x) - k]
    np.tanh(y, out=y)


def moving_average(x: Any, out: Any, width: int) -> None:
    """The mean of the last values, by differences of running sums, and what differs from it."""
    total = np.cumsum(x)
    out[width:] = (total[width:] - total[:-width]) / width
    out[:width] = total[:width] / np.arange(1, width + 1)
    x -= out


def monte_carlo(
    s: Any, high: Any, alive: Any, z: Any, mu: float, sigma: float, dt: float
) -> float:
    """A step of prices with a barrier; the mean of what is still alive."""
    s *= np.exp((mu - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
    np.maximum(high, s, out=high)
    alive &= s > 80
    s[~alive] = 0
    return np.maximum(high - s, 0).mean()
