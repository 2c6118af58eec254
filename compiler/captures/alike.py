"""Containers taken apart like those of an earlier call, by what is known of that one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from opweave.compiler.captures.anew import function_key
from opweave.compiler.captures.containers import is_object
from opweave.compiler.captures.structure import (
    NOTHING,
    Structure,
    Tree,
    has_attributes,
    has_identity,
)
from opweave.compiler.captures.tree import MOST_LEAVES

# Containers of these very types, and objects of the user's classes, are taken apart here.
SEQUENCES = (list, tuple)
# Numbers, of which the type has a say, and others, of which the value has.
BY_TYPE = frozenset((float, complex, np.float32, np.float64, np.int32, np.int64))
BY_VALUE = frozenset((bool, str))
PLAIN = BY_TYPE | BY_VALUE | {int, np.ndarray}
# The structure of a list of leaves, of any length.
ITEMS = Tree(list, (), ())
# Containers of a structure that are looked at, at most.
MOST_CONTAINERS = 64


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


class OtherError(Exception):
    """A value of another structure, or one that ``looking`` does not know."""


Look = Callable[[Any, list[Any], set[int]], None]


def width_of(tree: Tree) -> int | None:
    """How many leaves an item has of a list of tuples; 0 of leaves alone, None of all else."""
    if tree.type is not list:
        return None
    first = tree.children[0] if tree.children else None
    if first is None:
        return None if any(tree.children) else 0
    is_row = isinstance(first, Tree) and first.type is tuple and not any(first.children)
    alike = is_row and all(child == first for child in tree.children)
    return len(getattr(first, "children", ())) or None if alike else None


def looking(trees: Sequence[Structure | None]) -> Callable[[Sequence[Any]], Any] | None:
    """A function of values of these structures: what has to be equal for Python to run a call.

    Lengths of lists and integers count by powers of two.  It raises ``OtherError`` for values of
    other structures.  None where there is no such function.
    """
    if sum(map(_containers, trees)) > MOST_CONTAINERS:
        return None
    try:
        looks = [*map(_look_of, trees)]
    except OtherError:
        return None

    def look(values: Sequence[Any]) -> Any:
        key: list[Any] = []
        seen: set[int] = set()
        for one, value in zip(looks, values, strict=True):
            one(value, key, seen)
        return tuple(key)

    return look


def _containers(tree: Structure | None) -> int:
    children = tree.children if isinstance(tree, Tree) and width_of(tree) is None else ()
    return (tree is not None) + sum(map(_containers, children))


def _look_of(tree: Structure | None) -> Look:
    """Looks at a value of a structure."""
    if tree is None:
        return _leaf
    if tree is NOTHING:
        return _nothing
    if not isinstance(tree, Tree):
        raise OtherError
    if (width := width_of(tree)) is not None:
        return partial(_list, width)
    children = [*map(_look_of, tree.children)] if any(tree.children) else None
    if tree.type in SEQUENCES:
        return partial(_sequence, tree.type, len(tree.children), children)
    if tree.type is not dict and issubclass(tree.type, (*SEQUENCES, dict, partial)):
        raise OtherError
    return partial(_by_names, tree.type, tree.keys, children)


def _leaf(value: Any, key: list[Any], seen: set[int]) -> None:
    key.append(_key_of(value))


def _key_of(value: Any) -> Any:
    kind = type(value)
    if kind in BY_TYPE:
        return kind
    if kind is np.ndarray:
        return (dtype := value.dtype), type(dtype), value.shape, value.strides
    if kind is int:
        return value.bit_length()
    if kind in BY_VALUE:
        return kind, value
    if kind is list:  # too long to be taken apart
        return _kinds_of(value), len(value).bit_length()
    if kind is FunctionType and (made_anew := function_key(value)) is not None:
        return made_anew
    if draws(kind):
        return kind
    raise OtherError


def draws(kind: type) -> bool:
    """Whether it is a type of generators of NumPy's, which is not imported for that."""
    return kind.__module__.startswith("numpy.random.")


def _nothing(value: Any, key: list[Any], seen: set[int]) -> None:
    if value is not None:
        raise OtherError


def _list(width: int, value: Any, key: list[Any], seen: set[int]) -> None:
    if type(value) is not list:
        raise OtherError
    _once(value, seen)
    if not width:
        key.append(_kinds_of(value))
    elif {*map(type, value)} == {tuple} and {*map(len, value)} == {width}:
        key += map(_kinds_of, zip(*value, strict=True))
    else:
        raise OtherError
    key.append(len(value).bit_length())


def _kinds_of(items: Sequence[Any]) -> frozenset[type]:
    """The types of the items of a list, the first ones of a long one."""
    kinds = frozenset(map(type, items if len(items) <= MOST_LEAVES else items[:MOST_LEAVES]))
    if kinds <= PLAIN:
        return kinds
    raise OtherError


def _sequence(
    kind: Any, count: int, looks: list[Look] | None, value: Any, key: list[Any], seen: set[int]
) -> None:
    if type(value) is not kind or len(value) != count:
        raise OtherError
    if kind is list:
        _once(value, seen)
    _held(looks, tuple(value), key, seen)


def _by_names(
    kind: Any,
    names: tuple[Any, ...],
    looks: list[Look] | None,
    value: Any,
    key: list[Any],
    seen: set[int],
) -> None:
    if type(value) is not kind or not (kind is dict or is_object(value)):
        raise OtherError
    _once(value, seen)
    held = value if kind is dict else value.__dict__
    if tuple(held) != names:
        raise OtherError
    _held(looks, tuple(held.values()), key, seen)


def _held(looks: list[Look] | None, items: Any, key: list[Any], seen: set[int]) -> None:
    if looks is None:
        key += map(_key_of, items)
        return
    if len(looks) != len(items):  # another thread has changed it
        raise OtherError
    for look, item in zip(looks, items, strict=True):
        look(item, key, seen)


def _once(value: Any, seen: set[int]) -> None:
    """Hold that a container stands there once."""
    if id(value) in seen:
        raise OtherError
    seen.add(id(value))
