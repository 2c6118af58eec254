"""Tables that are looked up by short unsigned integers: where each has an element, none is checked."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
RNG = np.random.default_rng(20261130)


def picture(dtype, shape=(40, 50), most=256):
    return RNG.integers(0, most, shape).astype(dtype)


# By name: a function of indices and a table.
LOOKUPS = {
    "all": lambda p, t: t[p],
    "some": lambda p, t: t[p[::2, 1:]],
    "computed": lambda p, t: t[p // 2 + 1] * 2,
    "taken": lambda p, t: np.take(t, p, axis=0),
    "taken behind": lambda p, t: np.take(t.T, p, axis=-1),
    "twice": lambda p, t: t[p] + t[255 - p],
    "of a number": lambda p, t: t[p[0, 0]],
    "with others": lambda p, t: t[p, ..., None],
}


@pytest.mark.parametrize("shape", [(256,), (257,), (300,), (256, 3), (256, 2, 3), (256, 0)])
@pytest.mark.parametrize("name", LOOKUPS)
def test_tables_of_all_bytes(name, shape):
    function, table = LOOKUPS[name], RNG.random(shape)
    p = picture(np.uint8)
    fused = ow.fuse(function)
    for _ in range(2):
        np.testing.assert_array_equal(fused(p, table), function(p, table))


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize(
    ("dtype", "extent", "is_checked"),
    [
        (np.uint8, 256, False), (np.uint8, 255, True), (np.int8, 256, True),
        (np.uint16, 65536, False), (np.uint16, 65535, True), (np.uint32, 65536, True),
        (np.int64, 256, True),
    ],
)  # fmt: skip
def test_only_where_each_number_has_an_element_none_is_checked(dtype, extent, is_checked, target):
    table = np.zeros(extent, np.float32)
    (kernel,) = ow.fuse(lambda p, t: t[p]).lower(picture(dtype), table, target=target).kernels
    assert ("faults" in kernel.source) is is_checked


def test_a_shorter_table_is_checked_again():
    fused = ow.fuse(lambda p, t: t[p])
    p, table = picture(np.uint8, most=100), RNG.random(256)
    for length in (256, 100, 256, 300, 101):
        t = np.resize(table, length)
        np.testing.assert_array_equal(fused(p, t), t[p])
    with pytest.raises(IndexError, match="out of bounds"):
        fused(p, table[:50])
    p[3, 4] = 255
    with pytest.raises(IndexError, match="out of bounds"):
        fused(p, table[:255])
    np.testing.assert_array_equal(fused(p, table), table[p])


def test_a_table_that_is_made_here():
    def function(p):
        table = np.clip(np.arange(256) * 1.5 - 20, 0, 255).astype(np.uint8)
        return table[p]

    p = picture(np.uint8)
    np.testing.assert_array_equal(ow.fuse(function)(p), function(p))


def test_elements_that_are_written_by_bytes():
    def function(x, p):
        x[p] = 7.0
        return x

    p = picture(np.uint8, (30,))
    found, expected = (f(np.zeros(256), p) for f in (ow.fuse(function), function))
    np.testing.assert_array_equal(found, expected)


def test_bytes_are_counted_by_a_kernel_in_parts_too():
    def equalised(p):
        counts = np.bincount(p.ravel(), minlength=256)
        total = np.cumsum(counts)
        low = total[total > 0][0]
        table = np.round(255 * (total - low) / max(1, p.size - low))
        return np.clip(table, 0, 255).astype(np.uint8)[p]

    fused, p = ow.fuse(equalised), picture(np.uint8)
    for _ in range(3):
        np.testing.assert_array_equal(fused(p), equalised(p))
    said = str(fused.explain(p))
    assert "runs in parts" in said
    assert "bincount\n" in said
    assert "np.bincount: " not in said
