"""Search in sorted tables of any length: no place outside of a table is read."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000)


def both(table, x):
    return np.searchsorted(table, x), np.searchsorted(table, x, "right")


def tables(dtype, length):
    """A sorted table with equal elements, and, of floats, with NaN behind them; queries."""
    rng = np.random.default_rng(length)
    table = np.sort(rng.integers(-20, 20, length).astype(dtype))
    x = np.concatenate([table, table + 1, table - 1, [-100, 0, 100]]).astype(dtype)
    if dtype[0] != "f":
        return table, x
    holes = np.concatenate([table[: length - length // 4], np.full(length // 4, np.nan, dtype)])
    return holes, np.concatenate([x, x + 0.5, [np.nan, np.inf, -np.inf]]).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i8", "u1"])
def test_places_in_tables_of_any_length_are_numpys(dtype):
    fused = ow.fuse(both, fullgraph=True)
    for length in LENGTHS:
        table, x = tables(dtype, length)
        for found, expected in zip(fused(table, x), both(table, x), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    # a length has as many steps as all with as many binary digits
    assert fused._specialised.traces == len({n.bit_length() for n in LENGTHS})


@pytest.mark.nvrtc
@pytest.mark.parametrize("length", [1, 4, 5, 8])
def test_places_are_numpys_on_a_gpu(length):
    table, x = tables("f4", length)
    program = ow.fuse(both, fullgraph=True).lower(table, x, target="sm_80")
    for way in ({}, {"executor": "ptx"}):  # both check that what is read is there
        for found, expected in zip(program.verify(table, x, **way), both(table, x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_line_between_two_points_and_beyond_them_is_numpys():
    fused = ow.fuse(lambda x, xp, fp: np.interp(x, xp, fp), fullgraph=True)
    for length in LENGTHS[2:]:
        rng = np.random.default_rng(length)
        xp, fp = np.sort(rng.standard_normal(length)), rng.standard_normal(length)
        x = np.concatenate([xp, rng.standard_normal(50) * 2, [np.nan, np.inf, -np.inf]])
        assert fused(x, xp, fp).tobytes() == np.interp(x, xp, fp).tobytes()
        narrow = xp.astype("f4"), fp.astype("f4")
        assert fused(x, *narrow).tobytes() == np.interp(x, *narrow).tobytes()


@pytest.mark.nvrtc
@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_lines_are_numpys_on_a_gpu(length):
    rng = np.random.default_rng(length)
    xp, fp = np.sort(rng.standard_normal(length)).astype("f4"), rng.standard_normal(length)
    x = np.concatenate([xp, rng.standard_normal(20) * 2, [np.nan, np.inf, -np.inf]])
    program = ow.fuse(np.interp, fullgraph=True).lower(x, xp, fp, target="sm_80")
    assert len(program.kernels) == 1
    assert program.verify(x, xp, fp).tobytes() == np.interp(x, xp, fp).tobytes()
