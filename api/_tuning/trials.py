"""What a search may try: one toggle at another value, where the numbers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opweave._programs.flipped import switches
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.toggles.choose import PLAN_TOGGLES
from opweave.opcodes.defines import USE_VENDOR
from opweave.opcodes.errors import OpweaveError

# What changes numbers, or says what is so: plans of accumulation, who computes a product,
# approximations, offsets that need 64 bits.
LEFT_ALONE = {*PLAN_TOGGLES, USE_VENDOR, "USE_FAST_MATH", "USE_64BIT_INDEX"}
# What a memory-bound kernel depends on most comes first: how much a thread reads at once, then how
# its work is cut.  Others follow as their templates list them.
FIRST = ("VECTOR", "COLUMNS", "TILE", "CHUNKS", "ROWS_AHEAD", "BLOCK", "ROWS_PER_BLOCK")
# A change is taken from this part of the time on, by the least and by the median of so many
# measurements: less is what two of one program differ by.
PAYS = 0.97
ROUNDS = 5


class Trial(NamedTuple):
    """A program that was measured.

    Attributes:
        toggles: where it differs from the function as it was given.
        seconds: a call's, median.
        ratio: the same over the best program until then, or of what ``run`` returns over the
            function as it was given, measured in turn with it.
    """

    toggles: Mapping[str, int]
    seconds: float
    ratio: float = 1.0


class Candidate(NamedTuple):
    """A function with some toggles, lowered for the arguments at hand.

    Attributes:
        lowered: its kernels.
        bits: computes the results, as bytes.
        seconds: times a call, again and again.
    """

    lowered: Lowered
    bits: Callable[[], Any]
    seconds: Callable[[], float]


@dataclass
class Search:
    """From the given function on, one toggle after the other; what is faster stays.

    Attributes:
        make: the function with some toggles.
        pinned: toggles that whoever gave it has decided.
        most: programs that are measured.
    """

    make: Callable[[Mapping[str, int]], Candidate]
    pinned: Collection[str]
    most: int
    tried: list[Trial] = field(default_factory=list)

    def run(self) -> Trial:
        """The fastest of what was tried; the given function, if none is faster in the end."""
        given = self.make({})
        expected, known = given.bits(), {given.lowered.sources}
        best, fastest = Trial({}, given.seconds()), given
        self.tried.append(best)
        waiting = list(values_in_turn(given.lowered, self.pinned))
        while waiting and len(self.tried) < self.most:
            name, values = waiting.pop(0)
            for value in values:  # on in one direction, for as long as it pays
                toggles = {**best.toggles, name: value}
                made = self._made(toggles, known, expected)
                if made is None or len(self.tried) == self.most:
                    break
                found, others = compared(toggles, made, fastest)
                self.tried.append(found)
                if fastest is given:  # the first time says less
                    self.tried[0] = Trial({}, others)
                if found.ratio >= PAYS:
                    break
                best, fastest = found, made
        if fastest is given:
            return self.tried[0]
        found, others = compared(best.toggles, fastest, given)
        self.tried[0] = Trial({}, others)
        return found if found.ratio < PAYS else self.tried[0]

    def _made(
        self, toggles: Mapping[str, int], known: set[tuple[str, ...]], expected: Any
    ) -> Candidate | None:
        """A program that was not there yet, with the same bits; None if it is none."""
        try:
            made = self.make(toggles)
            if made.lowered.sources in known:
                return None
            known.add(made.lowered.sources)
            return made if made.bits() == expected else None
        except OpweaveError:  # a value that cannot hold here
            return None


def compared(toggles: Mapping[str, int], made: Candidate, other: Candidate) -> tuple[Trial, float]:
    """A program measured in turn with another one, whose seconds come second."""
    pairs = [(made.seconds(), other.seconds()) for _ in range(ROUNDS)]
    mine, others = map(sorted, zip(*pairs, strict=True))
    least, median = (mine[n] / others[n] for n in (0, ROUNDS // 2))
    return Trial(toggles, mine[ROUNDS // 2], max(least, median)), others[ROUNDS // 2]


def values_in_turn(
    lowered: Lowered, pinned: Collection[str] = ()
) -> Iterator[tuple[str, Sequence[int]]]:
    """Toggles of a program's kernels with their values in each direction from the chosen one."""
    found: dict[str, tuple[Sequence[int], int]] = {}
    for kernel in lowered.kernels:
        rounding = {d.name for d in kernel.declared if not d.toggle.same_bits}
        for toggle, chosen, _ in switches(kernel):
            if toggle.name not in {*LEFT_ALONE, *pinned, *rounding}:
                found.setdefault(toggle.name, (sorted(toggle.values), chosen))
    for name in sorted(found, key=lambda n: FIRST.index(n) if n in FIRST else len(FIRST)):
        values, chosen = found[name]
        for ahead in ([v for v in values if v < chosen][::-1], [v for v in values if v > chosen]):
            if ahead:
                yield name, ahead
