"""Integers by one number for all lanes have NumPy's quotients: templates/host/divisors.cuh."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def dividends(dtype):
    """All numbers of up to 16 bits; else those at the ends, around powers of two, and others."""
    limits, dtype = np.iinfo(dtype), np.dtype(dtype).type
    if limits.bits <= 16:
        return np.arange(limits.min, limits.max + 1).astype(dtype)
    powers = np.array([1 << n for n in range(limits.bits - 1)], dtype)
    others = np.random.default_rng(0).integers(limits.min, limits.max, 500, dtype, endpoint=True)
    ends = np.array([limits.min, limits.max, 0], dtype)
    small = np.arange(300, dtype=dtype)
    found = np.concatenate([ends, small, powers - dtype(1), powers, powers + dtype(1), others])
    return np.concatenate([found, -found]) if limits.min else found


def divisors(dtype):
    """All bytes; else some that are like those numbers."""
    found = dividends(dtype)
    bits = np.iinfo(dtype).bits
    if bits == 8:
        return found
    if bits == 16:
        ends = [1, 2, 3, 5, 7, 0, -1, -2, 255, 256, 257, 32767, 32768, 32769, 65535, 4095, 10923]
        near = np.array(ends).astype(dtype)
        return np.concatenate([near, found[:: found.size // 60]])
    return found[:: max(1, found.size // 150)]


def by(x, y):
    return x // y, x % y


@pytest.mark.parametrize("dtype", INTEGERS)
def test_by_a_number_of_the_call(dtype):
    x, fused = dividends(dtype), ow.fuse(by)
    for y in divisors(dtype):
        with np.errstate(all="ignore"):
            expected = by(x, y)
        for found, right in zip(fused(x, y), expected, strict=True):
            assert found.tobytes() == right.tobytes(), y


@pytest.mark.parametrize("dtype", INTEGERS[:6])
def test_by_constants(dtype):
    x = dividends(dtype)
    constants = [y for y in (1, 2, 7, 100, 127, -1, -3, -128) if y >= np.iinfo(dtype).min]
    found = ow.fuse(lambda x: [part for y in constants for part in by(x, y)])(x)
    with np.errstate(all="ignore"):
        expected = [part for y in constants for part in by(x, y)]
    for n, (made, right) in enumerate(zip(found, expected, strict=True)):
        assert made.tobytes() == right.tobytes(), constants[n // 2]
