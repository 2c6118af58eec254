"""Containers taken apart like those of an earlier call, by what is known of that one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from opweave.compiler.captures.containers import is_object
from opweave.compiler.captures.structure import (
    NOTHING,
    Structure,
    Tree,
    has_attributes,
    has_identity,
)

# Containers of these very types, and objects of the user's classes, are taken apart here.
SEQUENCES = (list, tuple)


def taken_alike(
    trees: Sequence[Structure | None], values: Sequence[Any], types: frozenset[type]
) -> tuple[list[Any], list[Any]] | None:
    """Leaves and containers of values that have these structures; None where one has not.

    They are those of ``flatten``, in its order, where each leaf has one of these types and no
    container stands there twice; of all else it says None, too.
    """
    leaves: list[Any] = []
    seen: dict[int, Any] = {}
    for tree, value in zip(trees, values, strict=True):
        if not _taken(tree, value, types, leaves, seen):
            return None
    return leaves, list(seen.values())


def _taken(
    tree: Structure | None, value: Any, types: frozenset[type], leaves: list[Any],
    seen: dict[int, Any],
) -> bool:  # fmt: skip
    if tree is None:
        leaves.append(value)
        return type(value) in types
    if tree is NOTHING or not isinstance(tree, Tree):
        return value is None and tree is NOTHING
    if type(value) is not tree.type or id(value) in seen:
        return False
    items = _items(tree, value)
    if items is None:
        return False
    if not any(tree.children):  # leaves alone
        if not types.issuperset(map(type, items)):
            return False
        leaves += items
    else:
        for child, item in zip(tree.children, items, strict=True):
            if not _taken(child, item, types, leaves, seen):
                return False
    if has_identity(tree):
        seen[id(value)] = value
    return True


def _items(tree: Tree, value: Any) -> Sequence[Any] | None:
    """What lies in a container of this structure; None where it is another, or asks for more."""
    if tree.type in SEQUENCES:
        items = tuple(value)  # another thread may change a list
        return items if len(items) == len(tree.children) else None
    is_declared = dataclasses.is_dataclass(value)
    if tree.type is not dict and not (is_object(value) or (is_declared and has_attributes(value))):
        return None
    held = (value if tree.type is dict else vars(value)).copy()
    if not _same_keys(tree.keys, held):
        return None
    return [getattr(value, name) for name in held] if is_declared else list(held.values())


def _same_keys(keys: Sequence[Any], held: dict[Any, Any]) -> bool:
    """Whether a dict has these texts for keys, in this order."""
    pairs = zip(keys, held, strict=False)
    return len(keys) == len(held) and all(a == b and type(b) is str for a, b in pairs)
