"""What names hold when a loop in C has ended: numbers and arrays, of the words that it leaves."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.compiler.lines.eithers import OF_NUMPYS
from opweave.compiler.lines.left import Result
from opweave.compiler.lines.lists import Appended, KeptName
from opweave.compiler.lines.values import Number
from opweave.opcodes.dtypes import DType
from opweave.runtime.host.loop_errors import number_of
from opweave.runtime.process.locks import Once

# What a name holds that is not bound.
UNBOUND = object()

# What a name holds, of its words; arrays by what they are called, so that one of two names is one.
Read = Callable[[Sequence[int], dict[int, Any]], Any]


def readers_of(results: Sequence[Result]) -> Iterator[tuple[Read, int, int]]:
    """How each result is read, and where its words begin and end."""
    begin = 0
    for result in results:
        end = begin + len(result.words)
        yield _reader(result), begin, end
        begin = end


def _reader(result: Result) -> Read:
    kind = result.type
    if result.has_id:
        return lambda words, arrays: _one_array(kind, words, arrays)
    if result.rank >= 0:
        return lambda words, _: _array(kind, *words)
    count = 2 if Number(kind, "").is_pair else 1
    if len(result.words) > count:
        return lambda words, _: _number_left(result, words, count)
    return lambda words, _: number_of(words[0], kind, words[count - 1])


def _number_left(result: Result, words: Sequence[int], count: int) -> Any:
    """A number of so many words, behind which stands whether there is one, and whose it is."""
    said = words[count:]
    if result.perhaps and not said[0] & 1:
        return UNBOUND
    kind = result.type if result.perhaps or said[0] & 1 else OF_NUMPYS[result.type]
    found = number_of(words[0], kind, words[count - 1])
    return int(found) if len(said) > 1 and said[1] & 1 else found


def _array(kind: Any, at: int, *shape: int) -> Any:
    """An array that a loop has made; its memory is given back."""
    made = np.empty(shape, kind.numpy)
    ctypes.memmove(made.ctypes.data, at, made.nbytes)
    free_memory()(at)
    return made


def _one_array(kind: Any, words: Sequence[int], arrays: dict[int, Any]) -> Any:
    """An array that may have several names, of each of which C has one; the first one counts."""
    number = words[-1]
    if number in arrays:
        free_memory()(words[0])
    else:
        arrays[number] = _array(kind, *words[:-1])
    return arrays[number]


def kept_of(name: KeptName, words: Sequence[int]) -> Any:
    """What a name holds that is kept, of its words."""
    kind, rank = name.kinds[words[0] - 1]
    if rank < 0:
        return number_of(words[1], kind)
    return _array(kind, words[1], *words[2 : 2 + rank])


def items_of(each: Appended, at: int, count: int, *shape: int) -> list[Any]:
    """What a loop has appended to a list; its memory is given back."""
    if not count:
        return []
    kind = each.type.numpy if isinstance(each.type, DType) else each.type
    made = np.empty((count, *shape), kind)
    ctypes.memmove(made.ctypes.data, at, made.nbytes)
    free_memory()(at)
    if each.kind is not None:
        rows = made if isinstance(each.type, DType) else made.tolist()
        return [each.kind(row) for row in rows]
    if shape:
        return [row.copy() for row in made]
    return list(made) if isinstance(each.type, DType) else made.tolist()


@Once
def free_memory() -> Callable[[int], None]:
    """``free`` of the library that loops take memory from."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.CDLL(None)))
