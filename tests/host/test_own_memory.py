"""A thread's own memory is found in a library's first call: what a kernel has in registers stays."""

import ctypes
import os

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.build import build_kernel

pytestmark = pytest.mark.host
LIBRARIES = 64  # the C library makes a thread's table of them longer every 14 or so
COUNT, PARTS = 1_000_000, 16
PARAMS = ("input", *["scalar"] * 4, "output", "output", "partials", "counter", "extent")


def both(x, a, b, c, d):
    y = np.sqrt(abs(np.sin(x * a + b) * x - c)) / d
    return y, y.sum()


def test_a_first_call_of_a_library_keeps_what_is_in_registers(tmp_path):
    x, numbers = np.linspace(0, 1, COUNT), np.array([2.0, 1.0, 0.5, 3.0])
    program = ow.fuse(both).lower(x, *numbers, target="host")
    (kernel,) = program.kernels
    payload = build_kernel(kernel.data, kernel.source).payload
    (expected, total), wrong = program(x, *numbers), []
    for number in range(LIBRARIES):
        path = tmp_path / f"{number}.so"
        path.write_bytes(payload)
        library, out, found = ctypes.CDLL(os.fspath(path)), np.zeros(COUNT), np.zeros(1)
        partials, counter = np.zeros(2 * PARTS), np.zeros(1, np.uint32)
        memory = [array.ctypes.data for array in (out, found, partials, counter)]
        words = x.ctypes.data, *numbers.view(np.int64).tolist(), *memory, COUNT
        slots, grid = (ctypes.c_longlong * len(words))(*words), (ctypes.c_uint * 3)(PARTS, 1, 1)
        library.ow_blocks(slots, grid, ctypes.c_longlong(0), ctypes.c_longlong(PARTS))
        if out.tobytes() != expected.tobytes() or found[0] != total:
            wrong.append(number)

    assert tuple(p.kind for p in kernel.data.params) == PARAMS
    assert kernel.data.toggles["PARTS"] == PARTS
    assert not wrong
