"""Optimisers, normalisation and filters that keep their state in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def adam(params: Any, grads: Any, ms: Any, vs: Any, t: int, lr: float = 1e-3) -> None:
    """Adam on a list of parameters."""
    b1, b2 = 0.9, 0.999
    for p, g, m, v in zip(params, grads, ms, vs, strict=True):
        m *= b1
        m += (1 - b1) * g
        v *= b2
        v += (1 - b2) * g**2
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        p -= lr * m_hat / (np.sqrt(v_hat) + 1e-8)


class Momentum:
    """Stochastic gradients with Nesterov's momentum and decay, without temporaries."""

    def __init__(self, size: int, lr: float = 0.01, mu: float = 0.9, decay: float = 1e-4):
        self.velocity, self.scratch = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.lr, self.mu, self.decay = lr, mu, decay

    def update(self, w: Any, grad: Any) -> None:
        """One step, in the buffers that are there."""
        np.multiply(w, self.decay, out=self.scratch)
        self.scratch += grad
        np.multiply(self.velocity, self.mu, out=self.velocity)
        np.subtract(self.velocity, self.lr * self.scratch, out=self.velocity)
        np.multiply(self.velocity, self.mu, out=self.scratch)
        w += self.scratch
        w -= self.lr * grad


def momentum(optimiser: Momentum, w: Any, grad: Any) -> None:
    """A step of gradient descent with momentum."""
    optimiser.update(w, grad)


def k_means(x: Any, centres: Any, labels: Any) -> float:
    """Assign each point to its nearest centre."""
    d = ((x[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2).sum(axis=2)
    labels[:] = d.argmin(axis=1)
    return d.min(axis=1).mean()


def standardise(x: Any) -> Any:
    """Columns of mean 0 and deviation 1, in place."""
    mean = x.mean(axis=0)
    x -= mean
    std = x.std(axis=0)
    std[std == 0] = 1
    x /= std
    return mean, std


def softmax_rows(x: Any) -> None:
    """Rows to probabilities, in place."""
    x -= x.max(axis=1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=1, keepdims=True)


class Tracks:
    """Kalman filters of many objects: position, speed, and the three covariances of each."""

    def __init__(self, n: int):
        self.x, self.v = np.zeros(n), np.zeros(n)
        self.pxx, self.pxv, self.pvv = np.ones(n), np.zeros(n), np.ones(n)

    def update(self, z: Any, seen: Any, dt: float, q: float, r: float) -> Any:
        """Predict all, correct those that were seen."""
        self.x += dt * self.v
        self.pxx += dt * (2 * self.pxv + dt * self.pvv) + q
        self.pxv += dt * self.pvv
        self.pvv += q
        s = self.pxx + r
        kx, kv = self.pxx / s, self.pxv / s
        residual = np.where(seen, z - self.x, 0.0)
        self.x += kx * residual
        self.v += kv * residual
        self.pvv[seen] -= (kv * self.pxv)[seen]
        self.pxv[seen] *= (1 - kx)[seen]
        self.pxx[seen] *= (1 - kx)[seen]
        return residual


def kalman(tracks: Tracks, z: Any, seen: Any, dt: float) -> Any:
    """One time step of all filters."""
    return tracks.update(z, seen, dt, 0.01, 0.5)
