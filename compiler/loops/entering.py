"""What a call gives to a loop, as words of C: what names hold, extents and strides."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.captures.kinds import is_row_by_row, is_served
from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of, dense_strides
from opweave.compiler.lines.products import LIBRARY
from opweave.compiler.lines.read_lists import kinds_of_items
from opweave.compiler.lines.values import (
    LONGEST,
    Held,
    Listed,
    Number,
    NumberType,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.calls import LoopCalls
from opweave.compiler.loops.functions.joining import of_numpy
from opweave.compiler.loops.given import (
    LARGEST_GIVEN,
    LoopCall,
    Parameter,
    computed_outside,
    constant,
    is_number,
    number_type,
    type_of,
)
from opweave.compiler.loops.methods import Owner

PARTS = ("real", "imag")


class Entering(LoopCalls):
    """Makes parameters of C.

    Attributes:
        call: what names hold at the call that a loop is lowered for.
        parameters: what C gets.
        names: of Python, by the C names of arrays.
        owners: classes of objects whose methods are called, by their names.
        read_lists: names that may be lists to which the loop does more than append.
    """

    call: LoopCall
    parameters: list[Parameter]
    names: dict[str, str]
    read_lists: frozenset[str]
    owners: Mapping[str, type]

    def entered_with(self, name: str, value: Any, changes: bool) -> Held:
        """What a name holds before the loop."""
        if name in self.owners:
            return Owner(self.owners[name], name)
        if type(value) is np.ndarray:
            return self._array(name, value)
        if type(value) is list:
            return self._list(name, value, changes)
        number = number_type(value)
        if number is None:
            return Unchanging(value) if changes else constant(value)
        wish = f"{name}_given" if changes else name
        text = self._number(wish, name, number)
        _, low, high = bounds_of(number)
        if number is int:
            low, high = -LARGEST_GIVEN, LARGEST_GIVEN
        is_outside = number in (bool, int, float) and not changes
        outside = ast.Name(name, ast.Load()) if is_outside else None
        size = Size.of(text) if number is int else None
        if number is int and not changes:
            self.served.integers[text] = value
        held = Number(number, text, size, low, high, None, outside)
        if not changes:
            return held
        self.bind(name, held)
        return self.env[name]

    def _number(self, wish: str, name: str, kind: NumberType) -> str:
        """C text of a number that a call gives; of two words one made of them."""
        number = Number(kind, "")
        if not number.is_pair:
            return self._parameter(number.c_type, wish, "number", name, type=kind)
        parts = [self._parameter("double", f"{wish}_{p}", p, name, type=float) for p in PARTS]
        return f"{number.c_type}{{{', '.join(parts)}}}"

    def _list(self, name: str, value: list[Any], changes: bool) -> Held:
        """A list: one that is read, or one to append to."""
        others = [v for n, v in self.call.values.items() if n != name]
        if changes or any(other is value for other in others):
            raise NoLoopError(f"{name}, a list that has other names, too")
        if name in self.read_lists:
            return self._read_list(name, value)
        if self.is_known("items", name):
            return self.item_lists.enter(name, [], False)
        return Listed(name)

    def _read_list(self, name: str, value: list[Any]) -> Held:
        """A list whose items C reads: a call gives their words, and how many there are."""
        found = kinds_of_items(value)
        if found is None or not all(map(is_number, {k for own in found[0] for k in own})):
            return Listed(name)  # which loops do not read
        kinds = [frozenset(map(type_of, own)) for own in found[0]]
        held = self.item_lists.enter(name, kinds, found[1])
        owner = self.item_lists.all[held.name]
        at = self._parameter("int64*", f"{name}_at", "pointer", f"{name} items")
        count = self._parameter("int64", f"{name}_count", "size", f"{name} items")
        owner.given = f"{at}, {count}"
        if found[2]:
            starts = self._parameter("int64*", f"{name}_starts", "pointer", f"{name} starts")
            ends = self._parameter("int64", f"{name}_ends", "size", f"{name} starts")
            owner.rows = starts, f"({ends} - 1)"
        return held

    def _parameter(self, c_type: str, wish: str, part: str, name: str, **more: Any) -> str:
        text = self.text.unused(wish)
        self.parameters.append(Parameter(c_type, text, part, name, **more))
        self.given.add(text)
        return text

    def _array(self, name: str, value: np.ndarray[Any, Any]) -> Strided:
        dtype = of_numpy(value.dtype)
        if not value.ndim or not is_served(value):
            raise NoLoopError(f"{name}, an array without dimensions, or not aligned")
        base = self._parameter(f"{dtype.storage}*", name, "pointer", name)
        self.names[base] = name
        sizes = tuple(self._extent(name, axis, extent) for axis, extent in enumerate(value.shape))
        where = tuple((Size.of(0), size.plus(-1)) for size in sizes)
        if value.flags.c_contiguous:
            return Strided(base, dtype, base, sizes, dense_strides(sizes), where, is_whole=True)
        strides = []
        for axis, (extent, stride) in enumerate(zip(value.shape, value.strides, strict=True)):
            if extent == 1 or stride == value.itemsize:
                strides.append("0" if extent == 1 else "1")
            else:
                wish = f"{base}_s{axis}"
                strides.append(self._parameter("int64", wish, "stride", name, axis=axis))
        turned = not is_row_by_row(value)
        return Strided(base, dtype, base, sizes, tuple(strides), where, True, turned)

    def _extent(self, name: str, axis: int, extent: int) -> Size:
        known = set(self.call.extents)
        size = self.call.size(extent)
        for text in set(self.call.extents) - known:
            self.parameters.append(Parameter("int64", text, "size", name, axis))
            self.given.add(text)
            self.text.used.add(text)
            self.facts.learn(text, Size.of(0), Size.of(LONGEST))
        return size

    def outside(self, expression: ast.expr) -> Number:
        """A number that Python computes before the loop."""
        text = ast.unparse(expression)
        for known in self.parameters:
            if known.part == "outside" and known.name == text:
                return self._of_outside(known, expression)
        code = compile(ast.fix_missing_locations(ast.Expression(expression)), text, "eval")
        try:
            value = computed_outside(code, self.call.values)
        except Exception:  # which Python may never come to
            raise NoLoopError(f"{text}, which raises") from None
        number = number_type(value)
        if number not in (bool, int, float):
            raise NoLoopError(f"{text}, which is no number that a loop computes with")
        wish = f"p{sum(p.part == 'outside' for p in self.parameters)}"
        self._parameter(Number(number, "").c_type, wish, "outside", text, code=code, type=number)
        return self._of_outside(self.parameters[-1], expression)

    def _of_outside(self, known: Parameter, expression: ast.expr) -> Number:
        low, high = (-LARGEST_GIVEN, LARGEST_GIVEN) if known.type is int else (0, 1)
        size = Size.of(known.c_name) if known.type is int else None
        return Number(known.type, known.c_name, size, low, high, None, expression)

    def library(self) -> str:
        known = [p.c_name for p in self.parameters if p.part == "library"]
        return known[0] if known else self._parameter(LIBRARY, "library", "library", "")
