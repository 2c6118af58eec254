"""What a search may try: one toggle at another value, where the numbers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
        toggles: where it differs from the compiler's choice.
        seconds: a call's, median.
        ratio: the same over the best program until then, or of what ``run`` returns over the
            compiler's choice, measured in turn with it.
    """

    toggles: Mapping[str, int]
    seconds: float
    ratio: float = 1.0


Measure = Callable[[Any], float]


@dataclass
class Search:
    """From the compiler's choice on, one toggle after the other; what is faster stays.

    Attributes:
        function: the fused function.
        lower: lowers a function for the arguments at hand.
        seconds: times a function on them.
        has_same_bits: whether a function's results are those of the compiler's choice.
        most: programs that are measured.
    """

    function: Any
    lower: Callable[[Any], Lowered]
    seconds: Measure
    has_same_bits: Callable[[Any], bool]
    most: int
    tried: list[Trial] = field(default_factory=list)

    def run(self) -> Trial:
        """The fastest of what was tried; the compiler's choice, if none is faster in the end."""
        lowered = self.lower(self.function)
        best, known = Trial({}, self.seconds(self.function)), {lowered.sources}
        self.tried.append(best)
        waiting = list(values_in_turn(lowered))
        while waiting and len(self.tried) < self.most:
            name, values = waiting.pop(0)
            for value in values:  # on in one direction, for as long as it pays
                found = self._tried(best, {**best.toggles, name: value}, known)
                if found is None or found.ratio >= PAYS:
                    break
                best = found
        if not best.toggles:
            return best
        taken = self.function.with_toggles(**best.toggles)
        found = self._compared(best.toggles, taken, self.function)
        return found if found.ratio < PAYS else self.tried[0]

    def _tried(
        self, best: Trial, toggles: dict[str, int], known: set[tuple[str, ...]]
    ) -> Trial | None:
        """Measure a program in turn with the best; None if it is none, or no other one."""
        function = self.function.with_toggles(**toggles)
        try:
            sources = self.lower(function).sources
            if len(self.tried) == self.most or sources in known:
                return None
            known.add(sources)
            if not self.has_same_bits(function):
                return None
        except OpweaveError:  # a value that cannot hold here
            return None
        found = self._compared(toggles, function, self.function.with_toggles(**best.toggles))
        self.tried.append(found)
        return found

    def _compared(self, toggles: Mapping[str, int], function: Any, other: Any) -> Trial:
        pairs = [(self.seconds(function), self.seconds(other)) for _ in range(ROUNDS)]
        mine, others = map(sorted, zip(*pairs, strict=True))
        middle = ROUNDS // 2
        return Trial(
            toggles, mine[middle], max(mine[0] / others[0], mine[middle] / others[middle])
        )


def values_in_turn(lowered: Lowered) -> Iterator[tuple[str, Sequence[int]]]:
    """Toggles of a program's kernels with their values in each direction from the chosen one."""
    found: dict[str, tuple[Sequence[int], int]] = {}
    for kernel in lowered.kernels:
        for toggle, chosen, _ in switches(kernel):
            if toggle.name not in LEFT_ALONE:
                found.setdefault(toggle.name, (sorted(toggle.values), chosen))
    for name in sorted(found, key=lambda n: FIRST.index(n) if n in FIRST else len(FIRST)):
        values, chosen = found[name]
        for ahead in ([v for v in values if v < chosen][::-1], [v for v in values if v > chosen]):
            if ahead:
                yield name, ahead
