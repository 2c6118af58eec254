"""Kernels of complex numbers: how many, how wide their accesses, which bits never change."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import (
    COMPLEX,
    TARGETS,
    dtype_of,
    hold,
    joined,
    like_numpy,
    wide,
)

BOTH = ["host", "sm_80"]


def normal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return joined(rng.standard_normal(shape), rng.standard_normal(shape), name)


# Kernels


ONE_KERNEL = {
    "z * z + c": lambda z, c: z * z + c,
    "Mandelbrot step": lambda z, c: np.where(abs(z) <= 2, z * z + c, z),
    "Julia count": lambda z, c: (abs(z * z + c) < 2).sum(),
    "power spectrum": lambda z, w: np.abs(z * np.hanning(30)) ** 2,
    "rotation": lambda z, w: z * np.exp(1j * w.real),
    "polar": lambda z, w: (np.abs(z), np.angle(z), z.conj() * w),
    "rows": lambda z, w: z / np.sqrt((z.real**2 + z.imag**2).sum(-1, keepdims=True)) * w,
    "statistics": lambda z, w: (z.mean(-1), z.var(-1), z.std(-1)),
    "product": lambda z, w: np.tanh(z @ w.T + 1j),
    "arcs": lambda z, w: np.arcsin(z) + np.arccosh(w) * 1j,
    "arctangents": lambda z, w: np.arctan(z) - np.arctanh(w),
}


@pytest.mark.host
@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", ONE_KERNEL)
def test_complex_functions_are_one_kernel_within_their_bounds(case, name, target):
    function = ONE_KERNEL[case]
    z, w = normal(name, 20, 30), normal(name, 20, 30, seed=1)
    program = ow.fuse(function).lower(z, w, target=target)
    made, expected = program(z, w), function(z, w)

    assert len(program.kernels) == 1
    report = program.check(z, w)
    assert report.ok
    assert all(row.undecided <= row.elements // 50 for row in report.rows)
    hold(program, (z, w), function(*wide(z, w)), made)
    every = zip(*(r if isinstance(r, tuple) else (r,) for r in (made, expected)), strict=True)
    assert all((a.dtype, a.shape) == (b.dtype, b.shape) for a, b in every)


@pytest.mark.parametrize(("name", "width"), [("complex64", 2), ("complex128", 1)])
def test_maps_take_16_bytes_an_access(name, width):
    z = np.ones(1024, dtype_of(name))
    source = ow.fuse(lambda z, c: z * z + c).lower(z, z, target="sm_90a").source

    assert "#define USE_VECTOR_IO     1" in source
    assert f"#define VECTOR            {width}" in source


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", ONE_KERNEL)
def test_they_are_one_kernel_for_every_architecture(case, name):
    z, w = normal(name, 20, 30), normal(name, 20, 30, seed=1)
    for target in (*TARGETS, "host"):
        assert len(ow.fuse(ONE_KERNEL[case]).lower(z, w, target=target).kernels) == 1


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", ONE_KERNEL)
def test_kernels_compile_for_every_architecture_without_spills(case, name, target):
    function = ONE_KERNEL[case]
    z, w = normal(name, 20, 30), normal(name, 20, 30, seed=1)
    (kernel,) = ow.fuse(function).lower(z, w, target=target).kernels

    assert kernel.spill_bytes == 0


@pytest.mark.nvrtc
def test_a_map_of_complex128_loads_and_stores_128_bits():
    z = np.ones(4096, np.complex128)
    (kernel,) = ow.fuse(lambda z, c: z * z + c).lower(z, z, target="sm_90a").kernels

    assert kernel.sass.count("LDG.E.128") >= 2
    assert kernel.sass.count("STG.E.128") >= 1


# Products


@pytest.mark.host
@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("shape", [(5, 7, 3), (33, 40, 65), (64, 64, 64), (130, 17, 200)])
@pytest.mark.parametrize("name", COMPLEX)
def test_products_keep_their_bounds_and_their_bits(name, shape, target):
    m, k, n = shape
    a, b = normal(name, m, k), normal(name, k, n, seed=1)
    like_numpy(lambda a, b: a @ b * 1j, a, b, target=target)


@pytest.mark.host
def test_tiles_change_no_bit_of_a_product():
    a, b = normal("complex64", 40, 50), normal("complex64", 50, 60, seed=1)
    fused = ow.fuse(lambda a, b: a @ b)
    expected = fused.lower(a, b, target="sm_80")(a, b)
    for toggles in ({"USE_SHARED_MEMORY": 0}, {"BLOCK_K": 8}, {"USE_PADDED_TILE": 0}):
        made = fused.with_toggles(**toggles).lower(a, b, target="sm_80")(a, b)
        assert made.tobytes() == expected.tobytes()


@pytest.mark.host
def test_no_schedule_changes_a_bit_of_a_complex_sum():
    z = normal("complex128", 1, 70000)
    program = ow.fuse(lambda z: (z.sum(axis=1), abs(z).max())).lower(z, target="sm_90a")
    runs = [program.verify(z, schedule=s) for s in (0, 1, 12345)]

    assert len({tuple(r.tobytes() for r in run) for run in runs}) == 1
    assert program.check(z).ok


PARTS_THAT_CANCEL = {
    "products": lambda z, w: (z * z * z, z * w.conj(), (z * w + 1j) * z - w, z * (2 - 1j) * w),
    "quotients": lambda z, w: (z * w / (z + w), 1 / (z * w), (z / w) / (w * w)),
    "parts": lambda z, w: z.real * w - z.imag * (w * 1j),
}


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("case", PARTS_THAT_CANCEL)
def test_no_compiler_joins_a_product_with_an_addition(case, name):
    function = PARTS_THAT_CANCEL[case]
    z, w = normal(name, 4099), normal(name, 4099, seed=1)
    fused = ow.fuse(function)
    runs = [fused(z, w), fused.unfused()(z, w), fused.lower(z, w, target="sm_80")(z, w)]
    runs = [r if isinstance(r, tuple) else (r,) for r in runs]

    for results in zip(*runs, strict=True):
        assert len({r.tobytes() for r in results}) == 1
