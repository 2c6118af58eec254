"""Out of memory: what is too large is named, and what is kept is given back first."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import OutOfMemoryError
from opweave.runtime.host import pool

pytestmark = pytest.mark.host


def huge(side=1 << 20):
    one = np.float32(1)
    return np.broadcast_to(one, (side, 1)), np.broadcast_to(one, (1, side))


# What asks for more memory than there is, and the array that the error names.
TOO_LARGE = {
    "a result": lambda a, b: a + b,
    "a temporary": lambda a, b: np.sort(a + b)[0],
    "in a container": lambda a, b: {"y": (a * b, a.sum())},
}


@pytest.mark.parametrize("kept", [0, 1 << 24])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_result_that_is_too_large_is_named_and_nothing_else_is_lost(name, kept):
    fused = ow.fuse(TOO_LARGE[name])
    small = huge(1000)
    with ow.config(kept_bytes=kept):
        expected = str(fused(*small))
        with pytest.raises(OutOfMemoryError, match=r"float32\[1048576, 1048576\] of 4,398,046,5"):
            fused(*huge())
        assert str(fused(*small)) == expected

        assert issubclass(OutOfMemoryError, MemoryError)


def test_memory_that_is_kept_is_given_back_before_an_allocation_fails(monkeypatch):
    fused = ow.fuse(lambda x: x * 2)
    x = np.ones(1 << 19, np.float32)
    with ow.config(kept_bytes=1 << 26):
        fused(x)
        assert pool.counts().idle_bytes > 0
        idle, taken = [], pool._taken

        def fails_once(shape, dtype):
            idle.append(pool.counts().idle_bytes)
            if len(idle) == 1:
                raise MemoryError
            return taken(shape, dtype)

        monkeypatch.setattr(pool, "_taken", fails_once)
        assert (fused(x) == 2).all()

        assert idle[0] > 0
        assert idle[1] == 0
