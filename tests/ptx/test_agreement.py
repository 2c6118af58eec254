"""The PTX of our kernels agrees with verify mode, and what is changed in it is seen."""

import functools
import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors
from opweave.runtime.ptx.code import code_of
from opweave.runtime.simt import by_ptx
from opweave.runtime.simt.by_ptx import PtxExecutor
from tests.support.variants import EVERY

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
LARGE = ("large picture", "map large", "map of work")  # of which the small ones show the same
SMALL = [v for v in EVERY if v.name not in LARGE]
# Functions of float64 are other code in CUDA's library than in the host's: within the bound.
OTHER_LIBRARY = ("softmax f64", "spectrum c128", "spectrum")


def arrays(results):
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def is_approximate(program):
    fast = program.fused.options.fast
    texts = [by_ptx.ptx_of(k.source, program.target, fast) for k in program.kernels]
    names = [k.name for k in program.kernels]
    return any(code_of(text, name).approximate for text, name in zip(texts, names, strict=True))


@pytest.mark.parametrize("target", ["sm_80", "sm_75", "sm_90a"])
@pytest.mark.parametrize("variant", SMALL, ids=lambda v: v.name)
def test_every_variant_agrees_with_verify_mode(variant, target):
    args = variant.arguments()
    program = ow.fuse(variant.function).lower(*args, target=target)
    found, expected = (
        arrays(program.verify(*args, executor=executor)) for executor in ("ptx", "simt")
    )
    if is_approximate(program) or variant.name in OTHER_LIBRARY:
        for bound, array in zip(
            ow.bounds.derive(program.fused, *args, executor="cuda"), found, strict=True
        ):
            judged = ow.bounds.judge(bound, array)
            assert judged.ok, str(judged)
    else:
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()


def total(x):
    return x.sum(axis=-1)


def product(x, y):
    return x @ y


PROGRAMS = {
    "rows": (total, ((3, 3000),)), "tiles": (lambda x: x.T.copy(), ((70, 50),)),
    "product": (product, ((40, 33), (33, 50))), "scan": (np.cumsum, ((9000,),)),
    "parts": (lambda x: (x * x).sum(), ((300, 500),)), "exp": (np.exp, ((100,),)),
    "pixels": (lambda x: (x * 3.7).astype(np.float16), ((200,),)),
}  # fmt: skip


@functools.cache
def lowered(name, target="sm_80"):
    function, shapes = PROGRAMS[name]
    rng = np.random.default_rng(4)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    return ow.fuse(function).lower(*args, target=target), args


@pytest.mark.parametrize("schedule", [1, 2])
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("exp", "pixels")])
def test_no_schedule_changes_a_result(name, schedule):
    program, args = lowered(name)
    first, other = (
        program.verify(*args, executor="ptx", schedule=number) for number in (0, schedule)
    )

    np.testing.assert_array_equal(first, other)


# What is changed in the PTX of a kernel: (program, pattern, replacement).
MUTANTS = [
    ("rows", r"bar\.sync\s+0;", ""),
    ("tiles", r"bar\.sync\s+0;", ""),
    ("product", r"bar\.sync\s+0;", ""),
    ("scan", r"bar\.sync\s+0;", ""),
    ("rows", r"shfl\.sync\.down", "shfl.sync.up"),
    ("rows", r"mov\.u32(\s+%r\d+), 31;", r"mov.u32\1, 7;"),
    ("scan", r"shfl\.sync\.up", "shfl.sync.down"),
    ("rows", r"add\.rn\.f32", "add.rz.f32"),
    ("product", r"fma\.rn\.f32", "fma.rz.f32"),
    ("product", r"fma\.rn\.f32", "fma.rm.f32"),
    ("exp", r"fma\.rm\.f32", "fma.rn.f32"),
    ("pixels", r"cvt\.rn\.f16\.f32", "cvt.rz.f16.f32"),
    ("parts", r"atom\.global\.add", "atom.global.max"),
    ("tiles", r"setp\.lt\.s32", "setp.le.s32"),
]


@pytest.mark.parametrize(("name", "pattern", "text"), MUTANTS, ids=lambda v: str(v)[:22])
def test_a_change_of_an_instruction_is_seen(name, pattern, text, monkeypatch):
    program, args = lowered(name)
    expected = program.verify(*args, executor="ptx")
    plain = by_ptx.ptx_of

    def changed(*given):
        made, count = re.subn(pattern, text, plain(*given))
        assert count
        return made

    monkeypatch.setattr(by_ptx, "ptx_of", changed)

    def is_seen(schedule):
        try:
            found = program.verify(*args, executor="ptx", schedule=schedule)
        except errors.LaunchError:
            return True
        return not np.array_equal(found, expected)

    assert any(is_seen(schedule) for schedule in (0, 1, 2, 3))


def test_counters_of_a_map_and_of_a_transposition():
    x = np.zeros((64, 64), np.float32)
    found = {}
    for name, function in (("map", lambda x: x + 1), ("turned", lambda x: x.T.copy())):
        program = ow.fuse(function).lower(x, target="sm_80")
        executor = PtxExecutor(counting=True)
        program.run_by(executor, program.arguments((x,), {}))
        (found[name],) = executor.seen
    for counts in found.values():
        assert counts.accesses("global", "load").asked == x.nbytes
        assert counts.accesses("global", "store").asked == x.nbytes
    lines = program.source.split("\n")
    stores = [
        lines[line - 1] for (_, line), counts in found["turned"].lines.items()
        if ("global", "store") in counts.accesses
    ]  # fmt: skip

    assert found["map"].barriers == 0 < found["turned"].barriers
    assert stores
    assert all("store" in line for line in stores), stores


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"executor": "gpu"}, ow.errors.ArgumentError, "expected 'simt' or 'ptx'"),
    ({"executor": "ptx", "schedule": 2**40}, ow.errors.ArgumentError, "32-bit"),
])  # fmt: skip
def test_what_verify_refuses(options, error, message):
    program, args = lowered("tiles")
    with pytest.raises(error, match=message):
        program.verify(*args, **options)
