"""Row 5 of docs/trust.md: views of one memory, and ``out=`` among them, against copied inputs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opweave as ow
from opweave.opcodes.errors import ArgumentError

pytestmark = pytest.mark.host

ROWS, COLS = 6, 10
FUNCTIONS = {
    "map": ow.fuse(lambda x, y: x * 2 - y),
    "row": ow.fuse(lambda x, y: x - (x * y).sum(axis=-1, keepdims=True)),
    "columns": ow.fuse(lambda x, y: y - x.sum(axis=0)),
    "scan": ow.fuse(lambda x, y: np.cumsum(x * y, axis=-1) - x),
    "scan of columns": ow.fuse(lambda x, y: np.cumsum(x, axis=0) + y),
    "transposed": ow.fuse(lambda x, y: (x + y.T.T).T.T * 2),
}
UNFUSED = {name: fused.unfused() for name, fused in FUNCTIONS.items()}


def view(memory, kind, start):
    """A ROWS x COLS view of the memory, at an offset of ``start`` elements."""
    item = memory.itemsize
    rest = memory[start:]
    if kind == "dense":
        return rest[: ROWS * COLS].reshape(ROWS, COLS)
    if kind == "strided":
        return rest[: ROWS * COLS * 2].reshape(ROWS, COLS * 2)[:, ::2]
    if kind == "padded":
        return rest[: ROWS * 16].reshape(ROWS, 16)[:, :COLS]
    if kind == "negative":
        return rest[: ROWS * COLS].reshape(ROWS, COLS)[::-1, ::-1]
    if kind == "columns":
        return rest[: ROWS * COLS].reshape(COLS, ROWS).T
    if kind == "broadcast row":
        return np.broadcast_to(rest[:COLS], (ROWS, COLS))
    if kind == "broadcast column":
        return np.broadcast_to(rest[:ROWS, None], (ROWS, COLS))
    # rows that overlap each other
    return np.lib.stride_tricks.as_strided(rest, (ROWS, COLS), (3 * item, item))


KINDS = ["dense", "strided", "padded", "negative", "columns", "broadcast row", "broadcast column",
         "overlapping rows"]  # fmt: skip
WRITABLE = ["dense", "strided", "padded", "negative", "columns"]
PLACE = st.tuples(st.sampled_from(KINDS), st.sampled_from([0, 1, 4, 8, 30]))
OUT = st.tuples(st.sampled_from(WRITABLE), st.sampled_from([0, 1, 4, 8, 30, 200]))


def fresh(seed):
    return np.random.default_rng(seed).standard_normal(400).astype(np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=12, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(x=PLACE, y=PLACE, out=OUT, seed=st.integers(0, 9))
def test_views_of_one_memory_give_the_bits_of_copies(name, x, y, out, seed):
    memory = fresh(seed)
    a, b, target = view(memory, *x), view(memory, *y), view(memory, *out)
    copies = [a.copy(), b.copy()]
    expected, dense = UNFUSED[name](*copies), FUNCTIONS[name](*copies)
    untouched = np.ones(memory.size, bool)
    untouched[(target.ctypes.data - memory.ctypes.data) // 4 + offsets(target)] = False
    before = memory.copy()

    np.testing.assert_array_equal(expected, dense)
    np.testing.assert_array_equal(expected, FUNCTIONS[name](a, b))
    np.testing.assert_array_equal(before, memory)
    assert FUNCTIONS[name](a, b, out=target) is target
    np.testing.assert_array_equal(expected, target)
    np.testing.assert_array_equal(before[untouched], memory[untouched])


def offsets(array):
    steps = [np.arange(n) * (s // 4) for n, s in zip(array.shape, array.strides, strict=True)]
    return np.add.outer(*steps).reshape(-1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_may_be_its_own_out(name, kind):
    memory = fresh(3)
    a, b = view(memory, kind, 4), fresh(4)[: ROWS * COLS].reshape(ROWS, COLS)
    if not a.flags.writeable or kind == "overlapping rows":
        return
    expected = FUNCTIONS[name](a.copy(), b)

    np.testing.assert_array_equal(expected, FUNCTIONS[name](a, b, out=a))
    np.testing.assert_array_equal(expected, a)


def test_what_cannot_be_written_soundly_is_refused():
    memory = fresh(1)
    x = view(memory, "dense", 0)
    with pytest.raises(ArgumentError, match="read-only"):
        FUNCTIONS["map"](x, x, out=view(memory, "broadcast row", 100))
    with pytest.raises(ArgumentError, match="overlap"):
        ow.fuse(lambda x: (x + 1, x - 1))(x, out=(view(memory, "dense", 100),
                                                  view(memory, "dense", 130)))  # fmt: skip
    with pytest.raises(ArgumentError, match="share memory with each other"):
        FUNCTIONS["map"](x, x, out=view(memory, "overlapping rows", 100))
