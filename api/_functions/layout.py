"""The leaves of a call's arguments: where they come from, and how they are packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import Structure, Tree
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
    """A key of calls with lists of numbers beside arrays and numbers: powers of two of lengths.

    None of any other call, which has its leaves one by one.
    """
    trees, same = call.layout.trees, call.layout.same
    lengths = [_flat_length(tree) for tree in trees]
    if same is not None or not any(length is not None for length in lengths):
        return None
    if any(
        tree is not None and length is None for tree, length in zip(trees, lengths, strict=True)
    ):
        return None
    values, static, place = call.values, call.layout.static, 0
    found: list[Any] = [call.layout.state]
    for count in lengths:
        if count is None:
            value = values[place]
            found.append((argument_kind(value, static[place]), *_size(value)))
            place += 1
            continue
        kinds = frozenset(map(type, values[place : place + count]))
        if any(static[place : place + count]):
            return None
        found.append((list, kinds, count.bit_length()))
        place += count
    try:
        hash(made := tuple(found))
    except TypeError:
        return None
    return made


def _flat_length(tree: Structure | None) -> int | None:
    """How many leaves a list has that holds nothing else; None for any other value."""
    if not isinstance(tree, Tree) or tree.type is not list or any(tree.children):
        return None
    return len(tree.children)


def _size(value: Any) -> tuple[int, ...]:
    """How long an array is, and how large an integer, by powers of two."""
    if is_array(value):
        return int(value.size).bit_length(), *(n.bit_length() for n in value.shape)
    return (value.bit_length(),) if type(value) is int and is_scalar(value) else ()
