"""Row 6 of docs/trust.md: more than 2^31 elements or bytes.

The audit lowers every form for such extents and reads its source; arrays whose pages are never
touched take their place.  What lies behind 2^31 and 2^32 elements is read for real, through
strides over memory that exists only where it is touched.  Whole arrays beyond 2^31 elements are
written and read by

    OPWEAVE_LARGE=1 pytest tests/trust/test_offsets.py -k whole
"""

import os
import re

import numpy as np
import pytest

import opweave as ow
from opweave.cli.arguments import make_array
from tests.support.variants import layer_norm, softmax

BIG = 2**31


def unreal(*shape, dtype="u8"):
    """An array of zeros that takes no memory."""
    return make_array(dtype, ",".join(map(str, shape)), "C", "")


# form: function, arguments
AUDIT = {
    "map": (lambda x: x + 1, lambda: [unreal(BIG)]),
    "map of rows": (lambda x, y: x * y, lambda: [unreal(3, BIG // 2), unreal(3, 1)]),
    "map, 2^31 bytes only": (lambda x: x + 1, lambda: [unreal(BIG // 4 + 4, dtype="f32")]),
    "gather": (lambda x, y: x + y, lambda: [unreal(2**16, 2**16), unreal(2**16, 1)]),
    "strided": (lambda x: x + 1, lambda: [unreal(2, BIG)[:, ::2]]),
    "row": (softmax, lambda: [unreal(2**20, 2**12, dtype="f32")]),
    "row, long": (layer_norm, lambda: [unreal(40, 2**26, dtype="f32"), *(
        unreal(2**26, dtype="f32") for _ in range(2))]),
    "reduce": (lambda x: x.sum(), lambda: [unreal(BIG)]),
    "columns": (lambda x: x.sum(axis=0), lambda: [unreal(2**16, 2**16)]),
    "product": (lambda x, w: x @ w, lambda: [unreal(2**16, 2**16, dtype="f32"),
                                             unreal(2**16, 8, dtype="f32")]),
    "product of rows": (lambda x, w: softmax(x @ w), lambda: [
        unreal(2**16, 2**16, dtype="f32"), unreal(2**16, 64, dtype="f32")]),
    "scan": (lambda x: x.cumsum(1), lambda: [unreal(2**20, 2**12)]),
    "scan, long": (lambda x: np.maximum.accumulate(x), lambda: [unreal(BIG)]),
    "scan of columns": (lambda x: x.cumsum(1), lambda: [unreal(2, 2**15, 2**16)]),
    "pixel": (lambda x: ow.pixels.saturation(x, 1.5), lambda: [unreal(2**16, 2**14, 3, dtype="f32")]),
    "tile": (lambda x, y: x.T * y, lambda: [unreal(2**16, 2**16), unreal(2**16, 2**16)]),
    "window": (lambda x: np.roll(x, 1, 1), lambda: [unreal(2**16, 2**16)]),
    "places": (lambda x, i: x[:, i], lambda: [unreal(2**16, 2**16), unreal(9, dtype="i64")]),
    "places, long": (lambda x: np.roll(x, 1), lambda: [unreal(BIG)]),
}  # fmt: skip
# What depends on an extent or a stride, and may exceed 31 bits.
LONG = re.compile(
    r"\b(rows|cols|depth|width|row|row0|tiles|across|batch|first|j0|m0|n0|k0|chunk|chunks|n\d+(_n\d+)*|\w+_s\d+(x\d+)?|r\d|q\d)\b"
)
NARROW = re.compile(r"\b(?:int|unsigned)\s+(\w+)\s*=\s*([^;]+);")
BLOCK = re.compile(r"(\(index_t\))?blockIdx\.\w\s*\*")


def narrow_lines(source):
    """Lines in which an int holds what depends on an extent, or a block's number is widened late.

    Counters of chunks within a thread are ints: the compiler bounds them by a row's class.
    """
    # a place along one axis is an int where the guard says that the axis is short
    code = re.sub(r"[^\n]*// coordinate: i32[^\n]*", "", source)
    code = re.sub(r"//[^\n]*", "", code)
    for found in NARROW.finditer(code):
        text = re.sub(r"\(int\)\([^()]*%[^()]*\)", "", found[2])
        if LONG.search(text):
            yield found[0]
    for found in BLOCK.finditer(code):
        if not found[1]:
            yield found[0]


@pytest.mark.parametrize("target", ["host", "sm_80", "sm_90a"])
@pytest.mark.parametrize("form", AUDIT)
def test_long_offsets_are_computed_in_64_bits(form, target):
    function, arguments = AUDIT[form]
    program = ow.fuse(function).lower(*arguments(), target=target)
    for view in program.kernels:
        if view.data.template == "vendor":
            continue
        long = "bytes only" not in form
        assert view.toggles["USE_64BIT_INDEX"] == long or not touches_long(view, form)
        assert list(narrow_lines(view.source)) == []
        for param in view.data.params:
            if param.kind in ("extent", "stride"):
                assert param.ctype == "index_t"


def touches_long(view, form):
    """Kernels behind a reduction may be short."""
    return "out" in form or view.number == 0


def test_the_audit_sees_a_narrow_index():
    assert list(narrow_lines("const int at = row * cols;"))
    assert list(narrow_lines("const index_t first = blockIdx.x * 256;"))
    assert not list(narrow_lines("const index_t first = (index_t)blockIdx.x * 256;"))
    assert not list(narrow_lines("const int lane = threadIdx.x % 32;"))


# Behind 2^31 and 2^32 elements, forwards and backwards.
FAR = {
    "map": lambda x: x + np.uint8(1),
    "row": lambda x: x.max(axis=1),
    "row kept": lambda x: x - x.min(axis=1, keepdims=True),
    "reduce": lambda x: x.astype(np.int64).sum(),
    "columns": lambda x: x.max(axis=0),
    "scan": lambda x: x.cumsum(axis=1),
    "scan of columns": lambda x: np.maximum.accumulate(x, axis=0),
    "tile": lambda x: x.T + np.uint8(1),
    "window": lambda x: np.roll(x, 1, 1),
    "places": lambda x: x[[2, 0, -1, 2]][:, [23, 0, 3]],
    "product": lambda x: x.astype(np.float32) @ x.astype(np.float32).T,
}


@pytest.mark.host
@pytest.mark.parametrize("step", [BIG + 24, 2 * BIG + 8])
@pytest.mark.parametrize("form", FAR)
def test_elements_behind_2_to_the_31_are_read(form, step):
    try:
        memory = np.zeros(2 * step + 4096, np.uint8)  # of which only touched pages exist
    except MemoryError:
        pytest.skip("no address space for it")
    x = np.lib.stride_tricks.as_strided(memory, (3, 70), (step, 1))
    x[...] = np.arange(210, dtype=np.uint8).reshape(3, 70)
    for view in (x, x[::-1, ::-1], x[:, ::3]):
        expected, found = FAR[form](view.copy()), ow.fuse(FAR[form])(view)
        np.testing.assert_array_equal(expected, found)


@pytest.mark.host
@pytest.mark.skipif(not os.environ.get("OPWEAVE_LARGE"), reason="OPWEAVE_LARGE=1 takes 5 GiB")
def test_a_whole_array_beyond_2_to_the_31():
    x = np.zeros(BIG + 7, np.uint8)
    x[-5:], x[BIG - 3 : BIG + 2] = 3, 9
    made = ow.fuse(lambda x: x + np.uint8(1))(x)

    assert made[-5:].tolist() == [4] * 5
    assert made[BIG - 3 : BIG + 2].tolist() == [
        4 if i >= BIG + 2 else 10 for i in range(BIG - 3, BIG + 2)
    ]
    assert int(np.count_nonzero(made != 1)) == 10
    assert ow.fuse(lambda x: x.sum())(x) == 60
    out = ow.fuse(lambda x: x * np.uint8(2))(x, out=made)
    assert int(out.sum(dtype=np.int64)) == 120
