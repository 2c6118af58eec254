"""What rounds of a loop touch of arrays that are passed over, as an estimate.

Some rounds are run with nothing touched before; how many sectors each of them adds is what each of
the others adds.  Where they go is kept as a *hull*, the range of sectors of an array by block: a
loop that walks where another one has been adds nothing, and what rounds that ran touch there is
not counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from opweave.runtime.sass.accesses import ARRAY_SHIFT, OWN, Requests, footprint, touched
from opweave.runtime.sass.machine import U64, Array

Counts = tuple[float, float]  # sectors, each once a block, and each once


@dataclass(frozen=True)
class Hull:
    """By block the lowest and the highest sector of one array; a block without any has none."""

    low: dict[int, int]
    high: dict[int, int]

    def grown(self, first: Hull, share: float) -> Hull:
        """As far as it comes in so many times the rounds that led here from the first one."""
        low = {b: n - round((first.low.get(b, n) - n) * share) for b, n in self.low.items()}
        high = {b: n + round((n - first.high.get(b, n)) * share) for b, n in self.high.items()}
        return Hull(low, high)

    def beyond(self, before: Hull) -> Hull:
        """What it has above or below another one, where that lies at one of its ends."""
        low, high = dict(self.low), dict(self.high)
        for b in self.low.keys() & before.low.keys():
            if self.high[b] > before.high[b]:
                low[b] = before.high[b] + 1
            else:
                high[b] = before.low[b] - 1
        return Hull(low, high)

    def covered(self, others: Iterable[Hull]) -> float:
        """Which share of it lies in the one of others that has most of it."""
        own = sum(self.high[b] - self.low[b] + 1 for b in self.low)
        return max((self._shared(other) / own for other in others), default=0.0)

    def inside(self, touched: Array) -> Counts:
        """How many of these lie in it, each once a block, and each once."""
        found = [_within(touched, b, self.low[b], self.high[b]) for b in self.low]
        every = np.concatenate(found) if found else touched[:0]
        return float(len(every)), float(len(np.unique(every & OWN)))

    def _shared(self, other: Hull) -> int:
        both = self.low.keys() & other.low.keys()
        ends = ((max(self.low[b], other.low[b]), min(self.high[b], other.high[b])) for b in both)
        return sum(max(0, high - low + 1) for low, high in ends)


def _within(touched: Array, block: int, low: int, high: int) -> Array:
    first = U64(block) << U64(48)
    begin, end = np.searchsorted(touched, [first | U64(low), first | U64(max(low, high + 1))])
    found: Array = touched[begin:end]
    return found


def hulls(both: Array) -> dict[int, Hull]:
    """By array where its sectors lie, each with its block in the upper bits."""
    sectors = (both & OWN).astype(np.int64)
    arrays, blocks = sectors >> (ARRAY_SHIFT - 5), (both >> U64(48)).astype(np.int64)
    return {int(n): _hull(blocks[arrays == n], sectors[arrays == n]) for n in np.unique(arrays)}


def _hull(blocks: Array, sectors: Array) -> Hull:
    """Of sectors in the order of their blocks, and in their own within each."""
    names, first = np.unique(blocks, return_index=True)
    last = np.append(first[1:], len(blocks)) - 1
    low = dict(zip(names.tolist(), sectors[first].tolist(), strict=True))
    return Hull(low, dict(zip(names.tolist(), sectors[last].tolist(), strict=True)))


@dataclass(frozen=True)
class SkippedRounds:
    """Rounds that did not run.

    Attributes:
        counts: sectors of the array that they touch, at most.
        again: those, each once a block, which another loop has touched.
        whole: where they and the rounds before them go.
        where: where they alone go; None for several of them together.
    """

    array: int
    counts: Counts
    again: float = 0.0
    whole: Hull | None = None
    where: Hull | None = None


@dataclass
class Walked:
    """What was touched by rounds that did not run."""

    passed: list[SkippedRounds] = field(default_factory=list)

    def repeat(self, first: int, share: float) -> None:
        """Take those from one on so many times more."""
        for rounds in self.passed[first:]:
            blocks, once = rounds.counts
            more = blocks * share, once * share
            self.passed.append(SkippedRounds(rounds.array, more, rounds.again * share))

    def follow(self, first: Footprint, last: Footprint, share: float) -> None:
        """Take the rounds after the first one so many times more."""
        for array, counts in last.counts.items():
            old, ran = first.counts.get(array, (0, 0)), last.hulls[array]
            whole = ran.grown(first.hulls.get(array, ran), share)
            others = (w.whole for w in self.passed if w.array == array and w.whole)
            covered = whole.covered(others)
            blocks, once = ((n - o) * share for n, o in zip(counts, old, strict=True))
            fresh = blocks * (1 - covered), once * (1 - covered)
            again, where = blocks * covered, whole.beyond(ran)
            self.passed.append(SkippedRounds(array, fresh, again, whole, where))

    def again(self, ran: Mapping[int, float]) -> dict[int, float]:
        """By array the sectors, each once a block, that more than one loop touches.

        Args:
            ran: those of the rounds that ran.
        """
        found = dict(ran)
        for rounds in self.passed:
            found[rounds.array] = found.get(rounds.array, 0.0) + rounds.again
        return found

    def sectors(self, rows: Iterable[Requests]) -> dict[int, Counts]:
        """By array how many were touched beside those that the rounds that ran have touched."""
        found: dict[int, Counts] = {}
        seen = touched(rows)
        for rounds in self.passed:
            inside = rounds.where.inside(seen) if rounds.where else (0.0, 0.0)
            old = found.get(rounds.array, (0.0, 0.0))
            blocks, once = (max(0.0, n - i) for n, i in zip(rounds.counts, inside, strict=True))
            found[rounds.array] = old[0] + blocks, old[1] + once
        return found


def comes_back(
    requests: Mapping[int, Requests], loop_of: Mapping[int, int], stands: Array
) -> dict[int, float]:
    """By array the sectors of rounds that ran, each once a block, that several loops touched.

    What one loop touches twice, it touches soon again: a cache serves it.
    """
    groups: dict[int, list[Requests]] = {}
    for n, row in requests.items():
        groups.setdefault(loop_of.get(n, -1), []).append(row)
    found: dict[int, float] = {}
    for rows in groups.values():
        for array, (blocks, _) in footprint(touched(rows, stands)).items():
            found[array] = found.get(array, 0.0) + blocks
    whole = footprint(touched(requests.values(), stands))
    return {array: n - whole[array][0] for array, n in found.items()}


@dataclass(frozen=True)
class Footprint:
    """What some rounds touched."""

    counts: dict[int, tuple[int, int]]
    hulls: dict[int, Hull]

    @classmethod
    def of(cls, rows: Iterable[Requests], stands: Array) -> Footprint:
        both = touched(rows, stands)
        return cls(footprint(both), hulls(both))
