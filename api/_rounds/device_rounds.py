"""The rounds of a loop on a GPU: the first ones one by one, the others from a prepared list.

A round is a function of names, and of those that it leaves.  The first rounds are calls of it.
They show which arrays it writes to, and which names get arrays that others had (``u, v = v, u``).
The others are rounds of ``ow.repeat``: of a step that writes to no argument, of so many rounds
that every name gets a new array or its own again.  What arrays of before hold is written last.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from opweave._rounds.carried import ReadyLike, StepLike
from opweave._rounds.counting import Counting
from opweave._rounds.kinds import (
    kind_of,
    moved,
    shows_views,
    stores_of,
    stride,
    why_shared,
)
from opweave._rounds.rounds import CountedRound, CountedRounds
from opweave._rounds.splitting import Split
from opweave.compiler.captures.structure import Changing
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.parts.lazy_array import BREAKS
from opweave.compiler.pipeline.driver import Options
from opweave.opcodes.errors import ArgumentError, LaunchError, OpweaveError
from opweave.runtime.calls.arrays import assigned
from opweave.runtime.calls.writes import Unwritten

# Rounds of one step, at most: so many names may exchange their arrays in a ring.
MOST_TOGETHER = 4
# Prepared rounds of which is known how the others run.
MOST_KNOWN = 64
Fuse = Callable[[FunctionType, Options], StepLike]
Names = dict[str, Any]


class NotRolledError(OpweaveError):
    """Kernels do not run a round of a loop, and nothing of it was written.

    Attributes: ``done``: rounds before it; ``again``: so it will be in calls of the same kinds.
    """

    def __init__(self, text: str, again: bool = True):
        super().__init__(text)
        self.done, self.again = 0, again


@dataclass
class Rest:
    """How the rounds behind the first ones run.

    Attributes:
        ready: the prepared first round; None where it is no whole.
        together: rounds of a step.
        carried: names that a step leaves to the next one, the counter last.
        others: names that stay.
        kept: those of the carried whose arrays are the same ones before and behind a step.
        run: runs steps; None where rounds are run one by one, and then ``why``.
    """

    ready: ReadyLike | None
    together: int = 1
    carried: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    run: CountedRounds | None = None
    why: str = ""


class DeviceRounds:
    """Runs the rounds of one loop.

    Attributes:
        why: why some are run one by one, or "".
        listed, single: how many ran from a list, and how many did not.
    """

    def __init__(self, split: Split, fuse: Fuse, options: Options):
        self.split, self._fuse = split, fuse
        self._options = options
        target, inside = split.target, split.round
        kept = {*split.results} - inside.sure
        self._given = (*sorted((inside.read | kept) - {target}), target)
        self._rounds: dict[tuple[str, ...], StepLike] = {}
        self._known: dict[int, Rest] = {}
        self.why, self.listed, self.single = "", 0, 0
        self._settled = False  # names have the kinds behind the last round that they had before

    @property
    def known(self) -> list[Rest]:
        """How rounds run, of the kinds that there were."""
        return [*self._known.values()]

    def __call__(self, names: Names, items: Sequence[int]) -> None:
        """Run all rounds, and let names have what they leave.

        Raises:
            NotRolledError: a round is no whole; ``names`` has what those before it left.
        """
        done, rest, may = 0, None, True
        while done < len(items):
            is_known = may and self._settled and rest is not None and rest.run is not None
            count = (len(items) - done) // rest.together if is_known and rest is not None else 0
            if rest is not None and count and done >= rest.together:
                may = self._listed(rest, names, items[done], count)
                done += count * rest.together if may else 0
                self.listed += count * rest.together if may else 0
                continue
            try:
                rest = self.one(names, items, done)
            except NotRolledError as error:
                error.done = done
                raise
            done += 1
            self.single += 1

    def one(self, names: Names, items: Sequence[int], number: int) -> Rest:
        """Run one round, and say how others may be run.

        Raises:
            NotRolledError: it is no whole, and was not run.
        """
        given = {**{n: names[n] for n in self._given[:-1]}, self.split.target: items[number]}
        kinds = self._kinds(names)
        fused = self._round(given)
        if 0 in self._known:
            return self._called(fused, given, names)
        call = fused.signature.bind(tuple(given.values()), {})
        ready = self._ready(fused, call)
        if ready is None:
            return self._called(fused, given, names)
        found = self._known.get(id(ready))
        if is_new := found is None or found.ready is not ready:
            self._check(ready, call)
        try:
            made = ready(call.values, call.containers)
        except Unwritten as why:  # such as shared memory
            raise NotRolledError(f"{why}", again=False) from why
        names |= zip(self.split.results, made, strict=True)
        self._settled = self._kinds(names) == kinds
        if is_new or found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            found = self._known[id(ready)] = self._rest(ready, call, given, names, items)
            self.why = self.why or found.why
        return found

    def _ready(self, fused: StepLike, call: Any) -> ReadyLike | None:
        """A round as a whole; None where it has a loop that is not part of one.

        Raises:
            NotRolledError: it is no whole for another reason.
        """
        try:
            ready: ReadyLike = fused.ready_for(call) or fused.prepare(call, or_parts=True)
            return ready
        except OpweaveError as error:
            is_long = error.mean_seconds is not None and self.split.is_nested
            if is_long or (self.split.is_asking and isinstance(error, BREAKS)):
                return None
            raise NotRolledError(f"{error}") from error
        except Exception as error:  # which Python raises in its turn, behind what comes before
            raise NotRolledError(f"it raised {type(error).__name__}", again=False) from None

    def _called(self, fused: StepLike, given: Mapping[str, Any], names: Names) -> Rest:
        """Run a round as a call that looks for itself how its loop is run."""
        names |= zip(self.split.results, fused(*given.values()), strict=True)
        return self._known.setdefault(0, Rest(None, why="a loop within a round"))

    def _kinds(self, names: Names) -> list[Any]:
        return [kind_of(names[n]) for n in self._given[:-1]]

    def _round(self, given: Mapping[str, Any]) -> StepLike:
        """One round, compiled for these numbers to differ."""
        counted = self._counted(given)
        if counted not in self._rounds:
            made = self.split.round.function(self._given, self.split.results)
            self._rounds[counted] = self._fuse(made, replace(self._options, counted=counted))
        return self._rounds[counted]

    def _counted(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Integers that differ from round to round."""
        changing = (n for n in self.split.results if type(values.get(n)) is int)
        around = (n for n in self._options.counted if n in values)
        return tuple(dict.fromkeys((self.split.target, *around, *changing)))

    def _check(self, ready: ReadyLike, call: Any) -> None:
        """Refuse a round that would be compiled anew for each number, or changes an object.

        Raises:
            NotRolledError: it asks for such a number, or leaves a copy of a part of an array.
        """
        if isinstance(ready.structure, Changing):
            raise NotRolledError("what a round changes is in an object")
        if ready.found.variant.trace.has_aliases:
            raise NotRolledError("a round leaves a part of an array, which a kernel would copy")
        leaves = call.layout.names
        named = {leaves[i]: n for i, n in zip(ready.scalars, ready.names, strict=True)}
        static = ready.found.variant.static
        differ = (self.split.target, *self._options.counted, *self.split.results)
        if asked := [n for n in differ if named.get(n) in static]:
            raise NotRolledError(f"a round asks for the value of {asked[0]}, new in each round")

    def _rest(
        self, ready: ReadyLike, call: Any, given: Mapping[str, Any], names: Names,
        items: Sequence[int],
    ) -> Rest:  # fmt: skip
        """How the rounds behind one run, given what that one was given, and what it left."""
        leaf = [call.layout.names[place] for place in ready.arrays]
        written = {leaf[w.place] for w in ready.prepared.graph.written}
        if not written <= {*given}:
            return Rest(ready, why="a round writes to an array in a container, or to a global one")
        if written and call.layout.same is not None:
            return Rest(ready, why="an array has two names, and is written to")
        if any(place is not ... for _, place, *_ in stores_of(ready)):
            return Rest(ready, why="a round stores a part of an array alone, where it lies")
        if shows_views(ready.prepared.graph):
            return Rest(ready, why="a name is given a view of an array")
        was = {id(v): n for n, v in given.items() if is_array(v)}
        left = {n: names[n] for n in self.split.results}
        arrays = {n: v for n, v in left.items() if is_array(v)}
        moves = {n: was.get(id(v), "") for n, v in arrays.items()}
        if why := why_shared(written, moves, {**given, **left}, ready.asks):
            return Rest(ready, why=why)
        moves |= {n: n for n in given if is_array(given[n]) and n not in left}
        return self._stepped(ready, given, written, moves, items)

    def _stepped(
        self, ready: ReadyLike, given: Mapping[str, Any], written: set[str],
        moves: Mapping[str, str], items: Sequence[int],
    ) -> Rest:  # fmt: skip
        """Rounds together as a step that writes to no argument.

        Args:
            moves: for each name of an array the one whose array it has behind a round, or "".
        """
        for together in range(1, MOST_TOGETHER + 1):
            behind = {name: moved(moves, name, together) for name in moves}
            if all(not m or m == n for n, m in behind.items()):
                break
        else:
            return Rest(ready, why="arrays come back to their names after too many rounds")
        touched = {moved(moves, n, k) for n in written for k in range(together)} - {""}
        kept = tuple(n for n in sorted(touched) if behind.get(n) == n)
        results = [n for n in self.split.results if behind.get(n) != n or n in kept]
        results += [n for n in kept if n not in results]
        target = self.split.target
        carried = (*results, target)
        others = tuple(n for n in self._given if n not in carried)
        step = self._step(carried, others, touched, together, stride(items))
        options = replace(
            self._options, fullgraph=True, repeated=True, writes=False,
            counted=(*self._counted(given), *(n for n in results if type(given.get(n)) is int)),
        )  # fmt: skip
        options = replace(options, counted=tuple(dict.fromkeys(options.counted)))
        rounds = CountedRounds(self._fuse(step, options), 0, Counting())
        return Rest(ready, together, carried, others, kept, rounds)

    def _step(
        self, carried: Sequence[str], others: Sequence[str], copied: set[str], together: int,
        stride: int,
    ) -> FunctionType:  # fmt: skip
        """A function of so many rounds, which writes to copies of arrays."""
        first = [*ast.parse("\n".join(f"{n} = {n}.copy()" for n in sorted(copied))).body]
        target = self.split.target
        lines = self.split.round
        body = [*lines.nodes, *ast.parse(f"{target} = {target} + {stride}").body] * together
        return lines.function((*carried, *others), carried, first, body)

    def _listed(self, rest: Rest, names: Names, item: int, count: int) -> bool:
        """Run so many steps from a list; False where they cannot be, and nothing was done."""
        assert rest.run is not None
        args = (*(names[n] for n in rest.carried[:-1]), item, *(names[n] for n in rest.others))
        try:
            used: set[CountedRound] = set()
            made = rest.run(args, count, used)
            if rest.ready is None or (rest.ready.asks and not all(r.is_apart for r in used)):
                raise ArgumentError("a branch may give two names one array")
        except LaunchError:
            raise
        except (ArgumentError, *BREAKS) as error:
            rest.run, rest.why = None, f"{error}"
            self.why = self.why or rest.why
            return False
        except Exception:  # raised in its turn, when what comes before it is written
            return False
        for name, value in zip(rest.carried[:-1], made, strict=False):
            if name in rest.kept:
                assigned(names[name], value)
            else:
                names[name] = value
        return True
