"""Lists of Python as words that loops in C read, and back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from opweave.compiler.lines.eithers import GROUPS, OF_NUMPYS
from opweave.compiler.lines.numbers import EXACT
from opweave.compiler.lines.read_lists import NARROW, NUMPYS, WHOLE, ReadList
from opweave.opcodes.dtypes import F64, DType

# Codes of arrays of Python that take numbers fast, by the types that these have.
CODES: dict[Any, str] = {float: "d", F64: "d", int: "q"}


def packed(items: Sequence[Any], owner: ReadList) -> Any:
    """The words of a list, a row for each item.

    Raises:
        OverflowError: an integer leaves 64 bits, or, beside floats, 53.
    """
    if not items:
        return np.empty((0, owner.words), np.int64)
    codes = {CODES.get(kind) for kind in owner.columns if not isinstance(kind, str)}
    is_plain = owner.is_tuples and not owner.is_narrow and owner.words == len(items[0])
    if is_plain and len(codes) == 1 and None not in codes:
        made = array(codes.pop() or "", chain.from_iterable(items))
        return np.frombuffer(made, np.int64).reshape(-1, owner.words)
    columns = zip(*items, strict=True) if owner.is_tuples else (items,)
    words = []
    for kind, column in zip(owner.columns, columns, strict=True):
        if isinstance(kind, str):
            words += _of_several(kind, column)
        else:
            words.append(_of_one(kind, column, owner.is_narrow))
    return words[0].reshape(-1, 1) if len(words) == 1 else np.stack(words, 1)


def _of_one(kind: Any, column: Sequence[Any], is_narrow: bool = False) -> Any:
    if kind is int and is_narrow and max(map(abs, column)) > NARROW:
        raise OverflowError("an integer that is longer than those of a list that is read")
    if kind in CODES:
        return np.frombuffer(array(CODES[kind], column), np.int64)
    made = np.array(column, kind.numpy if isinstance(kind, DType) else kind)
    return made.view(f"u{made.itemsize}").astype(np.int64)


def _of_several(group: str, column: Sequence[Any]) -> list[Any]:
    """Numbers of several types: their words, and those that say of which."""
    dtype = GROUPS[group].dtype
    pythons = OF_NUMPYS[dtype]
    said = [0 if type(v) is pythons else WHOLE if type(v) is int else NUMPYS for v in column]
    if group == "whole":
        said = [bits & NUMPYS for bits in said]
    if any(bits & WHOLE and abs(v) > EXACT for bits, v in zip(said, column, strict=True)):
        raise OverflowError("an integer of Python that is longer than 53 bits, beside floats")
    return [_of_one(dtype, column), np.array(said, np.int64)]


class NotServedError(Exception):
    """A call that the loop was not made for."""


def flattened(items: list[Any], values: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The items of the lists of a list, and where each begins, the end last.

    Raises:
        NotServedError: one is there twice, or has another name.
    """
    others = (v for name, v in values.items() if type(v) is list and v is not items)
    known = [*map(id, items)]
    for other in others:
        known += [id(other), *(map(id, other) if other and type(other[0]) is list else ())]
    if len({*known}) < len(known):
        raise NotServedError
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum([*map(len, items)], out=starts[1:])
    return [*chain.from_iterable(items)], starts


def put_into_rows(items: list[Any], starts: Any, words: Any, before: Any, owner: ReadList) -> None:
    """The same of the lists of a list."""
    places = (words != before).any(axis=1).nonzero()[0]
    rows = np.searchsorted(starts, places, "right") - 1
    found = unpacked(words[places], owner)
    for row, place, item in zip(
        rows.tolist(), (places - starts[rows]).tolist(), found, strict=True
    ):
        items[row][place] = item


def put_into(items: list[Any], words: Any, before: Any, owner: ReadList) -> None:
    """Let a list hold what C has made of it; an object stays where C has left the same."""
    count = min(len(words), len(before))
    changed = (words[:count] != before[:count]).any(axis=1).nonzero()[0]
    if len(changed):
        for place, item in zip(changed.tolist(), unpacked(words[changed], owner), strict=True):
            items[place] = item
    if len(items) > count or len(words) > count:
        items[count:] = unpacked(words[count:], owner)


def unpacked(words: Any, owner: ReadList) -> list[Any]:
    """The items of a list, of their words."""
    if not len(words):
        return []
    columns = []
    for place, kind in owner.places():
        if isinstance(kind, str):
            columns.append(_several(kind, words[:, place], words[:, place + 1]))
        else:
            columns.append(_one(kind, words[:, place]))
    return list(zip(*columns, strict=True)) if owner.is_tuples else columns[0] if columns else []


def _one(kind: Any, words: Any) -> list[Any]:
    if kind is int:
        found: list[Any] = words.tolist()
        return found
    dtype = kind.numpy if isinstance(kind, DType) else np.dtype(kind)
    made = words.astype(f"u{dtype.itemsize}").view(dtype)
    return list(made) if isinstance(kind, DType) else made.tolist()


def _several(group: str, words: Any, said: Any) -> list[Any]:
    dtype = GROUPS[group].dtype
    numpys = _one(dtype, words)
    if (said & NUMPYS).all():
        return numpys
    pythons = OF_NUMPYS[dtype]
    return [
        v if bits & NUMPYS else int(v) if bits & WHOLE else pythons(v)
        for v, bits in zip(numpys, said.tolist(), strict=True)
    ]
