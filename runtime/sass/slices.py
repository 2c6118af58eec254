"""What an instruction reads and writes."""

from __future__ import annotations

from opweave.runtime.sass.listing import PT, RZ, UNIFORM, UPT, SassInstruction, SassOperand

# Nothing is written by them; their operands are all read.
NO_RESULT = (
    "STG STS STL ST RED REDG BRA EXIT RET CALL BAR BSSY BSYNC WARPSYNC MEMBAR NOP CCTL ERRBAR "
    "YIELD NANOSLEEP DEPBAR LDGDEPBAR LDGSTS CGAERRBAR STSM FENCE BREAK KILL BPT"
).split()
CONTROL = ("BRA", "EXIT", "RET", "CALL", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "BAR", "BMOV",
           "KILL", "VOTE", "VOTEU")  # fmt: skip
MEMORY = ("LDG", "STG", "LDS", "STS", "LD", "ST", "ATOMG", "ATOMS", "ATOM", "RED", "REDG",
          "LDL", "STL", "LDGSTS", "LDSM", "STSM")  # fmt: skip
# A register follows the predicates that they write.
PREDICATE_FIRST = ("LOP3", "ULOP3", "SHFL", "ATOMG", "ATOMS", "ATOM", "LDG", "LD", "MATCH", "R2UR")
IN_SHARED = ("LDS", "STS", "ATOMS", "LDSM", "STSM")
# Each of their operands is one register.
SINGLE = (
    "IADD3 UIADD3 VIADD IADD UIADD UVIADD LEA ULEA SHF USHF LOP3 ULOP3 ISETP UISETP SEL USEL "
    "IMNMX VIMNMX UIMNMX UVIMNMX VIADDMNMX MOV UMOV IABS UIABS PRMT UPRMT POPC UPOPC FLO UFLO "
    "SGXT USGXT SHFL R2UR FADD FMUL FFMA FSETP FSEL FMNMX HADD2 HMUL2 HFMA2 HSETP2 HMNMX2 P2R R2P"
).split()
CONSTANTS = (RZ, UNIFORM + RZ)
# Where a predicate is named: behind registers.
PREDICATES = 1024
# Registers of a result by the first modifier that says so.
WIDE = {"64": 2, "128": 4, "WIDE": 2, "F64": 2, "S64": 2, "U64": 2, "96": 3}
DOUBLES = ("DADD", "DFMA", "DMUL")
MATRICES = {"HMMA": 4, "IMMA": 4, "DMMA": 4, "QMMA": 4}


def matrices(one: SassInstruction) -> int:
    """Matrices of 8 x 8 that LDSM and STSM move, a register each."""
    return int(one.modifiers[-1]) if one.modifiers[-1].isdigit() else 1


def result_registers(one: SassInstruction) -> int:
    """Registers of the result; for a product of matrices, as many as it may have."""
    if one.root in DOUBLES:
        return 2
    if one.root in MATRICES:
        return MATRICES[one.root]
    if one.root == "LDSM":
        return matrices(one)
    if one.root in ("CS2R",):
        return 1 if "32" in one.modifiers else 2
    if one.root in ("I2F", "F2I", "F2F", "I2I", "FRND"):
        return 2 if (one.modifiers and one.modifiers[0] in ("F64", "S64", "U64")) or (
            one.root == "F2I" and {"S64", "U64"} & set(one.modifiers)) else 1  # fmt: skip
    if one.root in ("SHF", "MUFU", "ISETP", "DSETP"):
        return 1
    return max((WIDE.get(m, 1) for m in one.modifiers), default=1)


def results(one: SassInstruction) -> tuple[int, int]:
    """How many of the first operands are written, and which of these is a register (-1: none).

    >>> from opweave.runtime.sass.listing import instruction
    >>> results(instruction(0, "IADD3 R8, P0, R2, R4, RZ", 0))
    (2, 0)
    >>> results(instruction(0, "ISETP.GT.AND P3, PT, R37, 0x3, PT", 0))
    (2, -1)
    >>> results(instruction(0, "VOTE.ANY P0, P1", 0))
    (1, -1)
    """
    kinds = [o.kind for o in one.operands]
    if one.root in NO_RESULT or not kinds:
        return 0, -1
    most = 1 if one.root in ("VOTE", "VOTEU", "FCHK") else 2
    if kinds[0] == "r":
        carries = next((n for n, k in enumerate(kinds[1:]) if k != "p"), 0)
        return 1 + min(carries, most), 0
    predicates = min(next((n for n, k in enumerate(kinds) if k != "p"), len(kinds)), most)
    follows = one.root in PREDICATE_FIRST and predicates < len(kinds)
    return (predicates + 1, predicates) if follows else (predicates, -1)


def written(one: SassInstruction) -> list[int]:
    """Registers and predicates that it writes."""
    if one.root == "R2P":
        return [PREDICATES + n for n in range(7)]
    count, register = results(one)
    found = [
        PREDICATES + o.index
        for o in one.operands[:count]
        if o.kind == "p" and o.index not in (PT, UPT)
    ]
    if register >= 0 and one.operands[register].kind == "r":
        first = one.operands[register].index
        if first not in CONSTANTS:
            found += range(first, first + result_registers(one))
    return found


def read(one: SassInstruction) -> list[int]:
    """Registers and predicates that it reads; of what may be a pair both."""
    found = [PREDICATES + one.guard.index] if one.guard else []
    if one.root == "P2R":  # PR: all of them
        found += [PREDICATES + n for n in range(PT)]
    count, _ = results(one)
    for place, o in enumerate(one.operands[count:]):
        if o.kind == "r":
            found.append(o.index)
            if _is_pair(one, place, o):
                found.append(o.index + 1)
        elif o.kind == "p":
            found.append(PREDICATES + o.index)
        found += of_address(one, o)
    return found


def _is_pair(one: SassInstruction, place: int, o: SassOperand) -> bool:
    if one.root in ("IMAD", "UIMAD"):
        return place == 2 and not {"WIDE", "HI"}.isdisjoint(one.modifiers)
    return one.root not in SINGLE or "64" in (*o.suffixes, *one.modifiers)


def of_address(one: SassInstruction, o: SassOperand) -> list[int]:
    """Registers of an address; in shared memory it is no pair."""
    each = 1 if one.root in IN_SHARED else 2
    return [part.index + n for part in o.parts for n in range(each)]
