"""Results that go past the last cache, which would not hold them: the same bits, whatever lies where."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.canonical import Canonical, with_entry

BYTES = 1 << 20
pytestmark = pytest.mark.host


@pytest.fixture(autouse=True)
def small_cache(monkeypatch):
    """Kernels are made for a last cache of so many bytes."""
    monkeypatch.setattr(hostcc, "last_cache_bytes", lambda: BYTES)


def numbers(count, dtype=np.float64, offset=0):
    """Small whole numbers, at a multiple of 64 bytes and some elements."""
    memory = np.zeros(count + 128, dtype)
    first = -memory.ctypes.data // memory.itemsize % (64 // memory.itemsize) + offset
    made = memory[first : first + count]
    made[:] = np.arange(count) % 100
    return made


def added(x, y):
    return x + y


def in_place(x, y):
    x += y
    return x


def several(x, y):
    return x + y, x > y


def shifted(x, y):
    x[1:] = x[:-1] + y[1:]
    return x


# By name: the function, the elements, their dtype, and how many elements the second lies off.
CASES = {
    "a sum": (added, BYTES // 8, np.float64, 0),
    "a last chunk of some": (added, BYTES // 8 + 70, np.float64, 0),
    "floats": (added, BYTES // 4 + 1, np.float32, 0),
    "bytes": (added, BYTES + 65, np.uint8, 0),
    "what the cache nearly holds": (added, BYTES * 5 // 4 // 24 - 1, np.float64, 0),
    "at another address": (added, BYTES // 8, np.float64, 3),
    "several results": (several, BYTES // 8, np.float64, 0),
    "in place": (in_place, BYTES // 8, np.float64, 0),
    "over its own elements": (shifted, BYTES // 8, np.float64, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_long_results_are_numpys(name):
    function, count, dtype, offset = CASES[name]
    fused = ow.fuse(function)
    for _ in range(2):
        ours, numpys = ([numbers(count, dtype), numbers(count, dtype, offset)] for _ in range(2))
        found, expected = fused(*ours), function(*numpys)
        for one, other in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ours[0], numpys[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8])
@pytest.mark.parametrize("offset", [0, 1, 2, 4, 6, 8, 16, 24, 32, 48])
def test_a_result_is_written_wherever_it_lies(offset, dtype):
    """Of a chunk that begins within a line both ends are stored as ever."""
    count = BYTES // np.dtype(dtype).itemsize + 9
    x, out = numbers(count, dtype), numbers(count, dtype, offset)
    around = out.base.copy()
    first = (out.ctypes.data - out.base.ctypes.data) // out.itemsize
    around[first : first + count] = x * 2
    assert ow.fuse(lambda x: x * 2)(x, out=out) is out
    np.testing.assert_array_equal(out.base, around)


def test_a_result_may_be_the_argument():
    x = numbers(BYTES // 8)
    expected = x * 2
    ow.fuse(lambda x: x * 2)(x, out=x)
    np.testing.assert_array_equal(x, expected)


ENTRIES = {
    "a map of one run": (lambda x: x + 1, (np.ones(5),), "OW_ENTRY_STREAMING(CHUNKS * VECTOR, "),
    "a map of rows": (lambda x, y: x + y, (np.ones((5, 200)), np.ones(200)), "OW_ENTRY("),
    "indices": (lambda x, i: x[i], (np.ones(5), np.zeros(3, int)), "OW_ENTRY_IN_LINE("),
    "rows": (lambda x: x.sum(axis=1), (np.ones((5, 6)),), "OW_ENTRY_IN_LINE("),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_only_maps_of_one_run_may_go_past_the_caches(name):
    function, args, entry = ENTRIES[name]
    (kernel,) = ow.fuse(function).lower(*args, target="host").kernels
    made = with_entry(Canonical(kernel.source, kernel.name), is_ours=True)
    assert f"\n{entry}{kernel.name})\n" in made
    assert ("stream_chunk(" in made) is ("STREAMING" in entry)
    users = with_entry(Canonical(kernel.source, kernel.name), is_ours=False)
    assert f"\nOW_ENTRY({kernel.name})\n" in users
