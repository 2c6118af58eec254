"""Names outside of a function as its copy has them."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any

from opweave.compiler.captures.copied import CopiedNames
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.questions import StandIn, stands_in


class Outside(StandIn):
    """A module as a traced function sees it: those of its names that are known to be read."""

    __slots__ = ("_found", "_known", "_names", "_sight")
    _known: set[str]
    _names: dict[str, Any]
    _sight: Sight

    def __init__(
        self, found: types.ModuleType, names: dict[str, Any], known: set[str], sight: Sight
    ):
        slots = {"_found": found, "_names": names, "_known": known, "_sight": sight}
        for name, value in slots.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name == "__dict__":
            self._names.update({n: self._module(v) for n, v in self._names.items()})
            return self._sight.unread(name, self._names)
        if name not in self._names:
            self._sight.seen.look_up(self._found, name, is_steady=False)
            raise AttributeError(f"module {self._names['__name__']!r} has no attribute {name!r}")
        value = self._names[name]
        if isinstance(value, types.ModuleType) and name not in self._known:
            self._sight.seen.look_up(self._found, name, is_steady=False)
            return self._module(value)
        return value if name in self._known else self._sight.unread(name, value)

    def _module(self, value: Any) -> Any:
        """The stand-in for a module; anything else as it is."""
        is_plain = isinstance(value, types.ModuleType) and not stands_in(type(value))
        return self._sight.plain(value) if is_plain else value

    def __setattr__(self, name: str, value: Any) -> None:
        self._names[name] = value

    def __dir__(self) -> list[str]:
        return list(self._names)


Outside.__name__ = "module"  # which stands in texts of Python's errors


class Scopes:
    """Copies of the names of modules and functions, and of variables of enclosing functions.

    Attributes:
        builtins: what copies find under the names of built-in functions.
        scopes: copies, by the identities of the originals.
        originals: those, likewise.
        owners: functions, by the identities of the dicts of their attributes.
        cells: name, copy and original of variables.
    """

    def __init__(self, builtins: dict[str, Any]):
        self.builtins = builtins
        self.scopes: dict[int, dict[str, Any]] = {}
        self.originals: dict[int, dict[str, Any]] = {}
        self.owners: dict[int, str] = {}
        self.cells: list[tuple[str, types.CellType, types.CellType]] = []
        self.made_cells: dict[int, types.CellType] = {}  # by their originals

    @property
    def known_scopes(self) -> Set[int]:
        """Identities of the globals of copied functions."""
        return {id(scope) for scope in self.scopes.values()}

    def original_scopes(self) -> dict[int, dict[str, Any]]:
        """The globals of functions, by the identities of their copies."""
        return {id(scope): self.originals[number] for number, scope in self.scopes.items()}

    def release(self) -> None:
        """Let go of what stood in for others: a module's names and its functions hold each other.

        A generator that is left works on with what there is outside.
        """
        for number, scope in self.scopes.items():
            scope.clear()
            scope.update(self.originals[number])
        self.builtins.clear()
        self.builtins.update(vars(builtins))
        for _, cell, original in self.cells:
            with suppress(ValueError):  # an empty one
                cell.cell_contents = original.cell_contents

    def pairs(self) -> list[CopiedNames]:
        """Copies and originals, to be asked what was assigned since."""
        variables = ((copy, of, _shown_variable(name)) for name, copy, of in self.cells)
        names = (
            (copy, self.originals[number], _shown(self.owners.get(number)))
            for number, copy in self.scopes.items()
        )
        return [CopiedNames(*parts) for parts in (*variables, *names)]

    def cell(self, original: types.CellType) -> types.CellType:
        """One copy of a variable for all functions that share it: one may assign it."""
        return self.made_cells.setdefault(id(original), types.CellType())

    def scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """One copy of a module's names for all that read them."""
        if id(names) not in self.scopes:
            if "__builtins__" in names:  # a module's, where warnings remember what they have shown
                names.setdefault("__warningregistry__", {})
            self.scopes[id(names)], self.originals[id(names)] = dict(names), names
            if "__builtins__" in names:
                self.scopes[id(names)]["__builtins__"] = self.builtins
        return self.scopes[id(names)]


def _shown_variable(name: str) -> Callable[[str], str]:
    return lambda _: f"the variable '{name}' of an enclosing function"


def _shown(owner: str | None) -> Callable[[str], str]:
    """What a message calls a name of a function, or of a module."""
    return lambda name: f"the global '{name}'" if owner is None else f"{owner}.{name}"
