"""Rounds of a step whose numbers differ: a counter, numbers that it returns, until it is enough.

What C runs at once are rounds of one prepared call: their numbers follow from those of the first,
so they are computed before.  C comes back where the guard asks for another call, and before a
number is read that a kernel has computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opweave._functions.calls import Ready
from opweave._functions.fused import Fused
from opweave._functions.parts import BREAKS
from opweave._repeats.carried import Carried, begun
from opweave._repeats.counting import Counting
from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Scalar
from opweave.compiler.traced.made import is_array
from opweave.configuration import config
from opweave.opcodes.errors import ArgumentError

# Rounds that C runs at once, their numbers made before; few at first, where each may be the last.
MOST_AT_ONCE, FEWEST = 1 << 10, 16
MOST_KNOWN = 64  # of prepared calls

Numbers = Mapping[str, Any]


class CountedRounds:
    """Runs the rounds of a step.

    Attributes:
        step, asking: compiled for numbers that differ; the latter says, too, if it is enough.
        by_python: what says so cannot be compiled with the step, and is called by Python.
    """

    def __init__(self, step: Fused, n: int, counting: Counting):
        self.step, self.n, self.counting = step, n, counting
        self.asking, self.by_python = counting.asking(step), False
        self._known: dict[int, CountedRound] = {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What the step returns last, in new arrays, and how many rounds there were."""
        found, *_ = self._next(args, 0)
        count, rounds, is_over = found.carried.count, 0, False
        args = (*map(begun, args[:count]), *args[count:])
        while rounds < self.n and not is_over:
            found, values, most = self._next(args, rounds)
            made, ran = self._made(found, values, args, rounds, most)
            if found.asks:
                is_over = self.counting.is_enough(made.pop())
            args, rounds = found.carried.behind(args, made), rounds + ran
            if self.by_python and not rounds % self.counting.every:
                is_over = self.counting.is_over(args[:count])
        is_new = rounds and found.is_apart
        state = tuple(a.copy() if is_array(a) and not is_new else a for a in args[:count])
        return self.counting.returned(state if found.carried.is_tuple else state[0], rounds)

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

    def _next(self, args: tuple[Any, ...], rounds: int) -> tuple[CountedRound, Sequence[Any], int]:
        """What runs behind so many rounds, the leaves that it takes, and its rounds at most."""
        left, every = self.n - rounds, self.counting.every
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
            return self._next(args, rounds)

    def _bound(
        self, fused: Fused, args: tuple[Any, ...], number: int
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
            found = self._known[id(ready)] = CountedRound(ready, carried, leaves, counter, asks)
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
        self, ready: Ready, carried: Carried, leaves: Sequence[str], counter: str | None,
        asks: bool,
    ):  # fmt: skip
        """``leaves``: the names of what the call takes.

        Raises:
            ArgumentError: the value of the counter is asked for.
        """
        self.ready, self.carried, self.asks = ready, carried, asks
        named = dict(zip((leaves[i] for i in ready.scalars), ready.names, strict=True))
        self._counter = named.get(counter) if counter is not None else None
        graph, variant = ready.prepared.graph, ready.found.variant
        if self._counter in variant.static:
            raise _asked(carried.step, counter)
        followed = zip(carried.names, graph.outputs, strict=False)
        self._ahead = [(n, named[n], o) for n, o in followed if isinstance(o, Expr) and n in named]
        differ = {named[n] for n in (*carried.numbers, counter) if n in named}
        of_kernels = differ - {place for _, place, _ in self._ahead} - {self._counter}
        self.is_apart = ready.prepared.closes(carried.arrays)
        self._enough = graph.outputs[-1] if asks else None
        self._loops = self.is_apart and of_kernels.isdisjoint(read_by(graph))
        self._loops &= all(n in named for n in carried.numbers)  # a bool is part of the guard
        self._loops &= variant.static.keys().isdisjoint(differ)
        self._loops &= isinstance(self._enough, Expr | None) or self._enough.id not in graph.views
        self._holds = variant.holding(differ)

    def __call__(self, values: Sequence[Any], first: int, most: int) -> tuple[list[Any], int]:
        """The outputs of the last of up to so many rounds, and how many there were."""
        prepared, arrays = self.ready.prepared, [values[i] for i in self.ready.arrays]
        numbers = self.ready.numbers(values)
        if most == 1 or not self._loops:
            return prepared(arrays, numbers), 1
        most = min(most, max(FEWEST, first) if self.asks else most, MOST_AT_ONCE)
        envs, rows = self._numbers({**prepared.extents, **numbers}, first, most)
        asks = self.asks and not isinstance(self._enough, Expr)
        return prepared.rounds(arrays, envs, rows, self.carried.arrays, asks)

    def leaves(self, made: Any) -> list[Any]:
        """The results of a call, one after the other."""
        state, *enough = made if self.asks else (made,)
        return [*(state if self.carried.is_tuple else (state,)), *enough]

    def _numbers(
        self, env: Numbers, first: int, most: int
    ) -> tuple[list[Numbers], list[list[Any]]]:
        """The numbers of up to so many rounds, and of their kernels, given those of the first."""
        of_kernels = self.ready.prepared.plan.numbers
        envs, rows = [env], [of_kernels(env)]
        while len(envs) < most:
            if isinstance(self._enough, Expr) and evaluate(self._enough, env):
                break
            try:
                env = self._behind(env, first + len(envs))
                if not self._holds(env):
                    break
                rows.append(of_kernels(env))
            except Exception:  # which is raised where that round is the first, if it comes to it
                break
            envs.append(env)
        return envs, rows

    def _behind(self, env: Numbers, number: int) -> Numbers:
        """The numbers of the next round, given those of one, and its own.

        Raises:
            ArgumentError: one has become a number of another type.
        """
        ahead = dict(env)
        for name, place, output in self._ahead:
            ahead[place] = evaluate(output, env)
            self.carried.check_type(name, ahead[place], env[place])
        if self._counter is not None:
            ahead[self._counter] = number
        return ahead


def read_by(graph: FunctionGraph) -> set[str]:
    """Numbers that nodes, outputs or the guard of a graph depend on."""
    found = [o.expr for node in graph.nodes for o in node.operands if isinstance(o, Scalar)]
    found += [o for o in graph.outputs if isinstance(o, Expr)]
    found += [condition for condition, _ in graph.conditions]
    return {str(leaf.args[0]) for expr in found for leaf in expr.leaves()}


def _asked(step: str, counter: str | None) -> ArgumentError:
    return ArgumentError(
        f"repeat: {step} asks for the value of its counter {counter!r}, as range({counter}), an "
        "index of a list or a slice that is not as long in each round does; each would be compiled"
        f" for itself: read arrays by it (f[{counter}]), compute with it, or compare it"
    )
