"""The state of sampled warps, as arrays over all their lanes; values that no one knows are marked.

Integers, predicates and addresses are computed.  What comes from memory or from floats is
*unknown*, and so is what follows from it: a register has a value and a truth for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.runtime.sass.listing import PT, RZ, UNIFORM, UPT, SassOperand

Array = np.ndarray[Any, Any]
WARP = 32
RUNNING, AT_BSYNC, AT_BAR = 0, 1, 2
U32, U64, I64 = np.uint32, np.uint64, np.int64


@dataclass(frozen=True)
class DeviceLaunch:
    """One launch, as the hardware sees it.

    Attributes:
        grid, block: extents.
        constants: words of constant bank 0 by their offset; others nobody knows.
        counters: numbers of arrays that are zero before the launch, for blocks to count in.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    constants: Mapping[int, int]
    counters: frozenset[int] = frozenset()

    @property
    def blocks(self) -> int:
        return int(np.prod(self.grid, dtype=np.int64))

    @property
    def threads(self) -> int:
        return int(np.prod(self.block))

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // WARP)


@dataclass
class SassMachine:
    """Lanes of the sampled blocks, 32 a warp; lanes that a block does not fill never live.

    Attributes:
        registers, known: (512, lanes); uniform registers begin at 256.
        predicates, sure: (16, lanes); uniform ones begin at 8.
        barriers: convergence barriers, a mask of the lanes of the warp each: (16, lanes).
        pc: the number of each lane's next instruction.
        waiting: why a lane does not run; ``mask``: of those it waits for.
        weights: by warp, how many warps of the launch it stands for.
        answers: of each comparison so far a hash, where somebody wants them (``is_asked``).
    """

    launched: DeviceLaunch
    blocks: Array
    weights: Array
    registers: Array = field(init=False)
    known: Array = field(init=False)
    predicates: Array = field(init=False)
    sure: Array = field(init=False)
    barriers: Array = field(init=False)
    pc: Array = field(init=False)
    live: Array = field(init=False)
    waiting: Array = field(init=False)
    mask: Array = field(init=False)
    answers: list[int] = field(default_factory=list)
    is_asked: bool = False

    def __post_init__(self) -> None:
        each = self.launched.warps * WARP
        lanes = len(self.blocks) * each
        self.registers, self.known = np.zeros((514, lanes), U32), np.zeros((514, lanes), bool)
        self.predicates, self.sure = np.zeros((16, lanes), bool), np.zeros((16, lanes), bool)
        for constant in (RZ, UNIFORM + RZ):
            self.known[constant] = True
        for constant in (PT, UPT):
            self.predicates[constant] = self.sure[constant] = True
        self.barriers, self.pc = np.zeros((16, lanes), U32), np.zeros(lanes, np.int64)
        self.thread = np.tile(np.arange(each), len(self.blocks))
        self.block_of = np.repeat(np.arange(len(self.blocks)), each)
        self.live = self.thread < self.launched.threads
        self.waiting, self.mask = np.zeros(lanes, np.int8), np.zeros(lanes, U32)
        self.bits = U32(1) << (self.thread % WARP).astype(U32)

    @property
    def lanes(self) -> int:
        return len(self.pc)

    def warps(self, lanes: Array) -> Array:
        """By warp whether any of its lanes is among these."""
        found: Array = np.asarray(lanes.reshape(-1, WARP).any(1))
        return found

    def ballot(self, lanes: Array) -> Array:
        """By lane the mask of those of its warp that are among these."""
        bits = np.where(lanes, self.bits, U32(0)).reshape(-1, WARP)
        return np.repeat(np.bitwise_or.reduce(bits, axis=1), WARP)

    def special(self, name: str) -> Array | None:
        """A special register; None for one that nobody knows (clocks)."""
        block, (bx, by, _) = self.launched.block, self.launched.block
        gx, gy, _ = self.launched.grid
        number = np.repeat(self.blocks, self.launched.warps * WARP)
        makers: dict[str, Callable[[], Any]] = {
            "SR_TID.X": lambda: self.thread % bx,
            "SR_TID.Y": lambda: self.thread // bx % by,
            "SR_TID.Z": lambda: self.thread // (bx * by) % max(1, block[2]),
            "SR_CTAID.X": lambda: number % gx,
            "SR_CTAID.Y": lambda: number // gx % gy,
            "SR_CTAID.Z": lambda: number // (gx * gy),
            "SR_LANEID": lambda: self.thread % WARP,
            "SR_LTMASK": lambda: self.bits - 1,
            "SR_LEMASK": lambda: self.bits | (self.bits - 1),
            "SR_EQMASK": lambda: self.bits,
            "SR_CgaCtaId": lambda: np.zeros_like(self.thread),
            "SRZ": lambda: np.zeros_like(self.thread),
        }
        return makers[name]().astype(U32) if name in makers else None

    # What instructions read and write; lanes outside of the active ones keep what they have.

    def value(self, o: SassOperand) -> tuple[Any, Any]:
        """The 32 bits of an operand and whether they are known, by lane or for all."""
        if o.kind == "r":
            found, known = self.registers[o.index], self.known[o.index]
            return (found, known) if not o.suffixes else (found, False)
        if o.kind == "i":
            return U32(o.value & 0xFFFFFFFF), True
        if o.kind == "c" and o.index == 0 and not o.parts:
            word = self.launched.constants.get(o.value)
            return U32(word or 0), word is not None
        return U32(0), False

    def pair(self, o: SassOperand) -> tuple[Any, Any]:
        """The 64 bits of a pair of registers, or of a number."""
        if o.kind == "r" and o.index not in (RZ, UNIFORM + RZ):
            high, known = self.registers[o.index + 1], self.known[[o.index, o.index + 1]].all(0)
            return self.registers[o.index].astype(U64) | high.astype(U64) << U64(32), known
        if o.kind == "c":
            low, is_low = self.value(o)
            high, is_high = self.value(SassOperand("c", "", o.index, o.value + 4))
            return U64(low) | U64(high) << U64(32), is_low and is_high
        if o.kind == "i":
            return U64(o.value & (2**64 - 1)), True
        return U64(0), o.kind == "r"

    def predicate(self, o: SassOperand) -> tuple[Array, Array]:
        """The truth of a predicate and whether it is known."""
        found = self.predicates[o.index]
        return (~found if o.sign else found), self.sure[o.index]

    def set(self, index: int, value: Any, known: Any, active: Array) -> None:
        """Write a register in active lanes."""
        if index in (RZ, UNIFORM + RZ):
            return
        np.copyto(self.registers[index], value, where=active, casting="unsafe")
        np.copyto(self.known[index], known, where=active)

    def set_pair(self, index: int, value: Any, known: Any, active: Array) -> None:
        """Write a pair of registers."""
        value = np.asarray(value, U64)
        self.set(index, (value & U64(0xFFFFFFFF)).astype(U32), known, active)
        self.set(index + 1, (value >> U64(32)).astype(U32), known, active)

    def set_predicate(self, index: int, value: Any, known: Any, active: Array) -> None:
        """Write a predicate in active lanes."""
        if index not in (PT, UPT):
            np.copyto(self.predicates[index], value, where=active)
            np.copyto(self.sure[index], known, where=active)

    def note(self, x: Any, y: Any, known: Any, active: Array) -> None:
        """Keep what a comparison answers, and the sign bits, which turn where a number wraps."""
        if self.is_asked:
            lanes, top = active & known, 1 << 31
            truths = x < y, x > y, x & top != 0, y & top != 0
            self.answers.append(hash(tuple(np.packbits(lanes & t).tobytes() for t in truths)))

    def forget(self, names: Sequence[int], active: Array, predicates: int) -> None:
        """Registers and predicates (from a number on) whose values nobody knows any more."""
        for name in names:
            if name >= predicates:
                self.set_predicate(name - predicates, False, False, active)
            else:
                self.known[name][active] = False
