"""NumPy's and Python's functions inside of a loop, by table."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import reads_of
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    MOST,
    Array,
    Counted,
    Elements,
    Held,
    Number,
    Several,
    Size,
    Strided,
    Unchanging,
    Zipped,
)
from opweave.compiler.loops.mathematics import MATHEMATICS
from opweave.compiler.loops.nodes import extent
from opweave.compiler.loops.reductions import REDUCING, REDUCING_METHODS
from opweave.compiler.loops.statements import Statements, lengths
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import BOOL
from opweave.opcodes.errors import OpweaveError

Keywords = Mapping[str, Held]


def with_axes(array: Array, count: int) -> Array:
    """An array with new axes of one element behind its own."""
    sizes = (*array.sizes, *[Size.of(1)] * count)
    if isinstance(array, Strided):
        return replace(
            array,
            sizes=sizes,
            strides=(*array.strides, *["0"] * count),
            where=None,
            is_whole=False,
        )
    inner = array.element
    return replace(array, sizes=sizes, element=lambda places: inner(places[: len(places) - count]))


def of_numpy(dtype: Any) -> dtypes.DType:
    try:
        return dtypes.of(dtype)
    except OpweaveError as error:
        raise NoLoopError(str(error)) from None


def _counting(self: Statements, held: Held) -> Number:
    """A number of a range, which is Python's integer whatever it was."""
    if not isinstance(held, Number) or not held.is_integer or held.type is BOOL:
        raise NoLoopError("a range of what is no integer")
    found = held if held.type is bool else _int(self, held)
    assert isinstance(found, Number)
    return self.numbers.unary(ast.UAdd, found)


def _range(self: Statements, *args: Held) -> Held:
    numbers = [_counting(self, a) for a in args]
    if not 1 <= len(args) <= 3:
        raise NoLoopError("a range of other things than numbers")
    start, stop = (literal(0), numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2].known if len(numbers) == 3 else 1
    if type(step) is not int or not 0 < abs(step) < 1 << 31:
        raise NoLoopError("a range whose step changes")
    return Counted(start, stop, step)


def _zip(self: Statements, *args: Held, strict: Held = literal(False)) -> Held:
    items = tuple(a for a in args if isinstance(a, Strided | Counted | Zipped))
    if len(items) != len(args) or not items:
        raise NoLoopError("zip of other than arrays and ranges")
    are_arrays = all(isinstance(item, Strided) for item in items)
    is_one = are_arrays and len(set(lengths(Zipped(items)))) == 1
    if getattr(strict, "known", None) is not False and not is_one:
        raise NoLoopError("zip with strict= of what may be of several lengths")
    return Zipped(items)


def _enumerate(self: Statements, items: Held, start: Held = literal(0)) -> Held:
    if not isinstance(items, Strided | Counted | Zipped):
        raise NoLoopError("enumerate of other than arrays and ranges")
    if not isinstance(start, Number) or start.type is not int:
        raise NoLoopError("enumerate from what is no integer")
    return Zipped((start, items))


def _len(self: Statements, array: Held) -> Held:
    if isinstance(array, Several):
        return literal(len(array.items))
    if not isinstance(array, Strided | Elements) or not array.rank:
        raise NoLoopError("len of what is no array")
    return extent(array.sizes[0])


def _extreme(sign: str) -> Callable[..., Held]:
    def choose(self: Statements, *args: Held) -> Held:
        """Python's ``max`` and ``min``: the first one of equals, and of those with NaN."""
        numbers = [a for a in args if isinstance(a, Number)]
        if len(numbers) != len(args) or len(args) < 2:
            raise NoLoopError("max, min of arrays")
        found = numbers[0]
        for other in numbers[1:]:
            types, maybe = {found.type, other.type}, found.maybe or other.maybe
            if types <= {float, dtypes.F64} and (maybe or len(types) > 1):
                found = _either_extreme(self, sign, found, other)
                continue
            if other.type != found.type or getattr(found.type, "kind", "") == "c":
                raise NoLoopError("max, min of several types")
            if found.known is not None and other.known is not None:
                found = literal((max if sign == ">" else min)(found.known, other.known))
                continue
            text = f"{other.text} {sign} {found.text} ? {other.text} : {found.text}"
            name = self.text.named(found.c_type, text)
            size = Size.of(name) if found.is_integer else None
            pick = max if sign == ">" else min
            low, high = pick(found.low, other.low), pick(found.high, other.high)
            found = Number(found.type, name, size, low, high)
        return found

    return choose


def _either_extreme(self: Statements, sign: str, a: Number, b: Number) -> Number:
    """The largest or smallest of floats of Python and of NumPy: it has its own type."""
    is_second = self.text.named("bool", f"{b.text} {sign} {a.text}")
    said = [n.maybe or str(n.type is not float).lower() for n in (a, b)]
    maybe = self.text.named("bool", f"{is_second} ? {said[1]} : {said[0]}")
    text = self.text.named("double", f"{is_second} ? {b.text} : {a.text}")
    return Number(dtypes.F64, text, maybe=maybe)


def _abs(self: Statements, x: Held) -> Held:
    value = as_computed(x)
    if isinstance(value, Number) and value.maybe:
        raise NoLoopError("abs of a float of Python or of NumPy")
    if not isinstance(value, Number) or not value.is_python:
        return self.apply("absolute", value)
    if value.known is not None:
        return literal(abs(value.known))
    if value.type is float:
        return Number(float, self.text.named("double", f"fabs({value.text})"))
    x = self.numbers.unary(ast.UAdd, value)
    negative = self.numbers.unary(ast.USub, x)
    low = 0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    name = self.text.named("int64", f"{x.text} < 0 ? {negative.text} : {x.text}")
    return Number(int, name, Size.of(name), low, min(MOST, max(abs(x.low), abs(x.high))))


def _float(self: Statements, x: Held) -> Held:
    if not isinstance(x, Number) or getattr(x.type, "kind", "") == "c":
        raise NoLoopError("float of an array")
    if x.is_python:
        return self.numbers.as_float(x)
    return Number(float, self.text.named("double", f"(double){x.text}"))


def _int(self: Statements, x: Held) -> Held:
    if isinstance(x, Number) and x.type is int:
        return x
    if isinstance(x, Number) and x.type in (float, dtypes.F32, dtypes.F64):
        return self.numbers.truncated(x)
    if not isinstance(x, Number) or not (x.is_integer or x.type is BOOL) or x.high > MOST:
        raise NoLoopError("int of what is no integer")
    name = self.text.named("int64", f"(int64){x.text}")
    return Number(int, name, Size.of(name), x.low, x.high)


def _bool(self: Statements, x: Held) -> Held:
    if not isinstance(x, Number):
        raise NoLoopError("bool of an array")
    return self.truth_of(x)


def _outer(self: Statements, a: Held, b: Held) -> Held:
    """``np.outer``: of vectors."""
    x, y = as_computed(a), as_computed(b)
    if isinstance(x, Number) or isinstance(y, Number) or (x.rank, y.rank) != (1, 1):
        raise NoLoopError("outer of other than vectors")
    return self.apply("multiply", with_axes(x, 1), y)


def _copy(self: Statements, a: Held) -> Held:
    array = as_computed(a)
    if isinstance(array, Number) or not array.rank:
        raise NoLoopError("a copy of a number")
    if isinstance(array, Elements):
        return array
    return self.copied(array)


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
    def make(self: Statements, shape: Held, dtype: Held = Unchanging(np.float64)) -> Held:
        items = shape.items if isinstance(shape, Several) else (shape,)
        sizes = []
        for item in items:
            if not isinstance(item, Number) or item.type is not int or item.low < 0:
                raise NoLoopError("an array whose shape may be negative")
            sizes.append(self.indexing.size_of(item))
        asked = getattr(dtype, "value", None)
        return _full(self, tuple(sizes), value, of_numpy(np.float64 if asked is None else asked))

    return make


def _full(
    self: Statements, sizes: tuple[Size, ...], value: float, dtype: dtypes.DType
) -> Elements:
    if not sizes:
        raise NoLoopError("an array without dimensions")
    text = self.converted(literal(value), dtype)
    return Elements(dtype, sizes, lambda places: text)


def _flip(self: Statements, a: Held) -> Held:
    array = as_computed(a)
    if not isinstance(array, Strided) or array.rank != 1:
        raise NoLoopError("flip of other than one dimension")
    (size,), (stride,) = array.sizes, array.strides
    step = "-1" if stride == "1" else f"-({stride})"
    at = f"{array.pointer} + ({size.plus(-1).text}) * {stride}"
    return replace(array, pointer=at, strides=(step,), where=None, is_whole=False)


def _where(self: Statements, condition: Held, x: Held, y: Held) -> Held:
    operands = [as_computed(held) for held in (condition, x, y)]
    if all(isinstance(operand, Number) for operand in operands):
        raise NoLoopError("np.where of numbers")
    return self.apply("where", *operands)


def _dot(self: Statements, a: Held, b: Held) -> Held:
    x, y = as_computed(a), as_computed(b)
    if isinstance(x, Number) or isinstance(y, Number):
        return self.apply("multiply", x, y)
    return self.product(x, y)


def _fill(self: Statements, array: Held, value: Held) -> Held:
    if not isinstance(array, Strided) or not isinstance(value, Number):
        raise NoLoopError("fill of what is computed")
    self.put(array, value)
    return Unchanging(None)


METHODS: Mapping[str, Callable[..., Held]] = {
    **REDUCING_METHODS,
    "copy": _copy,
    "dot": _dot,
    "fill": _fill,
}
_BY_FUNCTION: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (builtins.range, _range),
    (builtins.len, _len),
    (builtins.zip, _zip),
    (builtins.enumerate, _enumerate),
    (builtins.max, _extreme(">")),
    (builtins.min, _extreme("<")),
    (builtins.abs, _abs),
    (builtins.float, _float),
    (builtins.int, _int),
    (builtins.bool, _bool),
    (np.copy, _copy),
    (np.flip, _flip),
    (np.where, _where),
    (np.dot, _dot),
    (np.outer, _outer),
    *REDUCING,
    *MATHEMATICS,
    *((f, _filled(v)) for f, v in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0))),
    *((f, _made(v)) for f, v in ((np.zeros, 0), (np.ones, 1), (np.empty, 0))),
)
# By identity: what a user defines under the same name is another function.
FUNCTIONS: Mapping[int, Callable[..., Held]] = {id(f): handler for f, handler in _BY_FUNCTION}
