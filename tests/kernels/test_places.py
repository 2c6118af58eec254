"""Places that follow from the columns: chunks of tables that are runs, and those that are not."""

import numpy as np
import pytest

import opweave as ow
from tests.support.processes import python

RNG = np.random.default_rng(20261126)
MODES = ("edge", "wrap", "reflect", "symmetric")
# Extents beside those of a chunk of 64, and of none.
EXTENTS = (1, 2, 3, 63, 64, 65, 127, 128, 129, 200)


def padded(x):
    return tuple(np.pad(x, 3, mode=mode) for mode in MODES)


def filtered(x):
    found = []
    for mode in MODES:
        p = np.pad(x, 1, mode=mode)
        found.append(p[1:-1, :-2] + p[1:-1, 2:] * 2 + p[:-2, 1:-1] + p[2:, 1:-1])
    return tuple(found)


def by_columns(x):
    n = x.shape[1]
    j = np.arange(n)
    return (
        x[:, np.clip(j + 2, 0, n - 1)] - x, x[:, (j + 70) % n], x[:, n - 1 - j] - x, x[:, j // 2],
        x[:, np.minimum(j, 3)], x[:, np.maximum(j - 65, 0)], x[:, np.abs(j - 5) % n],
    )  # fmt: skip


def by_rows_too(x):
    i, j = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])
    return x[i, (i + j) % x.shape[1]], x[(i + 1) % x.shape[0], np.clip(j - i, 0, None)]


CASES = {f.__name__: f for f in (padded, filtered, by_columns, by_rows_too)}


LAYOUTS = {"rows": lambda x: x, "backwards": lambda x: x[:, ::-1], "columns": np.asfortranarray}
CELLS = [
    *((name, np.float32, "rows") for name in CASES),
    ("filtered", np.uint8, "rows"), ("by_columns", np.complex128, "rows"),
    ("by_columns", np.float32, "backwards"), ("by_rows_too", np.float32, "columns"),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize(("name", "dtype", "layout"), CELLS)
def test_elements_are_numpys_whatever_chunks_they_lie_in(name, dtype, layout):
    fused = ow.fuse(CASES[name], fullgraph=True)
    for n in EXTENTS:
        x = LAYOUTS[layout]((RNG.standard_normal((5, n)) * 50).astype(dtype))
        for found, expected in zip(fused(x), CASES[name](x), strict=True):
            np.testing.assert_array_equal(found, expected)


# An array that ends where a page begins that nobody may read.
AT_THE_END = """
    import ctypes, mmap
    import numpy as np
    import opweave as ow

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    page = mmap.PAGESIZE
    begin = libc.mmap(None, 2 * page, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0)
    assert libc.mprotect(ctypes.c_void_p(begin + page), page, 0) == 0
    rows, columns = 3, 130
    address = begin + page - 4 * rows * columns
    memory = (ctypes.c_float * (rows * columns)).from_address(address)
    x = np.frombuffer(memory, np.float32).reshape(rows, columns)
    x[:] = np.arange(rows * columns).reshape(rows, columns)

    def late(x):
        wide = np.pad(x, ((0, 0), (2, 3)), mode="edge")
        return np.concatenate([wide, -wide])  # of either half the other one has no rows

    assert (ow.fuse(late, fullgraph=True)(x) == late(x)).all()
    print("read what there is")
"""


@pytest.mark.host
def test_no_chunk_is_read_beyond_its_table():
    assert python(AT_THE_END) == "read what there is\n"


@pytest.mark.host
def test_places_are_made_before_the_elements_and_once_for_all_rows_that_are_read():
    x = RNG.standard_normal((9, 130)).astype(np.float32)
    (kernel,) = ow.fuse(filtered, fullgraph=True).lower(x, target="host").kernels

    assert kernel.source.count("= places_of<VECTOR>(") == 3 * len(MODES)
    assert kernel.source.count("load_places(") == 16
    assert "read_at" not in kernel.source


@pytest.mark.host
def test_a_place_that_there_is_not_is_refused():
    with pytest.raises(ow.errors.BoundsError, match="index 130"):
        ow.fuse(lambda x: x[:, np.arange(x.shape[1]) + 1])(np.zeros((3, 130)))


@pytest.mark.parametrize("function", [
    lambda x: x[:, (x[0] > 0).astype(int)], lambda x: np.take(x, [3, 1, 2], axis=1).sum(axis=1),
])  # fmt: skip
def test_places_from_memory_and_those_that_are_summed_over_are_read_one_by_one(function):
    x = RNG.standard_normal((9, 130)).astype(np.float32)
    program = ow.fuse(function, fullgraph=True).lower(x, target="host")

    assert "places_of" not in program.source


def test_a_gpus_threads_read_neighbours_as_they_are():
    x = RNG.standard_normal((9, 130)).astype(np.float32)

    assert "places" not in ow.fuse(filtered).lower(x, target="sm_90a").source
