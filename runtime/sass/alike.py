"""Whether rounds of a loop are alike: where they begin, what they carry, what they count."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from opweave.runtime.sass.machine import Array
from opweave.runtime.sass.rounds import LoopBlocks
from opweave.runtime.sass.slices import PREDICATES

GROUPS = (1, 2, 3, 4, 6, 8)
MOST_NOTED = 2 * GROUPS[-1] + 1
FIRST_WATCHED = 8  # rounds; shorter loops are run as they are


@dataclass(frozen=True)
class Round:
    """The machine where a round begins.

    Attributes:
        lanes: that begin it.
        registers, predicates: carried ones, and whether they are known.
        elsewhere: where other lanes are.
        totals: all that is counted.
        answers: of the comparisons since the last round.
        shared: what is known of shared memory, as a hash.
    """

    lanes: Array
    registers: tuple[Array, Array]
    predicates: Array
    elsewhere: tuple[Array, Array, Array, Array]
    totals: Array
    answers: int
    shared: int


@dataclass
class LoopWatch:
    """What is known of a loop while it runs.

    Attributes:
        carried: names that a round writes and the next one follows.
        rounds: since it was entered, or since some were passed over; ``next_try``: that many.
        first_answer: where the answers of this round begin.
    """

    loop: LoopBlocks
    carried: list[int]
    rounds: int = 0
    next_try: int = FIRST_WATCHED
    first_answer: int = 0
    noted: deque[Round] = field(default_factory=lambda: deque(maxlen=MOST_NOTED))

    @property
    def registers(self) -> list[int]:
        """Those of the carried names that are registers."""
        return [name for name in self.carried if name < PREDICATES]

    def forget(self) -> None:
        self.noted.clear()

    def copied(self) -> LoopWatch:
        return replace(self, noted=self.noted.copy())


def hash_of(arrays: tuple[Array, ...] | None) -> int:
    """One number for the contents of arrays."""
    return hash(tuple(a.tobytes() for a in arrays or ()))


def are_alike(noted: Sequence[Round], group: int) -> bool:
    """The last two groups of rounds did the same, and each carried number grew evenly."""
    if len(noted) < 2 * group + 1:
        return False
    old, middle, new = noted[-1 - 2 * group], noted[-1 - group], noted[-1]
    if not all(_same_place(new, r) for r in (old, middle)):
        return False
    answers = [r.answers for r in noted]
    if answers[-group:] != answers[-2 * group : -group]:
        return False
    return _grows_evenly(old, middle, new) and _counts_evenly(old, middle, new)


def _same_place(a: Round, b: Round) -> bool:
    """The same lanes begin both rounds, and all others are where they were."""
    is_same = np.array_equal(a.lanes, b.lanes) and a.shared == b.shared
    return is_same and all(map(np.array_equal, a.elsewhere, b.elsewhere))


def _grows_evenly(old: Round, middle: Round, new: Round) -> bool:
    """What is carried grew by the same amount twice, where anybody knows it."""
    lanes = new.lanes
    (a, ka), (b, kb), (c, kc) = old.registers, middle.registers, new.registers
    same_known = ((ka == kb) & (kb == kc))[:, lanes].all()
    even = ((b - a == c - b) | ~kc)[:, lanes].all()
    truths = (old.predicates == middle.predicates) & (middle.predicates == new.predicates)
    return bool(same_known and even and truths[:, lanes].all())


def _counts_evenly(old: Round, middle: Round, new: Round) -> bool:
    a, b, c = old.totals, middle.totals, new.totals
    return len(a) == len(b) == len(c) and are_close(b - a, c - b)


def are_close(a: Array, b: Array) -> bool:
    """Alike but for the rounding of sums of weights."""
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-3))
