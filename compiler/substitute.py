"""Functions and their helpers, copied so that they see other values in places outside of them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opweave.compiler.capture import (
    Function,
    Missing,
    Place,
    chains,
    inner_functions,
    is_helper,
    is_own_module,
    names_in,
)
from opweave.compiler.sight import UNFORESEEN, Sight
from opweave.compiler.traced_numbers import TracedScalar
from opweave.compiler.tree import MAPPINGS, is_namespace, is_object
from opweave.opcodes.errors import TraceError

BUILTINS = {function.__name__: function for function in UNFORESEEN}


class Outside:
    """A module as a traced function sees it: those of its names that are known to be read."""

    __slots__ = ("_known", "_names", "_sight")
    _known: set[str]
    _names: dict[str, Any]
    _sight: Sight

    def __init__(self, names: dict[str, Any], known: set[str], sight: Sight):
        for name, value in (("_names", names), ("_known", known), ("_sight", sight)):
            object.__setattr__(self, name, value)

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


class TypeOf:
    """``type`` as a copied function sees it: of a stand-in the class of what it stands for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = type(*args, **kwargs)
        if found is TracedScalar:
            return args[0].__class__
        return vars(found).get("__opweave_of__", found)

    def __getattr__(self, name: str) -> Any:
        return getattr(type, name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, type)


class Substituted:
    """A function and its helpers, copied so that they see other values in given places."""

    def __init__(self, fn: Callable[..., Any], values: Mapping[Place, Any], sight: Sight):
        self.values = dict(values)
        self.sight = sight
        self.names: set[str] = set()  # that stand in the code, of attributes among others
        self.adopted_places: set[Place] = set()
        self.scopes: dict[int, dict[str, Any]] = {}
        self.known: dict[int, set[str]] = {}
        self.owners: dict[int, str] = {}  # functions, by the numbers of their attributes' scopes
        self.cells: list[tuple[str, types.CellType]] = []
        self.made: dict[int, Any] = {}
        self.dressed: dict[type, type] = {}
        self.before: list[tuple[str, str, Any]] = []
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
            return kind(func, *args, **{k: self.adopted(v) for k, v in value.keywords.items()})
        if issubclass(kind, tuple):
            items = map(self.adopted, value)
            return kind(*items) if hasattr(kind, "_fields") else tuple(items)
        if kind is list:
            value[:] = map(self.adopted, value)
        elif kind in MAPPINGS:
            value.update([(k, self.adopted(v)) for k, v in value.items()])
        elif is_object(value) or is_namespace(kind):
            vars(value).update([(k, self.adopted(v)) for k, v in vars(value).items()])
            if is_object(value):
                object.__setattr__(value, "__class__", self._dressed(kind))  # also of the frozen
        return value

    def _dressed(self, kind: type) -> type:
        """A class of objects made again from their attributes, with copies of its methods."""
        if kind not in self.dressed:
            attributes = {"__module__": kind.__module__, "__opweave_of__": kind}
            made = self.dressed[kind] = type(kind.__name__, (kind,), attributes)
            found = {n: v for base in reversed(kind.__mro__) for n, v in vars(base).items()}
            for name, value in found.items():
                copied = self._method(value)
                if copied is not None:
                    setattr(made, name, copied)
        return self.dressed[kind]

    def _method(self, value: Any) -> Any:
        """A copy of what stands in a class; None where it is no function of the user's."""
        inner = inner_functions(value)
        if not any(map(is_helper, inner)):
            return None
        copies = [self._copy(f) if is_helper(f) else f for f in inner]
        if isinstance(value, property | staticmethod | classmethod):
            return type(value)(*copies)
        return None if isinstance(value, functools.cached_property) else copies[0]

    def begin(self) -> None:
        """Remember what there is before the function runs, see ``check``."""
        self.before = list(self._assignable())

    def _assignable(self) -> Iterator[tuple[str, str, Any]]:
        """What the function may assign outside of itself: how a message says it, and the value."""
        for name, cell in self.cells:
            yield "the variable '{}' of an enclosing function", name, _contents(cell)
        for number, scope in self.scopes.items():
            text = f"{self.owners[number]}.{{}}" if number in self.owners else "the global '{}'"
            for name, value in scope.items():
                if not name.startswith("__"):
                    yield text, name, value
        for kind in self.dressed.values():
            for name, value in vars(kind).items():
                yield f"{kind.__name__}.{{}}", name, value

    def _copy(self, fn: Any) -> Any:
        """The function to trace; what is no function of Python's stays as it is."""
        if not isinstance(fn, Function):
            return fn
        if id(fn) in self.made:
            return self.made[id(fn)]
        self.names |= names_in(fn.__code__)
        cells = tuple(types.CellType() for _ in fn.__closure__ or ())
        scope = self._scope(fn.__globals__)
        made = Function(fn.__code__, scope, fn.__name__, fn.__defaults__, cells or None)
        made.__kwdefaults__ = fn.__kwdefaults__
        made.__module__, made.__qualname__ = fn.__module__, fn.__qualname__
        made.__dict__ = self._scope(fn.__dict__)
        self.owners[id(fn.__dict__)] = fn.__name__
        self.made[id(fn)] = made
        ways = list(chains(fn))
        for cell, (place,) in zip(cells, ways, strict=False):
            if place.read() is not Missing:
                cell.cell_contents = self._value(place)
            self.cells.append((place.name, cell))
        for place in (place for way in ways[len(cells) :] for place in way):
            if isinstance(place.scope, dict):
                self._scope(place.scope)[place.name] = self._value(place)
                self.known.setdefault(place.number, set()).add(place.name)
        for name in BUILTINS.keys() & names_in(fn.__code__):
            scope.setdefault(name, self.sight.plain(BUILTINS[name]))
        if "type" in names_in(fn.__code__):
            scope.setdefault("type", TypeOf())
        return made

    def _scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """One copy of a module's names for all that read them."""
        return self.scopes.setdefault(id(names), dict(names))

    def _value(self, place: Place) -> Any:
        value = place.read()
        if is_own_module(value):
            number = id(vars(value))
            known = self.known.setdefault(number, set())
            return Outside(self._scope(vars(value)), known, self.sight)
        same = getattr(value, "__globals__", None) is place.scope
        if is_helper(value) or same:
            return self._copy(value)
        if hasattr(type(value), "__opweave_with__") and is_helper(value.__opweave_function__):
            return value.__opweave_with__(self._copy(value.__opweave_function__))
        if place not in self.values:
            return self.sight.plain(value)
        if place not in self.adopted_places:
            self.adopted_places.add(place)
            self.values[place] = self.adopted(self.values[place])
        return self.values[place]

    def check(self, function: str) -> None:
        """Refuse what the function assigned outside of itself: its copy has it, the user not.

        Raises:
            TraceError: names it.
        """
        after = list(self._assignable())
        if len(after) == len(self.before):
            pairs = zip(self.before, after, strict=True)
            found = [(text, name) for (*_, old), (text, name, new) in pairs if old is not new]
        else:  # a name that was not there, or that is no more
            known, now = (
                {(text, name) for text, name, _ in what} for what in (self.before, after)
            )
            found = [*(now - known), *(known - now)]
        for text, name in found[:1]:
            raise would_be_lost(function, f"assigns {text.format(name)}")


def would_be_lost(function: str, what: str) -> TraceError:
    """The refusal of a change outside of a function."""
    return TraceError(
        f"{function}: {what}, which a compiled function would do once and not at each call; "
        "return the value instead"
    )


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return Missing
