"""Particles whose positions and velocities are updated in place."""

from __future__ import annotations

from typing import Any

import numpy as np


def n_body(pos: Any, vel: Any, mass: Any, dt: float) -> None:
    """Gravity between all pairs, softened, by leap frog."""
    d = pos[np.newaxis, :, :] - pos[:, np.newaxis, :]
    r2 = (d**2).sum(axis=-1) + 0.01
    acc = (mass[np.newaxis, :, np.newaxis] * d / r2[..., np.newaxis] ** 1.5).sum(axis=1)
    vel += dt * acc
    pos += dt * vel


def bounce(pos: Any, vel: Any, dt: float) -> None:
    """Balls that fall, and lose speed at the walls of a box."""
    vel[:, 1] -= 9.81 * dt
    pos += vel * dt
    outside = (pos < 0) | (pos > 1)
    vel[outside] *= -0.9
    np.clip(pos, 0, 1, out=pos)


class Swarm:
    """Particles that look for the least value of a function of many variables."""

    def __init__(self, x: Any, v: Any):
        self.x, self.v = x, v
        self.best_x = x.copy()
        self.best = np.full(len(x), np.inf)
        self.leader = x[0].copy()

    def step(self, r1: Any, r2: Any) -> float:
        """Evaluate all, remember the best places, move."""
        cost = np.sum(self.x**2 - 10 * np.cos(2 * np.pi * self.x) + 10, axis=1)
        better = cost < self.best
        self.best[better] = cost[better]
        self.best_x[better] = self.x[better]
        self.leader[:] = self.best_x[np.argmin(self.best)]
        self.v *= 0.7
        self.v += 1.5 * r1 * (self.best_x - self.x) + 1.5 * r2 * (self.leader - self.x)
        self.x += self.v
        return self.best.min()


def swarm(flock: Swarm, r1: Any, r2: Any) -> float:
    """A step of a particle swarm."""
    return flock.step(r1, r2)


def cloth(p: Any, old: Any, gravity: Any, rest: float, dt: float) -> None:
    """Threads of points by Verlet's method; lengths are corrected twice, the first row is held."""
    moved = p + 0.99 * (p - old) + gravity * dt**2
    old[:] = p
    p[1:] = moved[1:]
    for _ in range(2):
        d = p[1:] - p[:-1]
        length = np.sqrt((d * d).sum(axis=-1, keepdims=True))
        fix = 0.5 * d * (1 - rest / length)
        p[1:-1] += fix[1:]
        p[1:] -= fix
