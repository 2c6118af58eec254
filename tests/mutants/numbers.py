"""Kernels of numbers of all kinds, edges first, for mutants of helpers to be tried in."""

from __future__ import annotations

import numpy as np

import opweave as ow
from tests.support.data import dtype_of
from tests.support.variants import aligned


def array(shape):
    return aligned(np.random.default_rng(2).standard_normal(shape).astype(np.float32))


def by_values(x, y):
    return x / y, x.min(axis=-1)


def quotients():
    """Rows, and what they are divided by: numbers of all kinds, and quotients of all sizes."""
    powers = 2.0 ** np.array([-126, -61, -60, -40, -21, -20, 0, 19, 59, 60, 61, 127])
    by = np.concatenate([FLOAT_EDGES, powers, powers * -1.7]).astype(np.float32)
    numbers = np.random.default_rng(4).standard_normal((by.size, 60)) * by[:, None]
    scaled = numbers * 2.0 ** np.linspace(-130, 127, 60)
    edges = np.broadcast_to(np.array(FLOAT_EDGES), (by.size, len(FLOAT_EDGES)))
    rows = np.concatenate([numbers, scaled, edges], axis=1).astype(np.float32)
    # reciprocals that lose bits, of quotients next to the middle of two floats
    by[:2] = np.array([15524161, 13731829]) * 2.0**104
    rows[:2] = np.array([[16370234], [15643210]]) * 2.0**90
    return [aligned(rows), aligned(by.reshape(-1, 1))]


INT_EDGES = [
    -(2**31),
    2**31 - 1,
    -(2**31) + 1,
    -128,
    -33,
    -7,
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    31,
    32,
    33,
    63,
    64,
    65,
    255,
]
FLOAT_EDGES = [-np.inf, np.inf, np.nan, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 1e-45, 65504.0, 65520.0,
               6e-8, 6.1e-5, 3.4e38, 1.00390625, 1.01171875, 255.5, -7.25, 0.1, 1e-3]  # fmt: skip


def pairs(edges, dtype):
    """Every edge against every edge, aligned."""
    values = np.array(edges).astype(dtype)
    x, y = np.meshgrid(values, values)
    return [
        aligned(np.ascontiguousarray(x.reshape(-1))),
        aligned(np.ascontiguousarray(y.reshape(-1))),
    ]


def integers(x, y):
    return (x // y, x % y, np.left_shift(x, y), np.right_shift(x, y), np.sign(x), x + y, x - y,
            x * y, np.maximum(x, y), np.minimum(x, y), np.clip(x, -5, y))  # fmt: skip


def powers(x, y):
    return x**y


def bytes_(x, y):
    return x // y, x % y, np.left_shift(x, y), np.right_shift(x, y), x * y, np.clip(x, 3, 200)


def whole_numbers(x, y):
    return np.gcd(x, y), np.lcm(x, y), np.bitwise_count(x), np.fmod(x, y), np.fmax(x, y)


def parts_of_numbers(x, y):
    return (np.fmax(x, y), np.fmin(x, y), *np.frexp(x), *np.modf(x), np.heaviside(x, y),
            np.ldexp(y, np.where(np.abs(x) < 9, x, 0).astype(np.int32)))  # fmt: skip


def signed_and_unsigned(x, y):
    return x < y, x <= y, x > y, x >= y, x == y, x != y


def floats(x, y):
    return (x // y, x % y, np.maximum(x, y), np.minimum(x, y), np.sign(x), np.isinf(x), np.clip(x, -2, y),
            x.astype(np.float16), x.astype(bool))  # fmt: skip


def narrow(x, y):
    return x * y + x, np.maximum(x, y), x.astype(np.float32) * 3


def neighbours(x, y):
    return np.nextafter(x, y), np.spacing(x), np.nextafter(y, np.copysign(0, x))


def cubes(x):
    return x**3, x.astype(np.uint64), x.astype(np.int64)


def reciprocals(x):
    return np.reciprocal(x), x * 2


def unsigned(x, y):
    return x // y, x % y, x**y, np.left_shift(x, y), np.reciprocal(x), x * y, x - y


def ends(x):
    return x.max(axis=-1), x.min(axis=-1)


def largest_and_sum(x):
    return x.max(axis=-1), np.abs(x).sum(axis=-1)


def saturated(img, colour):
    return ow.pixels.saturation(img, 1.5) * colour


def quantise(img):
    return ow.pixels.to_uint8(img)


with np.errstate(all="ignore"):
    LONG = pairs([*INT_EDGES, 2**63 - 1, -(2**63), 2**40, -(2**40)], np.int64)
    NUMBERS = {
        "int32": (integers, pairs(INT_EDGES, np.int32), {}),
        "int64": (integers, LONG, {}),
        "powers": (powers, pairs(INT_EDGES, np.int32), {}),
        "long powers": (powers, LONG, {}),
        "uint8": (bytes_, pairs([0, 1, 2, 3, 7, 8, 9, 100, 127, 128, 254, 255], np.uint8), {}),
        "mixed signs": (signed_and_unsigned, [LONG[0], LONG[1].view(np.uint64)], {}),
        "float32": (floats, pairs(FLOAT_EDGES, np.float32), {}),
        "float64": (floats, pairs(FLOAT_EDGES, np.float64), {}),
        "cubes": (
            cubes,
            [aligned(np.array([*FLOAT_EDGES, 2**63, 1e19, -1e30, *array(99)], np.float32))],
            {},
        ),
        "int8": (integers, pairs([-128, -127, -7, -1, 0, 1, 2, 3, 7, 127], np.int8), {}),
        "uint16": (unsigned, pairs([0, 1, 2, 7, 8, 255, 256, 65521, 65535], np.uint16), {}),
        "whole numbers": (whole_numbers, pairs(INT_EDGES, np.int32), {}),
        "parts of numbers": (parts_of_numbers, pairs(FLOAT_EDGES, np.float32), {}),
        "ends of bytes": (ends, [aligned(np.full((3, 130), -128, np.int8))], {}),
        "float16": (narrow, pairs(FLOAT_EDGES, np.float16), {}),
        "bfloat16": (narrow, pairs(FLOAT_EDGES, dtype_of("bfloat16")), {}),
        "neighbours": (neighbours, pairs(FLOAT_EDGES, np.float32), {}),
        "long neighbours": (neighbours, pairs(FLOAT_EDGES, np.float64), {}),
        "neighbours of 16 bits": (neighbours, pairs(FLOAT_EDGES, np.float16), {}),
        "neighbours in bfloat16": (neighbours, pairs(FLOAT_EDGES, dtype_of("bfloat16")), {}),
        "row by a value": (by_values, quotients(), {}),
        "bytes of floats": (
            quantise,
            [np.resize(pairs(FLOAT_EDGES, np.float32)[0], (6, 7, 3))],
            {},
        ),
    }
