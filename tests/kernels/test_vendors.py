"""Which products go to the vendor's library, and that fused and unfused kernels are of one mind."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.dtypes import of
from tests.support.factors import bits

TARGETS = ("sm_75", "sm_80", "sm_90a")
GPU = "sm_90a"


def product(x, y):
    return x @ y


def followed(x, y):
    return np.maximum(x @ y + 1, 0)


def arrays(dtype, *shapes):
    return [np.ones(shape, of(dtype).numpy) for shape in shapes]


def templates(fused, args, target):
    return [kernel.data.template for kernel in fused.lower(*args, target=target).kernels]


# Function, dtype, shapes, target -> kernels.
CHOSEN = {
    "small": (product, "float32", [(64, 64), (64, 64)], GPU, ["product"]),
    "deep": (product, "float32", [(512, 512), (512, 512)], GPU, ["vendor"]),
    "large": (product, "float32", [(4096, 4096), (4096, 4096)], "sm_75", ["vendor"]),
    "large, followed": (followed, "float32", [(4096,) * 2] * 2, GPU, ["vendor", "map"]),
    "of few steps, followed": (followed, "float32", [(4096, 64), (64, 4096)], GPU, ["product"]),
    "of few steps, 16 bits": (
        followed, "float16", [(4096, 64), (64, 4096)], GPU, ["vendor", "map"],
    ),
    "bfloat16": (product, "bfloat16", [(1024, 512), (512, 1024)], "sm_80", ["vendor"]),
    "bfloat16 of no tensor core": (
        product, "bfloat16", [(1024, 512), (512, 1024)], "sm_75", ["product"],
    ),
    "float64": (product, "float64", [(300, 500), (500, 300)], GPU, ["vendor"]),
    "complex": (product, "complex64", [(300, 500), (500, 300)], GPU, ["vendor"]),
    "integers": (product, "int32", [(512, 512), (512, 512)], GPU, ["product"]),
    "a row": (product, "bfloat16", [(1, 8192), (8192, 8192)], GPU, ["vendor"]),
    "a column": (product, "float32", [(4096, 4096), (4096, 1)], GPU, ["row"]),
    "many small ones": (product, "float32", [(1000, 16, 16), (1000, 16, 16)], GPU, ["product"]),
    "many small ones, 16 bits": (
        product, "float16", [(1000, 64, 64), (1000, 64, 64)], GPU, ["product"],
    ),
    "a batch by one matrix": (product, "float16", [(64, 64, 512), (512, 64)], GPU, ["vendor"]),
    "nothing": (product, "float32", [(0, 512), (512, 512)], GPU, ["product"]),
    "no step": (product, "float32", [(4096, 0), (0, 4096)], GPU, ["product"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_shapes_types_and_what_follows_decide(name):
    function, dtype, shapes, target, expected = CHOSEN[name]

    assert templates(ow.fuse(function), arrays(dtype, *shapes), target) == expected


@pytest.mark.parametrize("name", CHOSEN)
def test_unfused_kernels_are_of_one_mind_with_fused_ones(name):
    function, dtype, shapes, target, expected = CHOSEN[name]
    unfused = templates(ow.fuse(function).unfused(), arrays(dtype, *shapes), target)

    assert ("vendor" in unfused) is ("vendor" in expected)


@pytest.mark.parametrize("target", [*TARGETS, "host"])
@pytest.mark.parametrize("n", [20, 300])
def test_a_toggle_asks_for_either(target, n):
    fused, args = ow.fuse(followed), arrays("float32", (n, n), (n, n))

    assert templates(fused.with_toggles(USE_VENDOR=0), args, target) == ["product"]
    assert templates(fused.with_toggles(USE_VENDOR=1), args, target) == ["vendor", "map"]


def test_what_the_library_has_not_stays_ours_when_it_is_asked_for():
    fused, args = ow.fuse(product).with_toggles(USE_VENDOR=1), arrays("int32", (9, 9), (9, 9))
    program = fused.lower(*args, target=GPU)

    assert [kernel.data.template for kernel in program.kernels] == ["product"]
    assert "ours, since cuBLAS has none of this kind: matmul" in program.explain(*args).text


EXPLAINED = {
    "ours": (64, {}, r"ours, \S+ us; cuBLAS, through CuPy \S+ us \(a model\)"),
    "the library's": (512, {}, r"cuBLAS, through CuPy, \S+ us; ours \S+ us \(a model\)"),
    "asked": (512, {"USE_VENDOR": 0}, "ours, as USE_VENDOR=0 asks"),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explain_names_both_and_the_reason(name):
    n, toggles, text = EXPLAINED[name]
    args = arrays("float32", (n, n), (n, n))
    program = ow.fuse(product).with_toggles(**toggles).lower(*args, target=GPU)
    said = " ".join(program.explain(*args).text.split())

    line = product.__code__.co_firstlineno + 1
    assert re.search(rf"{text}: matmul \(test_vendors.py:{line}\)", said), said
    assert "not in this template" not in said


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_verify_mode_computes_as_a_library_does(dtype):
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal(s).astype(of(dtype).numpy) for s in ((40, 70), (70, 30)))
    fused = ow.fuse(followed if dtype != "complex64" else product).with_toggles(USE_VENDOR=1)
    program = fused.lower(x, y, target="sm_80")
    apart = fused.unfused().lower(x, y, target="sm_80")

    assert program.check(x, y).ok
    assert bits(program(x, y)) == bits(apart(x, y))


def test_what_a_product_waits_for_is_reckoned_by_who_computes_it():
    args = arrays("float16", (1024, 1024), (1024, 1024))
    fused = ow.fuse(product)
    library, ours = (
        ow.regime(f.lower(*args, target=GPU), *args).compute
        for f in (fused, fused.with_toggles(USE_VENDOR=0))
    )

    assert 11 < ours / library < 12  # 790 TFLOP/s of tensor cores against 67


@pytest.mark.nvrtc
def test_a_profile_says_what_it_does_not_count():
    args = arrays("float32", (512, 512), (512, 512))
    report = ow.profile(ow.fuse(followed), *args, target="A100")

    assert [kernel.name for kernel in report.kernels] == ["followed_1_map_f32"]
    assert report.by_library[0] in str(report)
    assert re.match(r"matmul \(\S+\), not counted: cuBLAS", report.by_library[0])
    assert ow.profile(ow.fuse(product), *arrays("float32", (9, 9), (9, 9))).by_library == ()
