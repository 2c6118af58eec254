"""The numbers of a step that differ from round to round, and those of the rounds that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from opweave._rounds.carried import Carried, ReadyLike
from opweave.compiler.codegen.repeats import in_terms
from opweave.compiler.ir.expr import Expr, evaluate, literal
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Scalar
from opweave.opcodes.errors import ArgumentError

Numbers = Mapping[str, Any]


class ChangingNumbers:
    """The numbers of one prepared call that differ from round to round.

    Attributes:
        are_known_before: those of the next round follow from those of this one, and are read by
            nobody before.
    """

    def __init__(
        self, ready: ReadyLike, carried: Carried, leaves: Sequence[str], counter: str | None
    ):
        """``leaves``: the names of what the call takes.

        Raises:
            ArgumentError: the value of the counter is asked for.
        """
        self.carried = carried
        graph, variant = ready.prepared.graph, ready.found.variant
        named = dict(zip((leaves[i] for i in ready.scalars), ready.names, strict=True))
        self.counter = named.get(counter) if counter is not None else None
        if self.counter in variant.static:
            raise _asked(carried.step, counter)
        results = zip(carried.names, graph.outputs, strict=False)
        # parameter, its name in the graph, what it is in the next round
        self._next = [(n, named[n], o) for n, o in results if isinstance(o, Expr) and n in named]
        differ = {named[n] for n in (*carried.numbers, counter) if n in named}
        of_kernels = differ - {place for _, place, _ in self._next} - {self.counter}
        self._holds = holding(graph, differ)
        self.are_known_before = (
            of_kernels.isdisjoint(read_by(graph))
            and all(n in named for n in carried.numbers)  # a bool is part of the guard
            and variant.static.keys().isdisjoint(differ)
        )

    def of_rounds(
        self, env: Numbers, first: int, most: int, enough: Expr | None = None
    ) -> list[Numbers]:
        """All numbers of up to so many rounds, given those of the first and its own.

        They end where the guard asks for another call, where one cannot be computed, which that
        round raises if it comes to it, and where it is ``enough``.
        """
        envs = [env]
        while len(envs) < most and not (enough is not None and evaluate(enough, env)):
            try:
                env = self._behind(env, first + len(envs))
            except Exception:
                break
            if not self._holds(env):
                break
            envs.append(env)
        return envs

    def _behind(self, env: Numbers, number: int) -> Numbers:
        """The numbers of the next round, given those of one, and its own.

        Raises:
            ArgumentError: one has become a number of another type.
        """
        ahead = dict(env)
        for name, place, output in self._next:
            ahead[place] = evaluate(output, env)
            self.carried.check_type(name, ahead[place], env[place])
        if self.counter is not None:
            ahead[self.counter] = number
        return ahead

    def ahead(self, place: int, before: Mapping[str, Expr]) -> Mapping[str, Expr]:
        """The numbers of a later round, in terms of those of the first; see ``written_out``."""
        found = {name: in_terms(output, before) for _, name, output in self._next}
        if self.counter is not None:
            own = Expr("argument", (self.counter,))
            found[self.counter] = Expr("add", (own, literal(place)))
        return found


def holding(graph: FunctionGraph, names: Set[str]) -> Callable[[Numbers], bool]:
    """Whether the guard holds for other values of some numbers, none of which is static."""
    asked = [
        (condition.of, value)
        for condition, value in graph.conditions
        if not names.isdisjoint(str(leaf.args[0]) for leaf in condition.leaves())
    ]

    def holds(values: Numbers) -> bool:
        try:
            for of, value in asked:
                if of(values) != value:
                    return False
        except ArithmeticError:  # such as a division by zero
            return False
        return True

    return holds


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
