"""Each instruction that addresses and branches are made of, held to NumPy."""

import numpy as np
import pytest

from tests.sass.support import computed

rng = np.random.default_rng(7)
A, B, C = (rng.integers(0, 2**32, 32, dtype=np.uint32) for _ in range(3))
A[:4], B[:4], C[:4] = [0, 1, 2**31, 2**32 - 1], [0, 2**32 - 1, 2**31, 1], [0, 0, 1, 2**32 - 1]
P = rng.integers(0, 2, 32).astype(bool)


def u64(x):
    return x.astype(np.uint64)


def s64(x):
    return x.view(np.int32).astype(np.int64)


def low(x):
    return (np.asarray(x).astype(np.uint64) & np.uint64(2**32 - 1)).astype(np.uint32)


def high(x):
    return (np.asarray(x).astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


PAIR = u64(A) | u64(C) << np.uint64(32)
S = np.uint64
REGISTERS = [
    ("IADD3 R0, R1, R2, R3", A + B + C),
    ("IADD3 R0, -R1, R2, RZ", B - A),
    ("IADD3 R0, R1, -0x5, RZ", A - np.uint32(5)),
    ("IADD3.X R0, R1, ~R2, RZ, P0, !PT", A + ~B + P),
    ("VIADD R0, R1, 0xfffffffe", A - np.uint32(2)),
    ("IMAD R0, R1, R2, R3", A * B + C),
    ("IMAD.IADD R0, R1, 0x1, -R2", A - B),
    ("IMAD.MOV.U32 R0, RZ, RZ, -R2", np.uint32(0) - B),
    ("IMAD.SHL.U32 R0, R1, 0x10, RZ", A << np.uint32(4)),
    ("IMAD.HI.U32 R0, R1, R2, RZ", high(u64(A) * u64(B))),
    ("IMAD.WIDE R0, R1, R2, RZ", low((s64(A) * s64(B)).view(np.uint64))),
    ("IMAD.WIDE.U32 R0, R1, 0x4, R2", low(u64(A) * S(4) + (u64(B) | u64(C) << S(32)))),
    ("LEA R0, R1, R2, 0x3", (A << np.uint32(3)) + B),
    ("LEA.HI R0, R1, R2, R3, 0x3", high(PAIR << S(3)) + B),
    ("LEA.HI.X.SX32 R0, R1, R2, 0x1, P0", high((s64(A) << 1).view(np.uint64)) + B + P),
    ("SHF.L.U32 R0, R1, 0x5, RZ", A << np.uint32(5)),
    ("SHF.L.U64.HI R0, R1, 0x5, R3", high(PAIR << S(5))),
    ("SHF.R.U64 R0, R1, 0x5, R3", low(PAIR >> S(5))),
    ("SHF.R.U32.HI R0, RZ, 0x7, R1", A >> np.uint32(7)),
    ("SHF.R.S32.HI R0, RZ, 0x1f, R1", low(s64(A) >> 31)),
    ("SHF.L.U32.HI R0, R1, 0x28, R3", A),
    ("SHF.R.U32 R0, R1, 0x28, R3", C),
    ("SHF.L.W.U32.HI R0, R1, 0x28, R3", high(PAIR << S(8))),
    ("SHF.R.U64 R0, R1, 0x28, R3", low(PAIR >> S(40))),
    ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", A ^ B ^ C),
    ("LOP3.LUT R0, R1, 0xff, RZ, 0xc0, !PT", A & np.uint32(255)),
    ("LOP3.LUT R0, RZ, R1, RZ, 0x33, !PT", ~A),
    ("SEL R0, R1, R2, P0", np.where(P, A, B)),
    ("IMNMX R0, R1, R2, P0", low(np.where(P, np.minimum(s64(A), s64(B)), np.maximum(s64(A), s64(B))))),
    ("VIMNMX.U32 R0, R1, R2, PT", np.minimum(A, B)),
    ("VIADDMNMX R0, R1, R2, R3, PT", low(np.minimum(s64(A + B), s64(C)))),
    ("SGXT.U32 R0, R1, 0x5", A & np.uint32(31)),
    ("SGXT R0, R1, 0x8", low(A.astype(np.uint8).view(np.int8).astype(np.int64))),
    ("SGXT.U32 R0, R1, 0x20", A),
    ("IABS R0, R1", low(np.abs(s64(A)))),
    ("MOV R0, R1", A),
    ("PRMT R0, R1, 0x3210, R2", A),
    ("PRMT R0, R1, 0x9910, RZ", low((A & np.uint32(0xFFFF)).astype(np.uint16).view(np.int16).astype(np.int64))),
    ("POPC R0, R1", np.bitwise_count(A).astype(np.uint32)),
    ("FLO.U32 R0, R1", np.array([int(x).bit_length() - 1 & 0xFFFFFFFF for x in A], np.uint32)),
    ("VOTE.ANY R0, PT, P0", np.full(32, sum(1 << n for n in range(32) if P[n]), np.uint32)),
    ("SHFL.IDX PT, R0, R1, 0x3, 0x1f", np.full(32, A[3])),
    ("P2R R0, PR, RZ, 0x1", P.astype(np.uint32)),
    ("P2R R0, PR, R1, 0x1", A & ~np.uint32(1) | P),
    ("S2R R0, SR_LANEID", np.arange(32, dtype=np.uint32)),
]  # fmt: skip
PREDICATES = [
    ("ISETP.GT.AND P1, PT, R1, R2, PT", s64(A) > s64(B)),
    ("ISETP.GE.U32.AND P1, PT, R1, R2, P0", (A >= B) & P),
    ("ISETP.NE.OR P1, PT, R1, R2, !P0", (A != B) | ~P),
    ("ISETP.LT.AND.EX P1, PT, R1, R2, PT, P0", (s64(A) < s64(B)) | ((A == B) & P)),
    ("IADD3 RZ, P1, R1, R2, RZ", u64(A) + u64(B) >= 2**32),
    ("IADD3 RZ, P1, -R1, R2, RZ", B >= A),
    ("LOP3.LUT P1, RZ, R1, 0x1, RZ, 0xc0, !PT", A & 1 > 0),
    ("PLOP3.LUT P1, PT, P0, PT, PT, 0x8, 0x0", ~P),
    ("PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x8", P),
    ("R2P PR, R1, 0x2", A & 2 > 0),
    ("VOTE.EQ P1, P0", np.zeros(32, bool)),
    ("VOTE.EQ P1, PT", np.ones(32, bool)),
    ("VOTE.EQ P1, !PT", np.ones(32, bool)),
    ("VOTE.ALL P1, P0", np.zeros(32, bool)),
]


@pytest.mark.parametrize(
    ("text", "expected"), REGISTERS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_register_holds_what_numpy_computes(text, expected):
    m = computed(text, R1=A, R2=B, R3=C, P0=P).machine

    assert m.known[0].all()
    assert np.array_equal(m.registers[0], expected)


@pytest.mark.parametrize(
    ("text", "expected"), PREDICATES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_predicate_holds_what_numpy_computes(text, expected):
    m = computed(text, R1=A, R2=B, R3=C, P0=P).machine

    assert m.sure[1].all()
    assert np.array_equal(m.predicates[1], expected)


@pytest.mark.parametrize("text", [text for text, _ in REGISTERS if "R1" in text])
def test_what_follows_from_an_unknown_value_is_unknown(text):
    assert not computed(text, R2=B, R3=C, P0=P).machine.known[0].all()


def test_a_division_by_a_number_that_only_the_launch_knows():
    # as the compiler writes x / n for unsigned numbers
    text = """
        I2F.U32.RP R4, R2
        MUFU.RCP R4, R4
        IADD3 R5, R4, 0xffffffe, RZ
        F2I.FTZ.U32.TRUNC.NTZ R5, R5
        IADD3 R6, RZ, -R5, RZ
        IMAD R6, R6, R2, RZ
        IMAD.MOV.U32 R4, RZ, RZ, RZ
        IMAD.HI.U32 R5, R5, R6, R4
        IMAD.HI.U32 R0, R5, R1, RZ
        IADD3 R6, -R0, RZ, RZ
        IMAD R6, R2, R6, R1
        ISETP.GE.U32.AND P0, PT, R6, R2, PT
        @P0 IADD3 R6, -R2, R6, RZ
        @P0 IADD3 R0, R0, 0x1, RZ
        ISETP.GE.U32.AND P1, PT, R6, R2, PT
        @P1 IADD3 R0, R0, 0x1, RZ
    """
    n = np.maximum(B >> np.uint32(12), 1)
    m = computed(text, R1=A, R2=n).machine

    assert m.known[0].all()
    assert np.array_equal(m.registers[0], A // n)


def test_an_instruction_that_nobody_knows_is_named():
    found = computed("IFOO R0, R1, R2", R1=A, R2=B)

    assert found.unknown == {"IFOO"}
    assert not found.machine.known[0].any()
