"""Recurrences over time: filters, trackers, simulations."""

from __future__ import annotations

from typing import Any

import numpy as np


def smoothing(x: Any, alpha: float) -> Any:
    """An exponential mean."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


def biquad(x: Any, b: Any, a: Any) -> Any:
    """A filter of second order, with its state in two numbers."""
    y, s, t = np.zeros_like(x), 0.0, 0.0
    for n in range(len(x)):
        y[n] = b[0] * x[n] + s
        s = b[1] * x[n] - a[1] * y[n] + t
        t = b[2] * x[n] - a[2] * y[n]
    return y


def compressor(x: Any, threshold: float, ratio: float, attack: float, release: float) -> Any:
    """A compressor of loudness, sample by sample."""
    y, level = np.zeros_like(x), 0.0
    for i in range(len(x)):
        loud = abs(x[i])
        factor = attack if loud > level else release
        level = factor * level + (1.0 - factor) * loud
        if level > threshold:
            y[i] = x[i] * (threshold + (level - threshold) / ratio) / level
        else:
            y[i] = x[i]
    return y


def tracked(z: Any, q: float, r: float) -> Any:
    """A Kalman filter of one number."""
    found, x, p = np.zeros_like(z), 0.0, 1.0
    for t in range(len(z)):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (z[t] - x)
        p = (1.0 - gain) * p
        found[t] = x
    return found


def tracked_plane(z: Any, F: Any, H: Any, Q: Any, R: Any) -> Any:
    """A Kalman filter of places and speeds, with an inverse a step."""
    n = len(F)
    x, P, found = np.zeros(n), np.eye(n), np.zeros((len(z), n))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z[t] - H @ x)
        P = P - K @ H @ P
        found[t] = x
    return found


def fft_filter(x: Any, h: Any, block: int) -> Any:
    """A convolution by transforms of blocks that overlap."""
    size = 2 * block
    H = np.fft.rfft(h, size)
    y = np.zeros(len(x) + size)
    for start in range(0, len(x) - block + 1, block):
        part = np.fft.irfft(np.fft.rfft(x[start : start + block], size) * H, size)
        y[start : start + size] += part
    return y[: len(x)]


def adaptive(x: Any, wanted: Any, taps: int, mu: float) -> Any:
    """Least mean squares: a filter that learns while it runs."""
    w, errors = np.zeros(taps), np.zeros(len(x))
    for n in range(taps, len(x)):
        u = x[n - taps : n][::-1]
        errors[n] = wanted[n] - w @ u
        w += mu * errors[n] * u
    return errors, w


def volatility(r: Any, omega: float, alpha: float, beta: float) -> Any:
    """The log-likelihood of a GARCH(1, 1)."""
    s = np.zeros_like(r)
    s[0] = np.mean(r**2)
    total = 0.0
    for t in range(1, len(r)):
        s[t] = omega + alpha * r[t - 1] ** 2 + beta * s[t - 1]
        total -= 0.5 * (np.log(s[t]) + r[t] ** 2 / s[t])
    return total


def _slopes(s: Any) -> Any:
    d = np.zeros(3)
    d[0] = 10.0 * (s[1] - s[0])
    d[1] = s[0] * (28.0 - s[2]) - s[1]
    d[2] = s[0] * s[1] - 8.0 / 3.0 * s[2]
    return d


def lorenz(start: Any, dt: float, steps: int) -> Any:
    """Lorenz' attractor, by Runge and Kutta."""
    path = np.zeros((steps, 3))
    s = start.copy()
    for t in range(steps):
        k1 = _slopes(s)
        k2 = _slopes(s + dt / 2 * k1)
        k3 = _slopes(s + dt / 2 * k2)
        k4 = _slopes(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[t] = s
    return path
