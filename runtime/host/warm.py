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
from typing import Any

import numpy as np

from opweave.runtime.calls.arrays import held_at
from opweave.runtime.host import numpy_functions
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.host.warm_arguments import FoundAt, Lies, Node, NodeRows
from opweave.runtime.host.warm_layout import (
    ARGUMENT,
    CALLED,
    EMPTY,
    FUNCTIONS,
    MOST_CONTAINERS,
    MOST_TYPES,
    MOST_WORDS,
    NUMBER,
    OBJECTS,
    READS,
    CKnown,
    CMade,
    CMethod,
    CNode,
    CNumber,
    CNumberType,
    COp,
    CPut,
    CPython,
    CRoot,
    CShape,
    CSpan,
    CStore,
    CTable,
)
from opweave.runtime.host.warm_results import (
    WarmLeft,
    WarmShape,
    WarmStep,
    WarmStore,
    op_rows,
    put_rows,
    shape_rows,
)
from opweave.runtime.process.locks import Once

FASTCALL = 0x80  # METH_FASTCALL
# Functions of C that builtin functions of Python run: see templates/host/calls.h and loop_calls.h.
BUILTINS = "ow_warm_call", "ow_warm_into", "ow_loop_call"


# A function that makes a result, the argument that it lies in, or the dtype of a number.
Make = Callable[[], Any] | int | np.dtype[Any]


@dataclass(frozen=True)
class Warm:
    """A prepared call as C takes it.

    Attributes:
        plan: the address of the kernels.
        arguments: what they are like.
        outside: where the function reads other values, and what these are like.
        arrays: places of arrays among the leaves, in the order of the words.
        constants: arrays behind those.
        numbers: (leaf, form, how it is read) of what kernels take.
        expressions: of numbers that follow from others, which are leaves behind the others.
        makes: of each result.
        written: arrays that kernels write to, by their words.
        stores: what arguments hold when kernels are done.
        shape: what is returned; None where ``finish`` makes it.
        left: what is left in containers.
        finish: makes of a tuple of arrays, one of containers, and one of numbers by expressions
            what is returned; None where there is a shape.
        target: what an array for the only result must be like, and which of those that are made
            it is given for; None where none can be.
        arena_bytes: of temporaries.
        owner: of the kernels, which live as long as it does.
        plain: the user's own function, where NumPy runs such calls.
    """

    plan: int
    arguments: tuple[Node, ...]
    outside: tuple[tuple[FoundAt, Node], ...]
    arrays: tuple[int, ...]
    constants: tuple[Any, ...]
    numbers: tuple[tuple[int, int, int], ...]
    expressions: tuple[tuple[WarmStep, ...], ...]
    makes: tuple[Make, ...]
    written: tuple[int, ...]
    stores: tuple[WarmStore, ...]
    shape: WarmShape | None
    left: tuple[WarmLeft, ...]
    finish: Callable[..., Any] | None
    target: tuple[Lies, int] | None
    arena_bytes: int
    owner: Any
    plain: Any = None

    @property
    def words(self) -> int:
        """How many there are: arrays, results, faults, the arena, and numbers."""
        arrays = len(self.arrays) + len(self.constants) + len(self.makes)
        return arrays + 2 + len(self.numbers)


# Functions that run calls, without and with an array for the result in front of the arguments.
WarmCall = Callable[..., Any]


def warm_call(holds: Callable[[], bool], known: Sequence[Warm]) -> tuple[WarmCall, WarmCall]:
    """Builtin functions that run calls, of which the first that fits is taken.

    They return ``UNKNOWN`` for any other call, also where ``holds`` is not true.
    """
    made = [row for row in map(_known, known) if row is not None]
    addresses = (c_void_p * len(made))(*(ctypes.addressof(each) for each, _ in made))
    table = CTable(id(holds), ctypes.addressof(addresses), len(made))
    table.alive = holds, addresses, made
    return builtin("ow_warm_call", table), builtin("ow_warm_into", table)


def builtin(name: str, table: Any) -> Callable[..., Any]:
    """A builtin function that C runs, of what a structure of ctypes holds."""
    methods, new = _builtins()
    made: Callable[..., Any] = new(ctypes.addressof(methods[name]), table, None)
    return made


def _known(warm: Warm) -> tuple[CKnown, Any] | None:
    """A call as C takes it, and what must live as long; None where Python has to run it."""
    nodes, target = NodeRows(warm.arrays), NodeRows([0])
    for node in (*warm.arguments, *(node for _, node in warm.outside)):
        nodes.add(node)
    if warm.target is not None:
        target.add(warm.target[0])
    held = nodes.leaves + nodes.told + len(warm.expressions) + len(warm.outside)
    if max(warm.words, held) > MOST_WORDS or nodes.told > MOST_CONTAINERS:
        return None
    if len(nodes.given) < len(warm.arrays):  # a kernel would read where no array lies
        return None
    makes, alive = [*map(_made, warm.makes)], [warm, nodes, target]
    rows = _table_rows(warm, nodes, target, [row for row, _ in makes], alive)
    known = CKnown(
        plan=warm.plan, finish=0 if warm.finish is None else id(warm.finish),
        plain=0 if warm.plain is None else id(warm.plain),
        args=len(warm.arguments), outside_count=len(warm.outside), word_count=warm.words,
        number_count=len(warm.numbers), inputs=len(warm.arrays) + len(warm.constants),
        made=len(makes), written_count=len(warm.written), store_count=len(warm.stores),
        computed_count=len(warm.expressions), put_count=len(warm.left),
        arena_bytes=warm.arena_bytes, target_made=-1 if warm.target is None else warm.target[1],
        **{name: ctypes.addressof(row) for name, row in rows.items()},
    )  # fmt: skip
    if warm.target is None:
        known.target = None
    return known, (rows, makes, alive)


def _table_rows(
    warm: Warm, nodes: NodeRows, target: NodeRows, makes: Sequence[Any], alive: list[Any]
) -> dict[str, Any]:
    """What the pointers of a call point to."""
    words = [0] * warm.words
    words[len(warm.arrays) : len(warm.arrays) + len(warm.constants)] = map(id, warm.constants)
    constants = (Lies.of(array).span for array in warm.constants)
    first = warm.words - len(warm.numbers)
    shapes: list[WarmShape] = [each.shape for each in warm.stores]
    shapes += [] if warm.shape is None else [warm.shape, *(left.shape for left in warm.left)]
    return {
        "nodes": rows_of(CNode, nodes.rows),
        "outside": rows_of(CRoot, [place.row for place, _ in warm.outside]),
        "words": rows_of(c_size_t, words),
        "numbers": rows_of(
            CNumber, [(leaf, first + n, *how) for n, (leaf, *how) in enumerate(warm.numbers)]
        ),
        "makes": rows_of(CMade, makes),
        "target": rows_of(CNode, target.rows),
        "spans": rows_of(CSpan, [*nodes.spans, *constants, *target.spans]),
        "written": rows_of(c_int, warm.written),
        "stores": rows_of(CStore, [(each.word, id(each.key)) for each in warm.stores]),
        "ops": rows_of(COp, op_rows(warm.expressions)),
        "op_counts": rows_of(c_int, [*map(len, warm.expressions)]),
        "shapes": rows_of(CShape, [row for shape in shapes for row in shape_rows(shape, alive)]),
        "puts": rows_of(CPut, put_rows(warm.left)),
    }


def _made(make: Any) -> tuple[tuple[Any, ...], Any]:
    """A result as C takes it, and what must live as long."""
    if isinstance(make, int):
        return (0, 0, 0, 0, ARGUMENT, make, 0), None
    if isinstance(make, np.dtype):
        return (0, id(make), 0, 0, NUMBER, 0, 0), make
    if not is_plain(make):
        return (id(make), 0, 0, 0, CALLED, 0, 0), make
    shape, dtype = make.args
    extents = rows_of(c_longlong, shape)
    row = 0, id(dtype), ctypes.addressof(extents), len(shape), EMPTY, 0, 0
    return row, (extents, make)


def is_plain(make: Any) -> bool:
    """Whether a function makes arrays as ``np.empty`` does."""
    return isinstance(make, partial) and make.func is np.empty


def rows_of(kind: Any, values: Sequence[Any]) -> Any:
    """Values one behind the other, as C takes them."""
    return (kind * max(len(values), 1))(*values)


@Once
def _builtins() -> tuple[dict[str, CMethod], Any]:
    """What builtin functions are made of, by the functions of C, and by what."""
    library, python = runtime_library(), ctypes.pythonapi
    addresses = [ctypes.cast(getattr(python, name), c_void_p).value for name in FUNCTIONS]
    library.ow_warm.argtypes, library.ow_warm.restype = [c_void_p], None
    of_numpy = numpy_functions.EMPTY, numpy_functions.SCALAR
    addresses += map(numpy_functions.numpy_function, of_numpy)
    types = (CNumberType * MOST_TYPES)(*(CNumberType(id(kind), n) for kind, n in READS.items()))
    functions = CPython(*addresses, *map(id, OBJECTS), object.__basicsize__ - 8, held_at(), types)
    library.ow_warm(ctypes.addressof(functions))
    found = {name: ctypes.cast(getattr(library, name), c_void_p).value for name in BUILTINS}
    methods = {name: CMethod(b"warm", at, FASTCALL, None) for name, at in found.items()}
    new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.py_object, c_void_p)
    return methods, new(("PyCFunction_NewEx", python))


@Once
def is_known() -> bool:
    """Whether objects are laid out as C reads them."""
    at, type_at = held_at(), id(1.0) + object.__basicsize__ - 8
    if not at or c_size_t.from_address(type_at).value != id(float) or not _are_numbers_held():
        return False
    probe, table = np.zeros((3, 5), np.float32)[::2], CTable()
    words = (c_size_t * 7).from_address(id(probe) + at)
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


def _are_numbers_held() -> bool:
    """Whether numbers lie behind what each object has."""
    for number in (kind(3) for kind in READS if kind is not int):
        array = np.asarray(number)
        held = ctypes.string_at(id(number) + object.__basicsize__, array.nbytes)
        if held != array.tobytes():
            return False
    return True
