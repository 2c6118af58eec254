"""On a GPU a row is divided by one number in a few instructions, with the bits of IEEE's division."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import build, hostcc

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
F32 = np.float32
ENDS = np.array(
    [0, -0.0, 1, -1, 3, 1e-45, -1e-45, 1.1754942e-38, 1.1754944e-38, 3.4028235e38, -3.4028235e38,
     np.inf, -np.inf, np.nan], F32,
)  # fmt: skip


def of_all_exponents(count, seed):
    """Numbers of random bits, and of all exponents."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, count, np.uint32)
    return words.view(F32)


def next_to_middles(y, off):
    """Of each divisor in [1, 2) a dividend whose quotient all but lies between two floats.

    Such a middle has 25 bits and is odd: 2**24 x = middle y + off, so it follows from the divisor.
    """
    whole = [int(one * 2**23) | 1 for one in y]
    middles = [-off * pow(w, -1, 2**24) % 2**24 + 2**24 for w in whole]
    x = [(m * w + off) >> 24 for m, w in zip(middles, whole, strict=True)]
    return np.array(x, np.float64) / 2**23, np.array(whole, np.float64) / 2**23


def equal(found, expected):
    """The same bits, or both a NaN."""
    nan = expected != expected
    np.testing.assert_array_equal(found != found, nan)
    np.testing.assert_array_equal(found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])


def quotient_and_least(x, y):
    return x / y, x.min(axis=1)


def verified(function, *args, target="sm_80", executors=("ptx", "simt")):
    program = ow.fuse(function).lower(*args, target=target)
    assert "divide_chunk(" in program.source
    return [program.verify(*args, executor=each) for each in executors]


POWERS = 2.0 ** np.array([-149, -127, -126, -63, -21, -20, -19, 19, 59, 60, 61, 125, 126, 127])
DIVISORS = np.concatenate(
    [ENDS, POWERS.astype(F32), POWERS.astype(F32) * F32(1.9999999), -POWERS.astype(F32)[4:10],
     of_all_exponents(22, 1)],
)  # fmt: skip


def test_each_quotient_is_the_nearest_float_to_the_ends_of_the_range():
    y = np.repeat(DIVISORS, 4).reshape(-1, 1)
    with np.errstate(all="ignore"):
        # dividends of all exponents, and others whose quotients have all
        wanted = of_all_exponents(len(y) * 48, 2).astype(np.float64).reshape(-1, 48)
        scaled = (wanted * y).astype(F32)
        ends = np.broadcast_to(ENDS, (len(y), len(ENDS)))
        x = np.concatenate(
            [of_all_exponents(len(y) * 66, 3).reshape(-1, 66), scaled, ends], axis=1
        )
        expected = x / y

    for found, _ in verified(quotient_and_least, x, y):
        equal(found, expected)


def test_a_quotient_next_to_the_middle_of_two_floats_is_the_nearer_one():
    exponents = 2.0 ** np.arange(-64, 64)
    y = 1 + np.random.default_rng(4).random(200)
    rows = [next_to_middles(y, off) for off in (-3, -1, 1, 3)]
    large = np.array([[15524161], [13731829]]) * 2.0**104  # of which reciprocals lose bits
    by = np.concatenate([*(by.reshape(-1, 1) for _, by in rows), large]).astype(F32)
    x = np.concatenate([*(x for x, _ in rows), [1.95148396, 1.86481595]])
    x = (x.reshape(-1, 1) * exponents).astype(F32)

    for found, _ in verified(quotient_and_least, x, by):
        equal(found, x / by)


def divide(x, y):
    return x / y, x.max(axis=1)


def scaled(x, y):
    return x / 3.7, x.max(axis=1)


def twice(x, y):
    q = (x - y) / x.max(axis=1, keepdims=True)
    return q / q.sum(axis=1, keepdims=True) + x


def of_doubles(x, y):
    return x.astype(np.float64) / y.astype(np.float64), x.max(axis=1)


def mixed(x, y):
    return (x.astype(F32) / y.astype(F32)).astype(x.dtype), x.max(axis=1)


BF16 = ml_dtypes.bfloat16
# function, dtype, target and options; how many divisions of a chunk there are
MADE = [
    (divide, F32, "sm_75", {}, 1), (divide, F32, "sm_90a", {}, 1), (divide, F32, "sm_80", {"fast": True}, 0),
    (divide, F32, "host", {}, 0), (divide, BF16, "sm_80", {}, 0), (mixed, BF16, "sm_80", {}, 1),
    (of_doubles, F32, "sm_80", {}, 0), (twice, F32, "sm_80", {}, 3), (scaled, F32, "sm_80", {}, 1),
    (lambda x, y: (x / 4, x.max(axis=1)), F32, "sm_80", {}, 0),
    (lambda x, y: (x / 255 / -y, x.max(axis=1)), F32, "sm_80", {}, 2),
    (lambda x, y: (y / x, x.max(axis=1)), F32, "sm_80", {}, 0),
    (lambda x, y: (x.astype(np.uint8).astype(F32) / 255, x.max(axis=1)), F32, "sm_80", {}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("function", "dtype", "target", "options", "count"), MADE)
def test_a_chunk_is_divided_at_once_by_what_is_the_same_for_its_row(
    function, dtype, target, options, count
):
    x, y = np.ones((8, 128), dtype), np.ones((8, 1), dtype)
    source = ow.fuse(function, **options).lower(x, y, target=target).source

    assert source.count("divide_chunk(") == count


COLUMNS = [1, 37, 128, 1000, 20_000]


@pytest.mark.parametrize("function", [twice, scaled])
@pytest.mark.parametrize("columns", COLUMNS)
def test_rows_of_all_lengths_and_passes_are_divided_as_separate_kernels_do(function, columns):
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal(shape).astype(F32) for shape in ((3, columns), (3, 1)))
    fused = ow.fuse(function)
    found = fused.lower(x, y, target="sm_80").verify(x, y, executor="ptx")
    alone = fused.unfused().lower(x, y, target="sm_80").verify(x, y, executor="ptx")

    np.testing.assert_equal(found, alone)


def test_the_op_codes_are_listed_in_their_order():
    x, y = np.ones((8, 128), F32), np.ones((8, 1), F32)
    (kernel,) = ow.fuse(twice).lower(x, y, target="sm_80").kernels
    listed = [line for line in kernel.opcodes if line.name in ("subtract", "divide", "add")]
    texts = ["v1 = x_v[l] - y_v", "v2 = v1 / max0"]

    assert [line.text for line in listed] == [
        f"const float {text};"
        for text in (*texts, *texts, "v4 = v2_chunk[l] / sum0", "v5 = v4_chunk[l] + x_v[l]")
    ]


PROOF = r"""
#define USE_64BIT_INDEX 0
#define USE_FAST_MATH 0
#define USE_WARP_SHUFFLE 0
#define THREADS_PER_ROW 1
#define LANES 4
#define BLOCK 1
#define USE_REGISTER_ROW 0
#define WHOLE_CHUNKS 0
#include "opweave.cuh"
#include "rows.cuh"

// Dividends of a divisor y of 24 bits, where the quotient is at most 8 / (2 y) units of its last place
// from the middle of two floats.  2**k x = middle y + off, and so `middle` is known modulo 2**(k - t).
extern "C" void hard_cases(uint64 first, uint64 behind, uint64* found, uint64* wrong) {
    for (uint64 y = first; y < behind; ++y) {
        const int t = __builtin_ctzll(y);
        uint64 inverse = y >> t;
        for (int i = 0; i < 5; ++i) inverse *= 2 - (y >> t) * inverse;
        for (int k = 24; k <= 25; ++k)
            for (int64 off = -8; off <= 8; ++off) {
                if (off == 0 || off % ((int64)1 << t)) continue;
                const uint64 step = (uint64)1 << (k - t);
                uint64 middle = (uint64)(-(off >> t)) * inverse & (step - 1);
                if (middle < 1 << 24) middle += ((1 << 24) - middle + step - 1) / step * step;
                for (; middle < 1 << 25; middle += step) {
                    const uint64 x = (middle * y + off) >> k;
                    if (middle % 2 == 0 || x < 1 << 23 || x >= 1 << 24 || (k == 24) != (x >= y)) continue;
                    float quotient[1] = {(float)x};
                    divide_chunk(quotient, quotient, (float)y);
                    ++*found;
                    *wrong += quotient[0] != (float)x / (float)y;
                }
            }
    }
}
"""


def test_no_quotient_of_floats_is_rounded_wrongly(tmp_path):
    """All those that the error of the correction could round wrongly: the others are far enough.

    A quotient's distance from the middle of two floats is a whole number over 2 y, in units of its
    last place; the correction errs by less than 7 / (2 y).  A dividend of other exponents gives the
    same digits, as long as all numbers are in the range.
    """
    flags, libraries = hostcc.flags("run", fast=False), hostcc.libraries("run")
    built = hostcc.compile_host(PROOF, flags, build.HOST_INCLUDE, libraries)
    (tmp_path / "proof.so").write_bytes(built)
    library = ctypes.CDLL(str(tmp_path / "proof.so"))
    found, wrong = ctypes.c_uint64(), ctypes.c_uint64()
    range_of = (ctypes.c_uint64(1 << 23), ctypes.c_uint64(1 << 24))
    library.hard_cases(*range_of, ctypes.byref(found), ctypes.byref(wrong))

    assert (found.value, wrong.value) == (46_517_418, 0)


def test_an_operand_may_be_called_as_the_quotients_are():
    source = ow.fuse(lambda v0_chunk, y: (v0_chunk / y, v0_chunk.max(axis=1))).lower(
        np.ones((8, 128), F32), np.ones((8, 1), F32), target="sm_80").source  # fmt: skip

    assert "float v0_chunk[LANES]" in source
    assert "float* __restrict__ v0_chunk," not in source
