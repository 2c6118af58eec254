"""Names outside of a function as its copy has them, and what is assigned to them."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from typing import Any

from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.places import Missing, are_same
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
        self.before: dict[int, dict[str, Any]] = {}  # in copies, and in the originals
        self.there: dict[int, dict[str, Any]] = {}
        self.held: list[Any] = []
        self.held_there: list[Any] = []

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

    def begin(self) -> None:
        """Remember what there is before the function runs, or goes on."""
        self.before = {number: dict(scope) for number, scope in self.scopes.items()}
        self.there = {number: dict(scope) for number, scope in self.originals.items()}
        self.held = [_contents(cell) for _, cell, _ in self.cells]
        self.held_there = [_contents(original) for *_, original in self.cells]

    def _assigned(self) -> Iterator[tuple[str, Any, str, Any]]:
        """What the function has assigned outside of itself: text, scope, name and value."""
        for (name, cell, original), old in zip(self.cells, self.held, strict=False):
            new = _contents(cell)
            if new is not old:
                yield f"the variable '{name}' of an enclosing function", original, name, new
        for number, before in self.before.items():
            text = f"{self.owners[number]}." if number in self.owners else "the global "
            for name, value in differences(before, self.scopes[number]):
                shown = f"{text}{name}" if number in self.owners else f"{text}'{name}'"
                yield shown, self.originals[number], name, value

    def assigned(self) -> str | None:
        """The first thing that the function has assigned outside of itself, for a message."""
        return next((text for text, *_ in self._assigned()), None)

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Assign it where the function read it; ``meant`` makes a value the caller's."""
        found = list(self._assigned())
        for _, scope, name, value in found:
            _assign(scope, name, value, meant)
        if found:
            self.begin()

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Assign what others have assigned there; ``shown`` makes a value the function's."""
        changed = False
        for (_, cell, original), old in zip(self.cells, self.held_there, strict=False):
            new = _contents(original)
            if new is not old and new is not Missing:
                cell.cell_contents = shown(new)
                changed = True
        for number, before in self.there.items():
            for name, value in differences(before, self.originals[number]):
                _assign(self.scopes[number], name, value, shown)
                changed = True
        if changed:
            self.begin()

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


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names of a scope that have another value, ``Missing`` where they have none any more."""
    if are_same(before, after):
        return []
    names = dict.fromkeys((*before, *after))
    pairs = ((n, before.get(n, Missing), after.get(n, Missing)) for n in names)
    return [(n, new) for n, old, new in pairs if old is not new and not n.startswith("__")]


def _assign(scope: Any, name: str, value: Any, meant: Callable[[Any], Any]) -> None:
    """Give a name its value in a dict or cell; ``Missing`` takes it away."""
    if isinstance(scope, types.CellType):
        scope.cell_contents = meant(value)
    elif value is Missing:
        scope.pop(name, None)
    else:
        scope[name] = meant(value)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return Missing
