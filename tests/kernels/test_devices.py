"""Kernels follow the device: what a block asks for fits it, and the bits are those of any other."""

import contextlib
import re
from dataclasses import replace
from math import prod
from random import Random

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import ARCHITECTURES, DEVICES, device_for
from opweave.compiler.ir.values import TURNS
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.simt.executors import VerifyExecutor
from tests.support.factors import bits
from tests.support.variants import EVERY, aligned

KIB = 1024
H100 = DEVICES["H100"]
SIZES = (4 * KIB, 16 * KIB, 48 * KIB, 64 * KIB, 99 * KIB, 163 * KIB, 227 * KIB)
BY_NAME = {v.name: v for v in EVERY}
# Kernels of tiles that the table of variants has none of.
MORE = {
    "large product": (lambda x, w: x @ w, [(4096, 64), (64, 4096)], "float32"),
    "large product f64": (lambda x, w: x @ w, [(4096, 64), (64, 4096)], "float64"),
    "rows of 128": (lambda x, w: ow.softmax(x @ w), [(300, 64), (64, 128)], "float32"),
    "rows of 256 f64": (lambda x, w: ow.softmax(x @ w), [(300, 64), (64, 256)], "float64"),
    "tile of three": (
        lambda x, y, z, w: (x.T * w, y.T * w, z.T * w),
        [(96, 96)] * 4,
        "float32",
    ),
    "tile of bytes": (lambda x, y: x.T + y, [(96, 96)] * 2, "uint8"),
}
CASES = [*BY_NAME, *MORE]
BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int": 4, "float": 4, "int32": 4,
    "uint32": 4, "unsigned": 4, "double": 8, "int64": 8, "uint64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip


def card(nbytes, **changes):
    return replace(H100, name="a card", shared_bytes=nbytes, **changes)


def given_case(name):
    """The function of a case, and its arguments."""
    if name in BY_NAME:
        return BY_NAME[name].function, BY_NAME[name].arguments()
    function, shapes, dtype = MORE[name]
    rng = np.random.default_rng(3)
    return function, [aligned(rng.integers(0, 9, shape).astype(dtype)) for shape in shapes]


def lowered(name, device, **toggles):
    function, arguments = given_case(name)
    return ow.fuse(function).with_toggles(**toggles).lower(*arguments, target=device)


def value_of(extent):
    """A sum or a product of numbers."""
    return prod(sum(map(int, part.split(" + "))) for part in extent.split(" * "))


def bytes_of(ctype):
    """Bytes of a type; of an extreme and its place those of two of the larger."""
    parts = re.findall(r"\w+", ctype)
    return 2 * max(BYTES[part] for part in parts[1:]) if len(parts) > 1 else BYTES[ctype]


def declared(kernel):
    """Bytes of shared memory in a source: its own declarations, and where threads meet."""
    text = kernel.flat
    for name, value in re.findall(r"#define (SLOTS) (\d+)", text):
        text = text.replace(name, value)
    found = 0
    for ctype, names in re.findall(r"__shared__ (?:__align__\(\d+\) )?(\w+) (.*);", text):
        for array in re.split(r", (?=\w+\[)", names):
            extents = re.findall(r"\[(.*?)\]", array)
            found += BYTES[ctype] * prod(map(value_of, extents))
    t = kernel.toggles
    by_warps, threads = t.get("USE_WARP_SHUFFLE", 1), t.get("THREADS_PER_ROW", 1)
    joined = sum({bytes_of(c) for c in re.findall(r"__device__ ([^;]+?) operator\(\)", text)})
    if threads > (32 if by_warps else 1):
        found += joined * (-(-kernel.data.threads // 32) if by_warps else kernel.data.threads)
    if kernel.data.template == "outer" and threads > 1:
        found += joined * (threads + 1) * (t["ACROSS"] * t["COLUMNS"] + 1)
    return found


def check_fits(program, device):
    for kernel in program.kernels:
        nbytes, opted = kernel.data.shared_bytes, kernel.data.opted_bytes
        least = declared(kernel) + opted
        assert least <= nbytes <= least + 64  # rounded up to 16 bytes each
        assert nbytes <= max(0, device.shared_bytes - KIB)
        assert nbytes - opted <= 48 * KIB
        assert kernel.data.threads <= 1024


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_what_a_block_asks_for_is_known_and_fits_the_device(name, nbytes):
    check_fits(lowered(name, card(nbytes)), card(nbytes))


@pytest.mark.parametrize("seed", range(8))
def test_on_any_device_kernels_fit_or_are_refused(seed):
    draw = Random(seed)
    for name in draw.sample(CASES, 16):
        nbytes = int(2 ** draw.uniform(0, 20))
        arch = draw.choice(ARCHITECTURES)
        device = card(nbytes, arch=arch, sms=draw.randrange(400), l2_bytes=draw.randrange(1 << 30))
        refused = contextlib.suppress(ow.errors.ToggleError) if nbytes < 2 * KIB else None
        with refused or contextlib.nullcontext():
            check_fits(lowered(name, device), device)


# Of what more room has more, and is faster by it.
AS_MANY = {"product": {"STAGES": 1}, "counts i64": {"COPIES": 1}, "counts large": {"COPIES": 1},
           "scan": {"USE_VECTOR_IO": 0}}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_cards_that_are_known_have_room_for_the_same_kernels(name, target):
    known = device_for(target)
    with_more = replace(known, shared_bytes=1 << 20)
    found, other = (
        [k.source for k in lowered(name, device, **given).kernels]
        for device in (known, with_more)
        for given in (next((g for part, g in AS_MANY.items() if part in name), {}),)
    )

    assert found == other


# Of 70,000 numbers, by operators of all kinds.
LONG_SCANS = {
    "floats": lambda x: (np.cumsum(np.exp(x) * 2 + x) / 3 - x, np.cumprod(x)),
    "extremes": lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x * 2) - x),
    "choices": lambda x: np.cumsum(np.where(x > 0, x, -x)) / (np.arange(x.shape[0]) + 1),
    "integers": lambda x: np.cumsum((x * 9).astype(np.int32) - 3) + np.cumsum(x < 1),
}


@pytest.mark.parametrize("wide", [0, 1])
@pytest.mark.parametrize("name", LONG_SCANS)
@pytest.mark.parametrize("target", ARCHITECTURES)
def test_long_scans_copy_tiles_ahead_where_two_blocks_have_room(target, name, wide):
    x, device = np.zeros(70_000, np.float32), device_for(target)
    fused = ow.fuse(LONG_SCANS[name])
    program = (fused if wide else fused.with_toggles(USE_VECTOR_IO=0)).lower(x, target=device)
    found = {kernel.data.template for kernel in program.kernels}

    if not (wide and device.copies):
        assert found == {"scan_parts"}
    elif device.shared_bytes > 100 * KIB:  # of all these two tiles of 48 KiB fit
        assert found == {"scan_ahead"}


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
@pytest.mark.parametrize("name", [
    "product and wide softmax", "transpose f64", "tile of bytes", "softmax 7000", "energy c128",
    "scan 20000", "scan 70000", "product f16", "julia", "columns f16", "columns c128",
])  # fmt: skip
def test_what_is_known_is_what_the_compiler_allocates(name, target):
    kept = KIB if target == "sm_90a" else 0
    for kernel in lowered(name, target).compile().kernels:
        nbytes = kernel.data.shared_bytes - kernel.data.opted_bytes  # what is declared
        own = kernel.shared_bytes - kept * (nbytes > 0)

        assert nbytes - 16 < own <= nbytes
        assert kernel.registers * kernel.data.threads <= 65536


TILES = [
    ("large product", {4: (32, 8), 16: (128, 8), 48: (128, 16), 227: (128, 16)}, "BLOCK_M BLOCK_K"),
    ("transpose", {4: (16,), 16: (32,), 48: (64,), 227: (64,)}, "TILE"),
    ("tile of three", {4: (8,), 16: (32,), 48: (32,), 227: (32,)}, "TILE"),
    ("rows of 128", {16: (8, 128, 8), 48: (32, 128, 16)}, "BLOCK_M BLOCK_N BLOCK_K"),
    ("tile of bytes", {1: (32, 0), 4: (32, 1)}, "TILE USE_SHARED_MEMORY"),
    ("product", {1: (0,), 4: (1,)}, "USE_SHARED_MEMORY"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tiles", "toggles"), TILES, ids=lambda x: x if type(x) is str else ""
)
def test_tiles_follow_the_shared_memory_of_a_block(name, tiles, toggles):
    found = {
        kib: tuple(lowered(name, card(kib * KIB)).kernels[0].toggles[n] for n in toggles.split())
        for kib in tiles
    }

    assert tiles == found


def test_rows_that_a_block_has_no_room_for_are_stored_between_two_kernels():
    templates = [
        [k.data.template for k in lowered("rows of 256 f64", card(nbytes)).kernels]
        for nbytes in (48 * KIB, 16 * KIB)
    ]

    assert templates == [["product_rows"], ["product", "row"]]


# Kernels that differ on a small card from those of a large one.
CHANGED = [
    "product f16", "product few rows", "product and softmax", "product and wide softmax",
    "product c64", "product c128", "transpose u8", "transposed sum", "transpose c128",
    "tile of three",
]  # fmt: skip
SAME = ["map f32", "pixels", "softmax 3000", "columns", "norm large", "scan 2000",
        "scan of long rows", "scan columns", "windows of rows"]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("kib", [1, 4, 16])
@pytest.mark.parametrize("name", CHANGED)
def test_no_device_changes_a_bit_of_tiles(name, kib):
    _, arguments = given_case(name)
    program, usual = lowered(name, card(kib * KIB)), lowered(name, H100)

    assert bits(usual(*arguments)) == bits(program(*arguments))


@pytest.mark.parametrize("name", SAME)
def test_kernels_that_fit_are_those_of_any_device(name):
    assert lowered(name, card(4 * KIB)).source == lowered(name, H100).source


@pytest.mark.host
@pytest.mark.parametrize(
    "name", ["product and softmax", "product and wide softmax", "transposed sum"]
)
@pytest.mark.parametrize("kib", [4, 16])
def test_fused_and_unfused_agree_on_each_device(name, kib):
    function, arguments = given_case(name)
    fused, device = ow.fuse(function), card(kib * KIB)
    whole = fused.lower(*arguments, target=device)
    apart = fused.unfused().lower(*arguments, target=device)

    assert bits(whole(*arguments)) == bits(apart(*arguments))
    assert whole.check(*arguments).ok


@pytest.mark.host
@pytest.mark.parametrize(("kib", "steps"), [(1, 0), (4, 8), (16, 32), (48, 64)])
def test_a_product_that_its_block_repeats_fits_too(kib, steps):
    x, w = np.sin(np.arange(8192.0)).astype(np.float32).reshape(2, 64, 64) / 8
    repeated = ow.repeat(lambda x, w: np.maximum(x @ w, 0), 1).step
    device = card(kib * KIB)
    program = repeated.lower(x, w, target=device)
    call = program.arguments((x, w), {})
    run = Prepared(program.lowered, VerifyExecutor(), call.extents, [*call.arrays.values()])
    (kernel,) = program.kernels
    expected = x
    for _ in range(3):
        expected = repeated.lower(expected, w, target=H100)(expected, w)

    check_fits(program, device)
    assert bool(kernel.data.carried) == (steps > 0)
    if steps:
        assert kernel.toggles["BLOCK_K"] == steps
        (found,) = run(list(call.arrays.values()), {**call.env, TURNS: 3})
        assert bits(expected) == bits(found)


REFUSED = [
    ("transpose", {"TILE": 64}, "TILE=64 cannot hold: it takes 16640 bytes of shared memory, and a "
     "block on a card (sm_90a) has 15360 (of 16384); take a smaller TILE, or USE_SHARED_MEMORY=0"),
    ("large product", {"BLOCK_K": 16}, "BLOCK_K=16 cannot hold: it takes 16896 bytes of shared "
     "memory, and a block on a card (sm_90a) has 15360 (of 16384); take a smaller BLOCK_M, "
     "BLOCK_N, BLOCK_K or STAGES, or USE_SHARED_MEMORY=0"),
    ("rows of 128", {"BLOCK_M": 32, "THREAD_M": 4}, "BLOCK_M=32 with THREAD_M=4 cannot hold: it "
     "takes 22272 bytes"),
    ("energy c128", {"USE_WARP_SHUFFLE": 0, "THREADS_PER_ROW": 1024}, "it takes 16400 bytes"),
    ("energy c128", {"THREADS_PER_ROW": 2048}, "a power of two up to 1024"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "toggles", "message"), REFUSED)
def test_an_override_that_the_device_has_no_room_for_is_refused(name, toggles, message):
    with pytest.raises(ow.errors.ToggleError, match=re.escape(message)):
        lowered(name, card(16 * KIB), **toggles)


def test_more_than_a_launch_may_opt_in_to_is_refused():
    with pytest.raises(ow.errors.ToggleError) as found:
        lowered("large product", H100, BLOCK_K=64)

    assert "takes 270336 bytes" in str(found.value)
    assert "has 231424 (of 232448)" in str(found.value)


def test_a_device_with_too_little_for_any_variant_is_refused_before_a_compiler_runs():
    with pytest.raises(
        ow.errors.ToggleError, match=r"no variant of the template row fits: it takes 16 "
    ):
        lowered("softmax 3000", card(KIB))


def test_the_reason_of_a_smaller_tile_is_explained():
    function, arguments = given_case("transpose")
    fused = ow.fuse(function)
    small = lowered("transpose", card(16 * KIB)).explain(*arguments)
    usual = fused.lower(*arguments, target="sm_90a").explain(*arguments)

    assert (
        "chosen to fit: TILE=64 would take 16640 bytes, and a block on a card (sm_90a) has 15360 (of "
        "16384)" in small.text
    )
    assert "; 4224 bytes of shared memory a block\n" in small.text
    assert "; 16640 bytes of shared memory a block\n" in usual.text
    assert "chosen to fit" not in usual.text
