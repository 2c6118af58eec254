"""Captures: what a function reads besides its arguments.

The globals of its module, attributes of modules, functions and classes, and the variables of
enclosing functions are read again at each call, as Python does.  Arrays among them become inputs
of the graph, everything else part of the guard; while the function is traced, a copy of it sees
traced values in their place, see ``substitute.py``.  Functions that it calls, and methods of the
objects that it is given, are searched and copied too, except for those of installed packages.
Classes are not copied, nor are values that only classes hold: their places are *watched*.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np

from opweave.compiler.captures.binding import OBJECT
from opweave.compiler.captures.bytecode import READS, _reads, loads_constant, names_in, steps
from opweave.compiler.captures.containers import is_class_of_objects, remembered
from opweave.compiler.captures.owners import (
    Function,
    held,
    is_helper,
    is_of_library,
    is_own_class,
    is_own_module,
)
from opweave.compiler.captures.places import Missing, Place
from opweave.compiler.captures.structure import Identity, Tree

# Functions that remember what they returned.
KEEPING = type(functools.lru_cache(len))
CONSTANT = (
    int, float, complex, str, bytes, np.generic, np.dtype, np.ufunc, Enum, type, slice, Function,
    types.BuiltinFunctionType, types.ModuleType,
)  # fmt: skip


def places_of(fn: Any, seen: dict[int, Function] | None = None) -> tuple[Place, ...]:
    """What a function, and the functions that it calls, read from outside.

    ``seen`` gets these functions, by their identities.
    """
    return tuple(dict.fromkeys(_places(fn, {} if seen is None else seen, is_called=False)))


def helpers_of(fn: Any, seen: set[int] | None = None) -> Iterator[Function]:
    """A function, and those of the user's own that it calls by their names."""
    seen = set() if seen is None else seen
    if not isinstance(fn, Function) or id(fn) in seen:
        return
    seen.add(id(fn))
    yield fn
    for *_, place in chains(fn):
        for inner in inner_functions(place.read()):
            if is_helper(inner):
                yield from helpers_of(inner, seen)


def compares_objects(fn: Function) -> bool:
    """True for code that compares by ``is`` what may be arrays, not a constant or a sentinel.

    A function of others may return an array that it was given: the array, not its stand-in.
    """
    compared = (before for before, one in steps(fn.__code__) if one.opname == "IS_OP")
    return not all(_is_fixed(before, fn) for before in compared)


def _is_fixed(instruction: Any, fn: Function) -> bool:
    """True for what loads a constant, or a global that is a module, a class or an object."""
    if instruction is None or loads_constant(instruction):
        return True
    if instruction.opname not in READS[:2]:
        return False
    value = fn.__globals__.get(instruction.argval, Missing)
    return type(value) is object or isinstance(
        value, types.ModuleType | type | Function | types.BuiltinFunctionType | str
    )


def places_of_class(
    cls: type, of_objects: bool, seen: dict[int, Function] | None = None
) -> tuple[Place, ...]:
    """What the methods of a user's class read from outside, and the class's own attributes.

    Args:
        seen: gets the functions that were searched, by their identities.
        of_objects: the function is given objects of it, whose methods are copied; it may make
            others of a class that it sees, and their methods are the class's own.
    """
    seen = {} if seen is None else seen
    read = [p for f in functions_of(cls) for p in _places(f, seen)]
    watched = [replace(p, watched=True) for p in read]
    if of_objects and is_class_of_objects(cls):
        codes = [f.__code__ for f in functions_of(cls)]
        sees_class = any("__class__" in c.co_freevars or "type" in c.co_names for c in codes)
        found = (v for base in cls.__mro__ for v in vars(base).values())
        sees_class |= any(isinstance(v, classmethod) for v in found)
        watched = [*read, *(watched if sees_class else ())]  # whose methods are no copies
    return tuple(dict.fromkeys((*watched, *attributes_of(cls))))


def attributes_of(cls: type) -> list[Place]:
    """The attributes of a user's class and its bases that are no methods.

    Of bases that packages define only numbers and texts are taken.
    """
    bases = [base for base in cls.__mro__ if is_own_class(base)]
    names = dict.fromkeys(
        name
        for base in bases
        for name, value in vars(base).items()
        if not name.startswith(("__", "_abc_")) and not hasattr(type(value), "__get__")
    )
    others = [_data_of(base, vars(base).keys()) for base in cls.__mro__ if base not in bases]
    own = [Place.of(name, base, watched=True) for base in bases for name in names]
    return list(dict.fromkeys([*own, *(place for found in others for place in found)]))


def functions_of(cls: type) -> Iterator[Function]:
    """The functions of a user's class and of its bases."""
    for base in cls.__mro__:
        for value in vars(base).values():
            yield from filter(is_helper, inner_functions(value))


@remembered
def asks_for_its_class(cls: type) -> bool:
    """True for a class whose methods ask ``type(self)`` and may be reached by ``super()``.

    Methods of a base are not copied, and would be told the class of a copy.
    """
    bases = [base for base in cls.__mro__ if is_own_class(base)]
    names = (names_in(f.__code__) for f in functions_of(cls))
    return len(bases) > 1 and any("type" in found for found in names)


def inner_functions(value: Any) -> tuple[Any, ...]:
    """The functions behind what may stand in a class."""
    if isinstance(value, staticmethod | classmethod):
        return inner_functions(value.__func__)
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if type(value) is KEEPING:
        return inner_functions(value.__wrapped__)
    if hasattr(type(value), "__opweave_with__"):
        return (value.__opweave_function__,)
    return (value,)


def functions_in(leaves: Sequence[Any]) -> Iterator[Function]:
    """The user's functions among some values, also where they are fused."""
    for leaf in leaves:
        found = leaf.value if type(leaf) is Identity else leaf
        inner = found.__opweave_function__ if hasattr(type(found), "__opweave_with__") else found
        if type(inner) is Function and is_helper(inner):
            yield inner


def classes_in(leaves: Sequence[Any], trees: Sequence[Any]) -> Iterator[tuple[type, bool]]:
    """The user's classes among some values that were taken apart, and whether of objects there."""
    for leaf in leaves:
        found = leaf.__self__ if type(leaf) is types.MethodType else leaf
        if isinstance(found, type) and is_own_class(found):
            yield found, False
    for tree in trees:
        if isinstance(tree, Tree):
            if is_own_class(tree.type):
                yield tree.type, True
            yield from classes_in((), tree.children)


def _places(fn: Any, seen: dict[int, Function], is_called: bool = True) -> Iterator[Place]:
    if not isinstance(fn, Function) or id(fn) in seen:
        return
    seen[id(fn)] = fn
    if is_called:
        yield from _defaults(fn)
    for *_, place in chains(fn):
        value = place.read()
        if value is Missing or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) and place.name == "__class__":
            continue
        yield place
        if isinstance(value, type) and not is_own_class(value):
            for base in value.__mro__:
                yield from _data_of(base, names_in(fn.__code__))
        for inner in inner_functions(value):
            if is_helper(inner) or held(inner, "__globals__") is fn.__globals__:
                yield from _places(inner, seen)


def _defaults(fn: Function) -> Iterator[Place]:
    """The default arguments of a function that is called, as places, if they can be changed."""
    for name, values in (("__defaults__", fn.__defaults__), ("__kwdefaults__", fn.__kwdefaults__)):
        if not is_constant(tuple(values.values()) if isinstance(values, dict) else values):
            yield Place.of(name, fn, watched=True)


def is_constant(value: Any) -> bool:
    """True for what nobody can change: a number, a text, a function, a tuple of such."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return value is None or isinstance(value, CONSTANT)


def chains(fn: Function) -> Iterator[tuple[Place, ...]]:
    """The ways from a function to what it reads: a name, or modules and an attribute.

    A function may stand in the place of a module.
    """
    yield from ((_of_cell(fn, name, cell),) for name, cell in _cells(fn).items())
    for place, attributes in reads_of(fn):
        found = [place]
        for name in attributes:
            owner = found[-1].read()
            is_read = is_own_module(owner) or is_helper(owner) or _is_data(owner, name)
            if not is_read or name not in vars(owner):
                break
            found.append(Place.of(name, vars(owner)))
        if found[-1].read() is not Missing and (isinstance(place.scope, dict) or len(found) > 1):
            yield tuple(found)


def reads_of(fn: Function) -> Iterator[tuple[Place, Sequence[str]]]:
    """The places of the names that a function reads outside, and the attributes behind each."""
    cells = _cells(fn)
    for is_global, name, *attributes in _reads(fn.__code__):
        if is_global or name in cells:  # else a variable of the function's own
            found = None if is_global else _of_cell(fn, name, cells[name])
            yield found or Place.of(name, fn.__globals__), attributes


def _of_cell(fn: Function, name: str, cell: types.CellType) -> Place:
    return Place.of(name, cell, is_given=name == OBJECT and "__opweave_given__" in vars(fn))


def _cells(fn: Function) -> dict[str, types.CellType]:
    return dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))


# Types of what a module or class of others holds that is part of a guard.
DATA = (bool, int, float, complex, str, bytes, type(None), np.ndarray)


def _is_data(owner: Any, name: str) -> bool:
    """True for a number, text, array or class of a module of others; false for its functions."""
    if not isinstance(owner, types.ModuleType) or is_of_library(owner.__name__):
        return False
    value = vars(owner).get(name)
    return type(value) in DATA or isinstance(value, type | np.generic | np.dtype)


def _data_of(cls: type, names: Set[str]) -> Iterator[Place]:
    """The numbers and texts among some names that a class of others holds."""
    if not is_of_library(cls.__module__):
        for name in names & vars(cls).keys():
            if type(vars(cls)[name]) in DATA and not name.startswith("__"):
                yield Place.of(name, cls, watched=True)
