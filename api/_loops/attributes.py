"""Attributes that a loop reads of objects: names, whose values are asked before it begins.

    for i in range(n):                          for i in range(n):
        y[i] = x[i] * self.scale        ->          y[i] = x[i] * self_scale

A loop in C calls nothing that could change them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.captures.structure import has_attributes


class Lifted(NamedTuple):
    """A name for an attribute, and the name of the object that has it."""

    name: str
    owner: str
    attribute: str


def lifted(loop: ast.stmt, function: FunctionType) -> tuple[Lifted, ...]:
    """Give names to the attributes that a loop reads, in its tree.

    It gets none where it assigns to an attribute, which might be the same one.
    """
    parts = list(ast.walk(loop))
    if any(isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load) for n in parts):
        return ()
    bare = {id(n.value) for n in parts if isinstance(n, ast.Attribute)}
    # what is assigned to in the loop, or given to a function, may be another or changed
    elsewhere = {n.id for n in parts if isinstance(n, ast.Name) and id(n) not in bare}
    locals_ = {*function.__code__.co_varnames} - elsewhere
    taken = {*function.__code__.co_varnames, *function.__code__.co_names, *elsewhere}
    renaming = _Renaming(locals_, taken, {id(n.func) for n in parts if isinstance(n, ast.Call)})
    renaming.visit(loop)
    return tuple(renaming.found.values())


class _Renaming(ast.NodeTransformer):
    def __init__(self, owners: set[str], taken: set[str], methods: set[int]):
        self._owners, self._taken, self._methods = owners, taken, methods
        self.found: dict[tuple[str, str], Lifted] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        name = f"{owner}_{node.attr}"
        is_arrays = hasattr(np.ndarray, node.attr)  # as ``x.shape`` is, of an array
        if owner not in self._owners or is_arrays or name in self._taken:
            return node
        if id(node) in self._methods:
            return node
        self.found[owner, node.attr] = Lifted(name, owner, node.attr)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def asked(names: Sequence[Lifted], scope: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values of attributes; None where one is no plain attribute of an object."""
    found: dict[str, Any] = {}
    for name, owner, attribute in names:
        held = _held(scope.get(owner), attribute)
        if attribute not in held:
            return None
        found[name] = held[attribute]
    return found


def _held(owner: Any, attribute: str) -> Mapping[str, Any]:
    """What an object holds, if it is what Python finds by the name of an attribute."""
    kind: Any = type(owner)
    is_plain = has_attributes(owner) and kind.__getattribute__ is object.__getattribute__
    if not is_plain or hasattr(type(getattr(kind, attribute, None)), "__set__"):
        return {}
    found: Mapping[str, Any] = vars(owner)
    return found
