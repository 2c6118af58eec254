"""A program of lists: a function that calls them, its lists and operators, and what it is flat.

Flat, each call of a list is the list's op-codes, written out as lines: what it means by NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes import OPERATORS

from .. import forms as graphs
from ..program import SCOPE, Program, Step
from ..validity import NotForUs, typed_values
from .codes import Code, Made, arguments_of, code_text, codes_of
from .folds import MEANINGS, Fold
from .forms import BOUNDED, EXACT, TOGGLES
from .operators import Own

WORD = re.compile(r"\b\w+\b")


@dataclass(frozen=True)
class Flat(Program):
    """A program of operators alone, of which some are the user's."""

    own: tuple[Own, ...] = ()

    @cached_property
    def scope(self) -> dict[str, Any]:
        return meanings(self.own)

    @property
    def ops(self) -> set[str]:
        found = super().ops
        folds = {o.name: o for o in self.own if isinstance(o, Fold)}
        held = self.evaluate() if found & folds.keys() else {}
        rounded = (
            not folds[s.op].is_exact(np.asarray(held[n]).dtype)
            for s in self.steps if s.op in folds for n in s.names
        )  # fmt: skip
        return found | ({"folded"} if any(rounded) else set())

    def evaluate(self) -> dict[str, Any]:
        held = dict(zip((a.name for a in self.arguments), self.given(), strict=True))
        for step in self.steps:  # of bfloat16 in its documented types, which operators meet
            held |= typed_values(step, held, self.scope)
        return held


@dataclass(frozen=True)
class Lists(Program):
    """A program of lists.

    Attributes:
        own: operators, in the order in which they are made.
        made: lists, in the order in which they are made.
        bad: a key of ``forms.BAD`` and the list that it is tried on.
        structure: op-codes in the place of its lists' index or guard, loads, and stores.
    """

    own: tuple[Own, ...] = ()
    made: tuple[Made, ...] = ()
    bad: tuple[str, str] = ("", "")
    structure: tuple[str, str, str] = ("", "", "")

    # Its text

    @cached_property
    def preamble(self) -> str:
        """Python that makes operators and lists."""
        return preamble(self.own, self.made)

    @cached_property
    def scope(self) -> dict[str, Any]:
        """What the preamble makes; operators stay registered under their names."""
        scope = dict(SCOPE)
        exec(compile(self.preamble, "<lists>", "exec"), scope)
        return scope

    def __str__(self) -> str:
        bad = f"# refused: {self.bad[0].format(k=self.bad[1])}\n" * bool(self.bad[0])
        parts = f"# also with {', '.join(filter(None, self.structure))}\n" * any(self.structure)
        return "\n".join([self.preamble, bad + parts + super().__str__()])

    @property
    def forms(self) -> list[tuple[str, str]]:
        """What it was drawn from."""
        found = [form for own in self.own for form in own.forms]
        for made in self.made:
            if made.of:
                found.append(("list edit" if len(made.of) == 1 else "list join", made.how))
            found += [("list op-code", word_of(code)) for code in made.codes]
            found += [("list policy", v) for c in made.codes for k, v in c.attrs if k == "bounds"]
        found += [("list structure", part) for part in self.structure if part]
        return [*found, ("bad list", self.bad[0])]

    # Its meaning

    @cached_property
    def known(self) -> Known:
        return Known(all_codes(self.made), {o.name: o for o in self.own})

    @cached_property
    def _flattened(self) -> tuple[list[Step], dict[str, Any]]:
        """The lines of the flat program, and what the results of lists are there."""
        steps: list[Step] = []
        alias: dict[str, Any] = {}
        for step in self.steps:
            operands = tuple(alias.get(o, o) if isinstance(o, str) else o for o in step.operands)
            steps_of_call(step, operands, self.known, steps, alias)
        return steps, alias

    @cached_property
    def flat(self) -> Program:
        """The same without lists.

        Raises:
            LookupError, ValueError: an edit or a join has no meaning.
            NotForUs: a result is an argument, or comes twice.
        """
        steps, alias = self._flattened
        outputs = [alias.get(o, o) for o in self.outputs]
        made = {r for s in steps for r in s.results}
        if len(set(outputs)) < len(outputs) or not set(outputs) <= made:
            raise NotForUs
        return Flat(self.arguments, tuple(steps), tuple(outputs), self.toggles, self.own)

    def evaluate(self) -> dict[str, Any]:
        held = self.flat.evaluate()
        return held | {n: held.get(v, v) for n, v in self._flattened[1].items()}

    @property
    def is_exact(self) -> bool:
        held = self.flat.evaluate()
        return not self.deviates and all(self.is_exact_step(s, held) for s in self.flat.steps)

    def is_exact_step(self, step: Step, held: dict[str, Any]) -> bool:
        """A line of the flat program has NumPy's bits, given NumPy's values."""
        own = self.known.own.get(step.op)
        arrays = [held[n].dtype for n in step.names if hasattr(held[n], "dtype")]
        if own is None:
            is_complex = any(dtype.kind == "c" for dtype in arrays)
            return step.op in EXACT and (step.op == "neighbour" or not is_complex)
        return all(map(own.is_exact, arrays))

    @property
    def is_bounded(self) -> bool:
        used = {s.op for s in self.flat.steps}
        own = [o for o in self.own if o.name in used]
        if any(not o.is_smooth for o in own):
            return False
        return not own or not any(np.iscomplexobj(v) for v in self.flat.evaluate().values())

    def pruned(self) -> Lists:
        found = super().pruned()
        assert isinstance(found, Lists)
        texts = [*(s.text for s in found.steps), self.bad[1]]
        made = reached(self.made, texts, lambda m: [*m.of, *map(code_text, m.codes)])
        texts += [code_text(c) for m in made for c in m.codes]
        own = reached(self.own, texts, lambda o: [o.of])
        tested = {o.toggle for o in own}
        toggles = tuple(t for t in found.toggles if t[0] not in TOGGLES or t[0] in tested)
        return replace(found, made=made, own=own, toggles=toggles)


def reached(items: Iterable[Any], texts: list[str], needs: Any) -> tuple[Any, ...]:
    """Those of named items that texts need, or others that they need."""
    words = {word for text in texts for word in WORD.findall(text)}
    kept = []
    for item in reversed(list(items)):
        if item.name in words:
            kept.append(item)
            words |= {word for text in needs(item) for word in WORD.findall(text)}
    return tuple(reversed(kept))


def preamble(own: Iterable[Own], made: Iterable[Made]) -> str:
    known = {o.name: o for o in own}
    toggles = dict.fromkeys(o.toggle for o in known.values() if o.toggle)
    lines = [f"{name} = {toggle_text(name)}" for name in toggles]
    made = tuple(made)
    words = {code.plain_name for m in made for code in m.codes}
    lines += [f"{name} = ow.opcodes.{name}" for name in MEANINGS if name in words]
    lines += [o.text(known.get(o.of)) for o in known.values()]
    return "\n".join([*lines, *(m.text for m in made), ""])


def toggle_text(name: str) -> str:
    """Python that declares a toggle."""
    values, rest = TOGGLES[name]
    return f"ow.toggle({', '.join(map(repr, (name, *values)))}, {rest})"


def meanings(own: Iterable[Own]) -> dict[str, Any]:
    """What the lines of a flat program know: operators by NumPy alone."""
    return SCOPE | {o.name: o.by_numpy for o in own} | MEANINGS


def all_codes(made: Iterable[Made]) -> dict[str, tuple[Code, ...]]:
    """All op-codes of each list, by name."""
    found: dict[str, tuple[Code, ...]] = {}
    for item in made:
        found[item.name] = codes_of(item, found)
    return found


def word_of(code: Code) -> str:
    """What an op-code counts as, see ``forms.TABLES``."""
    name = code.plain_name
    if name == code.name:
        return "a list" if code.kind == "list" else "of the user's"
    return name if name in (*EXACT, *BOUNDED) else "any other"


@contextmanager
def unregistered() -> Iterator[None]:
    """Operators that are registered inside are no longer when it ends."""
    before = dict(OPERATORS)
    try:
        yield
    finally:
        OPERATORS.clear()
        OPERATORS.update(before)


class Known(NamedTuple):
    """What op-codes may name: lists and operators."""

    lists: dict[str, tuple[Code, ...]]
    own: dict[str, Own]

    def arity(self, code: Code) -> int:
        """How many operands an op-code takes."""
        if code.kind == "list":
            return len(arguments_of(self.lists[code.name]))
        name = code.plain_name
        return OPERATORS[name].arity if name != code.name else len(self.own[code.name].params)


@dataclass
class Running:
    """A list that runs: what its names are, in a flat program."""

    known: Known
    prefix: str
    steps: list[Step]
    given: dict[str, Any]
    named: dict[str, Any] = field(default_factory=dict)
    running: Any = None
    results: dict[str, Any] = field(default_factory=dict)

    def code(self, code: Code) -> None:
        """Run one more op-code.

        Raises:
            LookupError, ValueError: it does not fit there.
        """
        if code.kind == "load":
            if code.name not in self.named:
                self.named[code.name] = self.given[code.name]
            self.running = self.named[code.name]
        elif code.kind in ("store", "name"):
            value = self.named[code.operands[0]] if code.operands else self.running
            if value is None:
                raise ValueError("nothing to store")
            (self.results if code.kind == "store" else self.named)[code.name] = value
        else:
            self._applied(code)

    def _applied(self, code: Code) -> None:
        operands = [self.named[o] if isinstance(o, str) else o for o in code.operands]
        wanted = self.known.arity(code)
        if len(operands) == wanted - 1 and self.running is not None:
            operands.insert(0, self.running)
        if len(operands) != wanted:
            raise ValueError("another number of operands")
        name = f"{self.prefix}{len(self.steps)}"
        if code.kind == "list":
            made = flattened(code.name, operands, self.known, f"{name}_", self.steps)
        else:
            self.steps.append(flat_step(code, name, tuple(operands)))
            made = [name]
        self.running = made[0] if len(made) == 1 else None
        self.named |= dict(zip(code.labels, made, strict=bool(code.labels)))


def flattened(
    name: str, operands: Iterable[Any], known: Known, prefix: str, steps: list[Step]
) -> list[Any]:
    """Add a list's op-codes to steps; returns what its results are there."""
    codes = known.lists[name]
    run = Running(known, prefix, steps, dict(zip(arguments_of(codes), operands, strict=True)))
    for code in codes:
        run.code(code)
    return list(run.results.values())


def steps_of_call(
    step: Step, operands: tuple[Any, ...], known: Known, steps: list[Step], alias: dict[str, Any]
) -> None:
    """Add a line, or the lines of a list that it calls."""
    if step.op not in known.lists:
        steps.append(replace(step, operands=operands))
        return
    found = flattened(step.op, operands, known, f"{step.results[0]}_", steps)
    alias |= dict(zip(step.results, found, strict=True))


def call_of(name: str, operands: tuple[Any, ...]) -> str:
    """The form of a call."""
    return f"{name}({graphs.places(len(operands))})"


def flat_step(code: Code, result: str, operands: tuple[Any, ...]) -> Step:
    """An op-code as a line."""
    name = code.plain_name
    attrs = "".join(f", {k}={v!r}" for k, v in code.attrs)
    row = None if name == code.name else OPERATORS[name]
    function = code.name if row is None else graphs.function(row)
    if name in MEANINGS:
        function = name
    if name == "cast":
        return Step((result,), name, f"{{0}}.astype({dict(code.attrs)['dtype']!r})", operands)
    return Step((result,), name, f"{function}({graphs.places(len(operands))}{attrs})", operands)
