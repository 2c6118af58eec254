"""Arrays that a loop makes anew, and copies, by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of, reads_of
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    Elements,
    Held,
    Number,
    Several,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.functions.joining import as_array, of_numpy
from opweave.compiler.loops.statements import Statements
from opweave.opcodes.dtypes import BOOL, F32, F64, I64, DType

NONE = Unchanging(None)
LONGEST_SORTED = 512
DOUBLE = Unchanging(np.float64)


def _copy(self: Statements, a: Held) -> Held:
    array = as_computed(a)
    if isinstance(array, Number) or not array.rank:
        raise NoLoopError("a copy of a number")
    if isinstance(array, Elements):
        return array
    return self.copied(array)


def _of_list(self: Statements, held: Held, dtype: Held = NONE) -> Held:
    """``np.array`` of a list, or a copy of an array."""
    found = as_array(self, held)
    if not found.rank:
        raise NoLoopError("an array without dimensions")
    asked = getattr(dtype, "value", None)
    if asked is not None:
        _check_fit(held, of_numpy(asked))
        return cast(self, found, dtype)
    return self.copied(found) if isinstance(found, Strided) else found


def sort(self: Statements, a: Held) -> Held:
    """``np.sort`` along the last axis, where rows are short: NumPy sorts long ones faster."""
    found = as_computed(a)
    if isinstance(found, Number) or not 0 < found.rank < 3 or found.dtype.kind not in "iufb":
        raise NoLoopError("sort of other than vectors and rows")
    if found.dtype.round:
        raise NoLoopError(f"sort of {found.dtype}")
    if self.served.is_long(found.sizes[-1], LONGEST_SORTED):
        raise NoLoopError("sort of long rows")
    made = self.apart(found)
    count, row = made.sizes[-1].text, made.pointer
    with ExitStack() as blocks:
        if made.rank == 2:
            k = self.text.fresh("k")
            head = f"for (int64 {k} = 0; {k} < {made.sizes[0].text}; ++{k})"
            blocks.enter_context(self.text.block(head))
            row = f"{row} + {k} * {made.strides[0]}"
        self.text.add(f"loop_sort({row}, {count});")
        self.text.add(f"LOOP_TICK(16 * {made.sizes[-1].factor});")
    return self.copied(made)


def _cumulative(name: str) -> Callable[..., Held]:
    def find(self: Statements, a: Held) -> Held:
        """Of a vector, one element after the other, as NumPy has it."""
        found = as_computed(a)
        if isinstance(found, Number) or found.rank != 1 or found.dtype not in (F32, F64, I64):
            raise NoLoopError("cumulative sums of other than vectors")
        made = self.view_in(self.room(), found.dtype, found.sizes)
        count, k = found.sizes[0], self.text.fresh("k")
        with self.text.block(f"for (int64 {k} = 0; {k} < {count.text}; ++{k})"):
            own = self.text.named(found.dtype.register, self.element(found, [k]))
            before = self.text.named(
                found.dtype.register, f"{k} ? load({made.pointer} + {k} - 1) : 0"
            )
            both = self.apply(name, Number(found.dtype, before), Number(found.dtype, own))
            assert isinstance(both, Number)
            self.text.add(f"store({made.pointer} + {k}, {k} ? {both.text} : {own});")
        self.text.add(f"LOOP_TICK({count.factor});")
        return self.copied(made)

    return find


def _check_fit(held: Held, dtype: DType) -> None:
    """Hold that integers of a list are those of a dtype; NumPy raises for others."""
    for item in held.items if isinstance(held, Several) else ():
        _check_fit(item, dtype)
        if not isinstance(item, Number) or dtype.kind not in "iu":
            continue
        _, low, high = bounds_of(dtype)
        if not (item.is_integer or item.type is BOOL) or item.low < low or item.high > high:
            raise NoLoopError(f"an array of {dtype} of numbers that may be none")


def cast(self: Statements, array: Held, dtype: Held) -> Held:
    """``x.astype``."""
    found = as_computed(array)
    if not isinstance(dtype, Unchanging) or isinstance(found, Number) or not found.rank:
        raise NoLoopError("astype of a number")
    asked = of_numpy(dtype.value)
    if asked == found.dtype:
        return self.copied(found) if isinstance(found, Strided) else found
    return self.apply("cast", found, dtype=asked.numpy_name)


def _filled(value: float) -> Callable[..., Held]:
    def like(self: Statements, a: Held, dtype: Held = Unchanging(None)) -> Held:
        array = as_computed(a)
        if isinstance(array, Number) or not array.rank:
            raise NoLoopError("an array like a number")
        asked = getattr(dtype, "value", None)
        found = array.dtype if asked is None else of_numpy(asked)
        return replace(_full(self, array.sizes, value, found), reads=reads_of(array))  # lies as it

    return like


def _made(value: float) -> Callable[..., Held]:
    def make(self: Statements, shape: Held, dtype: Held = DOUBLE) -> Held:
        return _full(self, _shape(self, shape), value, _asked(dtype))

    return make


def _asked(dtype: Held) -> DType:
    asked = getattr(dtype, "value", None)
    return F64 if asked is None else of_numpy(asked)


def _full_of(self: Statements, shape: Held, value: Held, dtype: Held = NONE) -> Held:
    """``np.full`` of a number."""
    if not isinstance(value, Number):
        raise NoLoopError("an array full of other than a number")
    asked = getattr(dtype, "value", None)
    found = as_array(self, value).dtype if asked is None else of_numpy(asked)
    self.check_kind(value, found)
    text = self.text.named(found.register, self.converted(value, found))
    return Elements(found, _shape(self, shape), lambda places: text)


def _shape(self: Statements, shape: Held) -> tuple[Size, ...]:
    """The extents of an array that is made."""
    items = shape.items if isinstance(shape, Several) else (shape,)
    if not items:
        raise NoLoopError("an array without dimensions")
    return tuple(_extent(self, item) for item in items)


def _extent(self: Statements, number: Held) -> Size:
    if not isinstance(number, Number) or number.type is not int:
        raise NoLoopError("a shape of other than integers")
    if number.low < 0:
        self.numbers.fault(f"{number.text} < 0", "LOOP_NEGATIVE")
    return self.served.named(self.indexing.size_of(number))


def _full(self: Statements, sizes: tuple[Size, ...], value: float, dtype: DType) -> Elements:
    text = self.converted(literal(value), dtype)
    return Elements(dtype, sizes, lambda places: text)


def _diagonal(self: Statements, array: Held) -> Held:
    """The diagonal of a matrix, which nobody can write to."""
    return replace(_view_of_diagonal(self, array), is_locked=True)


def _fill_diagonal(self: Statements, array: Held, value: Held) -> Held:
    self.put(_view_of_diagonal(self, array), as_number(value))
    return NONE


def as_number(held: Held) -> Number:
    if not isinstance(held, Number):
        raise NoLoopError("an array where a number is needed")
    return held


def _view_of_diagonal(self: Statements, array: Held) -> Strided:
    if not isinstance(array, Strided) or array.rank != 2:
        raise NoLoopError("the diagonal of other than a matrix in memory")
    (rows, columns), (line, apart) = array.sizes, array.strides
    size = rows
    if rows != columns:
        text = f"{rows.text} < {columns.text} ? {rows.text} : {columns.text}"
        size = Size.of(self.text.named("int64", text, "n"))
    step = self.text.named("int64", f"{line} + {apart}")
    return replace(array, sizes=(size,), strides=(step,), where=None, is_whole=False)


def _diag(self: Statements, array: Held) -> Held:
    """``np.diag``: a copy of the diagonal, or a matrix with one."""
    found = as_array(self, array)
    if found.rank == 2:
        return _diagonal(self, self.apart(found) if isinstance(found, Elements) else found)
    (size,) = found.sizes
    vector = self.apart(found) if isinstance(found, Elements) else found
    zero = self.converted(literal(0), vector.dtype)

    def element(places: Sequence[str]) -> str:
        text = self.element(vector, places[:1])
        return f"({places[0]} == {places[1]} ? {text} : {zero})"

    return Elements(vector.dtype, (size, size), element, (vector,))


def _triangle(kept: str) -> Callable[..., Held]:
    """``np.tril`` and ``np.triu``: ``kept`` compares how far right of the diagonal, with k."""

    def find(self: Statements, m: Held, k: Held = literal(0)) -> Held:
        found, by = as_array(self, m), as_number(k)
        if found.rank < 2 or by.type is not int:
            raise NoLoopError("a triangle of other than matrices, from an integer on")
        zero = self.converted(literal(0), found.dtype)

        def element(places: Sequence[str]) -> str:
            text = self.text.named(found.dtype.register, self.element(found, places))
            return f"({places[-1]} - {places[-2]} {kept} {by.text} ? {text} : {zero})"

        cost = getattr(found, "cost", 0)
        return Elements(found.dtype, found.sizes, element, reads_of(found), cost)

    return find


def _identity(self: Statements, n: Held, *, dtype: Held = DOUBLE) -> Held:
    size, asked = _extent(self, n), _asked(dtype)
    one, zero = (self.converted(literal(number), asked) for number in (1, 0))
    return Elements(asked, (size, size), lambda p: f"({p[0]} == {p[1]} ? {one} : {zero})")


def _arange(self: Statements, *ends: Held) -> Held:
    """``np.arange`` of one or two integers."""
    numbers = [n for n in ends if isinstance(n, Number) and n.type is int]
    if len(numbers) < len(ends) or not 1 <= len(ends) <= 2:
        raise NoLoopError("arange of other than integers")
    start, stop = (self.indexing.size_of(n) for n in ((literal(0), *numbers)[-2:]))
    count = self.text.named("int64", f"at_least_0({stop.plus(start, -1).text})", "n")
    return Elements(I64, (Size.of(count),), lambda places: f"({start.text} + {places[0]})")


def _flatnonzero(self: Statements, a: Held) -> Held:
    """Where the elements of a vector are that are not zero."""
    found = as_array(self, a)
    if found.rank != 1:
        raise NoLoopError("places of other than the elements of a vector")
    mask = found if found.dtype is BOOL else self.apply("cast", found, dtype="bool")
    assert not isinstance(mask, Number)
    return self.copied(self.places(mask))


def nonzero(self: Statements, a: Held) -> Held:
    return Several((_flatnonzero(self, a),))


CUMULATIVE = {"cumsum": _cumulative("add"), "cumprod": _cumulative("multiply")}
MAKING_METHODS: Mapping[str, Callable[..., Held]] = {
    "copy": _copy,
    "astype": cast,
    "diagonal": _diagonal,
    "nonzero": nonzero,
    **CUMULATIVE,
}
MAKING: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (np.copy, _copy),
    (np.array, _of_list),
    (np.sort, sort),
    *((getattr(np, name), find) for name, find in CUMULATIVE.items()),
    (np.full, _full_of),
    (np.diag, _diag),
    (np.diagonal, _diagonal),
    (np.fill_diagonal, _fill_diagonal),
    (np.nonzero, nonzero),
    (np.flatnonzero, _flatnonzero),
    (np.tril, _triangle("<=")),
    (np.triu, _triangle(">=")),
    (np.eye, _identity),
    (np.identity, _identity),
    (np.arange, _arange),
    *((f, _filled(v)) for f, v in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0))),
    *((f, _made(v)) for f, v in ((np.zeros, 0), (np.ones, 1), (np.empty, 0))),
)
