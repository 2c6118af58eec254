"""Large arrays that are computed apart are copied by several threads, to the last byte."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.host import copies

pytestmark = pytest.mark.host
PIECE = 1 << 17
LEAST = copies.FROM_BYTES


def heat(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [LEAST, LEAST + 1, LEAST + PIECE - 1, 9 * LEAST + 4321])
def test_every_byte_is_copied_and_none_beside(count, threads):
    value = np.random.default_rng(0).integers(0, 256, count, np.uint8)
    memory = np.full(count + 200, 7, np.uint8)
    with ow.config(threads=threads):
        copies.copy(memory[100:-100], value)

    assert memory[100:-100].tobytes() == value.tobytes()
    assert set(memory[:100]) == set(memory[-100:]) == {7}


X = np.random.default_rng(1).standard_normal((600, 500))
PAIRS = {
    "rows": (np.zeros((600, 500)), X),
    "columns": (np.zeros((500, 600)).T, np.asfortranarray(X)),
    "rows and columns": (np.zeros((600, 500)), np.asfortranarray(X)),
    "another type": (np.zeros((600, 500), np.float32), X),
    "a part": (np.zeros((700, 600))[50:-50, 50:-50], X),
    "one row for all": (np.zeros((600, 500)), np.broadcast_to(X[0], X.shape)),
    "zero dimensions": (np.zeros(()), np.ones(())),
    "nothing": (np.zeros((0, 9)), np.ones((0, 9))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_arrays_of_any_layout_are_copied(name):
    array, value = PAIRS[name]
    copies.copy(array, value)
    np.testing.assert_array_equal(array, value.astype(array.dtype))


def test_memory_that_overlaps_is_copied_as_numpy_copies_it():
    memory = np.arange(400_000.0)
    expected = memory[:-1].copy()
    copies.copy(memory[1:], memory[:-1])
    np.testing.assert_array_equal(memory[1:], expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_stencil_leaves_what_numpy_does(order):
    ours = np.array(X, order=order)
    theirs = ours.copy()
    ow.fuse(heat)(ours)
    heat(theirs)
    np.testing.assert_allclose(ours, theirs, 1e-13, 1e-13)
