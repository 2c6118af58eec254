"""Kernels of complex numbers, and kernels that count, for mutants to be tried in."""

from __future__ import annotations

import numpy as np

from tests.support.variants import aligned


def complex_pairs(dtype):
    """Complex numbers of every two edges, and others, aligned; the parts of both vary apart."""
    edges = [0.0, -0.0, 1.0, -2.5, 3.0, np.inf, -np.inf, np.nan]
    re, im = (p.reshape(-1) for p in np.meshgrid(edges, edges))
    tiny = float(np.finfo(dtype).smallest_subnormal)
    z = np.empty(re.size + 3, dtype)
    z.real, z.imag = [*re, 3e38, 1e-30, tiny], [*im, 3e38, -2e-30, -5 * tiny]
    return [aligned(p.reshape(-1).copy()) for p in np.meshgrid(z, z)]


def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, x.conj(), -x, np.reciprocal(y), np.rint(x), np.sign(x)


def comparisons(x, y):
    return (x == y, x != y, x < y, x <= y, x > y, x >= y, np.maximum(x, y), np.minimum(x, y),
            np.fmax(x, y), np.fmin(x, y), np.logical_and(x, y), np.isnan(x), x.astype(bool))  # fmt: skip


def spread(shape, dtype=np.complex64):
    parts = np.random.default_rng(3).standard_normal((2, *shape))
    return aligned((parts[0] + 1j * parts[1]).astype(dtype))


COMPLEX = {
    "complex arithmetic": (arithmetic, complex_pairs(np.complex64), {}),
    "complex comparisons": (comparisons, complex_pairs(np.complex64), {}),
    "complex128 arithmetic": (arithmetic, complex_pairs(np.complex128), {}),
    "complex rows": (lambda z: (z.sum(-1), z.max(-1), z.min(-1)), [-abs(spread((5, 130)))
                     + 1j * spread((5, 130)).imag], {}),
    "complex128 rows": (lambda z: (z.max(-1), z.min(-1), z.prod(-1)),
                        [spread((5, 130), np.complex128)], {}),
    "rows of large complex": (lambda z: z.min(-1), [spread((5, 130)) + 9], {}),
    "complex reduce": (lambda z: z.sum(), [spread((39004,))], {}),
    "complex product": (lambda z, w: z @ w, [spread((35, 21)), spread((21, 37))], {}),
    "complex from reals": (lambda x: x.astype(np.complex64) * 1j, [aligned(np.linspace(-2, 2, 130, dtype=np.float32))], {}),
}  # fmt: skip


def counted(bins, by=1):
    return lambda x: np.bincount(x // by, minlength=bins)


def numbers(dtype, most, count):
    """Numbers below ``most``, few of them often."""
    drawn = np.random.default_rng(5).random(count) ** 2 * most
    return aligned(drawn.astype(dtype))


COUNTS = {
    "counts": (counted(300), [numbers(np.int32, 300, 5003)], {"BLOCK": 64, "COPIES": 4}),
    "counts of bytes": (counted(256), [numbers(np.uint8, 256, 3001)], {"BLOCK": 64}),
    "counts in chunks": (counted(50, 3), [numbers(np.int32, 150, 2355)],
                         {"BLOCK": 32, "CHUNKS": 4, "COPIES": 32}),
    "counts in runs": (counted(50), [numbers(np.int32, 50, 2355)],
                       {"BLOCK": 64, "CHUNKS": 2, "COPIES": 4, "USE_RUNS": 1}),
    "counts in memory": (counted(40), [numbers(np.int64, 40, 1500)[1:]],
                         {"BLOCK": 64, "USE_SHARED_MEMORY": 0}),
    "counts of bytes in memory": (counted(256), [numbers(np.uint8, 256, 1500)],
                                  {"BLOCK": 64, "USE_SHARED_MEMORY": 0}),
}  # fmt: skip
