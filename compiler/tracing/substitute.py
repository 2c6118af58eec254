"""Functions and their helpers, copied so that they see other values in places outside of them."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.compiler.captures.bytecode import names_in
from opweave.compiler.captures.capture import KEEPING, chains, inner_functions
from opweave.compiler.captures.containers import is_container, is_object
from opweave.compiler.captures.owners import Function, is_helper, is_own_module
from opweave.compiler.captures.places import Missing, Place
from opweave.compiler.captures.steady import UNFORESEEN
from opweave.compiler.captures.structure import MAPPINGS, is_namespace
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.libraries import importing
from opweave.compiler.tracing.refusing import Remembering
from opweave.compiler.tracing.scopes import Outside, Scopes
from opweave.compiler.tracing.static_view import INSTEAD

# Built-in functions as Python has them.
BUILTINS = dict(vars(builtins))
# What a function tells of itself.
TOLD = ("__module__", "__qualname__", "__doc__", "__annotations__", "__type_params__")
# Sets an object's class, even if that class has an attribute of this name.
OWN_CLASS: Any = vars(object)["__class__"]


class OfClass:
    """A copy of a class method, of the user's own class and not of one with copied methods."""

    def __init__(self, function: Any, kind: type):
        self.function, self.kind = function, kind

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return types.MethodType(self.function, self.kind)


class Substituted(Scopes):
    """A function and its helpers, copied so that they see other values in given places."""

    def __init__(
        self,
        fn: Callable[..., Any],
        values: Mapping[Place, Any],
        sight: Sight,
        containers: list[Any],
        originals: Sequence[Any] = (),
    ):
        super().__init__({
            **vars(builtins),
            **{f.__name__: sight.plain(f) for f in UNFORESEEN if _is_pythons(f.__name__)},
            **{name: found for name, found in INSTEAD.items() if _is_pythons(name)},
            "__import__": importing(sight),
        })  # fmt: skip
        self.values = dict(values)
        self.containers = containers
        self.origins = {id(copy): of for copy, of in zip(containers, originals, strict=False)}
        self.ours = set(map(id, containers))  # copies, which may be changed
        # copies that the function reads, by the identities of the originals
        self.copies = {id(place.read()): v for place, v in values.items() if is_container(v)}
        self.sight = sight
        self.names: set[str] = set()  # names in the code, of attributes too
        self.adopted_places: set[Place] = set()
        self.known: dict[int, set[str]] = {}
        self.functions: list[tuple[Function, Function]] = []  # original and copy
        self.made: dict[int, Any] = {}
        self.outside: dict[int, Outside] = {}
        self.dressed: dict[type, type] = {}
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
            return value  # the function sees the user's object itself
        if kind is list:
            value[:] = map(self.adopted, value)
        elif kind in MAPPINGS:
            self._adopt_items(value)
        elif "__opweave_of__" in vars(kind):
            pass  # it has another place, too
        elif is_object(value) or is_namespace(kind):
            vars(value).update([(k, self.adopted(v)) for k, v in vars(value).items()])
            if is_object(value):
                OWN_CLASS.__set__(value, self._dressed(kind))  # also of the frozen
        return value

    def _adopt_items(self, value: dict[Any, Any]) -> None:
        """The same of a dict; functions that are keys are found by their copies."""
        items = [(k, self.adopted(v)) for k, v in value.items()]
        if any(type(k) is Function for k in value):
            value.clear()
        value.update([(self.adopted(k) if type(k) is Function else k, v) for k, v in items])

    def _instead(self, value: Any, made: Any) -> Any:
        """Put another object in the place of a copy that cannot be changed."""
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

    def _copy(self, fn: Any) -> Any:
        """The copy of a function; anything but a function in Python stays as it is."""
        if not isinstance(fn, Function):
            return fn
        if id(fn) in self.made:
            return self.made[id(fn)]
        self.names |= names_in(fn.__code__)
        self.sight.copies(fn.__code__)
        shared = [id(cell) in self.made_cells for cell in fn.__closure__ or ()]
        cells = tuple(self.cell(cell) for cell in fn.__closure__ or ())
        scope = self.scope(fn.__globals__)
        made = Function(fn.__code__, scope, fn.__name__, None, cells or None)
        for name in TOLD:
            if hasattr(fn, name):
                setattr(made, name, getattr(fn, name))
        made.__dict__ = self.scope(fn.__dict__)
        self.owners[id(fn.__dict__)] = fn.__name__
        self.made[id(fn)] = made
        self.functions.append((fn, made))
        made.__defaults__ = fn.__defaults__ and tuple(map(self._default, fn.__defaults__))
        keywords = fn.__kwdefaults__
        made.__kwdefaults__ = keywords and {k: self._default(v) for k, v in keywords.items()}
        self._fill(fn, cells, shared)
        return made

    def _fill(self, fn: Function, cells: Sequence[types.CellType], shared: Sequence[bool]) -> None:
        """Give a copy what it reads from outside; ``shared`` tells of cells that others have."""
        ways = list(chains(fn))
        for cell, (place,), is_there in zip(cells, ways, shared, strict=False):
            if is_there:
                continue
            if place.read() is not Missing:
                cell.cell_contents = self._value(place)
            self.cells.append((place.name, cell, place.scope))
        for place in (place for way in ways[len(cells) :] for place in way):
            if isinstance(place.scope, dict):
                self.scope(place.scope)[place.name] = self._value(place)
                self.known.setdefault(place.number, set()).add(place.name)

    def _default(self, value: Any) -> Any:
        """A default argument, or the stand-in that it has elsewhere; what it holds is watched."""
        if is_helper(value):
            return self._copy(value)
        is_code = isinstance(value, types.ModuleType | types.BuiltinFunctionType | Function)
        return self.sight.plain(value) if is_code else self.copies.get(id(value), value)

    def _value(self, place: Place) -> Any:
        value = place.read()
        if is_own_module(value):
            number = id(vars(value))
            known = self.known.setdefault(number, set())
            if number not in self.outside:
                scope = self.scope(vars(value))
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


def _is_pythons(name: str) -> bool:
    """Whether a built-in function is Python's own: nobody has put another in its place."""
    return vars(builtins).get(name) is BUILTINS.get(name)


def _identity(kind: type, origins: Mapping[int, Any], sight: Sight | None) -> dict[str, Any]:
    """Hash and equality for copies of objects that are compared by identity: the originals'.

    ``sight`` refuses to be asked where the originals are not known.
    """

    def equal(self: Any, other: Any) -> Any:
        same = origins.get(id(self), self) is origins.get(id(other), other)
        return True if same else NotImplemented

    def hashed(self: Any) -> int:
        if sight is not None:
            sight.unread(f"the hash of an object of type {kind.__name__}", None)()
        return object.__hash__(origins.get(id(self), self))

    by_identity = {"__hash__": hashed, "__eq__": equal}
    own: dict[str, Any] = {"__hash__": kind.__hash__}  # which ``__eq__`` in a class would undo
    same = (name for name in by_identity if getattr(kind, name) is getattr(object, name))
    return own | {name: by_identity[name] for name in same}
