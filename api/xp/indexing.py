"""Reading by a key, and writing: in place, after all that was to read the old elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import BoundsError, DTypeError
from opweave.xp.dtypes import LETTER, with_number
from opweave.xp.lines import at_line
from opweave.xp.looks import computed, look
from opweave.xp.maps import NUMBERS, broadcast, operand_of
from opweave.xp.nodes import (
    LOCK,
    Handle,
    LazyNode,
    common_library,
    given,
    part_from,
    part_others,
    view_of,
)
from opweave.xp.shapes import AT, typed, viewed

# A key by how much may be lost of what is written: truths, integers, floats, complex numbers.
RANK = "bifc"


def parts_of(key: Any) -> tuple[Any, ...]:
    """A key as a tuple of integers, slices, None, ``...`` and nodes.

    Raises:
        BoundsError: a part is none of these.
    """
    return tuple(map(_part, key if type(key) is tuple else (key,)))


def _part(part: Any) -> Any:
    if isinstance(part, Handle):
        return part._node
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if isinstance(part, slice):
        return slice(*map(_bound, (part.start, part.stop, part.step)))
    if hasattr(type(part), "__index__") and type(part) is not bool and not np.ndim(part):
        return part.__index__()
    raise BoundsError(
        f"indexing: expected integers, slices, None, ... or arrays of opweave.xp, found "
        f"{shown(part)}{at_line()}"
    )


def _bound(bound: Any) -> int | None:
    return None if bound is None else bound.__index__()


def item(node: LazyNode, key: Any) -> LazyNode:
    """The elements at a key: a view, or what arrays of places or a mask select.

    Raises:
        BoundsError: there is no such element.
    """
    parts = parts_of(key)
    if any(type(part) is LazyNode for part in parts):
        return given(selected(node, parts))
    if any(type(part) is int for part in parts):
        look(node)  # else each place would be a program of its own
    if node.memory is None:
        plain = tuple(("slice", *_fields(p)) if type(p) is slice else p for p in parts)
        return viewed(AT, node, (("key", plain),))
    try:
        return view_of(node, _array(node.memory[parts], node))
    except IndexError as error:
        raise typed("indexing", error) from None


def _fields(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def _array(found: Any, node: LazyNode) -> Any:
    """A view as an array: NumPy makes numbers of elements."""
    return node.library.asarray(found)


def selected(node: LazyNode, parts: tuple[Any, ...]) -> Any:
    """New memory with the elements that arrays select."""
    common_library("indexing", [node, *(p for p in parts if type(p) is LazyNode)])
    memory, places = computed(node), concrete(parts)
    try:
        return _array(memory[places], node).copy()
    except IndexError as error:
        raise typed("indexing", error) from None


def concrete(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of a key with memory in place of nodes."""
    nodes = [part for part in parts if type(part) is LazyNode]
    look(*nodes)
    for node in nodes:
        if LETTER[node.dtype] not in "bi":
            raise BoundsError(
                f"indexing: expected arrays of integers or bool, found {node.dtype}{at_line()}"
            )
    return tuple(part.memory if type(part) is LazyNode else part for part in parts)


def write(node: LazyNode, key: Any, value: Any) -> None:
    """Write to the elements at a key, for all who hold this node.

    What was recorded on the node is computed before, and views of it get memory of their own.

    Raises:
        DTypeError: the value is of a kind that the array cannot hold.
        ShapeError: it does not broadcast to what the key names.
        BoundsError: there is no such element.
    """
    parts = parts_of(key)
    source = operand_of(value, "writing")
    check_kind(node, source)
    if type(source) is LazyNode:
        common_library("writing", [node, source])
        look(node, source)
        source = source.memory
    places = concrete(parts)
    target = writable(node)
    try:
        target[places] = source
    except (IndexError, ValueError) as error:
        raise typed("writing", error) from None


def check_kind(node: LazyNode, source: Any) -> None:
    """Refuse what would lose a part: a float in integers, a complex number in floats."""
    if type(source) in NUMBERS:
        if with_number(node.dtype, source, "writing") != node.dtype:
            raise DTypeError(f"writing: {node.dtype} cannot hold {shown(source)}{at_line()}")
        return
    kinds = LETTER[source.dtype], LETTER[node.dtype]
    if RANK.index(kinds[0]) > RANK.index(kinds[1]) or (kinds[0] != kinds[1] and "b" in kinds):
        raise DTypeError(
            f"writing: {node.dtype} cannot hold {source.dtype}{at_line()}: cast it by astype"
        )


def writable(node: LazyNode) -> Any:
    """The memory of a node, which from now on is nobody else's, or is to be written for all."""
    look(node)
    with LOCK:
        readers = [*node.waiting()]
    look(*readers)
    with LOCK:
        family = node.family
        assert family is not None
        is_locked = not getattr(node.memory.flags, "writeable", True)
        is_read = family.given or family.is_shown or family.looks
        if is_locked or (is_read and not node.is_given):
            part_from(node)
        else:
            part_others(node)
        return node.memory


def exchanged(node: LazyNode, made: LazyNode) -> LazyNode:
    """The node of an array after ``x += y``: elements of somebody else's memory are written.

    Raises:
        DTypeError, ShapeError: the result has another dtype or shape.
    """
    if made.dtype != node.dtype:
        raise DTypeError(f"in place: {node.dtype} cannot hold {made.dtype}{at_line()}")
    if made.shape != node.shape:
        broadcast("in place", made.shape, node.shape)
        raise typed("in place", ValueError(f"{list(made.shape)} is not {list(node.shape)}"))
    if not node.is_given:
        return made
    look(made)
    writable(node)[...] = made.memory
    return node
