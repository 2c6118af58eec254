"""Kernels of many arrays that lie apart: runtime/binaries/loads.py."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.loads import MOST_IN_PLACE, with_strides_apart

pytestmark = pytest.mark.host
COUNT = 6


def added(*arrays):
    return sum(arrays[1:], arrays[0])


@pytest.mark.parametrize("step", [2, 3, 4, 7, -1, -3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "bool", "complex64"])
def test_many_arrays_that_lie_apart(dtype, step):
    rng, fused = np.random.default_rng(0), ow.fuse(added)
    for n in (1, 5, 63, 64, 130, 513):
        arrays = [rng.integers(0, 2, n * abs(step)).astype(dtype)[::step] for _ in range(COUNT)]
        np.testing.assert_array_equal(fused(*arrays), added(*arrays))


def test_columns_that_are_written():
    def swept(a):
        for row in a:
            row -= a[0] * 3

    found, expected = (np.arange(64.0).reshape(8, 8).T.copy().T for _ in range(2))
    ow.fuse(swept)(found)
    swept(expected)
    np.testing.assert_array_equal(found, expected)


def test_only_many_are_loaded_apart():
    few = ow.fuse(added).lower(*[np.ones(20)[::2]] * 2).kernels[0].source
    many = ow.fuse(added).lower(*[np.ones(20)[::2].copy() for _ in range(2)]).kernels[0].source
    assert with_strides_apart(few) == few
    assert with_strides_apart(many) == many
    arrays = [np.ones(20)[::2] for _ in range(MOST_IN_PLACE + 1)]
    source = ow.fuse(added).lower(*arrays).kernels[0].source
    assert with_strides_apart(source).count("load_strided_apart(") == MOST_IN_PLACE + 1
