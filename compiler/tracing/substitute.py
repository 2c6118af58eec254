"""Functions and their helpers, copied so that they see other values in places outside of them."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from opweave.compiler.tracing.bytecode import names_in
from opweave.compiler.tracing.capture import KEEPING, Missing, Place, chains, inner_functions
from opweave.compiler.tracing.containers import MAPPINGS, is_container, is_namespace, is_object
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.libraries import importer
from opweave.compiler.tracing.owners import Function, is_helper, is_own_module
from opweave.compiler.tracing.refusing import Remembering
from opweave.compiler.tracing.static_view import INSTEAD, UNFORESEEN

# What sets an object's class, whatever its own has under that name.
OWN_CLASS: Any = vars(object)["__class__"]


class Outside:
    """A module as a traced function sees it: those of its names that are known to be read."""

    __slots__ = ("_found", "_known", "_names", "_sight")
    __opweave_stands__ = True
    _found: types.ModuleType
    _known: set[str]
    _names: dict[str, Any]
    _sight: Sight

    def __init__(
        self, found: types.ModuleType, names: dict[str, Any], known: set[str], sight: Sight
    ):
        slots = {"_found": found, "_names": names, "_known": known, "_sight": sight}
        for name, value in slots.items():
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.ModuleType

    def __getattr__(self, name: str) -> Any:
        if name == "__dict__":
            return self._sight.unread(name, self._names)
        if name not in self._names:
            raise AttributeError(f"module {self._names['__name__']!r} has no attribute {name!r}")
        value = self._names[name]
        return value if name in self._known else self._sight.unread(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        self._names[name] = value

    def __dir__(self) -> list[str]:
        return list(self._names)


Outside.__name__ = "module"  # which stands in texts of Python's errors


class OfClass:
    """A copy of a class method, of the user's own class and not of one with copied methods."""

    def __init__(self, function: Any, kind: type):
        self.function, self.kind = function, kind

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return types.MethodType(self.function, self.kind)


class Substituted:
    """A function and its helpers, copied so that they see other values in given places."""

    def __init__(
        self,
        fn: Callable[..., Any],
        values: Mapping[Place, Any],
        sight: Sight,
        containers: list[Any],
        originals: Sequence[Any] = (),
    ):
        self.values = dict(values)
        self.containers = containers
        self.origins = {id(copy): of for copy, of in zip(containers, originals, strict=False)}
        self.ours = set(map(id, containers))  # copies, which may be changed
        # what is a copy where the function reads it, by the identity of what it was made from
        self.copies = {id(place.read()): v for place, v in values.items() if is_container(v)}
        self.sight = sight
        self.names: set[str] = set()  # that stand in the code, of attributes among others
        self.adopted_places: set[Place] = set()
        self.scopes: dict[int, dict[str, Any]] = {}
        self.known: dict[int, set[str]] = {}
        self.owners: dict[int, str] = {}  # functions, by the numbers of their attributes' scopes
        self.originals: dict[int, dict[str, Any]] = {}  # that the scopes are copies of
        self.cells: list[tuple[str, types.CellType, types.CellType]] = []  # copy and original
        self.functions: list[tuple[Function, Function]] = []  # original and copy
        self.made_cells: dict[int, types.CellType] = {}  # by their originals
        self.made: dict[int, Any] = {}
        self.outside: dict[int, Outside] = {}
        self.builtins = {
            **vars(builtins),
            **{function.__name__: sight.plain(function) for function in UNFORESEEN},
            **INSTEAD,
            "__import__": importer(sight),
        }
        self.dressed: dict[type, type] = {}
        self.before: dict[int, dict[str, Any]] = {}  # in copies, and in the originals
        self.there: dict[int, dict[str, Any]] = {}
        self.held: list[Any] = []
        self.held_there: list[Any] = []
        self.function = self._copy(fn)

    def adopted(self, value: Any) -> Any:
        """What was put together again, with copies of the functions and methods in it."""
        kind = type(value)
        if kind is Function:
            return self._copy(value) if is_helper(value) else value
        if hasattr(kind, "__opweave_with__") and is_helper(value.__opweave_function__):
            return value.__opweave_with__(self._copy(value.__opweave_function__))
        if kind is functools.partial:
            func, *args = map(self.adopted, (value.func, *value.args))
            names = {k: self.adopted(v) for k, v in value.keywords.items()}
            return self._instead(value, kind(func, *args, **names))
        self.sight.seen.note(kind)  # which ``type`` gives
        if issubclass(kind, tuple):
            items = list(map(self.adopted, value))
            if all(a is b for a, b in zip(items, value, strict=True)):
                return value
            return self._instead(value, kind(*items) if hasattr(kind, "_fields") else kind(items))
        if id(value) not in self.ours:
            return value  # the user's own, which the function sees itself
        if kind is list:
            value[:] = map(self.adopted, value)
        elif kind in MAPPINGS:
            value.update([(k, self.adopted(v)) for k, v in value.items()])
        elif "__opweave_of__" in vars(kind):
            pass  # it stands somewhere else, too
        elif is_object(value) or is_namespace(kind):
            vars(value).update([(k, self.adopted(v)) for k, v in vars(value).items()])
            if is_object(value):
                OWN_CLASS.__set__(value, self._dressed(kind))  # also of the frozen
        return value

    def _instead(self, value: Any, made: Any) -> Any:
        """Another takes the place of a copy that cannot be changed."""
        for number, copy in enumerate(self.containers):
            if copy is value:
                self.containers[number] = made
                if id(value) in self.origins:
                    self.origins[id(made)] = self.origins[id(value)]
        return made

    def _dressed(self, kind: type) -> type:
        """A class of objects made again from their attributes, with copies of its methods."""
        if kind not in self.dressed:
            self.sight.plain(kind)  # whose own methods it may find through the class
            found = {n: v for base in reversed(kind.__mro__) for n, v in vars(base).items()}
            copies = {name: self._method(value, kind) for name, value in found.items()}
            attributes = {
                "__class__": property(lambda self: kind),
                **_identity(kind, self.origins, None if self.origins else self.sight),
                **{name: copied for name, copied in copies.items() if copied is not None},
                "__module__": kind.__module__,
                "__opweave_of__": kind,
            }
            self.dressed[kind] = type(kind.__name__, (kind,), attributes)
        return self.dressed[kind]

    def _method(self, value: Any, kind: type) -> Any:
        """A copy of what stands in a class; None where it is no function of the user's."""
        inner = inner_functions(value)
        if not any(map(is_helper, inner)):
            return None
        if type(value) is KEEPING:
            kept = self.sight.plain(value)
            return lambda *args, **kwargs: kept(*args, **kwargs)
        copies = [self._copy(f) if is_helper(f) else f for f in inner]
        if isinstance(value, classmethod):
            return OfClass(copies[0], kind)
        if isinstance(value, property | staticmethod):
            return type(value)(*copies)
        return None if isinstance(value, functools.cached_property) else copies[0]

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

    def _copy(self, fn: Any) -> Any:
        """The function to trace; what is no function of Python's stays as it is."""
        if not isinstance(fn, Function):
            return fn
        if id(fn) in self.made:
            return self.made[id(fn)]
        self.names |= names_in(fn.__code__)
        self.sight.copies(fn.__code__)
        shared = [id(cell) in self.made_cells for cell in fn.__closure__ or ()]
        cells = tuple(self._cell(cell) for cell in fn.__closure__ or ())
        scope = self._scope(fn.__globals__)
        made = Function(fn.__code__, scope, fn.__name__, None, cells or None)
        made.__module__, made.__qualname__ = fn.__module__, fn.__qualname__
        made.__dict__ = self._scope(fn.__dict__)
        self.owners[id(fn.__dict__)] = fn.__name__
        self.made[id(fn)] = made
        self.functions.append((fn, made))
        made.__defaults__ = fn.__defaults__ and tuple(map(self._default, fn.__defaults__))
        keywords = fn.__kwdefaults__
        made.__kwdefaults__ = keywords and {k: self._default(v) for k, v in keywords.items()}
        ways = list(chains(fn))
        for cell, (place,), is_there in zip(cells, ways, shared, strict=False):
            if is_there:
                continue
            if place.read() is not Missing:
                cell.cell_contents = self._value(place)
            self.cells.append((place.name, cell, place.scope))
        for place in (place for way in ways[len(cells) :] for place in way):
            if isinstance(place.scope, dict):
                self._scope(place.scope)[place.name] = self._value(place)
                self.known.setdefault(place.number, set()).add(place.name)
        return made

    def _cell(self, original: types.CellType) -> types.CellType:
        """One copy of a variable for all functions that share it: one may assign it."""
        return self.made_cells.setdefault(id(original), types.CellType())

    def _default(self, value: Any) -> Any:
        """A default argument, where it has a stand-in elsewhere, too; what it holds is watched."""
        if is_helper(value):
            return self._copy(value)
        is_code = isinstance(value, types.ModuleType | types.BuiltinFunctionType | Function)
        return self.sight.plain(value) if is_code else self.copies.get(id(value), value)

    def _scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """One copy of a module's names for all that read them."""
        if id(names) not in self.scopes:
            if "__builtins__" in names:  # a module's, where warnings remember what they have shown
                names.setdefault("__warningregistry__", {})
            self.scopes[id(names)], self.originals[id(names)] = dict(names), names
            if "__builtins__" in names:
                self.scopes[id(names)]["__builtins__"] = self.builtins
        return self.scopes[id(names)]

    def _value(self, place: Place) -> Any:
        value = place.read()
        if is_own_module(value):
            number = id(vars(value))
            known = self.known.setdefault(number, set())
            if number not in self.outside:
                scope = self._scope(vars(value))
                self.outside[number] = Outside(value, scope, known, self.sight)
                self.sight.stands_for(value, self.outside[number])
            return self.outside[number]
        same = isinstance(value, Function) and value.__globals__ is place.scope
        if is_helper(value) or same:
            return self._copy(value)
        if hasattr(type(value), "__opweave_with__") and is_helper(value.__opweave_function__):
            return value.__opweave_with__(self._copy(value.__opweave_function__))
        if type(value) is KEEPING and is_helper(value.__wrapped__):
            copy = self._copy(value.__wrapped__)
            return Remembering.of_copy(self.sight.plain(value), copy, self.sight)
        if place not in self.values:
            return self.sight.plain(value)
        if place not in self.adopted_places:
            self.adopted_places.add(place)
            self.values[place] = self.adopted(self.values[place])
        return self.values[place]


def _identity(kind: type, origins: Mapping[int, Any], sight: Sight | None) -> dict[str, Any]:
    """Hash and equality of copies of objects that have those of their identity: the originals'.

    ``sight`` refuses to be asked where the originals are not known.
    """
    own = ("__hash__", "__eq__")
    if any(getattr(kind, name) is not getattr(object, name) for name in own):
        return {}

    def equal(self: Any, other: Any) -> Any:
        same = origins.get(id(self), self) is origins.get(id(other), other)
        return True if same else NotImplemented

    def hashed(self: Any) -> int:
        if sight is not None:
            sight.unread(f"the hash of an object of type {kind.__name__}", None)()
        return object.__hash__(origins.get(id(self), self))

    return {"__hash__": hashed, "__eq__": equal}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names of a scope that have another value, ``Missing`` where they have none any more."""
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
