"""Loops whose rounds are alike are passed over: few rounds run, the others are multiples of them.

A loop is *steady* where what a round hands to the next grows by the same amount each time, where
the counts of a round are those of the round before, and where its comparisons are of numbers that
grow evenly.  If each comparison then comes out alike in two rounds, it comes out alike in all
between: a difference that grows evenly changes its sign once.  So the machine jumps as far as the
answers stay, and runs the round there to see that they do.  Rounds may repeat in groups, as those
of a pipeline with stages do.

What is exact: registers, instructions, requests.  What is an estimate: sectors and wavefronts of
rounds in which addresses lie otherwise, where 32 of them do not show it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opweave.runtime.sass.alike import (
    FIRST_WATCHED,
    GROUPS,
    MOST_NOTED,
    LoopWatch,
    Round,
    are_alike,
    are_close,
    hash_of,
)
from opweave.runtime.sass.machine import Array
from opweave.runtime.sass.rounds import LoopBlocks, innermost, loops_of
from opweave.runtime.sass.slices import PREDICATES
from opweave.runtime.sass.walked import Footprint, Walked, comes_back

LEAST_PASSED = 4
MOST_MEASURED = 33  # groups of rounds: the bytes of 32 fill whole sectors
WORD = 2**32
STATE = ("predicates", "sure", "barriers", "pc", "live", "waiting", "mask")


class SteadyLoops:
    """Passes over the rounds of steady loops, for the executor of one launch.

    Attributes:
        walked: what the rounds touch that were passed over.
    """

    def __init__(self, executor: Any):
        self.e = executor
        self.walked = Walked()
        self.every = loops_of(executor.flow)
        found = [loop for loop in self.every.values() if not loop.draws]
        self.loops = {loop.header: LoopWatch(loop, self._carried(loop)) for loop in found}

    def arrive(self, header: int, lanes: Array) -> bool:
        """Lanes are before a loop's header: pass over rounds if they are alike.

        Returns:
            Whether any lane has gone on.
        """
        watched = self.loops[header]
        for other in self.loops.values():
            if other.loop.body < watched.loop.body:
                other.forget()
        watched.rounds += 1
        if watched.rounds < watched.next_try - MOST_NOTED:
            return False
        watched.noted.append(self._round(watched, lanes))
        if watched.rounds < watched.next_try:
            return False
        group = next((g for g in GROUPS if are_alike(watched.noted, g)), 0)
        moved = bool(group) and self._passed_over(watched, group, lanes)
        if group or watched.rounds > watched.next_try + MOST_NOTED:
            watched.next_try = FIRST_WATCHED if moved else 2 * watched.rounds
            watched.rounds = 0 if moved else watched.rounds
            watched.forget()
        return moved

    def again(self) -> dict[int, float]:
        """By array the sectors, each once a block, to which a block comes back in another loop."""
        loop_of = innermost(self.every.values(), self.e.flow)
        return self.walked.again(comes_back(self.e.requests, loop_of, self.e.sample.stands))

    def _shared(self) -> tuple[Any, Any] | None:
        """What is known of shared memory, where anything follows from it."""
        return self.e.shared.state() if self.e.deciding.from_shared else None

    def _round(self, watched: LoopWatch, lanes: Array) -> Round:
        m, registers = self.e.machine, watched.registers
        truths = [n - PREDICATES for n in watched.carried if n >= PREDICATES]
        answers = hash(tuple(m.answers[watched.first_answer :]))
        watched.first_answer = len(m.answers)
        return Round(
            lanes.copy(), (m.registers[registers], m.known[registers]),
            np.concatenate([m.predicates[truths] & m.sure[truths], m.sure[truths]]),
            (m.pc.copy(), m.waiting.copy(), m.live.copy(), m.mask.copy()), self._totals(), answers,
            hash_of(self._shared()),
        )  # fmt: skip

    def _carried(self, loop: LoopBlocks) -> list[int]:
        """What a round writes and the next one follows."""
        decides = self.e.deciding.before[loop.header]
        return [name for name in loop.written if name in decides]

    def _totals(self) -> Array:
        rows = self.e.requests
        asked = [
            (r.requests, r.threads, r.sectors, r.wavefronts, r.least, r.unknown)
            for _, r in sorted(rows.items())
        ]
        skipped = [s.warps for _, s in sorted(self.e.skipped.items())]
        return np.array([*self.e.issued, *(x for row in asked for x in row), *skipped])

    def _passed_over(self, watched: LoopWatch, group: int, lanes: Array) -> bool:
        """Run a group of rounds, and jump as far as they stay alike; False if nothing was run."""
        steps = self._steps(watched, group)
        grows = [n for n, row in zip(watched.registers, steps, strict=True) if row.any()]
        if not watched.loop.keeps_even(grows, self.e.deciding.rows):
            return False
        if not self._runs(watched, group, lanes):
            return True
        times = self._farthest(watched, group, lanes, steps)
        if times >= LEAST_PASSED:
            self._multiply(watched, group, lanes, steps, times)
        return True

    def _multiply(
        self, watched: LoopWatch, group: int, lanes: Array, steps: Array, times: int
    ) -> None:
        """Run some of so many groups of rounds, and pass over the others."""
        measured = min(MOST_MEASURED, max(2, times // 4))
        counted, passed = self._totals(), len(self.walked.passed)
        begins = [len(trace.steps) for trace in self.e.traces]
        touched = {n: r.take() for n, r in self.e.requests.items()}
        self._runs(watched, group, lanes)
        first = Footprint.of(self.e.requests.values(), self.e.sample.stands)
        for _ in range(measured - 1):
            self._runs(watched, group, lanes)
        last = Footprint.of(self.e.requests.values(), self.e.sample.stands)
        for n, parts in touched.items():
            self.e.requests[n].touched += parts
        share = (times - measured) / measured
        self.walked.repeat(passed, share)  # of loops within this one
        self.walked.follow(first, last, (times - measured) / (measured - 1))
        self._shift(watched, steps, times - measured, lanes)
        self._count((self._totals() - counted) * share)
        for trace, begin in zip(self.e.traces, begins, strict=True):
            trace.repeat(begin, share)

    @staticmethod
    def _steps(watched: LoopWatch, group: int) -> Array:
        """By carried register and lane what it grows by in a group of rounds; 0 if unknown."""
        old, new = watched.noted[-1 - group], watched.noted[-1]
        known = new.registers[1]
        grown = (new.registers[0] - old.registers[0]).view(np.int32).astype(np.int64)
        return np.where(known, grown, 0)

    def _farthest(self, watched: LoopWatch, group: int, lanes: Array, steps: Array) -> int:
        """The most groups of rounds that may be passed over: by doubling, then by halving."""
        most = self._until_wrap(watched, steps, lanes)
        answers = [r.answers for r in watched.noted][-group:]

        def holds(times: int) -> bool:
            return self._tried(watched, group, lanes, steps, times, answers)

        low, high = 0, 1
        while high <= most and holds(high):
            low, high = high, 2 * high
        high = min(high, most + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def _until_wrap(self, watched: LoopWatch, steps: Array, lanes: Array) -> int:
        """Groups of rounds before a carried register would leave its 32 bits."""
        m, most = self.e.machine, WORD
        for name, step in zip(watched.registers, steps, strict=True):
            moving = lanes & (step != 0)
            if moving.any():
                value, by = m.registers[name][moving].astype(np.int64), step[moving]
                room = np.where(by > 0, WORD - 1 - value, value) // np.abs(by)
                most = min(most, int(room.min()))
        return most

    def _tried(
        self, watched: LoopWatch, group: int, lanes: Array, steps: Array, times: int, answers: Any
    ) -> bool:
        """Whether the rounds that far away do what those here did; leaves all as it was."""
        kept = _Kept(self, watched.loop)
        counted = self._totals()
        self._shift(watched, steps, times, lanes)
        asked: list[int] = []
        same = self._runs(watched, group, lanes, asked) and asked == answers
        same = same and hash_of(self._shared()) == watched.noted[-1].shared
        if same:
            found, old, new = self._totals(), watched.noted[-1 - group], watched.noted[-1]
            same = len(found) == len(counted) and are_close(
                found - counted, new.totals - old.totals
            )
        kept.restore()
        return same

    def _shift(self, watched: LoopWatch, steps: Array, times: int, lanes: Array) -> None:
        m = self.e.machine
        for name, step in zip(watched.registers, steps, strict=True):
            moved = m.registers[name].astype(np.int64) + step * times
            np.copyto(m.registers[name], (moved % WORD).astype(np.uint32), where=lanes)

    def _runs(
        self, watched: LoopWatch, group: int, lanes: Array, answers: list[int] | None = None
    ) -> bool:
        """Run a group of rounds; False where lanes leave the loop or part."""
        e, header = self.e, watched.loop.header
        for _ in range(group):
            first = len(e.machine.answers)
            e.block(header, lanes)
            while True:
                place = e.next()
                if place is None or place[0] not in watched.loop.body:
                    return False
                if place[0] == header:
                    break
                if not (place[0] in self.loops and self.arrive(*place)):
                    e.block(*place)
            if not np.array_equal(place[1], lanes):
                return False
            if answers is not None:
                answers.append(hash(tuple(e.machine.answers[first:])))
        return True

    def _count(self, more: Array) -> None:
        """Add the counts of rounds that were passed over, in the order of ``_totals``."""
        e = self.e
        e.issued[:] = [float(n) for n in np.asarray(e.issued) + more[: len(e.issued)]]
        rest = iter(more[len(e.issued) :].tolist())
        for _, r in sorted(e.requests.items()):
            r.requests, r.threads = r.requests + next(rest), r.threads + next(rest)
            r.sectors, r.wavefronts = r.sectors + next(rest), r.wavefronts + next(rest)
            r.least, r.unknown = r.least + next(rest), r.unknown + next(rest)
        for n, s in sorted(e.skipped.items()):
            e.skipped[n] = replace(s, warps=s.warps + next(rest))


class _Kept:
    """All that rounds change, to go back to."""

    def __init__(self, steady: SteadyLoops, loop: LoopBlocks):
        self.steady = steady
        e, m = steady.e, steady.e.machine
        self.names = [n for n in loop.written if n < PREDICATES]
        self.registers = m.registers[self.names], m.known[self.names]
        self.state = {name: getattr(m, name).copy() for name in STATE}
        self.shared = steady._shared()
        self.answers = len(m.answers)
        self.traces = [(len(trace.steps), len(trace.repeats)) for trace in e.traces]
        self.counts = (
            list(e.issued),
            {n: r.copied() for n, r in e.requests.items()},
            dict(e.skipped),
        )
        self.passed = len(steady.walked.passed)
        self.inner = {
            h: w.copied() for h, w in steady.loops.items() if h in loop.body - {loop.header}
        }

    def restore(self) -> None:
        """Put all back."""
        steady, e, m = self.steady, self.steady.e, self.steady.e.machine
        m.registers[self.names], m.known[self.names] = self.registers
        for name, value in self.state.items():
            getattr(m, name)[...] = value
        del m.answers[self.answers :]
        for trace, (steps, repeats) in zip(e.traces, self.traces, strict=True):
            del trace.steps[steps:], trace.repeats[repeats:]
        if e.deciding.from_shared:
            e.shared.restore(self.shared)
        e.issued[:], e.requests, e.skipped = self.counts
        del steady.walked.passed[self.passed :]
        steady.loops |= self.inner
