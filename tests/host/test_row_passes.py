"""Rows on a host: whole chunks apart, and for ordinary numbers first; the bits are as without."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.row_passes import with_row_passes

X = np.linspace(-1, 1, 1200, dtype=np.float32).reshape(4, 300)
SPECIAL = {
    "f4": [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3e38, 1e25, 1e-25, -88, -104, 90],
    "f8": [0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-308, 1e308, 1e250, 1e-200, -709, -746, 710],
    "f2": [0, -0.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 6e4, -11, -18, 12],
}  # fmt: skip
# One below and above a chunk; rows that are too short for a reciprocal, and longer ones.
COLUMNS = (1, 31, 33, 255, 257, 300)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def by_sum(x):
    return x / x.sum(axis=1, keepdims=True)


def by_largest(x):
    return x / np.abs(x).max(axis=1, keepdims=True)


def by_least(x):
    return x / np.abs(x).min(axis=1, keepdims=True)


def normalised(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True))


def sigmoids(x):
    return (1 / (1 + np.exp(-x))).sum(axis=1)


def scaled_in_place(x):
    x /= np.abs(x).min(axis=1, keepdims=True)
    return x


def whole(x):
    return np.exp(x).sum(), x.max()


def rows(dtype, columns):
    """Rows of ordinary numbers, with some special ones, with nothing else, and far from 1."""
    draw = np.random.default_rng(columns)
    x = (draw.standard_normal((48, columns)) * 3).astype(dtype)
    special = np.array(SPECIAL[dtype], dtype)
    for row in x[8:32]:
        row[draw.integers(0, columns, 2)] = draw.choice(special, 2)
    x[32:39] = special[:7, None]
    for row, scale in zip(x[39:44], (1e-30, 1e30, 1e-9, 1e14, -1), strict=True):
        row *= np.asarray(scale).astype(dtype)
    x[44:] *= np.finfo(dtype).tiny * 8
    x[44:, -1] = np.pi  # quotients about the least normal number
    return x


def same(a, b):
    bits = f"u{a.dtype.itemsize}"
    return np.all((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b)))


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SPECIAL)
@pytest.mark.parametrize(
    "function",
    [softmax, by_sum, by_largest, by_least, normalised, sigmoids, scaled_in_place, whole],
    ids=lambda f: f.__name__,
)
def test_any_number_of_a_row_has_the_bits_of_single_operators(function, dtype):
    fused = ow.fuse(function)
    for columns in COLUMNS:
        x = rows(dtype, columns)
        made, apart = (np.atleast_1d(f(x.copy())) for f in (fused, fused.unfused()))
        for a, b in zip(made, apart, strict=True):
            assert same(np.atleast_1d(a), np.atleast_1d(b)), columns


DIVIDED = {
    "an integer": lambda x, s: x / 3,
    "a fraction": lambda x, s: x / 0.1,
    "less than nothing": lambda x, s: x / -7.0,
    "a power of two": lambda x, s: x / 4,
    "the largest": lambda x, s: x / np.finfo(x.dtype).max,
    "the least": lambda x, s: x / np.finfo(x.dtype).tiny,
    "an argument": lambda x, s: x / s,
}


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("case", DIVIDED)
def test_a_division_by_one_number_has_numpys_bits(case, dtype):
    function = DIVIDED[case]
    fused = ow.fuse(function)
    x = rows(dtype, 300)
    numbers = (*SPECIAL[dtype], 2.7, -1.1) if case == "an argument" else (1.0,)
    for number in numbers:
        s = x.dtype.type(number)
        assert same(fused(x, s), function(x, s)), number


PICKED = {
    "each element": lambda x, p: x[p] * 2,
    "sums of rows": lambda x, p: x[p].sum(axis=1),
    "exponentials, in rows": lambda x, p: np.exp(-x[p]).sum(axis=1),
    "columns": lambda x, p: np.stack([x, x * 2])[:, p[0]],
    "what is counted": lambda x, p: x[np.arange(300) + p[0, 0].astype(int)],
}


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u1", "u8"])
@pytest.mark.parametrize("case", PICKED)
def test_indices_are_found_missing_wherever_they_are(case, dtype):
    function = PICKED[case]
    fused = ow.fuse(function)
    x = np.linspace(0, 3, 340).astype("f4")
    places = np.random.default_rng(0).integers(0, 200, (3, 300)).astype(dtype)
    places[0, 0] = 40
    if dtype[0] == "i" and case != "what is counted":
        places[:, 100:140] -= 210
    assert same(fused(x, places), fused.unfused()(x, places))
    np.testing.assert_allclose(fused(x, places), function(x, places), rtol=1e-6)

    beyond = 340 if dtype != "u1" else 255
    x = x[: beyond - 41] if dtype == "u1" else x
    for at in ((0, 0), (0, 77), (2, 299)):
        wrong = places.copy()
        reads = {"columns": at[0] == 0, "what is counted": at == (0, 0)}
        if not reads.get(case, True):
            continue
        for far in (2**40 + 5 if dtype == "i8" else beyond, beyond):
            wrong[at] = far
            for run in (fused, function):
                with pytest.raises(IndexError):
                    run(x, wrong)


@pytest.mark.host
def test_places_that_are_counted_are_found_missing():
    fused = ow.fuse(lambda x, k: x[:, np.arange(x.shape[1] // 3 - 60) * 3 + k])
    x = np.arange(600, dtype="f4").reshape(2, 300)
    for k in (0, 7, -40, -119):
        assert same(fused(x, k), x[:, np.arange(40) * 3 + k])
    for k in (183, -301, 2**33):
        with pytest.raises(IndexError):
            fused(x, k)


KERNEL = """#include "opweave.cuh"
#include "rows.cuh"
kernel(
    const float* __restrict__ x,
    float* __restrict__ out)
{
    float sum0_acc[LANES];
    for (int l = 0; l < LANES; ++l) {
        sum0_acc[l] = 0;
    }
    const float scale = 2.0f;
#pragma unroll ROW_CHUNKS
    for (index_t c = 0; c < chunks; ++c) {
        const index_t j0 = c * LANES;
        float x_v[LANES];
        read_chunk(x_v, x_row, c, j0);
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const bool inside = j0 + l < width;
            BODY
        }
        store_chunk(out + j0, out_v, width - j0);
    }
}
"""
CHUNKS, AGAIN = "ow_run_chunks(", "ow_run_pass<"
RUN = {
    "out_v[l] = x_v[l] + 1.0f;": CHUNKS,
    "out_v[l] = exp(x_v[l]);": AGAIN,
    "out_v[l] = x_v[l] / scale;": AGAIN,
    "out_v[l] = round_f16(x_v[l] / scale);": AGAIN,
    "sum0_acc[l] = chosen(inside, sum0_acc[l] + exp(x_v[l]), sum0_acc[l]);": AGAIN,
    # what is no quotient of the two, or of numbers of other types
    "out_v[l] = 2.0f * x_v[l] / scale;": CHUNKS,
    "out_v[l] = x_v[l] / scale * 2.0f;": CHUNKS,
    "out_v[l] = x_v[l] / other;": CHUNKS,
    "const float scale = x_v[l];\n            out_v[l] = 1.0f / scale;": CHUNKS,
    # what may not run twice
    "max0_acc[l] = max_nan(max0_acc[l], exp(x_v[l]));": CHUNKS,
    "x_v[l] = exp(x_v[l]);": CHUNKS,
    "total += exp(x_v[l]);": CHUNKS,
    "if (inside) out_v[l] = exp(x_v[l]);": CHUNKS,
    # what leaves the loop
    "if (turn < turns - 1) continue;": "for (index_t c",
    "return;": "for (index_t c",
}


@pytest.mark.parametrize("body", RUN)
def test_a_pass_runs_again_only_where_it_finds_what_it_found(body):
    text = KERNEL.replace("BODY", body)
    made = with_row_passes(text)

    assert RUN[body] in made
    assert (AGAIN in made) == (RUN[body] == AGAIN) == ('#include "ordinary.cuh"' in made)
    assert (made == text) == (RUN[body] not in (CHUNKS, AGAIN))
    assert made.count("\n") == text.count("\n")  # of a complaint
    assert ("ow_whole || j0 + l < width" in made) == (made != text)
    assert ("sum0_acc[l] = 0; }" in made) == ("sum0" in body)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float* __restrict__ out", "float* out"),
        ("read_chunk(x_v, x_row, c, j0);", "total = total + 1;"),
        ("read_chunk(x_v, x_row, c, j0);", "atomicAdd(out, 1.0f);"),
    ],
)
def test_nor_where_it_may_store_what_it_reads_or_does_more(old, new):
    text = KERNEL.replace("BODY", "out_v[l] = exp(x_v[l]);").replace(old, new)
    made = with_row_passes(text)
    assert CHUNKS in made
    assert AGAIN not in made


OWN = {
    "beside a maximum of bools": lambda both, near, a, b: both(a, b).max(axis=1),
    "of bools and of integers": lambda both, near, a, b: both(a, b) | both(a > 9, b > 9),
    "names of ours": lambda both, near, a, b: np.logical_and(a + 1, b + 2) & near(a * b),
}


@pytest.mark.host
@pytest.mark.parametrize("case", OWN)
def test_truths_of_integers_are_not_those_of_their_bits(case):
    text = "bool v0 = x > 0; bool v1 = x < 5; return v0 && v1;"
    near = ow.operator("near", text, "bool", lambda x: (x > 0) & (x < 5))
    text = "const bool r = x && y; return r;"
    both = ow.operator("both", text, "bool", lambda x, y: np.logical_and(x, y))
    fused = ow.fuse(lambda a, b: OWN[case](both, near, a, b))
    a, b = np.tile([1, 2, 4, 0], 500).reshape(4, 500), np.tile([2, 1, 4, 1], 500).reshape(4, 500)

    assert np.array_equal(fused(a, b), fused.reference(a, b))


@pytest.mark.host
def test_names_of_an_edited_source_are_its_own():
    program = ow.fuse(lambda x: x - x.max(axis=1, keepdims=True)).lower(X, target="host")
    source = program.source.replace("= x_v[l] - max0;", "= x_v[l] - max0 + whole;")
    source = source.replace("    // pass 0", "    const float whole = 5;\n    // pass 0", 1)

    assert np.array_equal(program.compile(source)(X), X - X.max(axis=1, keepdims=True) + 5)


@pytest.mark.host
def test_what_counts_its_calls_runs_once():
    program = ow.fuse(lambda x: np.exp(x)).lower(X, target="host")
    source = program.source.replace("exp(x_v[c][l]);", "exp(x_v[c][l]) + tick(calls);")
    source = source.replace("    float out_v", "    unsigned calls = 0;\n    float out_v", 1)
    helper = '__device__ float tick(unsigned& n) { return (float)n++; }\nextern "C"'
    rare = X.copy()
    rare[0, 3] = -200
    edited = program.compile(source.replace('extern "C"', helper, 1))

    assert np.array_equal(edited(rare)[1:], edited(X)[1:])
    assert edited(rare)[0, 3] == 3


def test_texts_without_rows_are_left_as_they_are():
    text = KERNEL.replace("BODY", "out_v[l] = exp(x_v[l]);").replace('#include "rows.cuh"\n', "")
    assert with_row_passes(text) == text
