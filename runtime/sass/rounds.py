"""The loops of a listing: their blocks, what a round hands to the next one, what it makes of it.

A loop may be passed over (``steady.py``) where each comparison in it is one of numbers that grow
by the same amount in every round.  Whether that is so follows from the instructions between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opweave.opcodes.cached import cached_property
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.listing import SassInstruction, SassOperand
from opweave.runtime.sass.moves import SEMANTICS
from opweave.runtime.sass.slices import CONTROL, PREDICATES, read, written
from opweave.runtime.sass.stored import is_ticket

# Of operands that grow evenly from round to round they make one that does.
EVEN = (
    "IADD3 UIADD3 VIADD IADD UIADD UVIADD MOV UMOV MOV32I R2UR SEL USEL "
    "IMNMX VIMNMX UIMNMX UVIMNMX VIADDMNMX S2R S2UR CS2R LDC ULDC LDCU"
).split()
# They answer with truths, which are alike in two rounds where the machine has noted so.
ASKING = ("ISETP", "UISETP", "PLOP3", "UPLOP3", "VOTE", "VOTEU")
BRANCHING = tuple(root for root in CONTROL if root not in ASKING)
STEADY, GROWING, BENT = 0, 1, 2


@dataclass(frozen=True)
class LoopBlocks:
    """One loop.

    Attributes:
        header: the block that each round begins with.
        body: its blocks, those of called functions among them.
    """

    flow: Flow
    header: int
    body: frozenset[int]

    @cached_property
    def rows(self) -> list[SassInstruction]:
        """The instructions of the loop."""
        ends, every = self.flow.ends, self.flow.listing.instructions
        return [one for b in sorted(self.body) for one in every[b : ends[b]]]

    @cached_property
    def written(self) -> list[int]:
        """Registers and predicates that a round may write."""
        return sorted({name for one in self.rows for name in written(one)})

    @cached_property
    def draws(self) -> bool:
        """Blocks draw numbers from a counter in it, each time others."""
        return any(map(is_ticket, self.rows))

    def _rows_of(self, block: int) -> tuple[SassInstruction, ...]:
        return self.flow.listing.instructions[block : self.flow.ends[block]]

    def _following(self, block: int) -> list[int]:
        return [b for b in self.flow.successors(block, calls=True) if b in self.body]

    def keeps_even(self, growing: Iterable[int], computed: frozenset[int]) -> bool:
        """Whether nothing branches on ``growing`` names but by comparing what grows evenly.

        Args:
            growing: carried names that are not the same in each round.
            computed: numbers of the instructions that decide anything.
        """
        entry: dict[int, dict[int, int]] = {b: {} for b in self.body}
        entry[self.header] = dict.fromkeys(growing, GROWING)
        waiting = [self.header]
        while waiting:
            block = waiting.pop()
            passed = _Passed(dict(entry[block]))
            for n, one in enumerate(self._rows_of(block), block):
                if not _is_steady(one, passed.levels):
                    return False
                passed.follow(one, n in computed)
            for b in self._following(block):
                if b != self.header and _join(entry[b], self._along(passed, block, b)):
                    waiting.append(b)
        return True

    def _along(self, passed: _Passed, block: int, following: int) -> dict[int, int]:
        """The levels on the way to a block: a guard of the branch holds there, or does not."""
        last = self.flow.ends[block] - 1
        one = self.flow.listing.instructions[last]
        if one.root != "BRA" or one.guard is None or following == last + 1:
            return passed.levels
        return passed.where(one.guard)


class _Passed:
    """What the instructions of a block make of the levels of names.

    Attributes:
        levels: by name.
        guarded: by guard, of the names that were last written under it.
    """

    def __init__(self, levels: dict[int, int]):
        self.levels = levels
        self.guarded: dict[tuple[int, str], dict[int, int]] = {}

    def follow(self, one: SassInstruction, is_computed: bool) -> None:
        """One instruction more."""
        level = _made(one, self.levels) if is_computed else STEADY
        for name in written(one):
            for rows in self.guarded.values():
                rows.pop(name, None)
            self.guarded.pop((name - PREDICATES, ""), None)
            self.guarded.pop((name - PREDICATES, "!"), None)
            if one.guard:
                self.guarded.setdefault((one.guard.index, one.guard.sign), {})[name] = level
                level = max(level, self.levels.get(name, STEADY))
            self.levels[name] = level

    def where(self, guard: SassOperand) -> dict[int, int]:
        """The levels in lanes in which a guard holds."""
        return self.levels | self.guarded.get((guard.index, guard.sign), {})


def _is_steady(one: SassInstruction, levels: dict[int, int]) -> bool:
    """Whether an instruction goes the same way in each round."""
    names = read(one) if one.root in BRANCHING else _guard(one)
    return not any(levels.get(name, STEADY) for name in names)


def _join(into: dict[int, int], more: dict[int, int]) -> bool:
    """The larger level of each name; True where that changes anything."""
    before = dict(into)
    for name, level in more.items():
        into[name] = max(level, into.get(name, STEADY))
    return into != before


def _made(one: SassInstruction, levels: dict[int, int]) -> int:
    """How what it writes changes from round to round."""
    level = max((levels.get(name, STEADY) for name in read(one)), default=STEADY)
    if one.root == "LDS":  # what is stored there is the same in each round
        return BENT if level else STEADY
    if one.root not in SEMANTICS:  # nobody computes it
        return STEADY
    if one.root in ASKING:
        of_truths = any(levels.get(n, STEADY) for n in read(one) if n >= PREDICATES)
        return BENT if level == BENT or of_truths else STEADY
    if level != GROWING:
        return level
    a, b, *more = (*(levels.get(o.index, STEADY) for o in one.operands[1:] if o.kind != "p"), 0, 0)
    if one.root in ("IMAD", "UIMAD"):
        is_even = not (a and b) and "HI" not in one.modifiers
    elif one.root in ("SHF", "USHF"):
        is_even = not b and "L" in one.modifiers
    elif one.root in ("LEA", "ULEA"):  # of HI the upper half of an address, with a carry
        is_even = "HI" not in one.modifiers or "X" in one.modifiers or not (a or any(more))
    else:
        is_even = one.root in EVEN
    return GROWING if is_even else BENT


def _guard(one: SassInstruction) -> list[int]:
    return [PREDICATES + one.guard.index] if one.guard else []


def innermost(loops: Iterable[LoopBlocks], flow: Flow) -> dict[int, int]:
    """By instruction within a loop the header of the smallest one."""
    found: dict[int, int] = {}
    for loop in sorted(loops, key=lambda loop: -len(loop.body)):
        for block in loop.body:
            found |= dict.fromkeys(range(block, flow.ends[block]), loop.header)
    return found


def loops_of(flow: Flow) -> dict[int, LoopBlocks]:
    """The loops of a kernel by their headers, which branches further down go back to."""
    found: dict[int, set[int]] = {}
    before: dict[int, list[int]] = {b: [] for b in flow.leaders}
    for block in flow.leaders:
        for following in flow.successors(block, calls=True):
            before[following].append(block)
    for block in flow.leaders:
        for header in flow.successors(block):
            if header <= block:
                found.setdefault(header, set()).update(_between(before, header, block))
    return {h: LoopBlocks(flow, h, _with_called(flow, body)) for h, body in found.items()}


def _between(before: dict[int, list[int]], header: int, last: int) -> set[int]:
    """The header, and blocks from which the last one is reached without it."""
    found, rest = {header}, [last]
    while rest:
        block = rest.pop()
        if block not in found:
            found.add(block)
            rest += before[block]
    return found


def _with_called(flow: Flow, body: set[int]) -> frozenset[int]:
    """The blocks and those of functions that they call."""
    found = set(body)
    for block in body:
        last = flow.ends[block] - 1
        if flow.listing.instructions[last].root == "CALL" and last in flow.targets:
            found |= flow.between([flow.targets[last]], -1)
    return frozenset(found)
