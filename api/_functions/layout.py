"""The leaves of a call's arguments: where they come from, and how they are packed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opweave.compiler.captures.alike import width_of
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import Identity, Structure, Tree
from opweave.compiler.captures.tree import MOST_LEAVES
from opweave.compiler.ir.plain_arrays import is_array
from opweave.opcodes.cached import cached_property
from opweave.runtime.calls.arguments import argument_kind, argument_type, is_scalar


@dataclass(frozen=True)
class Layout:
    """Where the leaves of a call come from.

    Attributes:
        names: names of the leaves: a parameter's, or a path such as ``params['w']``.
        static: leaves that are part of the guard, whatever their type.
        parameters: names of the parameters, then the places of captured values.
        trees: structure of each value, None for a leaf.
        same: for each leaf the first that is the same object; None where nobody asks.
        state: numbers of how what is used is defined, see ``definitions.py``; None at first.
    """

    names: tuple[str, ...]
    static: tuple[bool, ...]
    parameters: tuple[str | Place, ...]
    trees: tuple[Structure | None, ...]
    same: tuple[int, ...] | None = None
    state: tuple[int, ...] | None = None

    @cached_property
    def structure(self) -> Any:
        """The structures of the values; None where all are leaves of their own."""
        if self.same is not None or self.state is not None:
            return self.trees, self.same, self.state
        return self.trees if any(tree is not None for tree in self.trees) else None

    def asked(self, leaves: Sequence[Any]) -> Layout:
        """The same of other leaves."""
        if self.same is None or (same := first_places(leaves)) == self.same:
            return self
        return replace(self, same=same)

    def rebuilt(
        self, leaves: Sequence[Any], made: list[Any] | None = None
    ) -> dict[str | Place, Any]:
        """Values by parameter and place, with other leaves in the place of those given.

        The containers are added to ``made``, in the order in which they were taken apart.
        """
        made = [] if made is None else made
        rest = iter(leaves if self.same is None else [leaves[i] for i in self.same])
        return {
            name: next(rest) if tree is None else tree.built(rest, made)
            for name, tree in zip(self.parameters, self.trees, strict=True)
        }

    def arguments(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The arguments alone, without what the function reads from outside."""
        return {k: v for k, v in self.rebuilt(leaves).items() if isinstance(k, str)}


class Call(NamedTuple):
    """The arguments of one call as leaves; ``containers`` are those that were taken apart."""

    layout: Layout
    values: list[Any]
    containers: Sequence[Any] = ()

    @property
    def types(self) -> dict[str, Any]:
        """What a trace takes for each leaf.

        Raises:
            ArgumentError, DTypeError: of the first leaf that is no argument.
        """
        rows = zip(self.layout.names, self.values, self.layout.static, strict=True)
        return {name: argument_type(name, value, static) for name, value, static in rows}

    @property
    def kinds(self) -> Any:
        """A key of calls whose types are alike, whatever the extents of their arrays are.

        If a static argument cannot be hashed, the key has types alone.
        """
        made = self.layout.structure, tuple(map(argument_kind, self.values, self.layout.static))
        try:
            hash(made)
        except (TypeError, ValueError):  # the second of memory that may change
            return tuple(map(type, self.values))
        return made

    @property
    def arrays(self) -> list[Any]:
        return [v for v in self.values if is_array(v)]

    @property
    def array_places(self) -> list[int]:
        return [i for i, v in enumerate(self.values) if is_array(v)]

    @property
    def scalar_places(self) -> list[int]:
        """Positions of the numbers that may differ from call to call."""
        static = self.layout.static
        return [i for i, v in enumerate(self.values) if not static[i] and is_scalar(v)]

    def scalars(self, names: Sequence[str]) -> dict[str, Any]:
        """The numbers by their names in a graph."""
        return dict(zip(names, (self.values[i] for i in self.scalar_places), strict=True))


def first_places(values: Sequence[Any]) -> tuple[int, ...]:
    """For each value the first place where the same object stands.

    >>> first_places(["x", "y", "x"])
    (0, 1, 0)
    """
    ids = [*map(id, values)]
    return tuple(map(ids.index, ids))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of leaves, made distinct where two scopes use the same name.

    >>> _distinct(["w", "x", "w"])
    ('w', 'x', "w'")
    """
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "'"
        found[name] = None
    return tuple(found)


def by_lengths(call: Call) -> Any:
    """A key of calls with lists of numbers, or of tuples of such: powers of two of lengths.

    None of any other call, which has its leaves one by one.
    """
    trees, same = call.layout.trees, call.layout.same
    if same is not None or not any(map(_has_lists, trees)):
        return None
    leaves = iter(zip(call.values, call.layout.static, strict=True))
    try:
        found = (call.layout.state, *(_by_lengths(tree, leaves) for tree in trees))
        hash(found)
    except (_OtherError, TypeError):
        return None
    return found


class _OtherError(Exception):
    """A list of other things."""


def _has_lists(tree: Structure | None) -> bool:
    return isinstance(tree, Tree) and (tree.type is list or any(map(_has_lists, tree.children)))


def _by_lengths(tree: Structure | None, leaves: Iterator[tuple[Any, bool]]) -> Any:
    if tree is None:
        value, static = next(leaves)
        if type(value) is Identity and type(value.value) is list:  # too long to be taken apart
            first = frozenset(map(type, value.value[:MOST_LEAVES]))
            return list, 0, first, len(value.value).bit_length()
        return argument_kind(value, static), *_size(value)
    if not isinstance(tree, Tree):
        return tree
    width = width_of(tree)
    if width is None:
        kind = Identity(tree.type)
        return kind, tree.keys, *(_by_lengths(child, leaves) for child in tree.children)
    count = len(tree.children)
    rows = [next(leaves) for _ in range(count * max(width, 1))]
    if any(static for _, static in rows):
        raise _OtherError
    kinds = [frozenset(type(v) for v, _ in rows[k :: width or 1]) for k in range(width or 1)]
    return list, width, *kinds, count.bit_length()


def _size(value: Any) -> tuple[int, ...]:
    """How long an array is, and how large an integer, by powers of two."""
    if is_array(value):
        return int(value.size).bit_length(), *(n.bit_length() for n in value.shape)
    return (value.bit_length(),) if type(value) is int and is_scalar(value) else ()
