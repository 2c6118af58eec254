"""Rounds of a step whose numbers differ: a counter, numbers that it returns, until it is enough.

What C runs at once are rounds of one prepared call.  Their numbers follow from those of the first,
and are computed before; what kernels compute stays in memory.  C comes back where the guard asks
for another call, and where a step asks for the value of a number that a kernel has computed.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from opweave._rounds.carried import Carried, ReadyLike, StepLike, begun
from opweave._rounds.changing import ChangingNumbers, Numbers
from opweave._rounds.counting import Counting
from opweave._rounds.looping import most_written, prepared_for
from opweave.compiler.codegen.repeats import written_out
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value
from opweave.compiler.parts.lazy_array import BREAKS
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.configuration import config
from opweave.runtime.calls.prepared import Prepared

# Rounds that C runs at once, their numbers made before; few at first, where each may be the last.
MOST_AT_ONCE, FEWEST = 1 << 10, 16
MOST_WRITTEN = 16  # rounds of one kernel, each of which has numbers of its own
MOST_KNOWN = 64  # of prepared calls


class ComputedNumbers(Exception):
    """Kernels compute numbers that a step returns: it had better find them in memory, too.

    Attributes:
        places: of the results.
    """

    def __init__(self, places: Set[int]):
        super().__init__(places)
        self.places = places


class CountedRounds:
    """Runs the rounds of a step.

    Attributes:
        step, asking: compiled for numbers that differ; the latter says, too, if it is enough.
        by_python: what says so cannot be compiled with the step, and is called by Python.
        placed: places of the numbers that a round finds in memory, where the last one's kernels
            have left them; None where the step asks for their values.
    """

    def __init__(self, step: StepLike, n: int, counting: Counting):
        self.n, self.counting = n, counting
        self.placed: Set[int] | None = frozenset()
        self._compile(step)

    @property
    def calls(self) -> list[ReadyLike]:
        """The prepared calls of rounds that are known."""
        return [found.ready for found in self._known.values()]

    def _compile(self, step: StepLike) -> None:
        """Forget all calls, and compile this step from now on."""
        self._known: dict[int, CountedRound] = {}
        check = partial(self._check, False)
        self.step: StepLike = type(step)(step.given, step.static, step.options, check)
        self.asking = self.counting.asking(step, partial(self._check, True))
        self.by_python = False

    def _check(self, asks: bool, found: Specialised) -> None:
        """Look at a step before its kernels are compiled.

        Raises:
            ComputedNumbers: some of its results had better stay in memory.
        """
        if self.placed is None or not found.lowered.device.is_host:
            return
        outputs = found.variant.trace.graph.outputs
        places = {
            n
            for n, o in enumerate(outputs[:-1] if asks else outputs)
            if isinstance(o, Value) and not o.shape and o.dtype.kind != "b"
        }
        if not places <= self.placed:
            raise ComputedNumbers(places | self.placed)

    def __call__(
        self, args: tuple[Any, ...], n: int | None = None, used: set[CountedRound] | None = None
    ) -> Any:
        """What the step returns last, in new arrays, and how many rounds there were.

        Args:
            n: rounds at most, if it is not ``self.n``.
            used: gets what ran.
        """
        while True:
            try:
                return self._run(args, self.n if n is None else n, set() if used is None else used)
            except ComputedNumbers as found:
                self.placed = found.places
                names = [n for n, _ in self.step.parameters if n != self.counting.counter]
                more = [names[n] for n in sorted(found.places) if n < len(names)]
            except BREAKS:
                if not self.placed:
                    raise
                self.placed, more = None, []  # it asks a number for its value
            step = self.step
            counted = tuple(dict.fromkeys((*step.options.counted, *more)))
            options = replace(step.options, counted=counted)
            self._compile(type(step)(step.given, step.static, options))

    def _run(self, given: tuple[Any, ...], n: int, used: set[CountedRound]) -> Any:
        placed = self.placed or ()
        args = tuple(
            np.asarray(a) if n in placed and isinstance(a, np.generic) else a
            for n, a in enumerate(given)
        )
        found, *_ = self._next(args, 0, n)
        count, rounds, is_over = found.carried.count, 0, False
        args, state = (*map(begun, args[:count]), *args[count:]), list(given[:count])
        while rounds < n and not is_over:
            found, values, most = self._next(args, rounds, n)
            used.add(found)
            made, ran = self._made(found, values, args, rounds, most)
            if found.asks:
                is_over = self.counting.is_enough(made.pop())
            args, rounds = found.carried.behind(args, made), rounds + ran
            state = [m if is_array(a) else a for m, a in zip(made, args, strict=False)]
            if self.by_python and not rounds % self.counting.every:
                is_over = self.counting.is_over(tuple(state))
        if not (rounds and found.is_apart):
            state = [a.copy() if is_array(a) else a for a in state]
        left = tuple(state) if found.carried.is_tuple else state[0]
        return self.counting.returned(left, rounds)

    def _made(
        self, found: CountedRound, values: Sequence[Any], args: tuple[Any, ...], rounds: int,
        most: int,
    ) -> tuple[list[Any], int]:  # fmt: skip
        """The results behind up to so many rounds, and how many there were."""
        if config.errors == "ignore":
            return found(values, rounds, most)
        by_place, by_name = self.counting.given(args, rounds)
        fused = self.asking if found.asks and self.asking else self.step
        return found.leaves(fused(*by_place, **by_name)), 1

    def _next(
        self, args: tuple[Any, ...], rounds: int, n: int
    ) -> tuple[CountedRound, Sequence[Any], int]:
        """What runs behind so many rounds, the leaves that it takes, and its rounds at most."""
        left, every = n - rounds, self.counting.every
        before = every - rounds % every  # rounds until it is asked
        if self.asking is None:
            most = min(left, before) if self.by_python else left
            return *self._bound(self.step, args, rounds), most
        if before > 1:
            return *self._bound(self.step, args, rounds), min(left, before - 1)
        try:
            return *self._bound(self.asking, args, rounds), left if every == 1 else 1
        except BREAKS:  # if the step is to blame, it is refused without the question
            self.asking, self.by_python = None, True
            return self._next(args, rounds, n)

    def _bound(
        self, fused: StepLike, args: tuple[Any, ...], number: int
    ) -> tuple[CountedRound, Sequence[Any]]:
        """What runs a round with these arguments, and the leaves that it takes."""
        by_place, by_name = self.counting.given(args, number)
        ready, values = fused.bound(by_place, by_name)
        found = self._known.get(id(ready))
        if found is None or found.ready is not ready:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            leaves = fused.signature.bind(by_place, dict(by_name)).layout.names
            asks, counter = fused is self.asking, self.counting.counter
            if asks:
                self.counting.check_answer(ready.structure)
            carried = Carried.of(fused, counter, ready, args, asks)
            numbers = ChangingNumbers(ready, carried, leaves, counter)
            found = CountedRound(ready, carried, numbers, asks, fused.options)
            self._known[id(ready)] = found
        return found, values


class CountedRound:
    """One prepared call as a round, or as many.

    Attributes:
        ready: the call.
        carried: what becomes of its results.
        asks: the last result says whether it is enough.
        is_apart: the others are new arrays, which share no memory.
    """

    def __init__(
        self,
        ready: ReadyLike,
        carried: Carried,
        numbers: ChangingNumbers,
        asks: bool,
        options: Options,
    ):
        self.ready, self.carried, self.asks, self.options = ready, carried, asks, options
        self.numbers = numbers
        self._enough = ready.prepared.graph.outputs[-1] if asks else None
        prepared = ready.prepared
        is_part = isinstance(self._enough, Value) and not prepared.is_all(-1)
        self.is_apart = prepared.closes(carried.arrays)
        self._loops = self.is_apart and numbers.are_known_before and not is_part
        self._together: tuple[int, Prepared] | None = None

    def __call__(self, values: Sequence[Any], first: int, most: int) -> tuple[list[Any], int]:
        """The outputs of the last of up to so many rounds, and how many there were."""
        prepared, arrays = self.ready.prepared, self.ready.given(values)
        env = {**prepared.extents, **self.ready.numbers(values)}
        if most == 1 or not self._loops:
            return prepared(arrays, env), 1
        most = min(most, max(FEWEST, first) if self.asks else most, MOST_AT_ONCE)
        enough = self._enough if isinstance(self._enough, Expr) else None
        envs = self.numbers.of_rounds(env, first, most, enough)
        if not self.asks:
            many, together = self._written(arrays, len(envs))
            if many > 1 and len(envs) >= many:
                made, ran = self._run(together, arrays, envs[: len(envs) // many * many : many])
                return made, ran * many
        return self._run(prepared, arrays, envs)

    def _run(
        self, prepared: Prepared, arrays: Sequence[Any], envs: Sequence[Numbers]
    ) -> tuple[list[Any], int]:
        """Run a call for each set of numbers, and how many there were."""
        rows = [prepared.plan.numbers(envs[0])]
        with suppress(Exception):  # raised where that round is the first, if it comes to it
            rows.extend(map(prepared.plan.numbers, envs[1:]))
        asks = self.asks and not isinstance(self._enough, Expr)
        return prepared.rounds(arrays, envs[: len(rows)], rows, self.carried.arrays, asks)

    def _written(self, like: Sequence[Any], most: int) -> tuple[int, Prepared]:
        """How many rounds one kernel takes, and it; found out by the first call of many."""
        if self._together is None:
            self._together = 1, self.ready.prepared
            is_host = self.ready.found.lowered.device.is_host
            most = most_written(self.ready, min(most, MOST_WRITTEN)) if is_host else 1
            arrays, ahead = self.carried.arrays, self.numbers.ahead
            graph = written_out(self.ready.found.variant.graph, most, arrays, ahead)
            if most > 1 and graph is not None:
                made = prepared_for(self.ready, graph, like, self.options)
                if len(made.plan.steps) == 1 and made.closes(arrays):
                    self._together = most, made
        return self._together

    def leaves(self, made: Any) -> list[Any]:
        """The results of a call, one after the other."""
        state, *enough = made if self.asks else (made,)
        return [*(state if self.carried.is_tuple else (state,)), *enough]
