"""Loops that C begins itself: see ``ow_loop_call`` of templates/host/loop_calls.h.

C compares what the names of a function hold with what they held at earlier calls that it knows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ctypes import c_longlong, c_size_t, c_void_p
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.captures.kinds import BY_TYPE, is_made_anew
from opweave.compiler.lines.eithers import OF_NUMPYS
from opweave.compiler.lines.left import Result
from opweave.compiler.lines.values import Number
from opweave.compiler.loops.given import (
    ERRORS_OUTSIDE,
    LARGEST_GIVEN,
    Parameter,
    computed_outside,
)
from opweave.opcodes.dtypes import BF16, DType
from opweave.runtime.host.blas import product_library
from opweave.runtime.host.loop_errors import error_of
from opweave.runtime.host.loops import HostLoop
from opweave.runtime.host.warm import builtin, is_known, rows_of
from opweave.runtime.host.warm_arguments import GivenNumber, Lies, Node, NodeRows, Nothing, Same
from opweave.runtime.host.warm_layout import (
    ARRAY_LEFT,
    FORMS,
    INTEGER_LEFT,
    MOST_LEFT_WORDS,
    MOST_WORDS,
    NOTHING,
    OF_PYTHON,
    READS,
    REAL_LEFT,
    SCALAR_LEFT,
    TRUTH_LEFT,
    UNBOUND,
    CArrayWord,
    CKnownLoop,
    CLeft,
    CLoopTable,
    CNode,
    CNumber,
    COutsideWord,
)

AS: dict[Any, int] = {int: INTEGER_LEFT, float: REAL_LEFT, bool: TRUTH_LEFT}
# Types of elements of which C compares all there is to know.
PLAIN = "biufc"
_INTEGERS = np.dtype(np.int64)


class _NotKnownError(Exception):
    """Python runs such calls."""


class SiteNames(NamedTuple):
    """What a loop reads and leaves.

    Attributes:
        read: names of which it is asked what they hold.
        results: names to which it leaves what they hold then.
        unbound: what stands for nothing.
    """

    read: tuple[str, ...]
    results: tuple[str, ...]
    unbound: object


def loop_call(
    slowly: Callable[[dict[str, Any]], Any], names: SiteNames, known: Sequence[CKnownLoop]
) -> Callable[[dict[str, Any]], Any]:
    """A builtin function that runs calls of a loop, the first that fits; ``slowly`` any other."""
    addresses = (c_void_p * len(known))(*map(ctypes.addressof, known))
    texts = rows_of(c_size_t, [*map(id, names.read)])
    table = CLoopTable(
        id(slowly), id(names.unbound), id(_INTEGERS), ctypes.addressof(texts),
        ctypes.addressof(addresses), len(names.read), len(known), LARGEST_GIVEN,
    )  # fmt: skip
    table.alive = slowly, names, addresses, texts, known
    return builtin("ow_loop_call", table)


def known_loop(loop: HostLoop, values: Mapping[str, Any], names: SiteNames) -> CKnownLoop | None:
    """Calls of a loop that are like one whose names held these; None where Python runs them."""
    try:
        return _Recorded(loop, values, names).made() if is_known() else None
    except _NotKnownError:
        return None


class _Recorded:
    """A call as C compares others with it, in the making."""

    def __init__(self, loop: HostLoop, values: Mapping[str, Any], names: SiteNames):
        self._loop, self._values, self._names = loop, values, names
        nodes = [_node_of(values[n]) if n in values else None for n in names.read]
        bound = [n for n, node in zip(names.read, nodes, strict=True) if _is_leaf(node)]
        self._leaves = {name: leaf for leaf, name in enumerate(bound)}
        self._arrays = [n for n in bound if isinstance(values[n], np.ndarray)]
        self._rows = NodeRows([self._leaves[n] for n in self._arrays])
        for node in nodes:
            if node is None:
                self._rows.rows.append(CNode(kind=NOTHING))
            else:
                self._rows.add(node)
        self._words: list[int] = []
        self._array_rows: list[CArrayWord] = []
        self._numbers: list[CNumber] = []
        self._outside: list[COutsideWord] = []
        self._alive: list[Any] = [nodes]

    def made(self) -> CKnownLoop:
        """The call; all that it points to lives as long as it does.

        Raises:
            _NotKnownError: it has what C does not compare, or give back.
        """
        loop, known = self._loop, CKnownLoop()
        if not loop.is_plain or max(len(loop.lowered.parameters), len(self._leaves)) >= MOST_WORDS:
            raise _NotKnownError
        for word, parameter in enumerate(loop.lowered.parameters):
            self._words.append(self._word(word, parameter))
        self._note_flags()
        error = _error_of(loop)
        tables = {
            "nodes": rows_of(CNode, self._rows.rows),
            "words": rows_of(c_longlong, self._words),
            "array": rows_of(CArrayWord, self._array_rows),
            "number": rows_of(CNumber, self._numbers),
            "outside": rows_of(COutsideWord, self._outside),
            "left": rows_of(CLeft, [*self._left()]),
        }
        known.nodes, known.words, known.arrays, known.numbers, known.outside, known.left = map(
            ctypes.addressof, tables.values()
        )
        known.loop, known.counts = loop.address, ctypes.addressof(loop.counts)
        known.holds, known.error = id(loop.holds), id(error)
        known.word_count, known.made_count = len(self._words), loop.made_words
        known.array_count, known.number_count = len(self._array_rows), len(self._numbers)
        known.outside_count, known.left_count = len(self._outside), len(self._names.results)
        if known.made_count > MOST_LEFT_WORDS:
            raise _NotKnownError
        known.alive = loop, loop.holds, error, tables, self._rows, self._alive
        return known

    def _word(self, word: int, p: Parameter) -> int:
        """A word that is the same at all such calls; 0 of one that C finds."""
        value: Any = self._values.get(p.name)
        if p.part == "size":
            return int(value.shape[p.axis])
        if p.part == "stride":
            return int(value.strides[p.axis] // value.itemsize)
        if p.part == "library":
            return product_library()
        if p.part == "pointer":
            self._array_rows.append(CArrayWord(self._arrays.index(p.name), word))
        elif p.part == "number":
            self._numbers.append(_number(self._leaves[p.name], word, type(value)))
        elif p.part == "outside":
            compute = _outside(p.code)
            row = COutsideWord(id(compute), id(p.type), _number(-1, word, p.type))
            self._outside.append(row)
            self._alive.append(compute)
        else:
            raise _NotKnownError
        return 0

    def _note_flags(self) -> None:
        """Arrays may be written to where they could be then, those without an address, too."""
        known = {row.array for row in self._array_rows}
        places = range(len(self._arrays))
        self._array_rows += [CArrayWord(n, -1) for n in places if n not in known]
        for row in self._array_rows:
            row.is_writeable = self._values[self._arrays[row.array]].flags.writeable

    def _left(self) -> list[CLeft]:
        """What becomes of each of the results."""
        found: dict[str, CLeft] = {}
        word = 0
        for result in self._loop.lowered.results:
            found[result.name] = self._left_as(result, word)
            if result.rank >= 0 and result.name not in self._names.results:
                raise _NotKnownError  # whose memory nobody would give back
            word += len(result.words)
        return [found.get(name) or CLeft(kind=UNBOUND, said=-1) for name in self._names.results]

    def _left_as(self, result: Result, word: int) -> CLeft:
        kind = result.type
        numpys = kind.numpy if isinstance(kind, DType) else None
        if result.has_id or kind == BF16 or (numpys is not None and numpys.kind not in PLAIN):
            raise _NotKnownError
        self._alive.append(numpys)
        at = CLeft(ARRAY_LEFT, word, result.rank, said=-1)
        if numpys is not None:
            at.item_bytes, at.descr = numpys.itemsize, id(numpys)
        if result.rank >= 0:
            return at
        if Number(kind, "").is_pair or len(result.words) > 2:
            raise _NotKnownError
        at.kind = AS.get(kind, SCALAR_LEFT)
        if len(result.words) > 1:
            at.said = word + 1
            at.otherwise = UNBOUND if result.perhaps else AS[OF_NUMPYS[kind]]
        return at


def _node_of(value: Any) -> Node:
    """What a name holds, as C compares it.

    Raises:
        _NotKnownError: it may be another one, and the same object.
    """
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype.kind not in PLAIN:
            raise _NotKnownError
        return Lies.of(value)
    if kind in BY_TYPE or isinstance(value, np.generic):
        return GivenNumber(kind)
    if kind is list or is_made_anew(value):
        raise _NotKnownError
    return Nothing() if value is None else Same(value)


def _is_leaf(node: Node | None) -> bool:
    return node is not None and not isinstance(node, Nothing)


def _number(leaf: int, word: int, kind: Any) -> CNumber:
    """A number as a word: of Python as 64 bits, of NumPy as it is.

    Raises:
        _NotKnownError: C does not read it so.
    """
    if kind in (int, bool):
        return CNumber(leaf, word, FORMS["int64"], OF_PYTHON)
    read = READS.get(kind, -1)
    if not 0 <= read <= FORMS["bool"]:  # float16 is no word as it is
        raise _NotKnownError
    return CNumber(leaf, word, read, read)


def _outside(code: Any) -> Callable[[Mapping[str, Any]], Any]:
    """What Python computes before the loop, of what names hold; None of what it never comes to.

    What the handler of a signal raises is no error of the code.
    """

    def compute(names: Mapping[str, Any]) -> Any:
        with suppress(*ERRORS_OUTSIDE):
            return computed_outside(code, names)
        return None

    return compute


def _error_of(loop: HostLoop) -> Callable[[int, int], None]:
    """A function that raises a loop's error, of how it ended and where its words lie."""
    words, unbound = c_longlong * loop.made_words, loop.lowered.unbound

    def raise_it(end: int, at: int) -> None:
        raise error_of(int(end), words.from_address(int(at)), unbound)

    return raise_it
