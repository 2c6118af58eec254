"""Calls that come again, by one call of C: see ``ow_warm_call`` of templates/host/calls.h.

C compares the arguments with those of the earlier calls that it knows.  It reads objects of Python
and NumPy as their headers lay them out; where a probe reads something else there, no call is C's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_int, c_longlong, c_size_t, c_void_p
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opweave.runtime.calls.arrays import held_at, pointer
from opweave.runtime.host import numpy_functions
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.host.warm_layout import (
    ARGUMENT,
    ARRAY,
    CALLED,
    EMPTY,
    FUNCTIONS,
    INTEGER,
    NUMBER,
    OBJECTS,
    REAL,
    SAME,
    CKnown,
    CLeaf,
    CMade,
    CMethod,
    CNumber,
    CPython,
    CResult,
    CSpan,
    CStore,
    CTable,
)
from opweave.runtime.process.locks import Once

FASTCALL = 0x80  # METH_FASTCALL


# A function that makes a result, the argument that it lies in, or the dtype of a number.
Make = Callable[[], Any] | int | np.dtype[Any]


class Same(NamedTuple):
    """A leaf that must be that very object."""

    value: Any


class Lies(NamedTuple):
    """How an array lies in memory: extents, strides, and what its dtype is by NumPy's numbers.

    Attributes:
        span: its bytes, counted from the first element.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    number: int
    order: int
    is_aligned: bool
    span: tuple[int, int]

    @classmethod
    def of(cls, array: Any) -> Lies:
        """The layout of an array, which itself is not held."""
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (pointer(array),) * 2
        span = low - pointer(array), high - pointer(array)
        dtype = array.dtype
        aligned = bool(array.flags.aligned)
        return cls(array.shape, array.strides, dtype.num, ord(dtype.byteorder), aligned, span)


@dataclass(frozen=True)
class Warm:
    """A prepared call as C takes it.

    Attributes:
        plan: the address of the kernels.
        leaves: what the leaves of a call are like: arrays, the types of numbers, or an object.
        outside: the last of them, which are no arguments.
        arrays: places of arrays among the leaves, in the order of the words.
        constants: arrays behind those.
        numbers: (place among the leaves, form) of each number that kernels take.
        makes: of each result.
        written: arrays that kernels write to, by their words.
        stores: (array, word, key): what arguments hold when kernels are done.
        results: (word, form, dtype) of what is returned.
        finish: makes of a tuple of these what is returned; None where C does.
        is_tuple: a tuple of them is returned.
        constant: a tuple of what is always returned; None where it is another thing.
        arena_bytes: of temporaries.
        owner: of the kernels, which live as long as it does.
    """

    plan: int
    leaves: tuple[Lies | Same | type, ...]
    outside: tuple[Any, ...]
    arrays: tuple[int, ...]
    constants: tuple[Any, ...]
    numbers: tuple[tuple[int, int], ...]
    makes: tuple[Make, ...]
    written: tuple[int, ...]
    stores: tuple[tuple[int, int, Any], ...]
    results: tuple[tuple[int, int, np.dtype[Any]], ...]
    finish: Callable[[Any], Any] | None
    is_tuple: bool
    constant: tuple[Any] | None
    arena_bytes: int
    owner: Any

    @property
    def words(self) -> int:
        """How many there are: arrays, results, faults, the arena, and numbers."""
        arrays = len(self.arrays) + len(self.constants) + len(self.makes)
        return arrays + 2 + len(self.numbers)


def warm_call(holds: Callable[[], bool], known: Sequence[Warm]) -> Callable[..., Any]:
    """A builtin function that runs calls, of which the first that fits is taken.

    It returns ``NotImplemented`` for any other call, also where ``holds`` is not true.
    """
    made = [_known(each) for each in known]
    addresses = (c_void_p * len(made))(*(ctypes.addressof(each) for each, _ in made))
    table = CTable(id(holds), ctypes.addressof(addresses), len(made))
    table.alive = holds, addresses, made, known
    method, new = _builtin()
    found: Callable[..., Any] = new(ctypes.addressof(method), table, None)
    return found


def _known(warm: Warm) -> tuple[CKnown, Any]:
    """A call as C takes it, and what must live as long."""
    leaves = [_leaf(warm, place, leaf) for place, leaf in enumerate(warm.leaves)]
    makes = [*map(_made, warm.makes)]
    rows = _table_rows(warm, [row for row, _ in leaves], [row for row, _ in makes])
    known = CKnown(
        plan=warm.plan,
        finish=0 if warm.finish is None else id(warm.finish),
        constant=0 if warm.constant is None else id(warm.constant[0]),
        args=len(leaves) - len(warm.outside), leaf_count=len(leaves), word_count=warm.words,
        number_count=len(warm.numbers), inputs=len(warm.arrays) + len(warm.constants),
        made=len(makes), written_count=len(warm.written), store_count=len(warm.stores),
        result_count=len(warm.results), arena_bytes=warm.arena_bytes, is_tuple=warm.is_tuple,
        **{name: ctypes.addressof(row) for name, row in rows.items()},
    )  # fmt: skip
    return known, (rows, leaves, makes)


def _table_rows(warm: Warm, leaves: Sequence[Any], makes: Sequence[Any]) -> dict[str, Any]:
    """What the pointers of a call point to."""
    spans = [leaf.span for place in warm.arrays if isinstance(leaf := warm.leaves[place], Lies)]
    spans += [Lies.of(array).span for array in warm.constants]
    words = [0] * warm.words
    words[len(warm.arrays) : len(spans)] = map(id, warm.constants)
    first = warm.words - len(warm.numbers)
    numbers = [(leaf, first + n, form, 0) for n, (leaf, form) in enumerate(warm.numbers)]
    return {
        "leaves": (CLeaf * len(leaves))(*leaves),
        "outside": _addresses(map(id, warm.outside)),
        "words": _addresses(words),
        "numbers": _rows(CNumber, numbers),
        "makes": _rows(CMade, makes),
        "spans": _rows(CSpan, spans),
        "written": _rows(c_int, warm.written),
        "stores": _rows(CStore, [(to, origin, id(key)) for to, origin, key in warm.stores]),
        "results": _rows(CResult, [(word, form, id(dtype)) for word, form, dtype in warm.results]),
    }


def _leaf(warm: Warm, place: int, leaf: Lies | Same | type) -> tuple[CLeaf, Any]:
    """A leaf as C takes it, and where C reads its extents and strides."""
    if isinstance(leaf, Same):
        return CLeaf(SAME, -1, id(leaf.value)), None
    if not isinstance(leaf, Lies):
        return CLeaf(INTEGER if leaf is int else REAL, -1, id(leaf)), None
    lies = (c_longlong * (2 * len(leaf.shape)))(*leaf.shape, *leaf.strides)
    return CLeaf(
        ARRAY, warm.arrays.index(place), id(np.ndarray), ctypes.addressof(lies), len(leaf.shape),
        leaf.number, leaf.order, leaf.is_aligned,
    ), lies  # fmt: skip


def _made(make: Any) -> tuple[tuple[Any, ...], Any]:
    """A result as C takes it, and what must live as long."""
    if isinstance(make, int):
        return (0, 0, 0, 0, ARGUMENT, make, 0), None
    if isinstance(make, np.dtype):
        return (0, id(make), 0, 0, NUMBER, 0, 0), make
    if not is_plain(make):
        return (id(make), 0, 0, 0, CALLED, 0, 0), make
    shape, dtype = make.args
    extents = _rows(c_longlong, shape)
    row = 0, id(dtype), ctypes.addressof(extents), len(shape), EMPTY, 0, 0
    return row, (extents, make)


def is_plain(make: Any) -> bool:
    """Whether a function makes arrays as ``np.empty`` does."""
    return isinstance(make, partial) and make.func is np.empty


def _addresses(values: Any) -> Any:
    found = [*values]
    return (c_size_t * max(len(found), 1))(*found)


def _rows(kind: Any, values: Sequence[Any]) -> Any:
    return (kind * max(len(values), 1))(*values)


@Once
def _builtin() -> tuple[CMethod, Any]:
    """What a builtin function is made of, and by."""
    library, python = runtime_library(), ctypes.pythonapi
    addresses = [ctypes.cast(getattr(python, name), c_void_p).value for name in FUNCTIONS]
    library.ow_warm.argtypes, library.ow_warm.restype = [c_void_p], None
    of_numpy = numpy_functions.EMPTY, numpy_functions.SCALAR
    addresses += map(numpy_functions.numpy_function, of_numpy)
    functions = CPython(*addresses, *map(id, OBJECTS), object.__basicsize__ - 8, held_at())
    library.ow_warm(ctypes.addressof(functions))
    call = ctypes.cast(library.ow_warm_call, c_void_p).value
    method = CMethod(b"warm", call, FASTCALL, None)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.py_object, c_void_p)
    return method, new(("PyCFunction_NewEx", python))


@Once
def is_known() -> bool:
    """Whether objects are laid out as C reads them."""
    if not held_at() or c_size_t.from_address(id(1.0) + object.__basicsize__ - 8).value != id(
        float
    ):
        return False
    probe, table = np.zeros((3, 5), np.float32)[::2], CTable()
    held, at = id(probe) + held_at(), held_at()
    words = (c_size_t * 7).from_address(held)
    lies = [*(c_longlong * 2).from_address(words[2]), *(c_longlong * 2).from_address(words[3])]
    dtype = (ctypes.c_char * 32).from_address(id(probe.dtype)).raw
    found = (
        words[1] & 0xFFFFFFFF, lies, words[5], words[6] & 0x500, dtype[at + 10 : at + 11],
        int.from_bytes(dtype[at + 12 : at + 16], "little"),
        c_size_t.from_address(id(table) + at).value,
    )  # fmt: skip
    return found == (
        2, [*probe.shape, *probe.strides], id(probe.dtype), 0x500,
        probe.dtype.byteorder.encode(), probe.dtype.num, ctypes.addressof(table),
    )  # fmt: skip
