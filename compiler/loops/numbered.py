"""Names of a loop that hold numbers: variables of C, a number of several types in two or three."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.eithers import GROUPS, group_of, kinds_of, said_of, whole_of
from opweave.compiler.lines.values import Number, NumberType, Size
from opweave.compiler.loops.expressions import Expressions
from opweave.opcodes.dtypes import ALL

# Types of numbers that may be left to a name.
NUMBERS: tuple[NumberType, ...] = (bool, int, float, complex, *ALL)


class NumberNames(Expressions):
    """Lets names hold numbers.

    Attributes:
        known: names by what is known of them, see ``AgainError``.
        said: by variables of numbers of several types, all that these may be.
        unbound: names that may be unbound where they are read.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.variables: dict[tuple[str, str, str], str] = {}
        self.known: Mapping[str, frozenset[str]] = {}
        self.said: dict[str, Number] = {}
        self.unbound: list[str] = []

    def own(self, name: str) -> set[str]:
        """The variables of C that a name is."""
        own = self.prefix_of(name), name
        return {text for (*who, _), text in self.variables.items() if tuple(who) == own}

    def is_known(self, what: str, name: str) -> bool:
        """Whether something is known of a name of the function that is being lowered."""
        return self.prefix_of(name) + name in self.known.get(what, ())

    def variable(self, name: str, kind: str, c_type: str) -> str:
        """The variable of C that a name is, while it holds a value of a kind."""
        key = (self.prefix_of(name), name, kind)
        if key not in self.variables:
            text = self.text.unused(f"{key[0]}{name}".replace(" ", "_"))
            self.variables[key] = self.text.variable(c_type, text)
        return self.variables[key]

    def perhaps(self, name: str) -> Number:
        """A number that may be unbound: where it is, the loop ends with Python's error.

        Raises:
            NoLoopError: it has several types, or is no number.
        """
        if (turn := self.next_turn(name)) is not None:
            raise AgainError("turns", turn)
        own = self.prefix_of(name), name
        kinds = {kind for (*who, kind) in self.variables if tuple(who) == own} - {"bound"}
        numbers = [t for t in NUMBERS if Number(t, "").type_name in kinds]
        is_array = any("x" in kind for kind in kinds) and not numbers
        for what in ["copies"] * is_array + ["perhaps"] * (len(numbers) == len(kinds) == 1):
            if not self.is_known(what, name):
                raise AgainError(what, self.prefix_of(name) + name)
        if len(numbers) != 1 or len(kinds) != 1 or own[0] or not self.may_be_number(name):
            raise NoLoopError(f"{name}, which may be unbound, or of several types")
        if name not in self.unbound:
            self.unbound.append(name)
        bound = self.variables[(*own, "bound")]
        at = self.unbound.index(name)
        self.numbers.fault(f"!{bound}", "LOOP_UNBOUND", str(at))
        (kind,) = numbers
        text = self.variables[(*own, Number(kind, "").type_name)]
        size = Size.of(text) if kind is int else None
        return Number(kind, text, size)

    def next_turn(self, name: str) -> str | None:
        """Of an array of the call, a name that may get it, or lose its own, in turns."""
        raise NotImplementedError

    def may_be_number(self, name: str) -> bool:
        """Whether a name is unbound before the loop, or a number."""
        raise NotImplementedError

    def number_in(self, name: str, number: Number) -> Number:
        if (what := self._group_of(name, number)) is not None:
            return self._either_in(name, number, what)
        if number.maybe:
            raise AgainError(group_of([number]) or "", self.prefix_of(name) + name)
        return self._one_in(name, number)

    def _group_of(self, name: str, number: Number) -> str | None:
        """The group of types that a name is known to have, if a number's is one of them."""
        kinds = kinds_of(number)
        known = (what for what in reversed(GROUPS) if self.is_known(what, name))
        return next((what for what in known if kinds <= GROUPS[what].kinds), None)

    def _one_in(self, name: str, number: Number) -> Number:
        variable = self.variable(name, number.type_name, number.c_type)
        self.text.add(f"{variable} = {number.text};")
        if self.is_known("perhaps", name):
            self.text.add(f"{self.variable(name, 'bound', 'bool')} = true;")
        size = number.size if number.is_integer else None
        changes = size and any(term in self.text.declared for term, _ in size.terms)
        if number.is_integer and (size is None or changes):
            size = Size.of(variable)
        return replace(number, text=variable, size=size, outside=None)

    def _either_in(self, name: str, number: Number, what: str) -> Number:
        """A number, and what says which of a group of types it has."""
        dtype = GROUPS[what].dtype
        variable = self.variable(name, what, dtype.register)
        maybe, whole = self.variable(f"{name} is numpys", what, "bool"), ""
        texts = {maybe: said_of(number), variable: f"({dtype.register}){number.text}"}
        if what == "real":
            whole = self.variable(f"{name} is whole", what, "bool")
            texts[whole] = whole_of(number)
        for each, text in texts.items():
            self.text.add(f"{each} = {text};")
        size = Size.of(variable) if what == "whole" else None
        found = Number(dtype, variable, size, maybe=maybe, whole=whole)
        self.said[variable] = found
        if number.maybe:
            return found
        if number.type is int and what == "real":
            own = self._one_in(name, number)
            self.said[own.text] = found
            return own
        return replace(number, text=variable, size=size, outside=None)
