"""Trees: tuples, lists, dicts, objects and None, taken apart into leaves and put together.

    tree ::= leaf | None | type keys tree* | again number

A tree is the structure alone.  It is hashable, so that it can be part of a guard.  The leaves,
arrays and numbers as a rule, lie beside it in order.  JAX calls the same a pytree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.captures.containers import is_container, is_object
from opweave.compiler.captures.structure import (
    MAPPINGS,
    NOTHING,
    Again,
    Constant,
    Leaf,
    Path,
    Structure,
    Tree,
    has_attributes,
    has_identity,
    is_namespace,
)
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

# Nesting beyond this is taken for a container that holds itself.
DEEPEST = 64
# More numbers than this are one array.
MOST_LEAVES = 1024
# Types of most leaves.
COMMON = frozenset({np.ndarray, float, int})
LEAVES = COMMON | {np.float64, np.float32, np.int64, np.int32}
# Structures of which it is remembered how they are taken apart.
MOST_FLAT = 1024
NUMBERS = (int, float, complex)
# Types of most keys.
STRINGS = frozenset({str})
# Types of most containers.
FLAT = frozenset({dict, list, tuple})


def flatten(
    value: Any,
    name: Path = "",
    constants: tuple[type, ...] = (),
    attribute: Callable[[Any], Any] = lambda value: value,
    seen: dict[int, Any] | None = None,
    marks: Mapping[int, bool] = {},
) -> tuple[list[tuple[Path, Any]], Structure | None]:
    """Leaves with their paths, as a user writes them, and the structure; a leaf has none.

    Leaves of the types ``constants`` go into the structure; ``attribute`` says what stands for a
    leaf within an object.  ``seen`` has the containers that were taken apart before, by their
    identities and in order, and gets those of this value.  ``marks`` are the identities of leaves
    that become a ``Leaf``, and whether it is a view.

    >>> flatten({"w": 1, "b": (2, None)}, "params")[0]
    [("params['w']", 1), ("params['b'][0]", 2)]

    Raises:
        ArgumentError: nested too deep, as a container that holds itself is, or too many leaves.
    """
    taker = _Taker(name, constants, attribute, {} if seen is None else seen, marks)
    return taker.leaves, taker.taken(value, name, 0)


class CycleError(ArgumentError):
    """A container that holds itself, of which there is no structure."""


class TooManyError(ArgumentError):
    """Containers that hold more than kernels take."""


def forget(seen: dict[int, Any], count: int) -> None:
    """Leave only the first of the containers that were taken apart."""
    while len(seen) > count:
        seen.popitem()


class _Taker:
    """Takes containers apart.

    A class, since a closure over itself would hold every leaf until the next collection of cycles.
    """

    def __init__(
        self,
        name: Path,
        constants: tuple[type, ...],
        attribute: Callable[[Any], Any],
        seen: dict[int, Any],
        marks: Mapping[int, bool],
    ) -> None:
        self.name = name
        self.constants = constants
        self.attribute = attribute
        self.seen = seen
        self.marks = marks
        self.leaves: list[tuple[Path, Any]] = []
        self.open: set[int] = set()  # what is being taken apart

    def taken(self, value: Any, path: Path, depth: int) -> Structure | None:
        """The structure of a value, whose leaves are added to the others."""
        if type(value) in COMMON and not self.marks and len(self.leaves) < MOST_LEAVES:
            self.leaves.append((path, value))
            return None
        if value is None:
            return NOTHING
        if self.constants and is_constant(type(value), self.constants):
            return Constant(value)
        if id(value) in self.seen:
            return Again(list(self.seen).index(id(value)))
        if type(value) in FLAT and not self.marks and depth < DEEPEST:
            tree = self._flat(value, path)
            if tree is not None:
                return tree
        is_attributed = is_object(value) or is_namespace(type(value))
        if not (is_attributed or is_container(value)):
            return self._leaf(value, path)
        start = len(self.leaves)
        if id(value) in self.open:
            raise CycleError(f"argument {path[:40]}: a container that holds itself")
        self.open.add(id(value))
        try:
            tree = self._apart(value, path, depth)
        finally:
            self.open.discard(id(value))
        if has_identity(tree):
            self.seen[id(value)] = value
        if is_attributed:
            self.leaves[start:] = [(p, self.attribute(v)) for p, v in self.leaves[start:]]
        return tree

    def _leaf(self, value: Any, path: Path) -> Leaf | None:
        """Add what is not taken apart; what a mark tells from others is a leaf by its number."""
        if len(self.leaves) == MOST_LEAVES:
            raise self._too_many()
        self.leaves.append((path, value))
        if id(value) not in self.marks:
            return None
        self.seen[id(value)] = value
        return Leaf(self.marks[id(value)])

    def _flat(self, value: Any, path: Path) -> Tree | None:
        """The structure of a dict, list or tuple of arrays and numbers alone; None for others.

        It follows from the keys, and is remembered: weights come at each call.
        """
        kind = type(value)
        if len(value) > MOST_LEAVES:
            first = islice(value.values() if kind is dict else value, MOST_LEAVES + 1)
            if LEAVES.issuperset(map(type, first)):  # without a look at the others
                raise self._too_many()
            return None
        held = value if kind is tuple else value.copy()  # another thread may change it
        items = tuple(held.values()) if kind is dict else held
        if not items or not COMMON.issuperset(map(type, items)):
            return None
        keys: Any = tuple(held) if kind is dict else len(items)
        if kind is dict and not STRINGS.issuperset(map(type, keys)):  # equal keys may differ
            return None
        if len(self.leaves) + len(items) > MOST_LEAVES:
            return None
        found = _known.get((kind, path, keys))
        if found is None:
            if len(_known) >= MOST_FLAT:
                _known.clear()
            names, _, paths = _parts(held, path)
            found = _known[kind, path, keys] = Tree(kind, names, (None,) * len(paths)), paths
        self.seen[id(value)] = value
        self.leaves += zip(found[1], items, strict=True)
        return found[0]

    def _too_many(self) -> TooManyError:
        return TooManyError(
            f"argument {self.name}: expected at most {MOST_LEAVES} arrays and numbers; make one "
            "array of them with np.asarray"
        )

    def _attribute_taken(self, value: Any, path: Path, depth: int) -> Structure | None:
        """An attribute of an object; one too large stays whole."""
        leaves, seen = len(self.leaves), len(self.seen)
        try:
            return self.taken(value, path, depth)
        except ArgumentError as error:
            if isinstance(error, CycleError) or depth == DEEPEST or not is_container(value):
                raise
            del self.leaves[leaves:]
            forget(self.seen, seen)
            self.leaves.append((path, value))
            return None

    def _apart(self, value: Any, path: Path, depth: int) -> Tree:
        if depth == DEEPEST:
            raise ArgumentError(
                f"argument {path[:40]}...: containers lie more than {DEEPEST} deep; perhaps one "
                "holds itself"
            )
        keys, items, paths = _parts(value, path)
        pairs = zip(items, paths, strict=True)
        take = self._attribute_taken if is_object(value) else self.taken
        children = tuple(take(item, p, depth + 1) for item, p in pairs)
        kind = type(value)
        return Tree(getattr(kind, "__opweave_of__", kind), keys, children)


def is_constant(kind: type, constants: tuple[type, ...]) -> bool:
    """True for a type of constants, and for a number's of the user's own; asked of no stand-in."""
    is_number = issubclass(kind, NUMBERS) and not issubclass(kind, np.generic)
    return issubclass(kind, constants) or (is_number and kind not in (*NUMBERS, bool))


# (type, path, keys or length) -> structure and paths
_known: dict[tuple[type, Path, Any], tuple[Tree, Sequence[Path]]] = {}


def _parts(value: Any, path: Path) -> tuple[tuple[Any, ...], Sequence[Any], Sequence[Path]]:
    """Keys, items and the paths of the items of a container, which another thread may change."""
    if type(value) in MAPPINGS:
        value = value.copy()
        keys = tuple(k.tracer.concrete(k) if is_traced(k) else k for k in value)
        return keys, list(value.values()), [f"{path}[{shown(key)}]" for key in value]
    if type(value) is partial:
        args, given = value.args, value.keywords
        steps = ["func", *(f"args[{i}]" for i in range(len(args))), *given]
        items = [value.func, *args, *given.values()]
        return (len(args), *given), items, [f"{path}.{step}" for step in steps]
    if dataclasses.is_dataclass(value):
        declared = [f.name for f in dataclasses.fields(value)]
        others = list(vars(value)) if has_attributes(value) else []
        names = tuple(dict.fromkeys([*declared, *others]))
        return names, [getattr(value, n) for n in names], [f"{path}.{n}" for n in names]
    if is_object(value) or is_namespace(type(value)):
        held = vars(value).copy()
        return tuple(held), list(held.values()), [f"{path}.{n}" for n in held]
    fields = getattr(type(value), "_fields", ())
    value = tuple(value)
    steps = [f".{f}" for f in fields] or [f"[{i}]" for i in range(len(value))]
    return tuple(fields), value, [f"{path}{step}" for step in steps]
