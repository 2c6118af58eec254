"""Halves that are moved, or whose signs are set, keep all their other bits: runtime/binaries/loads.py."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.loads import with_moved_bits

pytestmark = pytest.mark.host
HALVES = [np.float16, ml_dtypes.bfloat16]
# All numbers of 16 bits, NaN with any payload among them.
BITS = np.arange(65536, dtype=np.uint16)
MOVES = {
    "a copy": lambda x: x.copy(),
    "backwards": lambda x: x[::-1].copy(),
    "every other": lambda x: x[1::2].copy(),
    "turned": lambda x: np.ascontiguousarray(x.reshape(256, 256).T),
    "joined": lambda x: np.concatenate([x, x[3:]]),
    "rolled": lambda x: np.roll(x, 5),
    "repeated": lambda x: np.tile(x, 2),
    "stacked": lambda x: np.stack([x, x[::-1]], 1),
    "one of two": lambda x: np.where(np.arange(x.size) % 3 > 1, x, x[::-1]),
}
# By name: the function of halves, and of their bits.
SIGNS = {
    "a size": (np.abs, lambda b: b & 0x7FFF),
    "a size of floats": (np.fabs, lambda b: b & 0x7FFF),
    "the negative": (lambda x: -x, lambda b: b ^ 0x8000),
    "the negative of a size, turned": (lambda x: -np.abs(x[::-1]), lambda b: b[::-1] | 0x8000),
    "a sign of another": (
        lambda x: np.copysign(x, x[::-1]), lambda b: (b & 0x7FFF) | (b[::-1] & 0x8000),
    ),
}  # fmt: skip
# What computes, beside moves: not rewritten.
OTHERS = {
    "a sum": lambda x: x + 1,
    "the negative of what is more": lambda x: -(x + 1),
    "a filled edge": lambda x: np.where(x > 1, x, 2.0),
    "another type": lambda x: x.astype(np.float32),
    "one of two, by both": lambda x: np.where(x[1:] > x[:-1], x[1:], x[:-1]),
    "one of two, by one": lambda x: np.where(np.isnan(x), x[::-1], x),
    "one of two, by its truth": lambda x: np.where(x - x, x[::-1], x),
    "one by an index": lambda x: x[x.astype(np.int32) % 7],
    "a maximum": lambda x: np.maximum(x[1:], x[:-1]),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", MOVES)
def test_all_bits_are_kept(name, dtype):
    x, fused = BITS.view(dtype), ow.fuse(MOVES[name])
    assert fused(x).tobytes() == MOVES[name](BITS).tobytes()
    texts = [kernel.source for kernel in fused.lower(x).kernels]
    assert all("float" not in with_moved_bits(text).split('extern "C"')[1] for text in texts)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_is_set_as_a_bit(name, dtype):
    (function, of_bits), x = SIGNS[name], BITS.view(dtype)
    fused = ow.fuse(function)
    assert fused(x).tobytes() == of_bits(BITS).tobytes()
    (kernel,) = fused.lower(x).kernels
    assert "float" not in with_moved_bits(kernel.source).split('extern "C"')[1]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", OTHERS)
def test_what_computes_stays_as_it_is(name, dtype):
    x, fused = np.arange(100).astype(dtype), ow.fuse(OTHERS[name])
    np.testing.assert_array_equal(fused(x), OTHERS[name](x))
    for kernel in fused.lower(x).kernels:
        assert with_moved_bits(kernel.source) == kernel.source


# Doubles beside halves that are moved, which have signs of their own.
BESIDE = {
    "a negative": lambda x, y: (np.where(y > 0, x, -x), -y),
    "a size": lambda x, y: (np.where(y > 0, x, np.abs(x)), np.abs(y)),
    "a sign": lambda x, y: np.where(np.copysign(y, y * 2) > 3, x, x[::-1]),
    "a negative that is compared": lambda x, y: np.where(-y > 3, x, x[::-1]),
    "a size that is": lambda x, y: np.where(np.abs(y) > 3e3, x, -x[::-1]),
    "integers": lambda x, y: np.where(-y.astype(np.int64) > 3, x, np.copysign(x, x[::-1])),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", BESIDE)
def test_what_lies_beside_halves_has_a_sign_of_its_own(name, dtype):
    x, y = np.arange(-4, 4).astype(dtype), np.linspace(-5e3, 5e3, 8)
    found, expected = (f(x, y) for f in (ow.fuse(BESIDE[name]), BESIDE[name]))
    for one, other in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
        np.testing.assert_array_equal(one, other)


TEXT = """
    const float16* __restrict__ x,
    float16* __restrict__ out,
    const index_t cols)
    Chunk<float16, VECTOR> x_v[CHUNKS];
    float y_v[CHUNKS][VECTOR];
    float out_v[CHUNKS][VECTOR];
    bool mask[CHUNKS][VECTOR];
    load_chunk(x_v[c], x + j0, cols - j0);
    LINE
    store_chunk(out + j0, out_v[c], cols - j0);
"""


@pytest.mark.parametrize(
    "line",
    [
        "out_v[c][l] = x_v[c][l];", "const float v0 = x_v[c][l + 1];",
        "out_v[c][l] = mask[c][l] ? x_v[c][l] : y_v[c][l];",
        "out_v[c][l] = chosen(mask[c][l], x_v[c][l], y_v[c][l]);",
        "load_window(y_v[c], x, 1, n0, j0 - s0);", "const float v0 = fabs(x_v[c][l]);",
        "out_v[c][l] = -x_v[c][l];", "out_v[c][l] = copysign(x_v[c][l], y_v[c][l]);",
    ],
)  # fmt: skip
def test_lines_that_move(line):
    assert "float" not in with_moved_bits(TEXT.replace("LINE", line))


@pytest.mark.parametrize(
    "line",
    [
        "out_v[c][l] = 1;", "out_v[c][l] = l;", "out_v[c][l] = x_v[c][l] + 1;",
        "out_v[c][l] = -1.0f;", "out_v[c][l] = 2.0f;", "mask[c][l] = x_v[c][l];",
        "mask[c][l] = x_v[c][l] > y_v[c][l];", "const bool v0 = x_v[c][l] == y_v[c][l];",
        "out_v[c][l] = x_v[c][l] ? x_v[c][l] : y_v[c][l];",
        "out_v[c][l] = mask[c][l] ? x_v[c][l] : 1;",
        "out_v[c][l] = chosen(x_v[c][l], x_v[c][l], y_v[c][l]);",
        "out_v[c][l] = chosen(mask[c][l], 0, y_v[c][l]);", "out_v[c][l] = fabs(1.0f);",
        "out_v[c][l] = copysign(x_v[c][l], 1.0f);", "out_v[c][l] = fabsf(x_v[c][l]);",
        "mask[c][l] = -x_v[c][l];", "out_v[c][l] = -l;",
        "load_chunk(y_v[c], x + j0, cols - j0, 1.0f);", "const float s = 3;", "const float s,",
    ],
)  # fmt: skip
def test_lines_that_do_more(line):
    text = TEXT.replace("LINE", line)
    assert with_moved_bits(text) == text
