"""Fields on grids that are advanced in place: differences, walls, periodic edges."""

from __future__ import annotations

from typing import Any

import numpy as np


def heat(u: Any, alpha: float) -> None:
    """An explicit step of the heat equation; two edges are held, two are insulated."""
    u[1:-1, 1:-1] += alpha * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    u[0] = 1.0
    u[-1] = 0.0
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2]


def wave(u: Any, previous: Any, c2: float) -> None:
    """The wave equation by leap frog, with reflecting walls."""
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    following = 2 * u - previous + c2 * lap
    following[0, :] = following[-1, :] = 0
    following[:, 0] = following[:, -1] = 0
    previous[:] = u
    u[:] = following


def jacobi(u: Any, other: Any, source: Any, sweeps: int) -> Any:
    """Poisson's equation: sweeps from one array to the other, which swap."""
    for _ in range(sweeps):
        other[1:-1, 1:-1] = 0.25 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - source[1:-1, 1:-1]
        )
        u, other = other, u
    return u


def red_black(u: Any, source: Any, omega: float) -> Any:
    """Over-relaxation: the squares of one colour, then those of the other."""
    for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
        here = u[i:-1:2, j:-1:2]
        around = (
            u[i - 1 : -2 : 2, j:-1:2]
            + u[i + 1 :: 2, j:-1:2]
            + u[i:-1:2, j - 1 : -2 : 2]
            + u[i:-1:2, j + 1 :: 2]
        )
        here += omega * (0.25 * (around - source[i:-1:2, j:-1:2]) - here)
    return np.abs(u[1:-1, 1:-1]).max()


def shallow_water(h: Any, u: Any, v: Any, dt: float, g: float, depth: float) -> None:
    """Linear shallow water on a staggered grid; nothing flows through the walls."""
    u[1:-1, :] -= dt * g * (h[1:, :] - h[:-1, :])
    v[:, 1:-1] -= dt * g * (h[:, 1:] - h[:, :-1])
    u[0] = u[-1] = 0
    v[:, 0] = v[:, -1] = 0
    h -= dt * depth * (u[1:, :] - u[:-1, :] + v[:, 1:] - v[:, :-1])


WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def lattice_boltzmann(f: Any, wall: Any, omega: float) -> None:
    """D2Q9: streaming, bouncing off walls, collision."""
    for i in range(9):
        f[i] = np.roll(f[i], (CX[i], CY[i]), axis=(0, 1))
    bounced = f[OPPOSITE][:, wall]
    rho = f.sum(axis=0)
    ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
    uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho
    square = 1.5 * (ux**2 + uy**2)
    for i in range(9):
        cu = 3 * (CX[i] * ux + CY[i] * uy)
        equilibrium = rho * WEIGHTS[i] * (1 + cu + 0.5 * cu**2 - square)
        f[i] += omega * (equilibrium - f[i])
    f[:, wall] = bounced


def gray_scott(U: Any, V: Any, feed: float, kill: float) -> None:
    """Reaction and diffusion on a torus, whose edges are kept in a frame."""
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    lu = U[:-2, 1:-1] + U[1:-1, :-2] - 4 * u + U[1:-1, 2:] + U[2:, 1:-1]
    lv = V[:-2, 1:-1] + V[1:-1, :-2] - 4 * v + V[1:-1, 2:] + V[2:, 1:-1]
    uvv = u * v * v
    u += 0.16 * lu - uvv + feed * (1 - u)
    v += 0.08 * lv + uvv - (feed + kill) * v
    for field in (U, V):
        field[0, :] = field[-2, :]
        field[-1, :] = field[1, :]
        field[:, 0] = field[:, -2]
        field[:, -1] = field[:, 1]


def burgers(u: Any, v: Any, dt: float, dx: float, nu: float) -> None:
    """Burgers' equation in two dimensions: upwind, with diffusion and fixed edges."""
    un, vn = u.copy(), v.copy()
    for field, old in ((u, un), (v, vn)):
        field[1:-1, 1:-1] = (
            old[1:-1, 1:-1]
            - dt / dx * un[1:-1, 1:-1] * (old[1:-1, 1:-1] - old[1:-1, :-2])
            - dt / dx * vn[1:-1, 1:-1] * (old[1:-1, 1:-1] - old[:-2, 1:-1])
            + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, :-2])
            + nu * dt / dx**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[:-2, 1:-1])
        )
        field[0, :] = field[-1, :] = 1
        field[:, 0] = field[:, -1] = 1


def maxwell(ex: Any, ey: Any, hz: Any, t: float) -> None:
    """A step of the finite-difference time-domain method in two dimensions."""
    ey[0, :] = t
    ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
    ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def life(z: Any) -> None:
    """The game of life, with a frame of dead cells."""
    n = (
        z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
        + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
    )  # fmt: skip
    birth = (n == 3) & (z[1:-1, 1:-1] == 0)
    survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
    z[...] = 0
    z[1:-1, 1:-1][birth | survive] = 1
