"""Tiles of products: bits that no toggle changes, who computes, sizes that fit a device."""

import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import device_for
from tests.support.data import TARGETS, dtype_of, values
from tests.support.factors import array, bits, linear_relu, linear_relu_softmax
from tests.support.variants import aligned

NAIVE = {"BLOCK_M": 16, "BLOCK_N": 16, "THREAD_M": 1, "THREAD_N": 1, "WIDTH": 1}
LADDER = [
    {"USE_SHARED_MEMORY": 0}, {"USE_SHARED_MEMORY": 0, **NAIVE}, NAIVE, {"USE_PADDED_TILE": 0},
    {"USE_VECTOR_IO": 0}, {"BLOCK_K": 8}, {"BLOCK_M": 64, "BLOCK_N": 64, "THREAD_M": 4, "THREAD_N": 4},
    {"BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8}, {"WIDTH": 1},
    {"USE_64BIT_INDEX": 1}, {"VECTOR": 2},
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("toggles", LADDER, ids=str)
@pytest.mark.parametrize("name", ["float32", "float16", "int32"])
def test_no_rung_of_the_ladder_changes_a_bit(toggles, name):
    # values whose products underflow to -0 and overflow are among them
    x = aligned(values(name, 40 * 24, seed=3).reshape(40, 24))
    w = aligned(values(name, 24 * 48, seed=4)[::-1].reshape(24, 48))
    fused = ow.fuse(lambda x, w: ow.relu(x @ w + 1))
    expected = fused.lower(x, w, target="sm_80")(x, w)
    flipped = fused.with_toggles(**toggles).lower(x, w, target="sm_80")

    assert flipped.source != fused.lower(x, w, target="sm_80").source
    assert bits(expected) == bits(flipped(x, w))
    assert all(flipped.kernels[0].toggles[n] == v for n, v in toggles.items())


@pytest.mark.host
@pytest.mark.parametrize("toggles", [
    {"USE_SHARED_MEMORY": 0}, {"USE_WARP_SHUFFLE": 0}, {"USE_REGISTER_ROW": 0}, {"BLOCK_M": 16},
    {"BLOCK_N": 128, "THREAD_N": 8},
], ids=str)  # fmt: skip
def test_no_toggle_changes_a_bit_of_a_product_with_rows(toggles):
    x, w, b = array("float32", 36, 20), array("float32", 20, 50), array("float32", 50)
    fused = ow.fuse(linear_relu_softmax)
    expected = fused.lower(x, w, b, target="sm_80")(x, w, b)
    flipped = fused.with_toggles(**toggles).lower(x, w, b, target="sm_80")

    assert bits(expected) == bits(flipped(x, w, b))


@pytest.mark.host
@pytest.mark.parametrize("function", [linear_relu, linear_relu_softmax])
def test_no_schedule_changes_a_bit(function):
    x, w, b = array("float32", 70, 50), array("float32", 50, 90), array("float32", 90)
    program = ow.fuse(function).lower(x, w, b, target="sm_90a")
    runs = {bits(program.verify(x, w, b, schedule=s)) for s in (0, 1, 2, 77)}

    assert len(runs) == 1


@pytest.mark.host
def test_large_products_go_to_the_vendor_on_the_host():
    x, w, b = array("float32", 64, 64), array("float32", 64, 64), array("float32", 64)
    program = ow.fuse(linear_relu).lower(x, w, b)

    assert [k.data.template for k in program.kernels] == ["vendor", "map"]
    assert "numpy.matmul" in program.source
    np.testing.assert_array_equal(np.maximum(x @ w + b, 0), program(x, w, b))


@pytest.mark.parametrize(("m", "k", "n", "template"), [
    (24, 24, 24, "product"), (32, 32, 32, "vendor"), (1000, 1000, 1, "vendor"),
    (1, 1000, 1000, "vendor"), (100_000, 3, 3, "vendor"), (1000, 8, 1000, "vendor"), (1000, 2, 2, "vendor"), (256, 8, 8, "product"),
    (1000, 16, 1000, "vendor"), (100, 30, 1, "columns"), (1, 1000, 1, "row"),
])  # fmt: skip
def test_who_computes_a_product_on_the_host_follows_from_its_work(m, k, n, template):
    x, y = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    program = ow.fuse(lambda x, y: x @ y).lower(x, y, target="host")

    assert [kernel.data.template for kernel in program.kernels] == [template]


CLASSES = [
    ("H200", 4096, 4096, 1, "large"), ("H200", 1000, 1000, 1, "medium"),
    ("H200", 300, 300, 1, "small"), ("H200", 300, 300, 100, "large"), ("T4", 1000, 1000, 1, "large"),
    ("H200", 16, 4096, 1, "few rows"), ("host", 4096, 4096, 1, "host"),
]  # fmt: skip


@pytest.mark.parametrize(("device", "m", "n", "batch", "tile"), CLASSES)
def test_a_product_takes_the_largest_tile_that_fills_the_device(device, m, n, batch, tile):
    from opweave.compiler.toggles.tiles import tile_class

    assert tile == tile_class(m, n, batch, device_for(device))


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("m", "n"), [(4096, 4096), (1000, 1000), (200, 200), (5, 512)])
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float64", "int32"])
def test_products_compile_without_spills(name, m, n, target):
    x, w, b = (np.empty(s, dtype_of(name)) for s in ((m, 64), (64, n), (n,)))
    fused = ow.fuse(linear_relu).with_toggles(USE_VENDOR=0)
    kernel = fused.lower(x, w, b, target=target).compile().kernels[0]
    t = kernel.toggles

    assert kernel.resources.stack_bytes == 0
    assert kernel.registers <= 255
    assert "LDS" in kernel.sass
    if name == "float32":
        assert kernel.sass.count("FFMA") >= t["THREAD_M"] * t["THREAD_N"] * t["BLOCK_K"]


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
def test_a_large_product_loads_wide_and_reads_its_tiles_wide(target):
    x, w = (aligned(np.empty((4096, 4096), np.float32)) for _ in range(2))
    fused = ow.fuse(lambda x, w: x @ w).with_toggles(USE_VENDOR=0)
    kernel = fused.lower(x, w, target=target).compile().kernels[0]

    assert ("LDG.E.128" if target == "sm_75" else "LDGSTS.E.128") in kernel.sass
    assert "STG.E.128" in kernel.sass
    assert len(re.findall(r"LDS(\.U)?\.128", kernel.sass)) >= 64
    assert kernel.sass.count("FFMA") >= 1024
    assert kernel.registers <= 128


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [10, 60, 100, 256])
@pytest.mark.parametrize("name", ["float32", "float16", "float64"])
def test_products_with_rows_compile_without_spills(columns, name, target):
    x, w, b = (np.empty(s, dtype_of(name)) for s in ((300, 64), (64, columns), (columns,)))
    kernel = ow.fuse(linear_relu_softmax).lower(x, w, b, target=target).compile().kernels[0]

    assert kernel.data.template == "product_rows"
    assert kernel.resources.stack_bytes <= (16 if target == "sm_100" else 0)
    assert kernel.shared_bytes <= 48 * 1024


MIXED = [
    lambda x, y, c, d: (x @ y).astype(np.float32),
    lambda x, y, c, d: (x @ y - (x @ y).max(-1, keepdims=True)).astype(np.float32),
    lambda x, y, c, d: (x.astype(np.float32) @ y.astype(np.float32) + c) * d,
    lambda x, y, c, d: (x.astype(np.float16) @ y.astype(np.float16) + c) * d,
]  # fmt: skip
TOGGLES = [{}, {"VECTOR": 8}, {"USE_SHARED_MEMORY": 0, "THREAD_M": 4}, {"WIDTH": 1}]


@pytest.mark.host
@pytest.mark.parametrize("function", MIXED)
@pytest.mark.parametrize("toggles", TOGGLES, ids=str)
@pytest.mark.parametrize("columns", [34, 36, 48])
def test_operands_of_several_widths_are_read_where_they_are_aligned(function, toggles, columns):
    x, y, d = (
        array("float64", 40, 32),
        array("float64", 32, columns),
        array("float64", 40, columns),
    )
    arguments = (x, y, array("float32", 40, columns), d)
    program = ow.fuse(function).with_toggles(**toggles).lower(*arguments, target="sm_90a")

    assert program.check(*arguments).ok


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
def test_many_joins_fit_into_shared_memory_or_are_refused(target):
    def function(x, w):
        s = x @ w
        d = s.astype(np.float64)
        return d.sum(-1), d.max(-1), d.min(-1), d.prod(-1), s.sum(-1), s.max(-1)

    def wider(x, w):
        return *function(x, w), (x @ w).astype(np.complex128).sum(-1)

    x, w = array("float32", 40, 36), array("float32", 36, 200)
    ow.fuse(wider).lower(x, w, target=target).compile()
    # joins of one width meet in the same places: these fit
    ow.fuse(function).with_toggles(USE_WARP_SHUFFLE=0).lower(x, w, target=target).compile()
    # and these take tiles that the launch opts in to, where it can
    fused = ow.fuse(wider).with_toggles(USE_WARP_SHUFFLE=0)
    (kernel,) = fused.lower(x, w, target=target).compile().kernels
    assert kernel.data.shared_bytes == 49920
    assert 0 < kernel.data.opted_bytes < 48 << 10
    small = replace(device_for(target), shared_bytes=48 << 10)
    with pytest.raises(
        ow.errors.ToggleError, match="USE_WARP_SHUFFLE=0 cannot hold: it takes 49920"
    ):
        fused.lower(x, w, target=small)
