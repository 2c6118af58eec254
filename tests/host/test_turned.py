"""Arrays that lie across a loop of the host: squares of them are turned in registers."""

import numpy as np
import pytest

import opweave as ow
from tests.support.processes import python

pytestmark = pytest.mark.host
RNG = np.random.default_rng(11)
DTYPES = ["bool", "u1", "i2", "f2", "f4", "i8", "f8", "c8", "c16"]
# Whole tiles and squares, edges of both kinds, and arrays smaller than a square in one direction.
SHAPES = [(64, 64), (128, 192), (67, 72), (35, 47), (100, 33), (32, 300), (130, 129)]
FUNCTIONS = {
    "copied": lambda x, y: x.T.copy(),
    "beside another": lambda x, y: x.T + y,
    "two turned": lambda x, y: (y == x.T) | (x == y.T).T,
    "turned batches": lambda x, y: np.stack([x, x]).transpose(0, 2, 1) + y,
}


def numbers(shape, dtype):
    found = RNG.standard_normal(shape) * 90
    return (found + 1j * found[::-1] if dtype[0] == "c" else found).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_turned_arrays_are_numpys(name, dtype):
    fused = ow.fuse(FUNCTIONS[name])
    for shape in SHAPES:
        x, y = numbers(shape, dtype), numbers(shape[::-1], dtype)
        np.testing.assert_array_equal(fused(x, y), FUNCTIONS[name](x, y))


def test_nans_and_signs_of_zeros_keep_their_bits():
    for dtype, bits in (("f2", "u2"), ("f4", "u4"), ("f8", "u8")):
        x = RNG.integers(0, 2**63, (77, 90), np.uint64).astype(bits).view(dtype)
        found = ow.fuse(lambda x: x.T.copy())(x)
        np.testing.assert_array_equal(found.view(bits), x.T.copy().view(bits))


def test_what_is_beside_a_turned_array_is_not_touched():
    memory = np.zeros((80, 100))
    x = numbers((40, 70), "f8")

    def into(x, out):
        out[3:73, 5:45] = x.T

    ow.fuse(into)(x, memory)
    np.testing.assert_array_equal(memory[3:73, 5:45], x.T)
    memory[3:73, 5:45] = 0
    assert not memory.any()


@pytest.mark.parametrize("toggles", [{}, {"USE_SHARED_MEMORY": 1}])
def test_a_load_of_ones_own_reads_one_by_one(toggles):
    twice = ow.load("x", by=ow.structural("load", "*p * 2"))
    kernel = ow.kernel([twice, ow.load("y"), ow.opcodes.add("x", "y"), ow.store()])
    x, y = numbers((67, 72), "f8"), numbers((72, 67), "f8")
    fused = kernel.with_toggles(**toggles)

    np.testing.assert_array_equal(fused(x.T, y), 2 * x.T + y)
    (text,) = fused.lower(x.T, y, target="host").lowered.sources
    assert "load_turned" not in text


def test_squares_that_a_stack_cannot_hold_are_refused():
    fused = ow.fuse(FUNCTIONS["beside another"]).with_toggles(VECTOR=1024, TILE=1024)
    with pytest.raises(ow.errors.ToggleError, match="VECTOR=1024.* squares of 8192 KiB"):
        fused.lower(np.ones((40, 50)), np.ones((50, 40)), target="host")
    on_gpu = fused.with_toggles(USE_SHARED_MEMORY=0)
    assert on_gpu.lower(np.ones((40, 50)), np.ones((50, 40)), target="sm_80").kernels


# Memory between two pages that nobody may read.
BETWEEN = """
    import ctypes, mmap
    import numpy as np
    import opweave as ow

    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    private, page, inner = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PAGESIZE, 8 * mmap.PAGESIZE
    begin = libc.mmap(None, inner + 2 * page, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0)
    for place in (begin, begin + page + inner):
        assert libc.mprotect(ctypes.c_void_p(place), page, 0) == 0
    turned = ow.fuse(lambda x: x.T.copy())
    for dtype in (np.uint8, np.float32, np.float64, np.complex128):
        for rows, columns in ((35, 33), (33, 50), (40, 41), (64, 32)):
            count, size = rows * columns, np.dtype(dtype).itemsize
            for place in (begin + page, begin + page + inner - count * size):
                memory = (ctypes.c_byte * (count * size)).from_address(place)
                x = np.frombuffer(memory, dtype).reshape(rows, columns)
                x[:] = np.arange(count).reshape(rows, columns) % 100
                assert (turned(x) == x.T).all()
    print("read what there is")
"""


def test_no_square_is_read_beyond_its_array():
    assert python(BETWEEN) == "read what there is\n"


@pytest.mark.parametrize("toggles", [{"TILE": 32}, {"VECTOR": 4}, {"USE_SHARED_MEMORY": 1}])
def test_toggles_change_no_number(toggles):
    fused = ow.fuse(FUNCTIONS["beside another"]).with_toggles(**toggles)
    x, y = numbers((67, 72), "f4"), numbers((72, 67), "f4")
    np.testing.assert_array_equal(fused(x, y), x.T + y)
