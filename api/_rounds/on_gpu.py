"""Functions with a loop on a GPU: its rounds are compiled once, and launched one after the other.

Of a function that is too long to be one program, the lines before its loop, one round, and the
lines behind are functions of their own, each fused.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

from opweave._programs.explain import Explanation, explain_rounds
from opweave._rounds.carried import ReadyLike, StepLike
from opweave._rounds.device_rounds import DeviceRounds, Fuse, Names, NotRolledError, Rest
from opweave._rounds.ending import EndedRounds
from opweave._rounds.passages import Passage
from opweave._rounds.splitting import REST, Split, split
from opweave.compiler.captures.source import NoLoopError, has_loop
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config
from opweave.runtime.calls.arguments import is_scalar

# Kinds of calls of which is known what becomes of them.
MOST_KINDS = 64


class LoopOnGpu:
    """A function whose rounds are launched one after the other.

    Attributes:
        rounds: its rounds.
    """

    def __init__(self, function: FunctionType, fuse: Fuse, options: Options):
        """Take a function apart.

        Raises:
            NoLoopError: it cannot be.
        """
        self.split: Split = split(function)
        self._signature = inspect.signature(function)
        self._fuse, self._options = fuse, options
        self._made: dict[Any, Callable[..., Any]] = {}
        rounds = EndedRounds if self.split.is_ended else DeviceRounds
        self.rounds: EndedRounds | DeviceRounds = rounds(self.split, fuse, options)

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Run a call; what it returns, and why Python ran its rounds, or "".

        Raises:
            NotRolledError: a round is no whole, and nothing was done yet that shows.
        """
        found, whole = self._signature.bind(*args, **kwargs), self.split
        found.apply_defaults()
        names: Names = {**found.arguments}
        before = whole.before
        read = before.read | (before.stored - before.sure)  # which it may leave as they are
        own = [n for n in whole.parameters if n in read or is_array(names[n])]
        kept = sorted(whole.kept)
        if before.nodes:
            names |= zip(kept, self._run(before, own, kept, names), strict=True)
        behind = whole.behind
        if isinstance(self.rounds, EndedRounds):
            instead, left = self.rounds(names, self._items(names))
            behind = instead or behind
        else:
            left = self._loop(self.rounds, names, items := self._items(names))
            if items:
                names[whole.target] = items[-1]
        given = [n for n in sorted(behind.read) if n in names]
        return self._run(behind, given, None, names), left

    def _items(self, names: Names) -> Any:
        """What the loop goes through; of a ``while`` all numbers."""
        items = self.split.items
        if items is None:
            return itertools.count()
        return self._run(items, sorted(items.read), None, names)

    def explained(self) -> Explanation:
        """The explanation of its rounds, which have run."""
        told, runs = [], []
        for rest in self.rounds.known:
            one = [] if rest.ready is None else [rest.ready]
            calls = one if rest.run is None else rest.run.calls
            told += [f"  {text}" for text in _told(rest, calls)]
            runs += [(ready.found.lowered, ready.found.extents) for ready in calls]
        line = self.split.loop.lineno
        head = (
            f"{self.split.round.of.__name__}: the rounds of the loop at line {line} are launched"
        )
        return explain_rounds([f"{head}, one after the other:", *dict.fromkeys(told)], runs)

    def _run(
        self, lines: Passage, given: Sequence[str], returned: Sequence[str] | None, names: Names
    ) -> Any:
        """What lines return of these names: fused, but where there is nothing to compute."""
        key = id(lines), (*given,)
        if key not in self._made:
            made, unbound = lines.function(given, returned), lines.read.difference(given)
            plain = lines is self.split.items or lines.is_plain or unbound
            self._made[key] = made if plain else self._fuse(made, self._options)
        return self._made[key](*(names[n] for n in given))

    def _loop(self, rounds: DeviceRounds, names: Names, items: Sequence[int]) -> str:
        """Run all rounds; by Python and CuPy where a round is no whole, and then say why.

        Raises:
            NotRolledError: the first is none, and nothing was done yet that shows.
        """
        try:
            rounds(names, items)
            return ""
        except NotRolledError as error:
            left, done = f"{error}" if error.again else "", error.done
            if left and not done and self.split.is_pure:
                raise
        whole = self.split
        kept = {*whole.results} - whole.round.sure
        names[REST] = items[done:]
        given = [*sorted((whole.round.read | kept) - {whole.target}), REST]
        names |= zip(whole.results, self._by_python(given, names), strict=True)
        return left

    def _by_python(self, given: Sequence[str], names: Names) -> Any:
        whole = self.split
        loop = whole.others.function(given, whole.results)
        return loop(*(names[n] for n in given))


def _told(rest: Rest, calls: Sequence[ReadyLike]) -> Iterator[str]:
    """How rounds of one kind are launched."""
    many = f"{rest.together} rounds" if rest.together > 1 else "a round"
    if rest.ready is None:
        yield f"{many}: a call of a fused function ({rest.why})"
    for ready in calls:
        plan = ready.prepared.plan
        may = getattr(ready.prepared.start, "has_graphs", False)
        is_graph = may and rest.run is not None and not plan.scalars
        how = "as CUDA graphs" if is_graph else "from a list"
        how = how if rest.run is not None else f"by a call each ({rest.why})"
        yield f"{many}: {len(plan.steps)} kernel(s), {how}"


class DeviceLoops:
    """What becomes of a function's loop on a GPU, by the kinds of its calls.

    Attributes:
        fuse: fuses the lines that it is taken apart to.
        known: how calls run whose rounds are launched one after the other; None where they do not.
        left: why Python ran the rounds of the last call of which it did.
    """

    def __init__(self, given: Callable[..., Any], static: tuple[str, ...], options: Options):
        self._given, self._options, self._static = given, options, static
        self.fuse: Callable[..., StepLike] | None = None
        self.known: dict[Any, LoopOnGpu | None] = {}
        self.left = ""
        self._loop: LoopOnGpu | None = None
        self._code: Any = None
        self._has_any = self._ends = False

    def clear(self) -> None:
        """Take the function apart anew."""
        self.known.clear()
        self._code = self._loop = None

    def may_run(self, kinds: Any) -> bool:
        """Whether calls of some kinds may run so, as far as is known."""
        if not config.loops or config.errors == "numpy":  # no round gives NumPy's warnings
            return False
        return self.known.get(kinds, self) is not None and self._can_be_split()

    def may_end(self, kinds: Any) -> bool:
        """Whether a condition ends their loop, so that it asks arrays for their values."""
        return self.may_run(kinds) and self._ends

    def runs(self, kinds: Any) -> bool:
        """Whether it is known that they do."""
        return self.may_run(kinds) and kinds in self.known

    def run(self, kinds: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a call.

        Raises:
            NotRolledError: its rounds cannot run so, and nothing was done yet that shows.
        """
        if self._loop is None:
            self._loop = self._made()
        if kinds not in self.known and len(self.known) >= MOST_KINDS:
            self.known.clear()
        self.known[kinds] = self._loop
        try:
            result, left = self._loop(args, kwargs)
        except NotRolledError as error:
            self.known[kinds], self.left = None, f"{error}"
            raise
        if left:
            self.known[kinds], self.left = None, left
        return result

    def looked_at(self, kinds: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Run a call on copies of its arrays; not one with containers, which may have others."""
        given = [*args, *kwargs.values()]
        if kinds in self.known or not all(is_array(v) or is_scalar(v) for v in given):
            return
        copies = [v.copy() if is_array(v) else v for v in given]
        with suppress(Exception):  # the call itself raises it
            by_name = dict(zip(kwargs, copies[len(args) :], strict=True))
            self.run(kinds, copies[: len(args)], by_name)

    def explained(self, kinds: Any) -> Explanation | None:
        """The explanation of calls of some kinds, if it is known how they run."""
        found = self.known.get(kinds) if self.runs(kinds) else None
        return None if found is None or not found.rounds.known else found.explained()

    def _made(self) -> LoopOnGpu:
        fuse, given = self.fuse, self._given
        assert fuse is not None
        assert isinstance(given, FunctionType)

        def fused(function: FunctionType, options: Options) -> StepLike:
            own = function.__code__.co_varnames
            return fuse(function, tuple(n for n in self._static if n in own), options)

        return LoopOnGpu(given, fused, self._options)

    def _can_be_split(self) -> bool:
        """Whether the function can be taken apart."""
        code = getattr(self._given, "__code__", None)
        if code is not self._code:
            self.clear()
            self._code, self._has_any, self._ends = code, False, False
            if isinstance(self._given, FunctionType) and has_loop(self._given.__code__):
                with suppress(NoLoopError):
                    self._ends = split(self._given).is_ended
                    self._has_any = True
        return self._has_any and self.fuse is not None
