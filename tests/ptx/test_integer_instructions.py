"""Integer, bit and conversion instructions of PTX against Python's own integers."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from opweave.opcodes.errors import UnknownInstructionError
from tests.ptx.test_float_instructions import F32, F64, agrees, raw, round_to
from tests.support.ptx import computed

RNG = np.random.default_rng(3)


def words(bits):
    edges = [
        0,
        1,
        2,
        3,
        2 ** (bits - 1),
        2 ** (bits - 1) - 1,
        2**bits - 1,
        2**bits - 2,
        31,
        32,
        33,
    ]
    drawn = [int(v) for v in RNG.integers(0, 2 ** min(bits, 63), 40)]
    return [v % 2**bits for v in edges + drawn]


def signed(value, bits):
    return value - 2**bits if value >> (bits - 1) else value


def quotient(a, b, rest=False):
    """Toward zero."""
    q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a - q * b if rest else q


def field(value, at, count, bits):
    at, count = at & 255, count & 255
    return value >> at & ((1 << count) - 1) if at < bits else 0


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
    "min": min, "max": max, "div": lambda a, b: quotient(a, b) if b else -1,
    "rem": lambda a, b: quotient(a, b, rest=True) if b else -1,
}  # fmt: skip
TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", [*BINARY, "mul.hi"])
def test_arithmetic_wraps(name, kind):
    bits = int(kind[1:])
    found = words(bits)
    a = np.array(found * 2, f"u{bits // 8}")
    b = np.array(found[::-1] + found[5:] + found[:5], a.dtype)
    made = computed(f"{name}.{kind}", [a, b], a.dtype)
    meaning = BINARY.get(name, lambda x, y: x * y >> bits)
    own = (lambda v: signed(v, bits)) if kind[0] == "s" else (lambda v: v)

    assert [meaning(own(int(x)), own(int(y))) % 2**bits for x, y in zip(a, b, strict=True)] == (
        made.tolist()
    )


A, B, C = (np.array(RNG.permutation(words(32)), np.uint32) for _ in range(3))
TERNARY = [
    ("lop3.b32", lambda a, b, c: (a & b) ^ c, ["0x6a"]),
    ("mad.lo.u32", lambda a, b, c: a * b + c, []),
    ("mad.hi.u32", lambda a, b, c: (a * b >> 32) + c, []),
    ("sad.u32", lambda a, b, c: abs(a - b) + c, []),
    ("shf.l.wrap.b32", lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32, []),
    ("shf.r.wrap.b32", lambda a, b, c: (b << 32 | a) >> (c & 31), []),
    ("shf.r.clamp.b32", lambda a, b, c: (b << 32 | a) >> min(c, 32), []),
    ("bfe.u32", lambda a, b, c: field(a, b, c, 32), []),
    ("prmt.b32", lambda a, b, c: sum(permuted(a, b, c >> 4 * n) << 8 * n for n in range(4)), []),
    ("dp4a.u32.u32", lambda a, b, c: c + sum(
        (a >> 8 * n & 255) * (b >> 8 * n & 255) for n in range(4)), []),
]  # fmt: skip


def permuted(a, b, selector):
    byte = (b << 32 | a) >> 8 * (selector & 7) & 255
    return (255 if byte & 128 else 0) if selector & 8 else byte


@pytest.mark.parametrize(("opcode", "meaning", "extra"), TERNARY, ids=[t[0] for t in TERNARY])
def test_bits_of_three_operands(opcode, meaning, extra):
    made = computed(opcode, [A, B, C], np.uint32, extra)
    found = [meaning(*map(int, v)) % 2**32 for v in zip(A, B, C, strict=True)]

    assert found == made.tolist()


UNARY = [
    ("popc.b32", lambda a: a.bit_count()), ("clz.b32", lambda a: 32 - a.bit_length()),
    ("brev.b32", lambda a: int(f"{a:032b}"[::-1], 2)), ("not.b32", lambda a: ~a),
    ("neg.s32", lambda a: -a), ("abs.s32", lambda a: abs(signed(a, 32))),
    ("cnot.b32", lambda a: int(a == 0)), ("bfind.u32", lambda a: a.bit_length() - 1),
    ("bfind.s32", lambda a: (a if a < 2**31 else ~a % 2**32).bit_length() - 1),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "meaning"), UNARY, ids=[u[0] for u in UNARY])
def test_bits_of_one_operand(opcode, meaning):
    made = computed(opcode, [A], np.uint32)

    assert [meaning(int(a)) % 2**32 for a in A] == made.tolist()


@pytest.mark.parametrize(("opcode", "meaning"), [
    ("shl.b32", lambda a, n: a << n if n < 32 else 0),
    ("shr.u32", lambda a, n: a >> n if n < 32 else 0),
    ("shr.s32", lambda a, n: signed(a, 32) >> min(n, 31)),
    ("bfe.s32", lambda a, n: signed_field(a, n, 7)),
    ("bfi.b32", lambda a, n: inserted(a, 0x5A5A5A5A, n, 9)),
])  # fmt: skip
def test_shifts_beyond_the_width(opcode, meaning):
    by = np.array([n % 70 for n in range(len(A))], np.uint32)
    operands, extra = [A, by], []
    if opcode == "bfe.s32":
        extra = ["7"]
    if opcode == "bfi.b32":
        operands, extra = [A, np.full_like(A, 0x5A5A5A5A), by], ["9"]
    made = computed(opcode, operands, np.uint32, extra)

    assert [meaning(int(a), int(n)) % 2**32 for a, n in zip(A, by, strict=True)] == made.tolist()


def signed_field(a, at, count):
    """Bit by bit: beyond the operand's end stands its highest bit, or the field's own."""
    top = min(at + count - 1, 31)
    sign = a >> top & 1
    return sum((a >> at + n & 1 if n < count and at + n <= 31 else sign) << n for n in range(32))


def inserted(a, b, at, count):
    mask = ((1 << count) - 1) << at & 0xFFFFFFFF
    return (a << at) & mask | b & ~mask


INTEGERS = {"u8": np.uint16, "s8": np.uint16, "u16": np.uint16, "s16": np.uint16, "u32": np.uint32,
            "s32": np.uint32, "u64": np.uint64, "s64": np.uint64}  # fmt: skip
ROUNDED = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("mode", ROUNDED)
@pytest.mark.parametrize("made", ["u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_a_float_becomes_an_integer_within_its_range(source, made, mode):
    x = np.concatenate([F32 if source == "f32" else F64, np.array(
        [0.5, 1.5, 2.5, -0.5, -2.5, 2.0**31, -(2.0**31), 2.0**63, 1e10, -1e10, 65535.5])
        .astype("f4" if source == "f32" else "f8")])  # fmt: skip
    bits = int(made[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if made[0] == "s" else (0, 2**bits - 1)
    nan = 2 ** (bits - 1) if source == "f64" or bits == 64 else 0

    def meaning(v):
        if math.isnan(v):
            return nan
        return (low if v < 0 else high) if math.isinf(v) else min(max(ROUNDED[mode](v), low), high)

    found = computed(f"cvt.{mode}.{made}.{source}", [raw(x)], INTEGERS[made])

    assert [meaning(v) % 2**bits for v in x.tolist()] == found.tolist()


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("made", "source"), [
    ("f32", "u32"), ("f32", "s64"), ("f64", "u64"), ("f16", "s32"), ("f64", "s32"),
])  # fmt: skip
def test_an_integer_becomes_a_float_rounded_once(made, source, mode):
    bits = int(source[1:])
    x = np.array(words(bits), f"u{bits // 8}")
    dtype = {"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8")}[made]
    found = computed(f"cvt.{mode}.{made}.{source}", [x], f"u{dtype.itemsize}").view(dtype)
    own = [signed(int(v), bits) if source[0] == "s" else int(v) for v in x]
    expected = np.array([round_to(Fraction(v), dtype, mode, 0.0) for v in own], dtype)

    assert agrees(found, expected).all()


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("made", "source"), [("f32", "f64"), ("f16", "f32"), ("bf16", "f32"),
                                              ("f16", "f64")])  # fmt: skip
def test_a_float_becomes_a_narrower_one(made, source, mode):
    if mode in ("rm", "rp") and made == "bf16":
        mode = "rz"
    x = np.concatenate([F32, F32 * np.float32(1e-38), 1 + F32 * np.float32(2.0**-9)])
    x = x if source == "f32" else np.concatenate([F64, x.astype("f8"), F32 + 2.0**-40])
    dtype = np.dtype({"f32": "f4", "f16": "f2"}.get(made) or ml_dtypes.bfloat16)
    found = computed(f"cvt.{mode}.{made}.{source}", [raw(x)], f"u{dtype.itemsize}").view(dtype)
    with np.errstate(all="ignore"):
        near = x.astype(dtype)
    expected = np.array([
        round_to(Fraction(v), dtype, mode, n) if math.isfinite(v) else n
        for v, n in zip(x.tolist(), near, strict=True)
    ], dtype)  # fmt: skip

    assert agrees(found, expected).all()


@pytest.mark.parametrize(("mode", "bytes_of"), [  # the ISA's table, the highest byte first
    ("f4e", [(3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)]),
    ("b4e", [(5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)]),
    ("rc8", [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)]),
    ("ecl", [(3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)]),
    ("ecr", [(0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)]),
    ("rc16", [(1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)]),
])  # fmt: skip
def test_modes_of_a_permutation(mode, bytes_of):
    low, high = np.full(4, 0x33221100, np.uint32), np.full(4, 0x77665544, np.uint32)
    found = computed(f"prmt.b32.{mode}", [low, high, np.arange(4, dtype=np.uint32)], np.uint32)

    assert [tuple(word.to_bytes(4, "big")) for word in found.tolist()] == [
        tuple(0x11 * n for n in row) for row in bytes_of
    ]


@pytest.mark.parametrize(("opcode", "dtype"), [("cvt.rn.relu.f16.f32", np.uint16),
                                               ("cvt.rz.relu.bf16.f32", np.uint16)])  # fmt: skip
def test_what_is_not_above_zero_becomes_plus_zero(opcode, dtype):
    found = computed(opcode, [raw(np.float32([-0.0, -1e-42, -2.5, 0.0, np.nan, 1.0]))], dtype)

    assert found[:5].tolist() == [0, 0, 0, 0, 0x7FFF]
    assert found[5] > 0


def test_two_floats_become_a_packed_word():
    a, b = np.float32([1.0, 70000.0, -2.5]), np.float32([0.1, -3.0, np.nan])
    found = computed("cvt.rn.f16x2.f32", [raw(a), raw(b)], np.uint32)
    with np.errstate(all="ignore"):
        low, high = b.astype(np.float16), a.astype(np.float16)
    halves = found.view(np.float16).reshape(-1, 2)

    np.testing.assert_array_equal(halves, np.stack([low, high], 1))


@pytest.mark.parametrize("opcode", [
    "add.f33", "frobnicate.u32", "mul.u32", "fma.f32", "cvt.f16.f32", "div.f32", "add.rn.u32",
    "ex2.f32", "setp.lt.b32", "fma.rn.relu.f32", "min.NaN.f64", "sqrt.approx.ftz.f64",
    "add.u16x2", "min.ftz.s32", "shl.u32", "add.rna.f32", "wgmma.fence",
    "tensormap.replace.b32", "cvt.rn.satfinite.e4m3x2.f32", "bfe.b32", "prmt.b32.f5e", "popc.u32",
])  # fmt: skip
def test_what_is_not_known_is_an_error_that_names_it(opcode):
    with pytest.raises(UnknownInstructionError, match=opcode.replace(".", r"\.")) as caught:
        computed(opcode, [A, B], np.uint32)
    assert caught.value.instruction == opcode
    assert caught.value.line > 0
