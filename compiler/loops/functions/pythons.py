"""Python's own functions inside of a loop, by table."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.complexes import is_complex, paired
from opweave.compiler.lines.eithers import group_of
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    MOST,
    Counted,
    Elements,
    Generated,
    Held,
    ItemRow,
    Items,
    Number,
    Several,
    Size,
    Strided,
    Unchanging,
    Zipped,
)
from opweave.compiler.loops.comprehensions import (
    decide_all,
    decide_any,
    extreme_of_each,
    sum_of,
)
from opweave.compiler.loops.functions.mathematics import real_of
from opweave.compiler.loops.nodes import extent
from opweave.compiler.loops.statements import Statements, lengths
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import BOOL, C64, C128


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
    if step is None and self.served.is_positive(numbers[2]):
        return Counted(start, stop, 1, numbers[2].text)
    if step is None:
        by = self.text.named("int64", numbers[2].text, "step")
        if not numbers[2].low > 0:
            self.numbers.fault(f"{by} == 0", "LOOP_STEP")
        return Counted(start, stop, 0, by, numbers[2].low > 0)
    if type(step) is not int or not 0 < abs(step) < 1 << 31:
        raise NoLoopError("a range whose step is none")
    return Counted(start, stop, step)


def _reversed(self: Statements, over: Held) -> Held:
    """A range from its end; of a longer step its last number depends on both bounds."""
    if not isinstance(over, Counted) or abs(over.step) != 1 or over.by:
        raise NoLoopError("reversed of other than a range of step 1")
    one = literal(over.step)
    start, stop = (self.numbers.binary(ast.Sub, n, one) for n in (over.stop, over.start))
    return Counted(start, stop, -over.step)


def _zip(self: Statements, *args: Held, strict: Held = literal(False)) -> Held:
    items = tuple(a for a in args if isinstance(a, Strided | Counted | Items | ItemRow | Zipped))
    if len(items) != len(args) or not items:
        raise NoLoopError("zip of other than arrays, lists and ranges")
    are_arrays = all(isinstance(item, Strided) for item in items)
    is_one = are_arrays and len(set(lengths(Zipped(items)))) == 1
    if getattr(strict, "known", None) is not False and not is_one:
        raise NoLoopError("zip with strict= of what may be of several lengths")
    return Zipped(items)


def _enumerate(self: Statements, items: Held, start: Held = literal(0)) -> Held:
    if not isinstance(items, Strided | Counted | Items | ItemRow | Zipped):
        raise NoLoopError("enumerate of other than arrays, lists and ranges")
    if not isinstance(start, Number) or start.type is not int:
        raise NoLoopError("enumerate from what is no integer")
    return Zipped((start, items))


def _len(self: Statements, array: Held) -> Held:
    if isinstance(array, Several):
        return literal(len(array.items))
    if isinstance(array, Items | ItemRow):
        return self.item_lists.count(array)
    if not isinstance(array, Strided | Elements) or not array.rank:
        raise NoLoopError("len of what is no array")
    return extent(array.sizes[0])


def _extreme(sign: str) -> Callable[..., Held]:
    def choose(self: Statements, *args: Held, default: Held | None = None) -> Held:
        """Python's ``max`` and ``min``: the first one of equals, and of those with NaN."""
        is_vector = len(args) == 1 and isinstance(args[0], Strided) and args[0].rank == 1
        if is_vector or (len(args) == 1 and isinstance(args[0], Generated | Items | ItemRow)):
            return extreme_of_each(self, sign, args[0], default)
        numbers = [a for a in args if isinstance(a, Number) and not is_complex(a.type)]
        if len(numbers) != len(args) or len(args) < 2 or default is not None:
            raise NoLoopError("max, min of arrays, or of complex numbers")
        found = numbers[0]
        for other in numbers[1:]:
            what = group_of([found, other])
            if what is not None and (found.maybe or other.maybe or found.type != other.type):
                found = self.extreme_of_either(sign, found, other, what)
                continue
            if other.type != found.type:
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


def _abs(self: Statements, x: Held) -> Held:
    value = as_computed(x)
    if isinstance(value, Number) and is_complex(value.type):
        return self.modulus(value)
    if isinstance(value, Number) and value.maybe:
        if value.type is not dtypes.F64:
            raise NoLoopError("abs of an integer of Python or of NumPy")
        return replace(value, text=self.text.named("double", f"fabs({value.text})"))
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
    if isinstance(x, Unchanging) and x.value in ("inf", "-inf", "nan"):
        return literal(float(x.value))
    return real_of(self.numbers, x, "float")


def _complex(self: Statements, real: Held = literal(0.0), imag: Held | None = None) -> Held:
    """``complex(x)``, and of two real numbers the one with these parts."""
    if imag is None and isinstance(real, Number) and is_complex(real.type):
        text = real.text if real.is_pair else self.cast(real.text, C64, C128)
        return Number(complex, text, known=real.known)
    both = real, literal(0.0) if imag is None else imag
    return paired(*(real_of(self.numbers, each, "complex") for each in both))


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


PYTHONS: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (builtins.range, _range),
    (builtins.len, _len),
    (builtins.zip, _zip),
    (builtins.enumerate, _enumerate),
    (builtins.reversed, _reversed),
    (builtins.max, _extreme(">")),
    (builtins.min, _extreme("<")),
    (builtins.abs, _abs),
    (builtins.float, _float),
    (builtins.int, _int),
    (builtins.complex, _complex),
    (builtins.bool, _bool),
    (builtins.sum, sum_of),
    (builtins.any, decide_any),
    (builtins.all, decide_all),
)
