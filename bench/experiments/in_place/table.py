"""The programs in a table: what each is called with, and the sizes at which it is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.experiments.in_place import grids, images, learning, particles, signals

Drawn = np.random.Generator


@dataclass(frozen=True)
class Program:
    """A function that writes to what it is called with.

    Attributes:
        function: plain NumPy code.
        arguments: from a size and a generator of random numbers.
        small, large: sizes for which NumPy takes 1 to 10 ms, and 0.1 to 1 s.
        tiny: for tests.
        tolerance: how many times the usual difference of rounding a result may have.
    """

    function: Callable[..., Any]
    arguments: Callable[[int, Drawn], tuple[Any, ...]]
    small: int
    large: int
    tiny: int = 12
    tolerance: float = 1.0

    @property
    def name(self) -> str:
        return self.function.__name__


def fields(count: int, *others: Any, dtype: Any = np.float64) -> Any:
    """So many square fields of random numbers, and other arguments behind them."""

    def made(n: int, rng: Drawn) -> tuple[Any, ...]:
        arrays = [rng.random((n, n)).astype(dtype) for _ in range(count)]
        return (*arrays, *others)

    return made


def of_shallow_water(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.random((n, n)), np.zeros((n + 1, n)), np.zeros((n, n + 1)), 0.01, 9.81, 1.0


def of_lattice_boltzmann(n: int, rng: Drawn) -> tuple[Any, ...]:
    f = grids.WEIGHTS[:, None, None] * (1 + 0.01 * rng.random((9, n, n)))
    wall = np.zeros((n, n), bool)
    wall[0] = wall[-1] = True
    wall[n // 3 : n // 2, n // 3 : n // 2] = True
    return f, wall, 1.7


def of_life(n: int, rng: Drawn) -> tuple[Any, ...]:
    z = np.zeros((n, n), np.uint8)
    z[1:-1, 1:-1] = rng.integers(0, 2, (n - 2, n - 2))
    return (z,)


def of_n_body(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), rng.random(n) / n, 0.001


def of_bounce(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.random((n, 2)), rng.standard_normal((n, 2)), 0.01


def of_swarm(n: int, rng: Drawn) -> tuple[Any, ...]:
    x, v = rng.uniform(-5, 5, (n, 20)), 0.1 * rng.standard_normal((n, 20))
    return particles.Swarm(x, v), rng.random((n, 20)), rng.random((n, 20))


def of_cloth(n: int, rng: Drawn) -> tuple[Any, ...]:
    p = rng.random((n, n, 3))
    return p, p - 0.01 * rng.random((n, n, 3)), np.array([0.0, -9.81, 0.0]), 0.7, 0.01


def of_adam(n: int, rng: Drawn) -> tuple[Any, ...]:
    shapes = ((n, 16), (16,), (n,))
    drawn = [[rng.standard_normal(s).astype(np.float32) for s in shapes] for _ in range(3)]
    return (*drawn, [np.abs(g) for g in drawn[2]], 10)


def of_momentum(n: int, rng: Drawn) -> tuple[Any, ...]:
    w, grad = rng.standard_normal((2, n)).astype(np.float32)
    return learning.Momentum(n), w, grad


def of_k_means(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.standard_normal((n, 8)), rng.standard_normal((10, 8)), np.zeros(n, np.int64)


def of_standardise(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (3 * rng.standard_normal((n, 50)) + 7,)


def of_softmax_rows(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.standard_normal((n, 200)).astype(np.float32),)


def of_kalman(n: int, rng: Drawn) -> tuple[Any, ...]:
    return learning.Tracks(n), rng.standard_normal(n), rng.random(n) < 0.8, 0.1


def of_colour(n: int, rng: Drawn) -> tuple[Any, ...]:
    img = rng.integers(0, 256, (n, n, 3), np.uint8)
    return img, np.zeros_like(img)


def of_blend(n: int, rng: Drawn) -> tuple[Any, ...]:
    dst, src = rng.integers(0, 256, (2, n, n, 3), np.uint8)
    return dst, src, rng.integers(0, 256, (n, n), np.uint8)


def of_dilate(n: int, rng: Drawn) -> tuple[Any, ...]:
    img = rng.integers(0, 256, (n, n), np.uint8)
    return img, np.zeros_like(img)


def of_ring_mean(n: int, rng: Drawn) -> tuple[Any, ...]:
    return signals.History(8, n), rng.random(n).astype(np.float32)


def of_fir(n: int, rng: Drawn) -> tuple[Any, ...]:
    x = rng.standard_normal(n).astype(np.float32)
    return x, np.hanning(9).astype(np.float32) / 4, np.zeros_like(x)


def of_moving_average(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.standard_normal(n), np.zeros(n), 8


def of_monte_carlo(n: int, rng: Drawn) -> tuple[Any, ...]:
    s = 100 + 10 * rng.standard_normal(n)
    return s, s.copy(), np.ones(n, bool), rng.standard_normal(n), 0.05, 0.2, 0.01


F32 = np.float32
TABLE = (
    Program(grids.heat, fields(1, 0.1), 800, 5000),
    Program(grids.wave, fields(2, 0.25), 600, 4000),
    Program(grids.jacobi, fields(3, 10), 300, 2000),
    Program(grids.red_black, fields(2, 1.5), 600, 3500),
    Program(grids.shallow_water, of_shallow_water, 800, 4500),
    Program(grids.lattice_boltzmann, of_lattice_boltzmann, 200, 1000),
    Program(grids.gray_scott, fields(2, 0.035, 0.065), 500, 2500),
    Program(grids.burgers, fields(2, 0.001, 0.1, 0.01), 400, 2500),
    Program(grids.maxwell, fields(3, 0.5), 800, 4500),
    Program(grids.life, of_life, 1000, 6000),
    Program(particles.n_body, of_n_body, 250, 1600),
    Program(particles.bounce, of_bounce, 400_000, 12_000_000),
    Program(particles.swarm, of_swarm, 10_000, 300_000),
    Program(particles.cloth, of_cloth, 250, 1500),
    Program(learning.adam, of_adam, 40_000, 1_000_000),
    Program(learning.momentum, of_momentum, 1_000_000, 40_000_000),
    Program(learning.k_means, of_k_means, 10_000, 200_000),
    Program(learning.standardise, of_standardise, 20_000, 700_000),
    Program(learning.softmax_rows, of_softmax_rows, 8000, 250_000),
    Program(learning.kalman, of_kalman, 100_000, 3_000_000),
    Program(images.gaussian_blur, fields(3, dtype=F32), 800, 3500),
    Program(images.sobel, fields(2, 0.1, dtype=F32), 500, 3000),
    Program(images.dilate, of_dilate, 2500, 16_000),
    Program(images.colour, of_colour, 600, 3000),
    Program(images.blend, of_blend, 600, 4000),
    Program(images.perona_malik, fields(1, 0.2, 0.15, dtype=F32), 800, 3500),
    Program(signals.ring_mean, of_ring_mean, 400_000, 14_000_000),
    Program(signals.fir, of_fir, 800_000, 20_000_000),
    Program(signals.moving_average, of_moving_average, 500_000, 20_000_000, tolerance=1e3),
    Program(signals.monte_carlo, of_monte_carlo, 400_000, 12_000_000),
)
PROGRAMS = {program.name: program for program in TABLE}
