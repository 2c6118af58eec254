"""Basic blocks of a listing, and where the two ways of a branch meet again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opweave.opcodes.cached import cached_property
from opweave.runtime.sass.listing import PT, UPT, Listing, SassInstruction

# They end a block: control goes elsewhere, or waits for other threads.
JUMPS = ("BRA", "CALL", "RET", "EXIT", "BRX", "JMP", "KILL")
WAITS = ("BSYNC", "BAR", "WARPSYNC")
STOPS = ("EXIT", "RET", "KILL")


def is_always(one: SassInstruction) -> bool:
    """Neither a guard nor an operand decides whether it is executed."""
    conditions = [o for o in (one.guard, *one.operands) if o is not None and o.kind == "p"]
    is_divergence = "DIV" in one.modifiers
    return not is_divergence and all(o.index in (PT, UPT) and not o.sign for o in conditions)


@dataclass(frozen=True)
class Flow:
    """The blocks of a kernel: each begins at an instruction's number and ends before another."""

    listing: Listing

    @cached_property
    def targets(self) -> dict[int, int]:
        """By the number of a branch or call the instruction that it goes to."""
        labels = self.listing.labels
        found = {}
        for n, one in enumerate(self.listing.instructions):
            if one.root in ("BRA", "CALL"):
                goal = next((o.text for o in one.operands if o.kind == "t"), "")
                if goal in labels:
                    found[n] = labels[goal]
        return found

    def is_call(self, n: int) -> bool:
        """To a function, which comes back; ptxas also leaves loops by calls of labels."""
        one = self.listing.instructions[n]
        return one.root == "CALL" and not any(o.text.startswith(".L") for o in one.operands)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """First instructions of blocks, in order."""
        count = len(self.listing.instructions)
        found = {0, *self.targets.values(), *self.listing.labels.values()}
        for n, one in enumerate(self.listing.instructions):
            if one.root in JUMPS + WAITS:
                found.add(n + 1)
            if one.root in WAITS:
                found.add(n)
        return tuple(sorted(n for n in found if n < count))

    @cached_property
    def ends(self) -> dict[int, int]:
        """By a block's first instruction the number behind its last one."""
        after = (*self.leaders[1:], len(self.listing.instructions))
        return dict(zip(self.leaders, after, strict=True))

    @cached_property
    def returns(self) -> list[int]:
        """Blocks behind calls."""
        return [b for b in self.leaders if b and self.is_call(b - 1)]

    def successors(self, leader: int, *, calls: bool = False) -> list[int]:
        """Blocks that follow; those of a called function, too, where asked for."""
        last = self.ends[leader] - 1
        one = self.listing.instructions[last]
        out = []
        called = self.is_call(last)
        if last in self.targets and (calls or not called):
            out.append(self.targets[last])
        falls = called or not (one.root in (*STOPS, "BRA", "CALL") and is_always(one))
        if falls and last + 1 in self.ends:
            out.append(last + 1)
        return out

    @cached_property
    def meetings(self) -> dict[int, int]:
        """By block the nearest one that every way from it to the end comes through; -1 for none.

        It is the immediate postdominator.
        """
        after = self._postdominators()
        found = {}
        for block in self.leaders:
            own = after[block] - {block}
            # of those that lie on every way, the nearest has all others behind it
            found[block] = next((b for b in own if own <= after[b]), -1)
        return found

    def _postdominators(self) -> dict[int, set[int]]:
        every = set(self.leaders)
        after = {b: set(every) for b in self.leaders}
        next_of = {b: self.successors(b) for b in self.leaders}
        leaves = {b for b in self.leaders if self._may_end(b)}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.leaders):
                ways = [after[n] for n in next_of[block]]
                if block in leaves:
                    ways.append(set())
                new = {block} | (set.intersection(*ways) if ways else set())
                if new != after[block]:
                    after[block], changed = new, True
        return after

    def _may_end(self, block: int) -> bool:
        return self.listing.instructions[self.ends[block] - 1].root in STOPS

    def between(self, starts: Iterable[int], end: int) -> set[int]:
        """Blocks that are reached from some before ``end`` is, called functions among them."""
        found: set[int] = set()
        rest = [b for b in starts if b != end]
        while rest:
            block = rest.pop()
            if block not in found:
                found.add(block)
                rest += [n for n in self.successors(block, calls=True) if n != end]
        return found
