"""The programs in a table: what each is called with, and the sizes at which it is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.experiments.in_place.table import Drawn, Program
from bench.experiments.rolled import dynamic, fitting, series, solvers


def dominant(n: int, rng: Drawn) -> Any:
    """A matrix whose diagonal outweighs the rest."""
    return rng.random((n, n)) + n * np.eye(n)


def positive(n: int, rng: Drawn) -> Any:
    """A symmetric, positive definite matrix."""
    made = rng.random((n, n))
    return made @ made.T / n + np.eye(n)


def of_triangular(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.tril(dominant(n, rng)), rng.random(n)


def of_lu(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (dominant(n, rng),)


def of_cholesky(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (positive(n, rng),)


def of_gauss_seidel(n: int, rng: Drawn) -> tuple[Any, ...]:
    return dominant(n, rng), rng.random(n), np.zeros(n), 5


def of_thomas(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.random(n), 2.5 + rng.random(n), rng.random(n), rng.random(n)


def of_power_iteration(n: int, rng: Drawn) -> tuple[Any, ...]:
    return positive(n, rng), np.ones(n), 50


def of_conjugate_gradient(n: int, rng: Drawn) -> tuple[Any, ...]:
    return positive(n, rng), rng.random(n), 20


def of_gram_schmidt(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.random((2 * n, n)),)


def of_shortest_paths(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.random((n, n)),)


def of_edit_distance(n: int, rng: Drawn) -> tuple[Any, ...]:
    a, b = rng.integers(0, 4, (2, n), np.uint8)
    return a, b


def of_knapsack(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.random(n), rng.integers(1, 50, n), 20 * n


def of_viterbi(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.log(rng.random((20, 20))), np.log(rng.random((20, 30))), rng.integers(0, 30, n)


def of_page_rank(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.random((n, n)) < 0.05).astype(np.float64), 0.85, 20


def of_matrix_chain(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.integers(5, 60, n).astype(np.float64),)


def of_series(*others: Any) -> Any:
    """One series, and other arguments behind it."""
    return lambda n, rng: (rng.standard_normal(n), *others)


def of_tracked_plane(n: int, rng: Drawn) -> tuple[Any, ...]:
    F = np.eye(4)
    F[0, 2] = F[1, 3] = 0.1
    H = np.zeros((2, 4))
    H[0, 0] = H[1, 1] = 1
    return rng.standard_normal((n, 2)), F, H, 0.01 * np.eye(4), 0.5 * np.eye(2)


def of_fft_filter(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.standard_normal(n), rng.standard_normal(512) / 512, 1024


def of_adaptive(n: int, rng: Drawn) -> tuple[Any, ...]:
    x = rng.standard_normal(n)
    return x, np.convolve(x, [0.5, -0.3, 0.2])[:n], 32, 0.005


def of_lorenz(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.array([1.0, 1.0, 1.0]), 0.002, n


def of_lloyd(n: int, rng: Drawn) -> tuple[Any, ...]:
    return rng.standard_normal((n, 3)), rng.standard_normal((6, 3)), 5


def of_correlations(n: int, rng: Drawn) -> tuple[Any, ...]:
    return (rng.random((n, 24)),)


def of_equalised(n: int, rng: Drawn) -> tuple[Any, ...]:
    return ((256 * rng.random((n, n)) ** 2).astype(np.uint8),)


def of_mixture(n: int, rng: Drawn) -> tuple[Any, ...]:
    x = np.concatenate([rng.normal(-2, 1, n // 2), rng.normal(3, 0.5, n - n // 2)])
    return x, np.array([-1.0, 0.0, 1.0]), np.ones(3), np.full(3, 1 / 3), 5


def of_trained(n: int, rng: Drawn) -> tuple[Any, ...]:
    x, y = rng.standard_normal((n, 16)), rng.standard_normal((n, 2))
    W, V = 0.2 * rng.standard_normal((16, 32)), 0.2 * rng.standard_normal((32, 2))
    return x, y, W, np.zeros(32), V, 0.1, 10


def of_recurrent(n: int, rng: Drawn) -> tuple[Any, ...]:
    W, U = 0.2 * rng.standard_normal((8, 24)), 0.2 * rng.standard_normal((24, 24))
    return rng.standard_normal((n, 16, 8)), W, U, np.zeros(24)


TABLE = (
    Program(solvers.triangular, of_triangular, 800, 8000),
    Program(solvers.lu, of_lu, 120, 500),
    Program(solvers.cholesky, of_cholesky, 200, 1000),
    Program(solvers.gauss_seidel, of_gauss_seidel, 150, 4000),
    Program(solvers.thomas, of_thomas, 3000, 150_000),
    Program(solvers.power_iteration, of_power_iteration, 350, 3000),
    Program(solvers.conjugate_gradient, of_conjugate_gradient, 500, 5000, tolerance=1e3),
    Program(solvers.gram_schmidt, of_gram_schmidt, 30, 150, tolerance=10),
    Program(dynamic.shortest_paths, of_shortest_paths, 120, 600),
    Program(dynamic.edit_distance, of_edit_distance, 60, 500),
    Program(dynamic.knapsack, of_knapsack, 300, 2500),
    Program(dynamic.viterbi, of_viterbi, 300, 30_000),
    Program(dynamic.page_rank, of_page_rank, 500, 4000),
    Program(dynamic.matrix_chain, of_matrix_chain, 30, 120),
    Program(series.smoothing, of_series(0.1), 10_000, 800_000),
    Program(series.biquad, of_series(np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.6, 0.2])), 5000,
            300_000),
    Program(series.compressor, of_series(0.5, 4.0, 0.9, 0.99), 5000, 300_000),
    Program(series.tracked, of_series(1e-3, 0.1), 5000, 400_000),
    Program(series.tracked_plane, of_tracked_plane, 200, 10_000),
    Program(series.fft_filter, of_fft_filter, 200_000, 8_000_000),
    Program(series.adaptive, of_adaptive, 1500, 80_000),
    Program(series.volatility, of_series(0.05, 0.1, 0.85), 3000, 200_000),
    Program(series.lorenz, of_lorenz, 200, 15_000, tolerance=1e4),
    Program(fitting.lloyd, of_lloyd, 4000, 200_000),
    Program(fitting.correlations, of_correlations, 2000, 100_000),
    Program(fitting.equalised, of_equalised, 700, 5000),
    Program(fitting.median_filter, of_series(5), 40_000, 2_000_000),
    Program(fitting.mixture, of_mixture, 10_000, 500_000),
    Program(fitting.trained, of_trained, 500, 30_000),
    Program(fitting.recurrent, of_recurrent, 150, 20_000),
)  # fmt: skip
PROGRAMS = {program.name: program for program in TABLE}
