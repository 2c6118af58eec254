"""Stencils on a GPU: rows below each other, by a template of their own, with the bits of a map."""

import numpy as np
import pytest

import opweave as ow
from tests.support.variants import heat, slopes

pytestmark = pytest.mark.nvrtc
RNG = np.random.default_rng(0)


def grid(rows, cols, dtype=np.float32):
    return RNG.standard_normal((rows, cols)).astype(dtype)


def of_planes(u):
    around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
    return around - 4 * u[1:-1, 1:-1, 1:-1]


CASES = {
    "heat": (heat, (grid(9, 2051),)),
    "float64": (heat, (grid(7, 2300, np.float64),)),
    "a row and a column": (slopes, (grid(6, 2100), grid(1, 2100)[0], grid(5, 1))),
    "planes": (of_planes, (RNG.standard_normal((5, 4, 2050)).astype(np.float32),)),
    "whole rows": (lambda u: u[1:] - u[:-1] * u[1:, :1], (grid(7, 2048),)),
}


@pytest.mark.parametrize("rows", [1, 2, 4, 8])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_rows_a_thread_gives_numpys_bits(name, rows):
    function, args = CASES[name]
    program = ow.fuse(function).with_toggles(ROWS_PER_THREAD=rows).lower(*args, target="sm_90a")

    assert program.kernels[0].data.template == "stencil"
    assert program.kernels[0].toggles["ROWS_PER_THREAD"] == rows
    assert program.verify(*args, executor="ptx").tobytes() == function(*args).tobytes()
    assert program.verify(*args).tobytes() == function(*args).tobytes()


def test_a_large_one_takes_four_rows_a_thread_and_no_fewer_blocks_than_it_needs():
    u = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (4099, 4100), (0, 0))
    program = ow.fuse(heat).lower(u, target="sm_90a")
    kernel = program.kernels[0].data

    assert kernel.toggles["ROWS_PER_THREAD"] == 4
    assert kernel.grid(program.found.extents) == (1025 * 17, 1, 1)


OTHERS = {
    "one row read": lambda u: u[1:] * 2,
    "along a row alone": lambda u: u[:, 1:] - u[:, :-1],
    "narrow": lambda u: u[1:, :500] - u[:-1, :500],
    "by places": lambda u: np.roll(u, 1, 0) + u,
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_shares_no_rows_is_a_map(name):
    program = ow.fuse(OTHERS[name]).lower(grid(9, 2100), target="sm_90a")

    assert {kernel.data.template for kernel in program.kernels} == {"map"}


def test_on_a_host_a_stencil_is_a_map():
    assert ow.fuse(heat).lower(grid(9, 2100), target="host").kernels[0].data.template == "map"


def test_too_many_rows_are_refused():
    with pytest.raises(ow.errors.ToggleError, match="VECTOR=1 with ROWS_PER_THREAD=256"):
        ow.fuse(heat).with_toggles(ROWS_PER_THREAD=256).lower(grid(9, 2100), target="sm_90a")
