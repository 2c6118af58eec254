"""Kernels with structural op-codes and with stages, to try mutants in."""

from __future__ import annotations

import numpy as np

import opweave as ow
from tests.mutants.cases import (
    CASES,
    HELPER_CASES,
    PAIRS,
    SMALL,
    THROUGH_MEMORY,
    array,
    grade,
    saturated,
    scanned,
    scanned_columns,
)

o = ow.opcodes
OWN_LOAD, OWN_STORE = (
    ow.structural("load", "(T)__ldcg(p)", name="cached"),
    ow.structural("store", "__stcg(p, (S)x)", name="cached"),
)
OWN_GUARD = ow.structural("guard", "end = cols - cols % 4", name="whole_fours")
READ, WRITTEN = ("load", o.read_only), ("store", o.streaming_store)
BY_WORDS, BY_PAIRS = [READ, WRITTEN], [("load", o.packed_pairs), WRITTEN]
BY_ELEMENT = [("load", OWN_LOAD), ("store", OWN_STORE)]
RNG = np.random.default_rng(5)


def halves(shape):
    return RNG.standard_normal(shape).astype(np.float16)


def across(x, y):
    return x.T * y


def product(x, w, b):
    return x @ w + b


def multiplied(x, w):
    return x @ w


OPERANDS = [array((35, 21)), array((21, 37)), array((35, 1))]
TURNED = [array((21, 35)).T, array((37, 21)).T, array((35, 1))]
STRIDED = [array((35, 42))[:, ::2], array((21, 74))[:, ::2], array((35, 1))]
STRAIGHT = {"USE_SHARED_MEMORY": 0}
# function, arguments, toggles, and what takes the place of structural op-codes
REPLACED = {
    "a grid-stride loop": (lambda x: x * 2 + 1, [array((1030,))], SMALL,
                           [("index", o.grid_stride(blocks=2)), *BY_WORDS]),
    "a guard": (lambda x: x * 2 + 1, [array((1030,))], {}, [("guard", OWN_GUARD)]),
    "words": (lambda x: x * 2 + 1, [array((1030,))], {}, BY_WORDS),
    "words, element by element": (lambda x: x * 2, [array((1030,))], {"USE_VECTOR_IO": 0}, BY_WORDS),
    "words of bytes": (lambda x: x + x, [np.arange(1027, dtype=np.uint8)], {}, BY_WORDS),
    "words of halves": (lambda x: x * 2, [halves((1030,))], {}, BY_WORDS),
    "pairs": (lambda x: x * 2 + 1, [array((1030,))], {}, BY_PAIRS),
    "pairs of halves": (lambda x: x * 2, [halves((1030,))], {}, BY_PAIRS),
    "pairs of doubles": (lambda x: x * 2, [array((1030,)).astype(np.float64)], {}, BY_PAIRS),
    "pairs of complex numbers": (lambda x: x * 2, [array((1030,)).astype(np.complex128)], {},
                                 BY_PAIRS),
    "pairs of three": (lambda x: x * 2, [array((33, 3))], {"VECTOR": 1}, BY_PAIRS),
    "elements": (lambda x, y: x + y, [array((40, 33)), array((33,))], {}, BY_ELEMENT),
    "elements, strided": (lambda x: x * 2 + 1, [array((30, 66))[:, ::2]], {}, BY_ELEMENT),
    "sums": (lambda x: x * 3, [np.arange(1030, dtype=np.int32)], {}, [("store", o.accumulate)]),
    "long sums": (lambda x: x * 3, [np.arange(1030) << 33], {}, [("store", o.accumulate)]),
    "unsigned sums": (lambda x: x * x, [np.arange(1030, dtype=np.uint32) << 20], {},
                      [("store", o.accumulate)]),
    "rows by elements": (lambda x: x - x.max(axis=1, keepdims=True), [array((6, 36)) - 10], {},
                         BY_ELEMENT),
    "a reduction by elements": (lambda x: np.sqrt((x * x).sum()), [array((39004,))[1:]], {},
                                BY_ELEMENT),
    "a scan by words": (scanned, [array((5, 300)) - 3], {}, [READ]),
    "a scan of parts by elements": (lambda x: np.cumsum(x * 2) + 1, [array((39004,))[1:]],
                                    {"PARTS": 4}, BY_ELEMENT),
    "a scan of columns by words": (scanned_columns, [array((2, 21, 75)), array((21, 1))], PAIRS,
                                   [READ]),
    "a tile by words": (across, [array((70, 67)), array((67, 70))], {}, BY_WORDS),
    "a tile by elements": (across, [array((70, 67)), array((67, 70))], {}, BY_ELEMENT),
    "a tile straight by elements": (across, [array((70, 67)), array((67, 70))], STRAIGHT,
                                    BY_ELEMENT),
    "a product by words": (product, OPERANDS, {}, BY_WORDS),
    "a product by elements": (product, OPERANDS, {}, BY_ELEMENT),
    "a product of transposed by words": (product, TURNED, {}, BY_WORDS),
    "a product of transposed by elements": (product, TURNED, {}, BY_ELEMENT),
    "a product of strided by elements": (product, STRIDED, {}, BY_ELEMENT),
    "a product straight by words": (product, OPERANDS, STRAIGHT, BY_WORDS),
    "a product straight by elements": (product, TURNED, STRAIGHT, BY_ELEMENT),
    "a product's rows by elements": (lambda x, w: (x @ w).max(axis=1),
                                     [array((35, 21)), array((21, 37))], {}, BY_ELEMENT),
    "pixels by words": (grade, [array((7, 9, 3))], {}, BY_WORDS),
    "pixels by elements": (grade, [array((7, 9, 3))], {}, BY_ELEMENT),
    "pixels and a colour by elements": (saturated, [array((7, 9, 3)), array((3,))], {}, BY_ELEMENT),
    "pixels strided by elements": (grade, [array((7, 18, 6))[:, ::2, ::-2]], {}, BY_ELEMENT),
}  # fmt: skip


def complexes(shape):
    parts = RNG.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1]).astype(np.complex64)


def offset(values):
    """The same elements, half an element behind what they are aligned to."""
    item = values.dtype.itemsize
    room = np.zeros(values.nbytes + item, np.uint8)
    made = room[item // 2 : item // 2 + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


LARGE = {"BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8}
# Whole chunks up to the last element; tiles on their way, by copies; the last has more shared memory than a kernel may declare.
STAGED = {
    "whole chunks element by element": (lambda x: x * 2 + 1, [array((1024,))],
                                        {"USE_VECTOR_IO": 0}),
    "whole runs": (lambda x: x.sum(axis=(0, 2)), [array((9, 3, 36))], {}),
    "stages": (product, OPERANDS, {"STAGES": 2, "BLOCK_K": 8}),
    "three stages": (product, [array((40, 70)), array((70, 48)), array((40, 1))], {"STAGES": 3}),
    "stages of transposed": (product, TURNED, {"STAGES": 3, "BLOCK_K": 8}),
    "stages of strided": (product, STRIDED, {"STAGES": 2, "BLOCK_K": 8}),
    "stages element by element": (product, OPERANDS,
                                  {"STAGES": 2, "BLOCK_K": 8, "USE_VECTOR_IO": 0}),
    "stages of one tile": (multiplied, [array((20, 16)), array((16, 20))], {"STAGES": 2}),
    "stages of tiny numbers": (multiplied, [-np.abs(array((33, 17))) * 1e-30,
                                            np.abs(array((17, 5))) * 1e-30], {"STAGES": 2}),
    "stages of doubles": (multiplied, [array((40, 70)).astype(np.float64),
                                       array((70, 48)).astype(np.float64)], {"STAGES": 2}),
    "stages of complex numbers": (multiplied, [offset(complexes((20, 30))), complexes((30, 18))],
                                  {"STAGES": 2}),
    "stages of rows": (lambda x, w: (x @ w).max(axis=1), [array((36, 70)), array((70, 50))],
                       {"STAGES": 2, **THROUGH_MEMORY}),
    "four stages of large tiles": (multiplied, [array((40, 150)), array((150, 48))],
                                   {**LARGE, "STAGES": 4}),
}  # fmt: skip
CASES |= {name: (function, given, toggles) for name, (function, given, toggles, _) in
          REPLACED.items()} | STAGED  # fmt: skip
# Of these alone helpers are called that no other kernel calls: a few, for each is tried.
HELPER_CASES += [
    "pixels by words", "stages of transposed", "stages element by element", "stages of one tile",
    "stages of complex numbers", "whole chunks element by element", "whole runs",
]  # fmt: skip
