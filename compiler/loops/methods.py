"""Methods of objects that a loop calls: which attributes they read and assign, as names of it.

    for i in range(n):
        p.step(dt)            ->    def step(dt): p_x += dt * p_v

A method becomes part of the loop as any function does.  Attributes of its object are names of the
loop, whichever function they stand in.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

from opweave.compiler.captures.source import NoLoopError, stored_in, tree_of
from opweave.compiler.lines.values import Unchanging

Names = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Owner(Unchanging):
    """An object whose methods a loop calls; ``value`` is its class.

    Attributes:
        name: of the object.
    """

    name: str = ""


class Objects(NamedTuple):
    """Objects whose methods a loop calls.

    Attributes:
        kinds: their classes, by the names of the objects.
        names: those that their attributes get.
        stored: of these names, those that are assigned to.
    """

    kinds: Mapping[str, type]
    names: Names
    stored: frozenset[str]

    @property
    def shared(self) -> frozenset[str]:
        return frozenset(self.names.values())


NO_OBJECTS = Objects({}, {}, frozenset())


class Used(NamedTuple):
    """What methods of a class do with attributes of their object."""

    read: frozenset[str]
    stored: frozenset[str]
    trees: tuple[ast.FunctionDef, ...]
    methods: frozenset[str]


def method_of(kind: type, name: str) -> FunctionType | None:
    """A method as a class defines it; None of anything else."""
    found = next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), None)
    return found if type(found) is FunctionType else None


def called_methods(loop: ast.AST, names: frozenset[str]) -> dict[str, set[str]]:
    """The methods that a loop calls, by the names of their objects; which have no other use."""
    parts = [*ast.walk(loop)]
    bare = {id(n.value) for n in parts if isinstance(n, ast.Attribute)}
    elsewhere = {n.id for n in parts if isinstance(n, ast.Name) and id(n) not in bare}
    found: dict[str, set[str]] = {}
    for owner, method in _calls(parts):
        if owner in names and owner not in elsewhere:
            found.setdefault(owner, set()).add(method)
    return found


def _calls(parts: list[ast.AST]) -> Iterator[tuple[str, str]]:
    for n in parts:
        called = n.func if isinstance(n, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            yield called.value.id, called.attr


def used_by(kind: type, methods: set[str]) -> Used:
    """The attributes that methods use, and those that they call.

    Raises:
        NoLoopError: one is no plain method, or uses its object in other ways.
    """
    rest, seen = [*methods], set[str]()
    read, stored, trees = set[str](), set[str](), list[ast.FunctionDef]()
    while rest:
        if (name := rest.pop()) in seen:
            continue
        seen.add(name)
        function = method_of(kind, name)
        if function is None:
            raise NoLoopError(f"{name} of {kind.__name__}, which is no plain method")
        tree = tree_of(function)
        trees.append(tree)
        own = (*tree.args.posonlyargs, *tree.args.args)[0].arg
        if own in stored_in(tree):
            raise NoLoopError(f"{name} of {kind.__name__}, which assigns to {own}")
        parts = [*ast.walk(tree)]
        called = {m for owner, m in _calls(parts) if owner == own and method_of(kind, m)}
        rest += called
        attributes = (n for n in parts if isinstance(n, ast.Attribute) and n.attr not in called)
        for n in attributes:
            if getattr(n.value, "id", "") == own:
                (read if isinstance(n.ctx, ast.Load) else stored).add(n.attr)
    return Used(frozenset(read | stored), frozenset(stored), tuple(trees), frozenset(seen))


def with_names(
    tree: ast.FunctionDef, owners: Mapping[str, Owner], names: Names
) -> ast.FunctionDef:
    """A function whose parameters are objects, with names in the place of their attributes."""
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)
    }
    if not taken.isdisjoint(names.values()):
        raise NoLoopError(f"{tree.name}, which has a name that an attribute gets")
    renaming = _AttributeNames({n: owner.name for n, owner in owners.items()}, names)
    made = renaming.visit(copy.deepcopy(tree))
    assert isinstance(made, ast.FunctionDef)
    return made


class _AttributeNames(ast.NodeTransformer):
    def __init__(self, owners: Mapping[str, str], names: Names):
        self._owners, self._names = owners, names

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        name = self._names.get((self._owners.get(owner, ""), node.attr))
        return node if name is None else ast.copy_location(ast.Name(name, node.ctx), node)
