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

    made = [kernel.source.count(f"= {kind}places_of<VECTOR>(") for kind in ("rising_", "")]
    assert made == [3, 3 * (len(MODES) - 1)]  # clipped ones, and others
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


# What is read one by one is read in a loop before the one that computes functions of it.
I = np.random.default_rng(7).integers(-30, 30, 77)
FUNCTIONS = {
    "rows": lambda x, y: np.concatenate([np.exp(x) * y, x + y]),
    "columns": lambda x, y: np.concatenate([np.exp(x) * y, np.cos(y)], 1),
    "boxes": lambda x, y: np.concatenate([x[:, :2] - np.exp(y[:, :2]), x[:, 2:] + np.exp(y[:, 2:])], 1),
    "picked": lambda x, y: np.sin(x[I, 1]) + np.arange(77) * np.sqrt(abs(y[I, 0])),
    "places_of_places": lambda x, y: np.exp(x[(np.abs(y[I, 2]) % 30).astype(int), 3]),
    "a_condition_is_read": lambda x, y: np.where((x > 0)[I], np.exp(y[I]), 0),
}  # fmt: skip


def in_steps(x, y):
    out = np.zeros((len(x), 2 * x.shape[1] + 1), x.dtype)  # rows of two columns and a rest
    out[:, 1::2] = np.cos(x)
    out[:, 2::2] = np.sin(y)
    return out


FUNCTIONS["in_steps"] = in_steps


ORDERED = ("picked", "places_of_places", "a_condition_is_read")
OF_FUNCTIONS = [
    *((name, dtype) for name in FUNCTIONS for dtype in ("f4", "f8")),
    *((name, "c8") for name in FUNCTIONS if name not in ORDERED),
    *((name, "i4") for name in FUNCTIONS if name != "in_steps"),  # which would cut its values
]


@pytest.mark.host
@pytest.mark.parametrize(("name", "dtype"), OF_FUNCTIONS)
def test_what_is_computed_of_elements_read_one_by_one(name, dtype):
    x, y = ((3 * RNG.standard_normal((30, 5))).astype(dtype) for _ in range(2))
    function = FUNCTIONS[name]
    fused = ow.fuse(function)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fused(x, y), function(x, y), rtol=2e-5, atol=2e-5)
        assert np.array_equal(fused(x, y), fused.unfused()(x, y), equal_nan=True)


@pytest.mark.host
@pytest.mark.parametrize("name", ["rows", "in_steps"])
def test_a_special_function_has_a_loop_without_reads(name):
    x = RNG.standard_normal((30, 3)).astype("f4")
    (source,) = ow.fuse(FUNCTIONS[name]).explain(x[::-1], x[::-1]).sources
    reads, computes = source.split("// read one by one, computed together")[-1].split(
        "#pragma unroll", 1
    )
    assert "read_at" in reads
    assert "read_at" not in computes
    assert any(name in computes for name in ("exp(", "cos("))
    assert not any(name in reads for name in ("exp(", "cos("))


@pytest.mark.host
def test_few_additions_are_computed_as_they_are_read():
    x = RNG.standard_normal((30, 5)).astype("f4")
    (source,) = ow.fuse(lambda x: np.concatenate([x + 1, x * 2])).explain(x[:, ::-1]).sources
    assert "read_at" in source
    assert "read one by one" not in source


@pytest.mark.host
def test_a_place_that_is_none_is_an_error_before_anything_is_computed():
    x = RNG.standard_normal((30, 5)).astype("f4")
    fused = ow.fuse(lambda x, i: np.exp(x[i, 1]))
    with pytest.raises(IndexError):
        fused(x, np.array([0, 30, 1]))
