"""SASS executed for control and addresses: how often each instruction runs, what memory is asked.

Lanes of a warp that stand at different instructions take turns, the lowest first, and meet again
at the convergence barriers that the code names.  A branch on data, which nobody computes here, is
not guessed: lanes go on where both its ways meet, what lies between is counted nowhere, and is
named in the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import LaunchError
from opweave.runtime.sass import synchronising
from opweave.runtime.sass.accesses import OPS, SPACES, Requests, count, width
from opweave.runtime.sass.deciding import deciding
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.in_flight import WarpTrace
from opweave.runtime.sass.listing import PT, UNIFORM, UPT, Listing, SassInstruction
from opweave.runtime.sass.machine import RUNNING, WARP, Array, DeviceLaunch, SassMachine
from opweave.runtime.sass.moves import SEMANTICS
from opweave.runtime.sass.pipes import computes_data
from opweave.runtime.sass.sampling import Sample, sample
from opweave.runtime.sass.slices import PREDICATES, written
from opweave.runtime.sass.steady import SteadyLoops
from opweave.runtime.sass.stored import Drawn, StoredBytes, draw, is_ticket

INTO_SHARED = ("STS", "ATOMS", "ATOM", "LDGSTS", "ST", "STSM")
MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class Skipped:
    """Instructions that no count has: which way a branch takes follows from data.

    Attributes:
        address: of the branch.
        line: of the source, 0 where unknown.
        instructions: between the branch and where its ways meet.
        warps: that came to the branch.
    """

    address: int
    line: int
    instructions: int
    warps: float


@dataclass(frozen=True)
class Execution:
    """What was counted.

    Attributes:
        issued: by instruction, warps that executed it; estimates where blocks stand for others.
        requests: by the number of an instruction, what it asked of memory; of an asynchronous
            copy what it stores is under -1 - the number.
        skipped: what could not be attributed.
        unknown: instructions that the tables do not know, and that were to decide something.
        sample, blocks: the blocks that were executed, and how many the launch has.
        in_order: blocks drew numbers from a counter, in the order of their own.
        traces: of the first warp of a block in the middle, and of that of the last block.
        walked, again: sectors of arrays that rounds touched which were not executed: those that no
            other loop of the block has touched, and those that one has; by array, each once a
            block and each once.
    """

    issued: tuple[float, ...]
    requests: dict[int, Requests]
    skipped: tuple[Skipped, ...]
    unknown: tuple[str, ...]
    sample: Sample
    blocks: int
    in_order: bool = False
    traces: tuple[WarpTrace, ...] = ()
    walked: dict[int, tuple[float, float]] = field(default_factory=dict)
    again: dict[int, float] = field(default_factory=dict)

    @property
    def sampled(self) -> int:
        """Blocks that were executed and stand for those of the launch."""
        return int(self.sample.stands.sum())


class WarpExecutor:
    """Runs the sampled blocks of one launch."""

    def __init__(self, flow: Flow, launched: DeviceLaunch):
        self.flow, self.launched = flow, launched
        self.instructions = flow.listing.instructions
        self.sample = sample(launched)
        blocks, weights = self.sample.blocks, self.sample.weights
        self.machine = SassMachine(launched, blocks, np.repeat(weights, launched.warps))
        self.issued = [0.0] * len(self.instructions)
        self.requests: dict[int, Requests] = {}
        self.skipped: dict[int, Skipped] = {}
        self.unknown: set[str] = set()
        self.deciding = deciding(flow)
        # as the bulk of them does, and as the one that may join what the others have left
        watched = (n * launched.warps * WARP for n in (len(blocks) // 2, len(blocks) - 1))
        self.traces = tuple(WarpTrace(slice(n, n + WARP)) for n in watched)
        self.drawn: Counter[Drawn] = Counter()
        self.counts = True  # no counter has been added to where nobody looked
        self.steps = 0
        self.steady = SteadyLoops(self)
        self.machine.is_asked = bool(self.steady.loops)

    def run(self) -> Execution:
        """Run until no lane lives.

        Raises:
            LaunchError: lanes wait for each other for ever, or a loop does not end.
        """
        while (place := self.next()) is not None:
            if not (place[0] in self.steady.loops and self.steady.arrive(*place)):
                self.block(*place)
        return self._result()

    def next(self) -> tuple[int, Array] | None:
        """The block that comes next and the lanes that stand before it; None if no lane lives."""
        m = self.machine
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise LaunchError(
                f"profile: more than {MOST_STEPS} blocks of instructions are executed"
            )
        running = m.live & (m.waiting == RUNNING)
        while not running.any():
            if not m.live.any():
                return None
            if not synchronising.release(m):
                raise LaunchError("profile: threads wait for each other for ever")
            running = m.live & (m.waiting == RUNNING)
        leader = int(m.pc[running].min())
        return leader, running & (m.pc == leader)

    def _result(self) -> Execution:
        return Execution(
            tuple(self.issued), self.requests, tuple(self.skipped.values()),
            tuple(sorted(self.unknown)), self.sample, self.launched.blocks,
            bool(self.drawn), self.traces, self.steady.walked.sectors(self.requests.values()),
            self.steady.again(),
        )  # fmt: skip

    def block(self, leader: int, active: Array) -> None:
        """One basic block, in the lanes that stand before it."""
        m, end = self.machine, self.flow.ends[leader]
        weight = float(m.weights[m.warps(active)].sum())
        m.pc[active] = end
        traces = [trace for trace in self.traces if trace.takes(active)]
        for n in range(leader, end):
            self.issued[n] += weight
            if traces:
                lanes, _ = self.guarded(self.instructions[n], active)
                for trace in traces:
                    trace.steps.append((n, bool(lanes[trace.lanes].any())))
            action = self._actions[n]
            if action is not None:
                action(active)
                if not m.live[active].any():
                    return

    @cached_property
    def _actions(self) -> list[Any]:
        """By instruction what executes it; None where nothing follows from it."""
        return [self._action(n, one) for n, one in enumerate(self.instructions)]

    def _action(self, n: int, one: SassInstruction) -> Any:
        if one.root in synchronising.CONTROL:
            return partial(synchronising.CONTROL[one.root], self, n)
        if one.root in SPACES:
            return partial(self._memory, n, one)
        names = written(one)
        if n not in self.deciding.rows:
            return None
        row = SEMANTICS.get(one.root)
        if row is None:
            return partial(self._data, one, names)
        return partial(self._integer, row, one, names)

    def _integer(self, row: Any, one: SassInstruction, names: list[int], active: Array) -> None:
        m = self.machine
        lanes, maybe = self.guarded(one, active)
        if one.root[0] == "U" and one.root[1] != "T":
            lanes = np.repeat(m.warps(lanes), WARP) if self._is_uniform(one) else lanes
        try:
            row(m, one, lanes)
        except (ValueError, StopIteration, KeyError, IndexError):
            self.unknown.add(one.opcode)
            m.forget(names, lanes, PREDICATES)
        if maybe.any():
            m.forget(names, maybe, PREDICATES)

    @staticmethod
    def _is_uniform(one: SassInstruction) -> bool:
        return all(o.index >= UNIFORM for o in one.operands[:1] if o.kind == "r")

    def _data(self, one: SassInstruction, names: list[int], active: Array) -> None:
        lanes, maybe = self.guarded(one, active)
        if not computes_data(one):
            self.unknown.add(one.opcode)
        self.machine.forget(names, lanes | maybe, PREDICATES)

    def _memory(self, n: int, one: SassInstruction, active: Array) -> None:
        m = self.machine
        lanes, maybe = self.guarded(one, active)
        if n not in self.requests:
            self.requests[n] = Requests(SPACES[one.root], OPS.get(one.root, "ld"), width(one))
        if lanes.any():
            count(m, one, lanes, self.requests[n])
            if one.root == "LDGSTS":  # a store to shared memory, too, under a number of its own
                half = self.requests.setdefault(-1 - n, Requests("shared", "st", width(one)))
                count(m, one, lanes, half)
        if maybe.any():
            self.requests[n].unknown += float(m.weights[m.warps(maybe)].sum())
        if one.root == "STS" and self.deciding.from_shared:
            self.shared.store(one, lanes)
            self.shared.forget(maybe)
        elif one.root in INTO_SHARED and self.deciding.from_shared:
            self.shared.forget(lanes | maybe)
        if one.root == "LDS" and self.shared.holds and not maybe.any():
            self.shared.fetch(one, lanes)
        elif not (self._draws(one, maybe) and draw(m, one, lanes, self.drawn)):
            m.forget(written(one), lanes | maybe, PREDICATES)

    def _draws(self, one: SassInstruction, maybe: Array) -> bool:
        return is_ticket(one) and self.counts and not maybe.any()

    @cached_property
    def shared(self) -> StoredBytes:
        return StoredBytes(self.machine)

    def guarded(self, one: SassInstruction, active: Array) -> tuple[Array, Array]:
        """The lanes whose guard holds, and those of which nobody knows."""
        m = self.machine
        if one.guard is None or (one.guard.index in (PT, UPT) and not one.guard.sign):
            return active, np.zeros_like(active)
        truth, sure = m.predicate(one.guard)
        return active & truth & sure, active & ~sure

    def skip(self, n: int, lanes: Array) -> None:
        """Go on where both ways of a branch on data meet; nothing between is counted."""
        m, one = self.machine, self.instructions[n]
        block = max(b for b in self.flow.leaders if b <= n)
        meeting = self.flow.meetings[block]
        between = self.flow.between(self._ways(n), meeting)
        rows = [i for b in between for i in range(b, self.flow.ends[b])]
        weight = float(m.weights[m.warps(lanes)].sum())
        before = self.skipped[n].warps if n in self.skipped else 0.0
        self.skipped[n] = Skipped(one.address, one.line, len(rows), before + weight)
        names = {name for i in rows for name in written(self.instructions[i])}
        m.forget(sorted(names), lanes, PREDICATES)
        if any(self.instructions[i].root in INTO_SHARED for i in rows):
            self.shared.forget(lanes)
        self.counts = self.counts and not any(is_ticket(self.instructions[i]) for i in rows)
        if meeting < 0:
            synchronising.leave(m, lanes)
        else:
            m.pc[lanes] = meeting

    def _ways(self, n: int) -> Iterable[int]:
        target = self.flow.targets.get(n)
        return [b for b in (target, n + 1) if b in self.flow.ends]


def execute(listing: Listing, launched: DeviceLaunch) -> Execution:
    """Run one launch of a kernel, or as many of its blocks as stand for it.

    Raises:
        LaunchError: the kernel does not end.
    """
    return WarpExecutor(Flow(listing), launched).run()
