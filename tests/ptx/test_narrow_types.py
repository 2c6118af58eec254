"""Narrow types in PTX: each bit of the cheaper ways that a GPU has for them."""

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from tests.support.variants import aligned

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
HALVES = np.arange(1 << 16, dtype=np.uint16)
BF16 = ml_dtypes.bfloat16


def by_ptx(function, *args, target="sm_80"):
    program = ow.fuse(function).lower(*args, target=target)
    return program.verify(*args, executor="ptx"), program.kernels[0]


def equal(found, expected):
    """The same bits, or both a NaN."""
    nan = expected != expected
    np.testing.assert_array_equal(found != found, nan)
    bits = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


def floats_around(dtype):
    """Of each half, the float, its neighbours, and those about the middle to the next one."""
    wide = HALVES.view(dtype).astype(np.float32).view(np.uint32)
    step = 1 << (16 if dtype is BF16 else 13)
    near = [wide + np.uint32(d) for d in (0, 1, step // 2 - 1, step // 2, step // 2 + 1)]
    return np.concatenate(near)[::7].copy().view(np.float32)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [BF16, np.float16], ids=["bf16", "f16"])
def test_a_float_is_rounded_to_the_nearest_half(dtype, target):
    x = floats_around(dtype)
    stored, kernel = by_ptx(lambda x: x.astype(dtype), x, target=target)
    within, _ = by_ptx(lambda x: x.astype(dtype).astype(np.float32) * 1, x, target=target)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(dtype)

    equal(stored, expected)
    equal(within, expected.astype(np.float32))
    packed = f"cvt.rn.{'bf16' if dtype is BF16 else 'f16'}x2.f32"
    assert (packed in kernel.ptx) == (target != "sm_75")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_nan_of_halves_is_the_canonical_one_wherever_it_is_rounded(target):
    x = np.array([0x7F81, 0xFFC1, 0xFF80, 0x7FC0], np.uint16).view(BF16)
    found, _ = by_ptx(lambda x: x - x, x, target=target)

    assert set(found.view(np.uint16)) == {0x7FFF}


WHOLE = [np.arange(256, dtype=np.uint8), np.arange(-128, 128).astype(np.int8),
         np.arange(0, 1 << 16, 13).astype(np.uint16), np.arange(-(1 << 15), 1 << 15, 17).astype(np.int16)]  # fmt: skip


@pytest.mark.parametrize("by", [255, 3, -7, 65535, 127.5, 0.1, 49])
@pytest.mark.parametrize("x", WHOLE, ids=lambda x: x.dtype.name)
def test_a_small_integer_is_divided_by_a_literal_as_ieee_says(x, by):
    found, kernel = by_ptx(lambda x: x.astype(np.float32) / np.float32(by), x)

    equal(found, x.astype(np.float32) / np.float32(by))
    assert ("whole_quotient" in kernel.source) == (by != 0.1)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, 49.0, 0.1, 65504.0, 6e-8, 6.1e-5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("by", SPECIAL, ids=str)
def test_halves_are_divided_by_a_value_of_their_row_as_ieee_says(by):
    x = np.concatenate([HALVES[::11].view(np.float16), np.array(SPECIAL, np.float16)])
    x = aligned(x[: len(x) // 32 * 32].reshape(-1, 32))
    first = np.full((len(x), 1), by, np.float16)
    found, kernel = by_ptx(lambda x, y: x / y + (x * 0).max(axis=1, keepdims=True) * 0, x, first)
    with np.errstate(all="ignore"):
        quotient = x / first
        expected = quotient + (x * np.float16(0)).max(axis=1, keepdims=True) * np.float16(0)

    equal(found, expected)
    assert "short_quotient" in kernel.source


def bits(*words):
    return np.array(words, np.uint16).view(BF16)


# Zeros, subnormal, normal and large numbers, infinities, NaN; and some of any exponent.
DIVISORS = bits(
    0, 0x8000, 1, 3, 0x807F, 0x80, 0x7F, 0x0D00, 0x0CFF, 0x0DFF, 0x3F80, 0xBFC0, 0x4044, 0x71FF, 0x7200,
    0x7F40, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, *range(7, 1 << 16, 3511),
)  # fmt: skip


@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_bfloat16_is_divided_by_a_value_of_its_row_as_ieee_says(target):
    x = HALVES[:: 5 if target == "sm_80" else 37].copy().view(BF16)
    x = aligned(np.concatenate([DIVISORS, x])[: len(x) // 32 * 32].reshape(-1, 32))
    for by in DIVISORS:
        first = np.full((len(x), 1), by)
        (found, _), kernel = by_ptx(lambda x, y: (x / y, x.max(axis=1)), x, first, target=target)

        with np.errstate(all="ignore"):
            equal(found, x / first)
        assert "bfloat16_quotient" in kernel.source


EDGES = [0.0, -0.5, 0.99, 127.9, -128.9, 255.5, 256.0, -1.0, 65535.7, 2.0**31 - 128, 2.0**31,
         2.0**31 + 256, -(2.0**31), -(2.0**31) - 256, 2.0**40, 2.0**62, -(2.0**62)]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_a_float_wraps_to_a_byte_through_64_bits(dtype):
    x = np.array([*EDGES, *np.linspace(-1e9, 1e9, 1000)], np.float32)
    found, kernel = by_ptx(lambda x: x.astype(dtype), x)

    np.testing.assert_array_equal(found, x.astype(np.int64).astype(dtype))
    assert "s64.f32" not in kernel.ptx


BOUNDED = [
    (lambda x: np.clip(x, -300, 900), True), (lambda x: np.minimum(np.maximum(x, 0), 1) * 255, True),
    (lambda x: np.maximum(x, 0), False), (lambda x: np.clip(x, -3e9, 0), False),
    (lambda x: 1 / np.clip(x, -1, 1), False), (lambda x: np.clip(x, 0, 1) * 1e30 * 1e30, False),
    (lambda x: 5 / (np.clip(x, 1, 2) + 2) - 3, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "known"), BOUNDED)
def test_what_lies_between_bounds_is_no_more_than_an_int(function, known):
    x = np.array([*EDGES, np.nan, np.inf, -np.inf], np.float32)
    _, kernel = by_ptx(lambda x: function(x).astype(np.uint8), x)

    assert ("byte_of" in kernel.source) == known


@pytest.mark.parametrize("dtype", [BF16, np.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize("pixels", [1, 2])
def test_an_odd_number_of_halves_is_stored_whole(pixels, dtype):
    x = np.linspace(0, 1, 8 * 64 * 3, dtype=np.float32).astype(dtype).reshape(8, 64, 3)
    fused = ow.fuse(lambda x: ow.pixels.saturation(x, 1.5)).with_toggles(VECTOR=pixels)
    assert fused.lower(x, target="sm_80").check(x, executor="ptx").ok


ROWS = [(3, 128), (5, 256), (2, 4096), (3, 512), (4, 130), (3, 300), (1, 40), (1, 37), (6, 1000)]


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.uint8, np.float32])
@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_rows_of_all_lengths_agree_with_verify_mode(shape, dtype):
    rng = np.random.default_rng(1)
    x = aligned((rng.random(shape) * 9).astype(dtype))
    w = aligned((rng.random(shape[1]) * 9).astype(dtype))

    def function(x, w):
        return (x - x.max(axis=1, keepdims=True)) * w, x.sum(axis=1)

    program = ow.fuse(function).lower(x, w, target="sm_90a")
    found, expected = (program.verify(x, w, executor=e) for e in ("ptx", "simt"))

    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()
