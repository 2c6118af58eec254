"""Every variant: its toggles, its results in run and verify mode, its SASS on five targets."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import ARCHITECTURES
from tests.support.data import TARGETS
from tests.support.variants import EVERY, VARIANTS

every = pytest.mark.parametrize("variant", EVERY, ids=lambda v: v.name)
variants = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
LOCAL = re.compile(r"\b(LDL|STL)\b")
# For sm_100 ptxas (13.4) keeps a few registers in local memory around the slow path of a division.
MOST_REGISTERS = {"sm_100": 168}
MOST_STACK_BYTES = {"sm_100": 16}
# So it does (13.5) where four columns of a thread are divided in three passes, one word or two, and
# where a layer norm has rows that end before the last chunk of their threads.
KEPT_IN_MEMORY = {"standardise batch": 8, "layer norm": 8}


@every
def test_the_compiler_chooses_the_variant(variant):
    program = ow.fuse(variant.function).lower(*variant.arguments(), target="sm_80")

    assert variant.kernels == len(program.kernels)
    toggles = program.kernels[0].toggles
    assert variant.toggles == {k: toggles[k] for k in variant.toggles}


@variants
def test_the_variant_has_the_same_operators_for_every_architecture(variant):
    # a host finds places of short rows in two passes, see compiler/passes/places.py
    host = () if variant.name.startswith("places") else ("host",)
    lowered = [
        ow.fuse(variant.function).lower(*variant.arguments(), target=target).lowered
        for target in (*ARCHITECTURES, *host)
    ]
    # a sum that a GPU takes together with the maximum is still one on a host
    operators = [
        sorted(node.operator.name.removeprefix("exp_") for node in low.graph.nodes)
        for low in lowered
    ]

    assert operators == operators[:1] * len(operators)
    assert all(low.sources for low in lowered)


@pytest.mark.host
@variants
def test_the_variant_is_right_on_the_host(variant):
    assert ow.fuse(variant.function).check(*variant.arguments()).ok


@pytest.mark.host
@every
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_the_variant_is_right_as_fibres(variant, target):
    program = ow.fuse(variant.function).lower(*variant.arguments(), target=target)

    for schedule in (0, 1):
        assert program.check(*variant.arguments(), schedule=schedule).ok


@pytest.mark.host
def test_maps_share_the_kernel_of_what_is_reduced_after_them():
    x = np.random.default_rng(0).random(100_000, dtype=np.float32) + 0.5
    whole = ow.fuse(lambda x, y: np.where(x < y, np.maximum(x, 0.75), x / y).sum())
    rows = ow.fuse(lambda x, w: ow.softmax(x @ w * 2.0))

    assert [k.template for k in whole.lower(x, x).lowered.kernels] == ["reduce"]
    assert whole.check(x, x[::-1].copy()).ok
    for target in ("host", "sm_80"):
        program = rows.lower(x[:30].reshape(5, 6), x[:30].reshape(6, 5), target=target)
        assert [k.template for k in program.lowered.kernels] == ["product_rows"]
        assert program.check(x[:30].reshape(5, 6), x[:30].reshape(6, 5)).ok


@pytest.mark.nvrtc
@every
@pytest.mark.parametrize("target", TARGETS)
def test_the_variant_compiles_without_spills(variant, target):
    program = ow.fuse(variant.function).lower(*variant.arguments(), target=target).compile()

    for kernel in program.kernels:
        most = max(MOST_STACK_BYTES.get(target, 0), KEPT_IN_MEMORY.get(variant.name, 0))
        assert kernel.resources.stack_bytes <= most
        assert most or not LOCAL.search(kernel.sass)
        assert kernel.registers <= MOST_REGISTERS.get(target, 128)


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["map f32", "map f16", "map bf16", "map f64", "map u8",
                                  "map large", "softmax 1000", "layer norm"])  # fmt: skip
def test_vector_kernels_load_and_store_16_bytes(name, target):
    variant = next(v for v in VARIANTS if v.name == name)
    kernel = ow.fuse(variant.function).lower(*variant.arguments(), target=target).kernels[0]

    assert re.search(r"LDG\.E\.128", kernel.sass)
    assert re.search(r"STG\.E\.128", kernel.sass)


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
def test_a_warp_joins_by_shuffles_without_a_barrier(target):
    variant = next(v for v in VARIANTS if v.name == "softmax 1000")
    fused = ow.fuse(variant.function)
    shuffled = fused.lower(*variant.arguments(), target=target).kernels[0].sass
    shared = fused.with_toggles(USE_WARP_SHUFFLE=0)
    through_memory = shared.lower(*variant.arguments(), target=target).kernels[0].sass

    assert "SHFL" in shuffled
    assert "BAR.SYNC" not in shuffled
    assert "SHFL" not in through_memory
    assert "BAR.SYNC" in through_memory


@pytest.mark.nvrtc
def test_strict_kernels_contract_nothing_and_fast_ones_do():
    x = np.ones(1024, np.float32)
    fused = ow.fuse(lambda x: x * 1.5 + 0.25)
    fast = ow.fuse(fast=True)(lambda x: x * 1.5 + 0.25)

    assert "FFMA" not in fused.lower(x, target="sm_80").kernels[0].sass
    assert "FFMA" in fast.lower(x, target="sm_80").kernels[0].sass


@pytest.mark.nvrtc
def test_denormals_are_kept():
    x = np.ones(1024, np.float32)
    kernel = ow.fuse(lambda x: x * 0.5).lower(x, target="sm_80").kernels[0]

    assert "FMUL.FTZ" not in kernel.sass
    assert ".ftz" not in kernel.ptx
