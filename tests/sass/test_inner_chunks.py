"""Chunks of a thread that no row of a shape class ends in or before, and those behind them."""

import re

import ml_dtypes
import numpy as np
import pytest

import opweave as ow

BFLOAT16 = ml_dtypes.bfloat16
TARGETS = ["sm_75", "sm_80", "sm_90a"]
IN_FLIGHT = "opweave__loads_in_flight_per_thread"


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def place(x):
    return x.argmax(axis=-1)


def total(x):
    return x.sum(axis=-1)


def halves(columns, rows=5):
    found = np.random.default_rng(columns).integers(-4, 5, (rows, columns))
    return found.astype(BFLOAT16)


# columns, chunks of a thread that lie inside of all rows of the class
CLASSES = [
    (1, 0), (31, 0), (32, 1), (33, 1), (129, 1), (512, 4), (513, 4), (1000, 4), (1001, 4),
    (1023, 4), (1024, 8), (1025, 8), (4096, 16), (4097, 8), (20_000, 8), (40_000, 0),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "inner"), CLASSES)
def test_half_the_chunks_of_a_class_are_inner_ones_and_all_where_rows_fill_them(columns, inner):
    text = ow.fuse(softmax).lower(np.ones((5, columns), "f4"), target="sm_80").source
    found = re.search(r"#define INNER_CHUNKS +(\d+)", text)

    assert int(found[1] if found else 0) == inner


@pytest.mark.host
@pytest.mark.parametrize("function", [softmax, place, total])
@pytest.mark.parametrize("dtype", ["f4", "f2", BFLOAT16, "u1"])
def test_a_row_has_the_bits_that_it_has_where_each_pass_reads_it_again(function, dtype):
    fused = ow.fuse(function)
    again = fused.with_toggles(USE_REGISTER_ROW=0)
    for columns in (65, 128, 513, 1000, 1001, 1023, 1024):
        x = halves(columns).astype(dtype)

        found = fused.lower(x, target="sm_80")(x)

        np.testing.assert_array_equal(found, again.lower(x, target="sm_80")(x))


@pytest.mark.host
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 6])
def test_threads_without_a_row_read_nothing(rows):
    x = halves(1001, rows).astype("f4")

    found = ow.fuse(total).lower(x, target="sm_80")(x)

    np.testing.assert_array_equal(found, x.sum(axis=-1))


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [softmax, place, total])
@pytest.mark.parametrize("dtype", ["f2", BFLOAT16])
def test_loads_of_rows_of_odd_length_are_on_their_way_together(function, dtype, target):
    x = halves(1001).astype(dtype)

    (kernel,) = ow.profile(ow.fuse(function), x, target=target).kernels

    assert kernel.counters[IN_FLIGHT] >= 16
