"""Kernels that mutants are tried in: together they reach every line of the templates."""

from __future__ import annotations

import numpy as np

import opweave as ow
from tests.mutants.complex_and_counts import COMPLEX, COUNTS
from tests.mutants.numbers import (
    INT_EDGES,
    LONG,
    NUMBERS,
    array,
    ends,
    largest_and_sum,
    pairs,
    reciprocals,
    saturated,
    unsigned,
)
from tests.support.variants import aligned, heat, layer_norm, slopes, softmax


def two_sums(x):
    return x - x.sum(axis=-1, keepdims=True) / 7, (x - x.sum(axis=-1, keepdims=True)).sum(axis=-1)


def doubled(u):
    u *= 2
    return u


def strided_both(x):
    return x - x.max(axis=0)


def strided_planes(x):
    return x - x.max(axis=(0, 2), keepdims=True)


def broadcast_columns(x, y):
    return np.exp(x * y).sum()


def two_down(x):
    return x - x.sum(axis=0) / 7, (x - x.sum(axis=0)).max(axis=0)


def weighted_down(x, w, b):
    return (x * w + b).sum(axis=0) + b, (x * x).sum(axis=0)


def long_norm(x):
    return np.sqrt((x * x + 1).sum())


def wide(shape):
    return aligned(array(shape).astype(np.float64))


def below_the_largest(axis):
    return lambda x: np.exp(x - x.max(axis=axis, keepdims=True)).sum(axis=axis)


def exponents(shape):
    """Rows of numbers that rise and fall, of few and all infinities, and with NaN."""
    rows = array(shape) * 3
    rows[0] = np.linspace(-4, 30, shape[1])
    rows[1, ::2], rows[2], rows[3, 77], rows[4, 5] = -np.inf, -np.inf, np.inf, np.nan
    return rows


def scores(x, w, b):
    return softmax(-1 - np.abs(x @ w + b))


def grade(img):
    return ow.pixels.saturation(ow.pixels.grey(img) * 0.1 + img, 1.5)


def tiny(shape):
    """Products of these underflow to -0."""
    return aligned((np.random.default_rng(3).random(shape) + 1).astype(np.float32) * 1e-30)


def few(shape):
    """Few different numbers, so that extremes are there several times, and not a number."""
    drawn = np.random.default_rng(8).integers(-2, 3, shape).astype(np.float32)
    drawn.reshape(-1)[-3:] = [np.nan, 1, np.nan]
    drawn.reshape(-1)[:2] = -0.0, 0.0
    if len(shape) > 1 and shape[1] > 1024:  # later ones in earlier threads
        drawn[0, [4, 128, 256, 512, 1024]] = np.nan
    return aligned(drawn)


def both_places(x):
    return x.argmax(axis=-1), x.argmin(axis=-1)


HALF = aligned(array((45_001,)).astype(np.float16))
PRODUCT = [array((35, 21)), array((21, 37)), array((35, 1))]
# function, arguments, toggles: together they reach every line of the templates.
CASES = {
    "map": (lambda x: x * 2 + 1, [array((1030,))], {}),
    "map scalar io": (lambda x: x * 2 + 1, [array((1030,))], {"USE_VECTOR_IO": 0}),
    "map strided": (lambda x: x * 2 + 1, [array((30, 66))[:, ::2]], {}),
    "map in steps": (doubled, [array((30, 66))[:, ::2]], {}),
    "map gather": (lambda x, y: x + y, [array((40, 33)), array((33,))], {}),
    "stencil": (heat, [array((8, 2307))], {"ROWS_PER_THREAD": 4}),
    "stencil of planes": (slopes, [array((7, 2100)), array((2100,)), array((6, 1))], {"ROWS_PER_THREAD": 2}),
    "columns counted": (lambda x: x * np.arange(x.shape[1], dtype=x.dtype), [array((40, 36))], {}),
    "columns taken": (lambda x, i: x[:, i] + 1, [array((40, 36)), np.arange(36)[::-1].copy()], {}),
    "row warp": (softmax, [array((6, 36)) - 10], {}),
    "row operand": (lambda x, s: np.exp(x * s).sum(axis=-1), [array((6, 36)), array((6, 1))], {}),
    "row block": (softmax, [array((3, 2500)) - 10], {"USE_REGISTER_ROW": 0}),
    "row block twice": (layer_norm, [array((3, 2500)), array((2500,)), array((2500,))], {}),
    "row through memory": (layer_norm, [array((3, 300)), array((300,)), array((300,))],
                           {"USE_WARP_SHUFFLE": 0}),
    "row block through memory": (layer_norm, [array((3, 2500)), array((2500,)), array((2500,))],
                                 {"USE_WARP_SHUFFLE": 0}),
    "row values": (two_sums, [array((5, 130))], {}),
    "columns": (strided_both, [array((37, 21)) - 10], {}),
    "columns of a block": (two_down, [array((150, 36))], {}),
    "columns of a block through memory": (two_down, [array((150, 10))], {"USE_WARP_SHUFFLE": 0}),
    "columns of blocks": (weighted_down, [wide((1100, 40)), wide((1100, 1)), wide((40,))], {}),
    "columns of batches": (lambda x: x.sum(axis=1), [array((2, 2300, 15))], {"USE_RUNS": 1}),
    "columns of bands": (lambda x: x.max(axis=1), [array((2, 40, 36)) - 10], {}),
    "gathered sum": (broadcast_columns, [array((12, 30))[:, ::2], array((15,))], {}),
    "scattered rows": (strided_planes, [array((5, 7, 9)) - 10], {}),
    "reduce": (long_norm, [array((39004,))[1:]], {}),
    "row of runs": (lambda x: x.sum(axis=(0, 2)), [array((9, 3, 37))], {}),
    "reduce of exponentials": (below_the_largest(1), [exponents((5, 32802))], {}),
    "row of exponentials": (below_the_largest(1), [exponents((5, 32802))], {"PARTS": 1}),
    "columns of exponentials": (
        below_the_largest(0), [np.ascontiguousarray(exponents((7, 300)).T)], {}),
    "columns of blocks of exponentials": (
        below_the_largest(0), [np.ascontiguousarray(exponents((7, 1100)).T)], {}),
    "reduce in four chunks": (long_norm, [array((39004,))[1:]], {"CHUNKS": 4, "PARTS": 2}),
    "reduce runs": (lambda x: np.abs(x).sum(axis=-1), [array((3, 38912))], {"USE_RUNS": 1}),
    "places of rows": (both_places, [few((5, 130))], {}),
    "places of a block": (both_places, [few((3, 2500))], {}),
    "places through memory": (both_places, [few((3, 2500))], {"USE_WARP_SHUFFLE": 0}),
    "places of blocks": (lambda x: x.argmax(), [few((39004,))[1:]], {}),
    "places down blocks": (lambda x: (x.argmax(axis=0), x.argmin(axis=0)), [few((1100, 36))], {}),
    "product": (lambda x, w, b: x @ w + b, PRODUCT, {}),
    "product of tiny numbers": (lambda x, w: x @ w, [-tiny((33, 17)), tiny((17, 5))], {}),
    "product straight from memory": (lambda x, w, b: x @ w + b, PRODUCT, {"USE_SHARED_MEMORY": 0}),
    "product of transposed": (lambda x, w, b: x @ w + b,
                              [array((21, 35)).T, array((37, 21)).T, array((35, 1))], {}),
    "product in batches": (lambda x, w, b: x @ w + b,
                           [array((2, 5, 7)), array((2, 7, 6)), array((2, 5, 1))], {}),
    "product and rows": (scores, [array((35, 21)), array((21, 101)), array((101,))], {}),
    "product and rows through memory": (
        scores, [array((35, 21)), array((21, 101)), array((101,))],
        {"USE_WARP_SHUFFLE": 0, "USE_REGISTER_ROW": 0}),
    "tile": (lambda x, y, z: x.T * y + z, [array((70, 67)), array((67, 70)), array((67, 1))], {}),
    "tile of several": (lambda x, y: np.exp(x) - y, [array((2, 33, 67)).swapaxes(1, 2),
                        array((2, 33, 67)).swapaxes(1, 2)], {}),
    "tile straight from memory": (lambda x, y: x.T * y, [array((70, 67)), array((67, 70))],
                                  {"USE_SHARED_MEMORY": 0}),
    "pixels": (grade, [array((7, 9, 3))], {}),
    "pixels strided": (grade, [array((7, 18, 6))[:, ::2, ::-2]], {}),
    "reduce through memory": (long_norm, [array((39004,))[1:]], {"USE_WARP_SHUFFLE": 0}),
}  # fmt: skip


def scanned(x):
    e = np.exp(x)
    return e / e.cumsum(axis=-1), np.maximum.accumulate(x, axis=-1)


def scanned_columns(x, y):
    return (x * y).cumsum(axis=1) - x, np.minimum.accumulate(x, axis=1)


def scanned_halves(x, y):
    h = x.astype(np.float16)
    return h.cumsum(axis=-1) * y, h.cumprod(axis=-1)


SMALL = {"CHUNKS": 2, "BLOCK": 32}
THROUGH_MEMORY = {"USE_WARP_SHUFFLE": 0}
PAIRS = {"BLOCK": 32, "VECTOR": 2}
NAIVE = {"BLOCK_M": 16, "BLOCK_N": 16, "THREAD_M": 1, "THREAD_N": 1, "WIDTH": 1}
WIDE = [array((40, 21)), array((21, 200)), array((200,))]
LOW = np.full((3, 130), -(2**31), np.int32)
CASES |= {
    "scan of few threads": (scanned, [array((6, 45)) - 3], {}),
    "scan of a warp": (scanned, [array((5, 300)) - 3], {}),
    "scan of a block": (scanned, [array((3, 2500)) - 3], {}),
    "scan of one row": (lambda x: np.cumsum(x), [array((1500,))], {}),
    "scan through memory": (scanned, [array((5, 300)) - 3], THROUGH_MEMORY),
    "scan of a block through memory": (scanned, [array((3, 2500)) - 3], THROUGH_MEMORY),
    "scan element by element": (scanned, [array((37, 45)) - 3], {"THREADS_PER_ROW": 1,
                                                                "ROWS_PER_BLOCK": 32}),
    "scan of halves": (scanned_halves, [array((6, 150)), array((6, 1))], {}),
    "scan of one row through memory": (lambda x: np.cumsum(x), [array((1500,))], THROUGH_MEMORY),
    "scan of parts": (lambda x: np.cumsum(x * 2) + 1, [array((49004,))[1:]], {"PARTS": 4}),
    "scan of parts through memory": (
        lambda x: np.cumsum(x), [array((49152,))], {"PARTS": 4, "USE_WARP_SHUFFLE": 0}),
    "scan of groups of parts": (
        lambda x: np.cumsum(x, 1), [array((2, 33001))],
        {"THREADS_PER_ROW": 32, "LANES": 1, "PARTS": 2048}),
    "scan of rows of parts": (scanned, [array((2, 40003)) - 3], {}),
    "scan ahead": (lambda x, y: (np.cumsum(x * 2) + 1, x * y), [array((45_001,)), HALF], {}),
    "scan ahead of rows": (
        lambda x: (x.cumsum(1), np.maximum.accumulate(x, 1)), [array((2, 40_004))], {}),
    "scan ahead of a product": (lambda x, y: np.cumsum(x) * y, [array((45_001,)), HALF], {}),
    "scan ahead of groups": (lambda x: np.cumsum(x), [wide((1_060_000,))], {}),
    "scan of columns": (scanned_columns, [array((2, 21, 75)), array((21, 1))], PAIRS),
    "scan of whole columns": (lambda x: x.cumsum(axis=1), [array((2, 9, 128))], PAIRS),
    "scan of few columns": (lambda x: x.cumsum(axis=0), [array((23, 70))], {"VECTOR": 4}),
    "scan of columns in parts": (
        lambda x: (x * 2).cumsum(axis=1) + 1, [array((2, 41, 175)).astype(np.float64)],
        {"PARTS": 4, "BLOCK": 32, "VECTOR": 4},
    ),
    "scan of windows": (lambda x, i: x[i].cumsum(axis=0), [array((9, 40)), np.array([3, 0, -1] * 4)], {}),
    "windows": (lambda x: np.roll(x, 1, 0) + np.roll(x, 3, 1), [array((3, 2100))], SMALL),
    "windows in steps": (lambda x: np.roll(x, 3, 1), [array((3, 4200))[:, ::2]], SMALL),
    "places": (lambda x: np.roll(x, 1, 0) + np.roll(x, 3, 1), [array((7, 33))], {}),
    "windows of rows": (lambda x: softmax(x[[3, 0, -1]]), [array((6, 36))], {}),
    "index": (lambda x, i, j: x[i, j], [array((9, 5)), *pairs([0, -5, 4, -1, 3], np.int64)], {}),
    "columns counted in chunks": (lambda x: x * np.arange(x.shape[1], dtype=x.dtype), [array((40, 36))], SMALL),
    "map in chunks": (lambda x: x * 2 + 1, [array((1030,))], SMALL),
    "map in four chunks": (lambda x: x * 2 + 1, [array((230,))], {"CHUNKS": 4, "BLOCK": 32}),
    "map of rows in chunks": (lambda x, b: x * 2 + b, [array((3, 2100)), array((2100,))], SMALL),
    "pixels in chunks": (grade, [array((40, 50, 3))], SMALL),
    "pixels of rows in chunks": (grade, [array((2, 2500, 3))[:, :2100]], SMALL),
    "pixels and a colour": (saturated, [array((7, 9, 3)), array((3,))], {}),
    "grey": (lambda img: ow.pixels.grey(img), [array((7, 9, 3))], {}),
    "rows of the largest": (softmax, [array((6, 36)) - 10], THROUGH_MEMORY),
    "long rows of the largest": (softmax, [array((3, 2500)) - 10], THROUGH_MEMORY),
    "product in whole tiles": (
        lambda x, w: x @ w, [array((3, 64, 16)), array((3, 16, 32))], NAIVE),
    "product in fragments": (
        lambda x, w, b: x @ w + b, [array((70, 33)), array((33, 140)), array((140,))],
        {"BLOCK_M": 32, "BLOCK_N": 64, "THREAD_M": 4, "THREAD_N": 8}),
    "product in fragments straight from memory": (
        lambda x, w, b: x @ w + b,
        [array((70, 33)), array((33, 140)), array((140,))],
        {"BLOCK_M": 32, "BLOCK_N": 64, "THREAD_M": 4, "THREAD_N": 8, "USE_SHARED_MEMORY": 0},
    ),
    "product of transposed in fragments straight from memory": (
        lambda x, w: x @ w,
        [array((70, 33)), array((140, 33)).T],
        {"BLOCK_M": 32, "BLOCK_N": 64, "THREAD_M": 4, "THREAD_N": 8, "USE_SHARED_MEMORY": 0},
    ),
    "product and wide rows": (scores, WIDE, {}),
    "product and wide rows through memory": (scores, WIDE, THROUGH_MEMORY),
    "reduce rows": (largest_and_sum, [array((3, 40003))], {}),
    "ends of integers": (ends, [aligned(LOW)], {}),
    "ends of long integers": (ends, [aligned(LOW.astype(np.int64) * 2**32)], {}),
    "reciprocals": (reciprocals, [pairs(INT_EDGES, np.int32)[0]], {}),
    "long reciprocals": (reciprocals, [LONG[0]], {}),
    "reciprocals of bytes": (unsigned, pairs([0, 1, 2, 3, 7, 8, 200, 255], np.uint8), {}),
    "unsigned": (unsigned, pairs([0, 1, 2, 3, 7, 63, 64, 2**40, 2**63], np.uint64), {}),
}  # fmt: skip
# Templates of the host alone.
HOST_CASES = {
    "places on a host": (both_places, [array((4100,)) - 10], {}),
    "turned": (lambda x, y: x.T * 2 + y, [array((70, 133)), array((133, 70))], {}),
    "turned through tiles": (
        lambda x, y: x.T * 2 + y,
        [array((70, 133)), array((133, 70))],
        {"USE_SHARED_MEMORY": 1},
    ),
    "bands": (lambda x: np.tanh(x - 9 - (x - 9).max(axis=0)), [array((70, 69))], {}),
    "bands of values": (
        lambda x, w, s: ((x * w * s).sum(axis=0) + w, np.abs(x * s).sum(axis=0)),
        [array((37, 45)), array((45,)), array((37, 1))],
        {"LANES": 8},
    ),
    "bands of a batch": (
        lambda x, w: x * w - x.sum(axis=1, keepdims=True) / 7,
        [array((3, 5, 127)), array((3, 1, 1))],
        {},
    ),
    "bands of two batches": (
        lambda x, w: (x * w).sum(axis=2),
        [array((2, 3, 11, 45)), array((2, 1, 11, 45))],
        {},
    ),
    "bands of short rows": (lambda x: x * 3 - x.min(axis=1, keepdims=True), [array((70, 5))], {}),
    "bands of few rows": (lambda x: x.prod(axis=0), [array((16, 45))], {}),
    "rows on the host": (lambda x: (x.sum(axis=-1), x.max(axis=-1)), [array((5, 133)) - 10], {}),
    "bands of no rows": (lambda x: x.prod(axis=0), [array((0, 45))], {}),
}
CASES |= HOST_CASES


def logistic(x, y):
    return x * x * 0.5 + 0.1, x - y


def unit(x):
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True)) + 0.1


def layer(x, w):
    return np.maximum(x @ w + x, -1)


def attended(x, w):
    return softmax(x @ w) + x


LAYER = [array((21, 40)), array((40, 40)) / 4]
# Steps that kernels repeat by themselves.
REPEATED_CASES = {
    "turns of elements": (logistic, [array((1030,)) / 2, array((1030,))], SMALL),
    "turns of rows": (unit, [array((5, 130))], {}),
    "turns of rows in memory": (unit, [array((5, 130))], {"USE_REGISTER_ROW": 0}),
    "turns of a product": (layer, LAYER, {}),
    "turns of a product of several tiles": (layer, LAYER, {"BLOCK_K": 8}),
    "turns of a product straight from memory": (layer, LAYER, {"USE_SHARED_MEMORY": 0}),
    "turns of a product's rows": (attended, LAYER, {}),
    "turns of a product's rows straight from memory": (attended, LAYER, {"USE_SHARED_MEMORY": 0}),
}
CASES |= REPEATED_CASES
PLACE_CASES = [
    "places of rows", "places of a block", "places of blocks", "places down blocks",
    "places on a host",
]  # fmt: skip
HELPER_CASES = [
    "reduce rows", "ends of integers", "ends of long integers", "reciprocals", "long reciprocals",
    "reciprocals of bytes", "unsigned", "map", "map scalar io", "map strided", "map in steps", "columns", "row warp", "pixels", "reduce", "int32", "int64",
    "powers", "long powers", "uint8", "mixed signs", "float32", "float64", "float16", "bfloat16",
    "bytes of floats", "windows", "places", "windows of rows", "index", "int8", "uint16",
    "whole numbers", "parts of numbers", "ends of bytes", "windows in steps",
    "neighbours", "long neighbours", "neighbours of 16 bits", "neighbours in bfloat16",
    "row of runs", "columns of a block", "columns of blocks", "row by a value", "cubes",
]  # fmt: skip
CASES |= NUMBERS | COMPLEX | COUNTS
COMPLEX_CASES = list(COMPLEX)
