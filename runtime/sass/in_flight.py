"""Loads in flight and the time of one warp, from scheduling bits along the way that it took.

A load is in flight from its issue to the first instruction that waits for its barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from opweave.runtime.sass.accesses import width
from opweave.runtime.sass.listing import NO_BARRIER, SassInstruction
from opweave.runtime.sass.machine import Array
from opweave.runtime.sass.pipes import pipe_of

BARRIERS = 6
LOADS = ("LDG", "LD")


MOST_TRACED = 200_000


@dataclass
class WarpTrace:
    """What one warp executed.

    Attributes:
        lanes: of the machine.
        steps: (number of an instruction, whether any lane takes part), in order.
        repeats: parts that stand for more: where one ends, how long it is, how often; see
            ``steady.py``.
    """

    lanes: slice
    steps: list[tuple[int, bool]] = field(default_factory=list)
    repeats: list[tuple[int, int, float]] = field(default_factory=list)

    def takes(self, active: Array) -> bool:
        """Whether it notes what is executed in these lanes."""
        return len(self.steps) < MOST_TRACED and bool(active[self.lanes].any())

    def repeat(self, begin: int, times: float) -> None:
        """Have what was noted from one step on stand for so many times more."""
        if begin < len(self.steps) < MOST_TRACED:
            self.repeats.append((len(self.steps), len(self.steps) - begin, times))


@dataclass(frozen=True)
class Latencies:
    """Cycles until a result that a barrier guards is there."""

    memory: float
    shared: float
    other: float


@dataclass(frozen=True)
class InFlight:
    """What one warp has in flight at most, and how long it takes alone.

    Attributes:
        loads: of global memory, by a thread, before the first wait for one of them.
        bytes: of these, a thread.
        cycles: from its first instruction to its last, if no other warp is in its way.
    """

    loads: int
    bytes: int
    cycles: float


def in_flight(
    instructions: Sequence[SassInstruction], trace: WarpTrace, latency: Latencies
) -> InFlight:
    """Follow the trace of a warp; parts of it that stand for more take so many times as long."""
    again = {end: (length, times) for end, length, times in trace.repeats}
    begun: list[float] = []
    loads, copies = Loads(latency), Copies(latency)
    now, most, most_bytes = 0.0, 0, 0
    for place, (number, takes_part) in enumerate(trace.steps):
        if place in again:
            length, times = again[place]
            now += (now - begun[place - length]) * times
        begun.append(now)
        one = instructions[number]
        now = copies.step(one, takes_part, loads.waited(one, now))
        loads.step(one, takes_part, now)
        flying = [load for each in (*loads.pending, *copies.groups) for load in each]
        most = max(most, len(flying))
        most_bytes = max(most_bytes, sum(map(width, flying)))
        now += max(1, one.control.stall)
    return InFlight(most, most_bytes, max(now, *loads.ready))


class Loads:
    """Results that barriers guard.

    Attributes:
        pending: by barrier, loads of global memory that nobody has waited for.
        ready: by barrier, when the last of its results is there.
    """

    def __init__(self, latency: Latencies):
        self.latency = latency
        self.pending: list[list[SassInstruction]] = [[] for _ in range(BARRIERS)]
        self.ready = [0.0] * BARRIERS

    def waited(self, one: SassInstruction, now: float) -> float:
        """The time when an instruction has what it waits for."""
        for barrier in range(BARRIERS):
            if one.control.waits >> barrier & 1:
                now = max(now, self.ready[barrier])
                self.pending[barrier].clear()
        return now

    def step(self, one: SassInstruction, takes_part: bool, now: float) -> None:
        """Take note of an instruction that is issued."""
        barrier = one.control.written
        if barrier < min(NO_BARRIER, BARRIERS) and takes_part:
            self.ready[barrier] = max(self.ready[barrier], now + _latency(one, self.latency))
            if one.root in LOADS:
                self.pending[barrier].append(one)


class Copies:
    """Asynchronous copies (LDGSTS): groups in order, of which a wait leaves so many in flight.

    Attributes:
        groups: those in flight, the oldest first; the last one is still open.
    """

    def __init__(self, latency: Latencies):
        self.latency = latency.memory
        self.groups: list[list[SassInstruction]] = [[]]
        self.ready: list[float] = [0.0]

    def step(self, one: SassInstruction, takes_part: bool, now: float) -> float:
        """Take note of one instruction; returns the time when it is issued."""
        if one.root == "LDGSTS" and takes_part:
            self.groups[-1].append(one)
            self.ready[-1] = now + self.latency
        elif one.root == "LDGDEPBAR":
            self.groups.append([])
            self.ready.append(now)
        elif one.root == "DEPBAR":
            kept = 1 + next((o.value for o in one.operands if o.kind == "i"), 0)
            while len(self.groups) > kept:
                now = max(now, self.ready.pop(0))
                self.groups.pop(0)
        return now


def _latency(one: SassInstruction, latency: Latencies) -> float:
    if one.root in LOADS:
        return latency.memory
    return latency.shared if pipe_of(one) == "lsu" else latency.other
