"""Loops of a function that C may run, each as one function."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from opweave._loops.attributes import Lifted, ObjectNames, Uses, asked
from opweave.compiler.captures.kinds import exactly, kinds_of
from opweave.compiler.lines.again import AgainError
from opweave.compiler.loops.listing import kinds_of_lists
from opweave.compiler.loops.lowering import Lowering
from opweave.opcodes.errors import CompileError, OpweaveError
from opweave.runtime.host.lists import NotServedError
from opweave.runtime.host.loop_results import UNBOUND
from opweave.runtime.host.loops import HostLoop
from opweave.runtime.host.warm_layout import CKnownLoop
from opweave.runtime.host.warm_loops import SiteNames, known_loop, loop_call
from opweave.runtime.process import environment

# Forms of one loop, for calls that differ in what is relied on: extents, signs of numbers.
MOST_FORMS = 4
# Kinds of calls of which a loop remembers what became of them.
MOST_KINDS = 64
# Forms of its calls by which C begins a loop, and compares them one by one.
MOST_BY_C = 8
# Python runs a loop of fewer steps as fast as C is asked; and as C begins one itself.
SHORT, SHORT_FOR_C = 50, 6
# Words of so many items of lists are made in the time of a step of Python.
ITEMS_A_STEP = 4
# So many calls say how long its rounds are.
CALLS = 8
# Functions that give the same whoever runs them.
NAMES = ("append", "range", "len", "abs", "min", "max", "int", "float", "bool", "zip", "enumerate",
    "reversed", "pop", "clear")  # fmt: skip
Place = tuple[int, int]  # line and column


@dataclass
class Site:
    """A loop of a function.

    Attributes:
        node: its syntax tree.
        results: the names that it assigns to and that are read elsewhere in the function.
        names: what it reads.
        attributes: names among these that stand for attributes.
        is_inner: Python runs the loop around it.
        left: why it did not run in C, where it did not.
        lists: names that may be lists to which it does more than append.
        start: what the function calls in front of the loop: C, once it knows a call; else ``run``.
    """

    function: FunctionType
    node: ast.For | ast.While
    results: tuple[str, ...]
    names: tuple[str, ...] = ()
    attributes: tuple[Lifted, ...] = ()
    is_inner: bool = False
    lists: tuple[str, ...] = ()
    unbound: object = UNBOUND
    left: str = ""
    _known: dict[Any, HostLoop | None] = field(default_factory=dict)
    _quick: dict[Any, HostLoop] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)
    _by_c: list[CKnownLoop] = field(default_factory=list)
    _looked: set[Any] = field(default_factory=set)
    _begun: int = 0

    def __post_init__(self) -> None:
        self.objects = ObjectNames(self.node, self.function, self.attributes, self.lists)
        self.start: Callable[[dict[str, Any]], tuple[Any, ...] | None] = self.run

    def run(self, names: dict[str, Any]) -> tuple[Any, ...] | None:
        """What the names of its results hold afterwards; None where Python has to run it."""
        uses = self.objects.uses(names)
        values = {name: names[name] for name in self.names if name in names}
        held = asked(uses.lifted, names) if uses.lifted else {}
        owners = [(a, names.get(a.owner)) for a in uses.lifted if a.is_stored]
        names.clear()  # a frame keeps what locals() has found, and arrays of the loop would stay
        if held is None:
            self.left = self.left or "an attribute that is computed, or not there"
            return None
        values |= held
        values |= uses.objects.kinds
        found, came = self._serving(values, uses)
        if found is None or not found.holds():
            return None
        try:
            return self._by_name(*self._begin(found, values, uses, came))
        except NotServedError:
            self.left = self.left or "arrays that share memory, or of other extents"
            return None
        finally:
            for each, owner in owners:
                if values[each.name] is not held[each.name]:
                    each.put(owner, values[each.name])

    def _begin(
        self, first: HostLoop, values: dict[str, Any], uses: Uses, came: Any
    ) -> tuple[HostLoop, tuple[Any, ...] | None]:
        """Run it; where such a call ``came`` before, by its key, C begins those that follow.

        Raises:
            NotServedError: none serves the call.
        """
        self._begun += 1
        try:
            found, made = self._made(first, values, uses)
        except NotServedError:
            self._begun -= 1
            raise
        if came is not None and not uses.lifted and not uses.objects.kinds:
            self._let_c_begin(found, values, came)
        return found, made

    def _by_name(self, found: HostLoop, made: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """What a loop gave, by the names of the results."""
        if made is None or not self.results:
            return (self.unbound,) * len(self.results)
        left = dict(zip((r.name for r in found.lowered.results), made, strict=True))
        return tuple(left.get(name, self.unbound) for name in self.results)

    def _made(
        self, first: HostLoop, values: dict[str, Any], uses: Uses
    ) -> tuple[HostLoop, tuple[Any, ...] | None]:
        """What a loop gives, or another form of it, lowered for what the first does not serve.

        Raises:
            NotServedError: none serves the call.
        """
        with suppress(NotServedError):
            return first, first(values)
        for other in (other for other in first.others if other.holds()):
            with suppress(NotServedError):
                return other, other(values)
        made = None if first.is_alone else self._lowered(values, uses)
        first.is_alone = made is None or len(first.others) + 1 >= MOST_FORMS
        if made is None:
            raise NotServedError
        first.others.append(made)
        try:
            return made, made(values)
        except NotServedError:  # such as arrays that share memory: no form serves them
            first.is_alone = True
            raise

    def _let_c_begin(self, found: HostLoop, values: Mapping[str, Any], key: Any) -> None:
        """Have C itself begin calls like this one, which came before."""
        looked, is_full = (key, found), len(self._by_c) == MOST_BY_C
        if looked in self._looked or is_full or len(self._looked) == MOST_KINDS:
            return
        self._looked.add(looked)
        names = SiteNames(self.names, self.results, self.unbound)
        if (known := known_loop(found, values, names)) is not None:
            self._by_c.append(known)
            self.start = loop_call(self.run, names, tuple(self._by_c))

    def _serving(self, values: Mapping[str, Any], uses: Uses) -> tuple[HostLoop | None, Any]:
        """The loop for values of these kinds, if there is one; and the key of a call that came."""
        key = exactly(values)
        if len(values) < len(self.names) or uses.objects.kinds:
            key = (*key, *values)  # which names are bound
        lists = kinds_of_lists(values, uses.lists) if uses.lists else {}
        key = (*key, *lists.values())
        found = self._quick.get(key)
        return (found, key) if found else (self._found(key, values, lists, uses), None)

    def _found(
        self, exact: Any, values: Mapping[str, Any], lists: Mapping[str, Any], uses: Uses
    ) -> HostLoop | None:
        """The loop for values that came in no such form before."""
        key = (*kinds_of(values), *lists.values())
        if key not in self._known:
            if len(self._known) >= MOST_KINDS:
                return None
            # ids are keys, but of arrays and lists
            self._held += [v for v in values.values() if type(v) not in (np.ndarray, list)]
            self._known[key] = self._lowered(values, uses)
        found = self._known[key]
        if found is not None and len(self._quick) < MOST_KINDS:
            self._quick[exact] = found
        return found

    @property
    def _forms(self) -> list[HostLoop]:
        """All that was compiled."""
        known = [found for found in self._known.values() if found is not None]
        return known + [other for found in known for other in found.others]

    @property
    def compiled(self) -> int:
        """How often it ran in C."""
        return self._begun + sum(found.counts[0] for found in self._forms)

    @property
    def is_short(self) -> bool:
        """Whether Python runs it in less time than to ask C takes, to the same bits."""
        if not has_exact_steps(self.node):
            return False
        steps, items = (sum(getattr(f, of) for f in self._forms) for of in ("steps", "items"))
        if steps < items // ITEMS_A_STEP:  # to make words of its lists takes longer
            return True
        least = SHORT * self._begun + SHORT_FOR_C * (self.compiled - self._begun)
        return self.is_inner and self.compiled >= CALLS and steps < least

    def takes_over(self, before: Any) -> None:
        """Know what a site of the same loop has found out."""
        self._known, self._held = before._known, before._held  # whose ids are keys of it

    @property
    def sources(self) -> list[str]:
        """What was compiled."""
        return [found.lowered.source for found in self._known.values() if found is not None]

    def _lowered(self, values: Mapping[str, Any], uses: Uses) -> HostLoop | None:
        known: dict[str, frozenset[str]] = {}
        stored = tuple(each.name for each in uses.lifted if each.is_stored)
        try:
            while True:
                lent = dict(values)
                try:
                    lowering = Lowering(
                        self.function, lent, known, stored, uses.lists, uses.objects
                    )
                    return HostLoop(lowering.lowered(self.node, self.results))
                except AgainError as error:
                    names = known.get(error.what, frozenset())
                    if error.name in names:
                        raise
                    known[error.what] = names | {error.name}
                finally:
                    lent.clear()  # the parts of a lowering hold each other, and it
        except OpweaveError as error:
            wrong = isinstance(error, CompileError)
            self.left = fault(self.node.lineno, error) if wrong else f"{error}"
        except Exception as error:  # Python runs it, whatever is wrong
            self.left = fault(self.node.lineno, error)
        return None


def fault(line: int, error: Exception) -> str:
    """Why a loop that C ought to run is Python's, which is noted as other reasons are."""
    text = f"a fault of opweave, which went on without C: {error!r}"
    if "breaks" in environment.logs():
        print(f"opweave: loop at line {line}: {text}", file=sys.stderr)
    return text


def place_of(node: ast.stmt | ast.Call) -> Place:
    """Where a loop or statement stands, or a call, which may begin one."""
    return -node.lineno if isinstance(node, ast.Call) else node.lineno, node.col_offset


def has_exact_steps(loop: ast.AST) -> bool:
    """Whether a loop has nothing that NumPy and C may round in their own ways."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if name not in NAMES and owner != "math":
                return False
        if isinstance(node, ast.MatMult | ast.Pow):
            return False
    return True
