"""Kernels of scans: bits that nothing changes, any extent, plans, and how many kernels."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.accumulation import ScanPlan
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import ToggleError
from tests.support.data import TARGETS, values

host = pytest.mark.host
SCANS = [r.name for r in OPERATORS.values() if r.kind is Kind.SCAN]
EXACT = ["cummax", "cummin", "cumany", "cumall"]


def array(*shape, dtype=np.float32, seed=5):
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-9 if np.dtype(dtype).kind == "i" else 0, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def numpys(x, expected):
    """Bits apart from the sign and the payload of a NaN."""
    return np.where(np.isnan(x), x.dtype.type(np.nan), x).tobytes() == expected.tobytes()


# Bits


@host
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("axis", [0, 1])
def test_on_the_host_the_bits_are_numpys(name, axis, dtype):
    x = array(67, 131, dtype=dtype)
    x[3, 5], x[60, 2], x[4, 7] = np.nan, np.inf, -0.0
    with np.errstate(all="ignore"):
        expected = OPERATORS[name].numpy(x != 0 if name in EXACT[2:] else x, axis=axis)
    made = ow.fuse(lambda x: OPERATORS[name](x, axis=axis))(x)

    assert numpys(made, expected)


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_minus_zeros_stay(target):
    x = np.full((3, 300), -0.0, np.float32)
    x[1, 200:] = 0.0
    for axis in (0, 1):
        fused = ow.fuse(lambda x, a=axis: (x.cumsum(a), x.cumprod(a)))
        expected = x.cumsum(axis), x.cumprod(axis)
        for want, found in zip(expected, fused.lower(x, target=target)(x), strict=True):
            assert want.tobytes() == found.tobytes()


@host
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_special_values_are_carried_as_numpy_does(name, bad, target):
    x = np.ones((3, 700), np.float32)
    x[1, 333], x[2, 5], x[2, 600] = bad, np.inf, -np.inf
    with np.errstate(all="ignore"):
        expected = OPERATORS[name].numpy(x, axis=1)
    made = ow.fuse(lambda x: OPERATORS[name](x, axis=1)).lower(x, target=target)(x)

    np.testing.assert_array_equal(expected, made)


FORMS = {
    "prologue and epilogue": lambda x: np.cumsum(np.exp(x) * 2, axis=-1) / 3,
    "columns": lambda x: np.exp(x).cumsum(0) * 2,
    "several": lambda x: (x.cumsum(1), np.maximum.accumulate(x, 1), x * x),
    "one behind another": lambda x: (x.cumsum(1) * 0.5).cumprod(1) - x,
    "kept between passes": lambda x: np.exp(x) / np.exp(x).cumsum(1),
    "kept down columns": lambda x: np.exp(x) / np.exp(x).cumsum(0).cumsum(0),
    "drawdown": lambda x: x - np.maximum.accumulate(x, axis=1),
    "16-bit": lambda x: x.astype(np.float16).cumsum(1) + x.astype(np.float16).cumprod(0),
    "with a row value": lambda x: np.cumsum(x * np.exp(x[:, :1]), axis=1) + x[0],
    "with a column value": lambda x: np.cumsum(x * x[:, :1] + x[0], axis=0),
    "before a reduction": lambda x: x.cumsum(1).max(axis=1),
    "of a softmax": lambda x: ow.softmax(x).cumsum(1),
}


@host
@pytest.mark.parametrize("target", ["host", "sm_75", "sm_90a"])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("shape", [(5, 37), (3, 2100)], ids=str)
def test_fused_and_unfused_bits_agree(name, shape, target):
    x = array(*shape)
    fused = ow.fuse(FORMS[name])
    made = fused.lower(x, target=target)(x)
    alone = fused.unfused().lower(x, target=target)(x)
    pairs = zip(made, alone, strict=True) if isinstance(made, tuple) else [(made, alone)]

    assert fused.check(x, target=target).ok
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


TOGGLES = [
    {"USE_WARP_SHUFFLE": 0}, {"USE_VECTOR_IO": 0}, {"USE_64BIT_INDEX": 1}, {"ROWS_PER_BLOCK": 4},
    {"USE_WARP_SHUFFLE": 0, "ROWS_PER_BLOCK": 4}, {"BLOCK": 128}, {"VECTOR": 4}, {"CHUNKS": 2},
]  # fmt: skip


@host
@pytest.mark.parametrize("toggles", TOGGLES, ids=str)
@pytest.mark.parametrize("shape", [(9, 60), (3, 1200), (2, 4100)], ids=str)
def test_a_toggle_changes_no_bit(shape, toggles):
    x = array(*shape)
    for function in (lambda x: np.cumsum(x, 1) * x, lambda x: np.cumsum(x[:, :70], 0)):
        fused = ow.fuse(function)
        expected = fused.lower(x, target="sm_80")(x)
        found = fused.with_toggles(**toggles).lower(x, target="sm_80")(x)

        assert expected.tobytes() == found.tobytes()


@host
@pytest.mark.parametrize("threads", [1, 2, 8, 32, 64, 128])
def test_threads_of_a_row_replace_the_plan_fused_and_unfused_alike(threads):
    x = array(3, 530)
    fused = ow.fuse(lambda x: np.cumsum(x * 2, 1) + 1).with_toggles(
        THREADS_PER_ROW=threads, LANES=2, ROWS_PER_BLOCK=max(1, 32 // threads)
    )
    program = fused.lower(x, target="sm_80")

    assert program.kernels[0].data.plan == ScanPlan(threads, 2)
    assert program.check(x).ok
    alone = fused.unfused().lower(x, target="sm_80")(x)
    assert program(x).tobytes() == alone.tobytes()


@host
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", [(5, 30), (3, 1000), (2, 2050), (2, 9000)], ids=str)
def test_every_schedule_of_threads_gives_the_same_bits(shape, target):
    x = array(*shape)
    program = ow.fuse(lambda x: np.cumsum(x, 1) / np.maximum.accumulate(x, 1)).lower(
        x, target=target
    )
    found = {program.verify(x, schedule=s).tobytes() for s in (0, 1, 2, 3)}

    assert len(found) == 1


PARTED = {
    "one row": (lambda x: np.cumsum(x * 2) + x, (40_001,)),
    "rows": (lambda x: (x.cumsum(1), np.maximum.accumulate(x, 1), x + 1), (3, 33_000)),
    "columns": (lambda x: np.exp(x).cumsum(0) * x[:1], (33_000, 2)),
    "16 bits": (lambda x: x.astype(np.float16).cumprod(-1), (33_001,)),
    "integers": (lambda x: np.cumsum(x > 0), (70_000,)),
    "windows": (lambda x: np.roll(x, 5).cumsum() + np.arange(x.shape[0]), (36_000,)),
    "kept": (lambda x: np.exp(x) / np.exp(x).cumsum(), (36_000,)),
}


@host
@pytest.mark.parametrize("name", PARTED)
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_blocks_that_share_a_row_keep_bounds_and_bits(name, target):
    function, shape = PARTED[name]
    x = array(*shape)
    fused = ow.fuse(function)
    program = fused.lower(x, target=target)
    made, alone = program(x), fused.unfused().lower(x, target=target)(x)
    pairs = zip(made, alone, strict=True) if isinstance(made, tuple) else [(made, alone)]

    assert program.kernels[0].data.template in ("scan_parts", "scan_ahead")
    assert program.check(x).ok
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


@host
@pytest.mark.parametrize("parts", [1, 2, 16, 64])
@pytest.mark.parametrize("shuffle", [0, 1])
def test_parts_of_a_row_replace_the_plan(parts, shuffle):
    x = array(2, 34_000)
    fused = ow.fuse(lambda x: np.cumsum(x * 2, 1)).with_toggles(PARTS=parts)
    program = fused.with_toggles(USE_WARP_SHUFFLE=shuffle).lower(x, target="sm_80")
    found = {program.verify(x, schedule=s).tobytes() for s in (0, 1, 5)}

    assert program.kernels[0].data.plan == ScanPlan(256, 16, parts)
    assert ("#define USE_HELD_TILE     0 " in program.source) == (parts > 1)
    assert found == {fused.unfused().lower(x, target="sm_80")(x).tobytes()}


# By name: toggles, and elements. Of 32 threads x 8 lanes there are 157 parts, in five groups.
GROUPED = {
    "groups of small parts": ({"THREADS_PER_ROW": 32, "LANES": 8, "PARTS": 256}, 40_001),
    "held tiles": ({}, 256 * 1024 + 5000),
}


@host
@pytest.mark.parametrize("name", GROUPED)
def test_groups_of_parts_are_added_up_for_those_behind(name):
    toggles, count = GROUPED[name]
    x = array(count).astype(np.complex128)
    fused = ow.fuse(lambda x: (np.cumsum(x), np.cumsum(x * 2) + x))
    program = fused.with_toggles(**toggles).lower(x, target="sm_90a")
    found = [program.verify(x, schedule=s) for s in (0, 7)]

    assert program.kernels[0].data.template == ("scan_parts" if toggles else "scan_ahead")
    assert program.check(x).ok
    assert len({tuple(a.tobytes() for a in each) for each in found}) == 1


def test_a_tile_is_held_where_a_part_has_no_other():
    fused = ow.fuse(lambda x: np.cumsum(x)).with_toggles(USE_HELD_TILE=1, PARTS=64)
    with pytest.raises(ToggleError, match="a part has several tiles"):
        fused.lower(array(40_001), target="sm_90a")


# What the first pass reads beside what is scanned, and whether tiles of all of it are copied.
BESIDE = {
    "another": (lambda x, y: (np.cumsum(x), x * y), np.float32, True),
    "a wide one": (lambda x, y: (np.cumsum(x), x * y), np.float64, False),
    "backwards": (lambda x, y: (np.cumsum(x), x * y[::-1]), np.float32, False),
    "every other": (lambda x, y: (np.cumsum(x[::2]), x[::2] * y[::2]), np.float32, False),
    "behind the scan": (lambda x, y: np.cumsum(x) * y, np.float64, True),
    "one for all": (lambda x, y: np.cumsum(x * y[:1]), np.float64, True),
}


@host
@pytest.mark.parametrize("name", BESIDE)
def test_tiles_of_all_that_adds_a_part_up_are_copied_or_none(name):
    function, dtype, copied = BESIDE[name]
    x, y = array(1 << 17), array(1 << 17, dtype=dtype)
    program = ow.fuse(function).lower(x, y, target="sm_90a")
    kernel = program.kernels[0].data

    assert (kernel.template == "scan_ahead") == copied
    assert program.check(x, y).ok
    if copied:
        sizes = [load.dtype.itemsize for load in kernel.totals.loads]
        tiles = 3 * 256 * kernel.toggles["LANES"] * sum(sizes)
        assert kernel.opted_bytes == (tiles if tiles >= 48 * 1024 else 0)
        assert kernel.shared_bytes > tiles


def test_no_rows_of_a_long_scan_have_a_grid():
    program = ow.fuse(lambda x: np.cumsum(x, 1)).lower(np.ones((0, 1 << 20)), target="sm_90a")

    assert program.kernels[0].data.grid(program.found.extents)[1] == 0


PLANS = [
    ((32_768,), ScanPlan(512, 4)), ((32_769,), ScanPlan(256, 16, 16, held=True)),
    ((300_000,), ScanPlan(256, 16, 128, held=True)),
    ((1 << 28,), ScanPlan(256, 16, 1 << 16, held=True)),
    (((1 << 28) + 1,), ScanPlan(256, 16, 1 << 16)),
    ((63, 32_769), ScanPlan(256, 16, 16, held=True)), ((64, 32_769), ScanPlan(512, 8)),
    ((64, 20), ScanPlan(8, 4)), ((20, 64), ScanPlan(16, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "plan"), PLANS, ids=str)
def test_a_plan_follows_from_the_shape_class(shape, plan):
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), shape, (0,) * len(shape))
    found = ow.fuse(lambda x: np.cumsum(x, -1)).lower(x, target="sm_90a")

    assert found.kernels[0].data.plan == plan


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_long_rows_do_not_spill(target, dtype):
    x = np.zeros((64, 32_772), dtype)
    function = lambda x: (x.cumsum(1) + x, x.cumprod(1) / x)  # noqa: E731
    (kernel,) = ow.fuse(function).lower(x, target=target).kernels

    assert kernel.spill_bytes == 0
    assert kernel.registers <= 128


# Shapes


EXTENTS = [0, 1, 2, 3, 7, 31, 32, 33, 127, 128, 129, 257]


@host
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_any_extent_along_and_beside_the_axis(extent, target):
    for shape in ((3, extent), (extent, 5), (extent, 20), (2, extent, 3), (2, 4, extent)):
        x = array(*shape)
        for axis in range(len(shape)):
            program = ow.fuse(lambda x, a=axis: np.cumsum(x, a)).lower(x, target=target)
            made = program(x)
            assert made.shape == shape
            assert program.check(x).ok


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_an_array_without_dimensions_becomes_a_row_of_one(target):
    x = np.array(1.5, np.float32)
    for function in (lambda x: np.cumsum(x), lambda x: x.cumprod()):
        made = ow.fuse(function).lower(x, target=target)(x)
        assert (made.shape, made.tolist()) == ((1,), [1.5])


LAYOUTS = {
    "Fortran": np.asfortranarray(array(12, 40)),
    "every other column": array(12, 80)[:, ::2],
    "backwards": array(12, 40)[::-1, ::-1],
    "broadcast rows": np.broadcast_to(array(40), (12, 40)),
    "broadcast columns": np.broadcast_to(array(12, 1), (12, 40)),
    "moved": np.moveaxis(array(4, 20, 7), 0, 2),
    "middle": array(3, 30, 24)[:, ::3],
    "planes": array(5, 2, 6, 18),
}


@host
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_any_order_in_memory_gives_the_bits_of_a_copy(layout, target):
    x = LAYOUTS[layout]
    for axis in (None, *range(x.ndim)):
        fused = ow.fuse(lambda x, a=axis: np.cumsum(x, a))
        made, copied = (fused.lower(a, target=target)(a) for a in (x, x.copy()))
        assert made.tobytes() == copied.tobytes()


@host
@pytest.mark.parametrize("rows", [4095, 4096])
def test_columns_are_walked_abreast_where_there_are_many(rows):
    x = array(130, rows)
    program = ow.fuse(lambda x: np.cumsum(x, 0)).lower(x, target="sm_80")

    assert program.kernels[0].data.template == ("scan" if rows < 4096 else "scan_columns")
    assert program.kernels[0].data.plan.threads == (
        128 if rows < 128 else 32 if rows < 4096 else 1
    )


@pytest.mark.parametrize(("shape", "axis", "parts"), [
    ((128, 5000), 0, 1), ((129, 4096), 0, 2), ((4096, 4096), 0, 32), ((100_000, 5000), 0, 16),
    ((3, 4096, 4096), 1, 8), ((1 << 20, 4096), 0, 32), ((4096, 1 << 20), 0, 1),
])  # fmt: skip
def test_blocks_share_columns_that_do_not_fill_a_device(shape, axis, parts):
    x = np.broadcast_to(np.float32(1), shape)
    (kernel,) = ow.fuse(lambda x: np.cumsum(x, axis)).lower(x, target="sm_80").kernels

    assert kernel.toggles["PARTS"] == kernel.data.plan.parts == parts
    assert kernel.data.grid(kernel.program.found.extents)[1] == parts


SHARED = {
    "float32": lambda x: np.cumsum(x * 2, axis=0) + 1,
    "float16": lambda x: np.cumsum(x, axis=0),
    "bfloat16": lambda x: np.cumprod(x, axis=0),
    "complex64": lambda x: np.cumsum(x, axis=0),
    "uint8": lambda x: np.maximum.accumulate(x, axis=0),
    "float64": lambda x: (np.cumsum(x, 0), np.minimum.accumulate(x * x, 0)),
}


@host
@pytest.mark.parametrize("parts", [2, 8])
@pytest.mark.parametrize("dtype", SHARED)
def test_no_schedule_changes_a_bit_of_columns_that_blocks_share(dtype, parts):
    x = values(dtype, 77 * 90, seed=3).reshape(77, 90)
    program = ow.fuse(SHARED[dtype]).with_toggles(PARTS=parts).lower(x, target="sm_80")
    runs = set()
    for schedule in (0, 1, 2, 77):
        assert program.check(x, schedule=schedule).ok
        found = program.verify(x, schedule=schedule)
        runs.add(b"".join(a.tobytes() for a in (found if type(found) is tuple else (found,))))

    assert len(runs) == 1
    assert [kernel.toggles["PARTS"] for kernel in program.kernels] == [parts]


@host
def test_batches_and_parts_without_rows_are_shared_too():
    for shape in [(3, 5, 40), (2, 33, 7), (0, 9, 40), (3, 1, 40)]:
        x = array(*shape)
        program = ow.fuse(lambda x: np.cumsum(x, 1)).with_toggles(PARTS=4).lower(x, target="sm_80")
        assert program.check(x, schedule=5).ok


# Kernels


KERNELS = [
    ("a product and its sums", lambda x, w: np.cumsum(x * w, axis=-1), 1),
    ("a running mean", lambda x, w: np.cumsum(x, -1) / np.arange(1, x.shape[-1] + 1), 1),
    ("down columns", lambda x, w: np.exp(x).cumsum(0) * 2, 1),
    ("a drawdown", lambda x, w: x - np.maximum.accumulate(x, axis=-1), 1),
    ("several scans of one row", lambda x, w: (x.cumsum(1), (x * x).cumsum(1)), 1),
    ("a scan behind a scan", lambda x, w: x.cumsum(1).cumsum(1), 1),
    ("a transposed scan", lambda x, w: np.cumsum(x.T * 2, axis=0) + 1, 1),
    ("along two axes", lambda x, w: x.cumsum(0).cumsum(1), 2),
    ("a scan and a reduction", lambda x, w: x.cumsum(1) / x.sum(1, keepdims=True), 2),
    ("a scan that is sliced", lambda x, w: x.cumsum(1)[:, 1:] * 2, 2),
    ("a special function of a row of weights", lambda x, w: np.cumsum(x * np.exp(w), axis=0), 2),
]  # fmt: skip


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize(("function", "kernels"), [k[1:] for k in KERNELS],
                         ids=[k[0] for k in KERNELS])  # fmt: skip
def test_as_few_kernels_as_scans_allow(function, kernels, target):
    x, w = array(40, 300), array(300)

    assert kernels == len(ow.fuse(function).lower(x, w, target=target).kernels)


def test_rows_of_a_class_share_a_kernel():
    fused = ow.fuse(lambda x: np.cumsum(x, 1))
    for target, extents in (("host", (64, 128, 1024, 102_400)), ("sm_80", (70_000, 120_000))):
        made = [fused.lower(array(2, n), target=target).lowered for n in extents]
        assert all(lowered is made[0] for lowered in made)


def test_a_scan_behind_a_scan_of_a_long_row_is_a_kernel_of_its_own():
    x = array(40_000)
    program = ow.fuse(lambda x: x.cumsum().cumsum()).lower(x, target="sm_80")

    assert len(program.kernels) == 2
    assert len(ow.fuse(lambda x: x.cumsum().cumsum()).lower(x, target="host").kernels) == 1


def test_a_row_is_read_once_for_all_scans_of_it():
    x = array(40, 300)
    explained = ow.fuse(lambda x: np.exp(x) / np.exp(x).cumsum(1)).explain(x)

    assert explained.bytes_moved == 2 * x.nbytes
    assert "tiles" in ow.fuse(lambda x: x.cumsum(1)).explain(x, target="sm_80").text


def test_the_reason_why_a_scan_stands_apart_is_explained():
    explained = ow.fuse(lambda x: x.cumsum(1) / x.sum(1, keepdims=True)).explain(array(4, 9))

    assert any("a reduction knows its result" in d for d in explained.decisions)


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", TARGETS)
def test_a_row_of_a_warp_is_scanned_by_shuffles_in_16_byte_accesses(target):
    x = array(64, 1024)
    kernel = ow.fuse(lambda x: np.cumsum(x, 1)).lower(x, target=target).kernels[0]

    for found in ("SHFL.UP", "LDG.E.128", "STG.E.128"):
        assert found in kernel.sass
    assert "BAR.SYNC" not in kernel.sass


@pytest.mark.nvrtc
def test_eight_rows_of_a_column_are_read_before_the_first_is_added():
    x = array(512, 4096)
    sass = ow.fuse(lambda x: np.cumsum(x, 0)).lower(x, target="sm_90a").kernels[0].sass
    order = [w for w in sass.replace(";", " ").split() if w.startswith(("LDG", "FADD", "STG"))]

    assert "LDG LDG LDG LDG LDG LDG LDG LDG" in " ".join(w.split(".")[0] for w in order)
