"""Attributes of objects in a loop: names, whose values are asked before it begins.

    for i in range(n):                          for i in range(n):
        y[i] = x[i] * self.scale        ->          y[i] = x[i] * self_scale
        self.t += self.dt                           self_t += self_dt

A loop in C calls nothing that could change them, or see them.  What it assigns is put into the
objects when it ends, whatever its end is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.captures.structure import has_attributes
from opweave.compiler.loops.listing import read_lists
from opweave.compiler.loops.methods import (
    NO_OBJECTS,
    Objects,
    Owner,
    Used,
    called_methods,
    method_of,
    used_by,
    with_names,
)


class Lifted(NamedTuple):
    """A name for an attribute, or an item of a dict, and the name of the object that has it."""

    name: str
    owner: str
    attribute: str
    is_stored: bool = False
    is_item: bool = False

    def put(self, owner: Any, value: Any) -> None:
        """Let the object have it."""
        if self.is_item:
            owner[self.attribute] = value
        else:
            object.__setattr__(owner, self.attribute, value)


def lifted(loop: ast.stmt, function: FunctionType) -> tuple[Lifted, ...]:
    """Give names to the attributes that a loop reads and assigns to, in its tree."""
    parts = list(ast.walk(loop))
    attributes = [n for n in parts if isinstance(n, ast.Attribute)]
    if any(isinstance(n.ctx, ast.Del) for n in attributes):
        return ()
    items = [n for n in parts if isinstance(n, ast.Subscript) and _key(n)]
    stored = {(_owner(n), n.attr) for n in attributes if isinstance(n.ctx, ast.Store)}
    stored |= {(_owner(n), _key(n)) for n in items if isinstance(n.ctx, ast.Store)}
    bare = {id(n.value) for n in parts if isinstance(n, ast.Attribute)}
    # what is assigned to in the loop, or given to a function, may be another or changed
    elsewhere = {n.id for n in parts if isinstance(n, ast.Name) and id(n) not in bare}
    locals_ = {*function.__code__.co_varnames} - elsewhere
    keyed = {id(n.value) for n in items}
    others = {n.id for n in parts if isinstance(n, ast.Name) and id(n) not in keyed}
    dicts = {*function.__code__.co_varnames} - others
    taken = {*function.__code__.co_varnames, *function.__code__.co_names, *elsewhere}
    methods = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    renaming = _Renaming(locals_, taken, methods, dicts)
    renaming.visit(loop)
    found = renaming.found.items()
    return tuple(each._replace(is_stored=key in stored) for key, each in found)


def _owner(node: ast.Attribute | ast.Subscript) -> str:
    """The name of the object of an attribute; none of what is computed."""
    return node.value.id if isinstance(node.value, ast.Name) else ""


def _key(node: ast.Subscript) -> str:
    """The text of an index that is a name; "" of any other."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if isinstance(key, str) and key.isidentifier() else ""


class _Renaming(ast.NodeTransformer):
    def __init__(self, owners: set[str], taken: set[str], methods: set[int], dicts: set[str]):
        self._owners, self._taken, self._methods = owners, taken, methods
        self._dicts = dicts
        self.found: dict[tuple[str, str], Lifted] = {}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        owner, key = _owner(node), _key(node)
        name = f"{owner}_{key}"
        taken = self._taken | {each.name for k, each in self.found.items() if k != (owner, key)}
        if not key or owner not in self._dicts or name in taken:
            self.generic_visit(node)
            return node
        self.found[owner, key] = Lifted(name, owner, key, is_item=True)
        return ast.copy_location(ast.Name(name, node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        owner = _owner(node)
        name = f"{owner}_{node.attr}"
        arrays = getattr(np.ndarray, node.attr, None)  # as ``x.shape`` is, of an array
        is_arrays = arrays is not None and not callable(arrays)
        others = {each.name for key, each in self.found.items() if key != (owner, node.attr)}
        if owner not in self._owners or is_arrays or name in self._taken | others:
            return node
        if id(node) in self._methods:
            return node
        self.found[owner, node.attr] = Lifted(name, owner, node.attr)
        return ast.copy_location(ast.Name(name, node.ctx), node)


def asked(names: Sequence[Lifted], scope: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values of attributes; None where one is no plain attribute of an object."""
    found: dict[str, Any] = {}
    for name, owner, attribute, is_stored, is_item in names:
        value = scope.get(owner)
        held: Mapping[str, Any] = {}
        if is_item:
            held = value if type(value) is dict else held
        elif not is_stored or _stores_plainly(value):
            held = _held(value, attribute)
            if attribute not in held and not is_stored:
                held = _of_class(value, attribute)
        if attribute not in held:
            return None
        found[name] = held[attribute]
    stored = [each for each in names if each.is_stored]
    if any(a.attribute == b.attribute and a != b and scope[a.owner] is scope[b.owner]
           for a in stored for b in names):  # fmt: skip
        return None  # one object by two names
    return found


def _stores_plainly(owner: Any) -> bool:
    kind: Any = type(owner)
    return kind.__setattr__ is object.__setattr__


def _held(owner: Any, attribute: str) -> Mapping[str, Any]:
    """What an object holds, if it is what Python finds by the name of an attribute."""
    kind: Any = type(owner)
    is_plain = has_attributes(owner) and kind.__getattribute__ is object.__getattribute__
    if not is_plain or hasattr(type(getattr(kind, attribute, None)), "__set__"):
        return {}
    found: Mapping[str, Any] = vars(owner)
    return found


def _of_class(owner: Any, attribute: str) -> Mapping[str, Any]:
    """A number or an array that the class of an object has."""
    kind: Any = type(owner)
    if not has_attributes(owner) or kind.__getattribute__ is not object.__getattribute__:
        return {}
    values = (vars(k)[attribute] for k in kind.__mro__ if attribute in vars(k))
    value = next(values, None)
    is_plain = type(value) in (bool, int, float, np.ndarray) or isinstance(value, np.generic)
    return {attribute: value} if is_plain else {}


class Uses(NamedTuple):
    """Attributes with the names that they get, the objects, and names that may be lists.

    Attributes:
        methods: all that are called of each object, also by methods.
    """

    lifted: tuple[Lifted, ...]
    objects: Objects
    lists: tuple[str, ...]
    methods: Mapping[str, frozenset[str]] = {}


class ObjectNames:
    """The attributes that methods use which a loop calls, by the classes of their objects."""

    def __init__(
        self, loop: ast.AST, function: FunctionType, own: Sequence[Lifted], lists: Sequence[str]
    ):
        """``own``: attributes that the loop itself uses; ``lists``: names that may be lists."""
        self.methods = called_methods(loop, frozenset(function.__code__.co_varnames))
        self._own = Uses(tuple(own), NO_OBJECTS, tuple(lists))
        self._taken = {*function.__code__.co_varnames, *function.__code__.co_names}
        self._known: dict[tuple[type, ...], Uses] = {}

    def uses(self, names: Mapping[str, Any]) -> Uses:
        """What a loop uses of the objects that these names hold."""
        if not self.methods:
            return self._own
        kinds = tuple(type(names.get(owner)) for owner in self.methods)
        if (known := self._known.get(kinds)) is None:
            known = self._known[kinds] = self._look(names)
        for owner, methods in known.methods.items():
            if not methods.isdisjoint(vars(names[owner])):  # it has its own
                return self._own
        return known

    def _look(self, names: Mapping[str, Any]) -> Uses:
        lifted, lists = [*self._own.lifted], {*self._own.lists}
        owners: dict[str, type] = {}
        reached: dict[str, frozenset[str]] = {}
        for owner, methods in self.methods.items():
            value = names.get(owner)
            kind: Any = type(value)
            if not has_attributes(value) or not all(method_of(kind, m) for m in methods):
                continue
            try:
                used = used_by(kind, methods)
            except NoLoopError:
                continue
            owners[owner], reached[owner] = kind, used.methods
            lifted, own = self._joined(lifted, owner, used)
            for tree in used.trees:
                as_owner = {tree.args.args[0].arg: Owner(kind, owner)}
                lists |= read_lists(with_names(tree, as_owner, own))
        own = {(a.owner, a.attribute): a.name for a in lifted if a.owner in owners}
        stored = frozenset(a.name for a in lifted if a.is_stored and a.owner in owners)
        return Uses(tuple(lifted), Objects(owners, own, stored), tuple(sorted(lists)), reached)

    def _joined(
        self, lifted: list[Lifted], owner: str, used: Used
    ) -> tuple[list[Lifted], Mapping[tuple[str, str], str]]:
        """The attributes of the loop, and of the methods of one object."""
        found = {(a.owner, a.attribute): a for a in lifted}
        for attribute in sorted(used.read):
            name, others = f"{owner}_{attribute}", {a.name for a in found.values()}
            while name in self._taken or name in others:
                name += "_"
            known = found.get((owner, attribute), Lifted(name, owner, attribute))
            is_stored = known.is_stored or attribute in used.stored
            found[owner, attribute] = known._replace(is_stored=is_stored)
        return [*found.values()], {key: a.name for key, a in found.items() if key[0] == owner}
