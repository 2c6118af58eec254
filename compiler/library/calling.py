"""Calls of NumPy's library on traced values: a node of the graph each, which NumPy computes.

    y = np.sort(x) + 1      v1 = np.sort(v0); v2 = add(v1, 1)

What a call says becomes operands (arrays, and numbers that may change) and attributes.  The node
is a group of its own; when a program runs, NumPy's function itself gets the arrays.  A call that
is refused here makes the function run in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from opweave.compiler.arrays.assignment import assign
from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import has_arrays, lifted
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Scalar
from opweave.compiler.library.rules import LibraryRequest
from opweave.compiler.library.table import IN_PLACE, LIBRARY, METHODS, LibraryRow
from opweave.compiler.library.tried import operator_of, tried, typed_as
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import UnsupportedError
from opweave.opcodes.operators.library_calls import LibraryArg

# Types of what an attribute may be, besides sequences of these.
PLAIN = (bool, int, float, complex, str, type(None), np.generic)
# Python's numbers as operands.
WEAK: dict[type, DType] = {int: dtypes.I64, float: dtypes.F64}


def library_function(
    tracer: TracerLike, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """What makes a node of a call of a function; None where no node stands for it."""
    row = LIBRARY.get(function)
    if row is None or not tracer.calls_library or kwargs.get("out") is not None:
        return None
    if not _is_needed(row, args, kwargs):
        return None
    return partial(_called, tracer, row)


def _is_needed(row: LibraryRow, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether no kernel computes a call; one that NumPy refuses is for the kernels' handler."""
    try:
        return row.when is None or row.when(row.asked(args, kwargs))
    except (UnsupportedError, TypeError, ValueError):
        return False


def library_method(tracer: TracerLike, name: str) -> Callable[..., Any] | None:
    """The same of a method of arrays."""
    row = METHODS.get(name) or IN_PLACE.get(name)
    if row is None or not tracer.calls_library:
        return None
    return partial(_called if name in METHODS else _stored, tracer, row)


def _stored(tracer: TracerLike, row: LibraryRow, a: Any, *args: Any, **kwargs: Any) -> None:
    """What ``x.sort()`` does: the array holds what the function gives."""
    assign(a, _called(tracer, row, a, *args, **kwargs), row.name)


def _called(tracer: TracerLike, row: LibraryRow, *args: Any, **kwargs: Any) -> Any:
    """Append a node, and return its results as NumPy packs them.

    Raises:
        UnsupportedError: the call needs NumPy itself, where the function can see it.
    """
    _check(tracer, row)
    named = row.parameters.named(args, kwargs)
    for name in row.refused:
        if name in named:  # NumPy's defaults are not
            raise UnsupportedError(f"{row.name}: argument {name}= is not compiled")
    taken = _Taken(tracer, row, named)
    given = tuple(taken.given)
    if row.like:
        found = typed_as(taken.seen[row.like])
    else:
        found = tracer.quietly(tried, row, given, taken.operands, dict(taken.attrs))
    shapes = row.rule(LibraryRequest(taken.seen, row.parameters.defaults))
    if tuple(map(len, shapes)) != found.ranks:
        raise UnsupportedError(f"{row.name}: expected results of {found.ranks} dimensions")
    builder, operator = tracer.builder, operator_of(row, given, found.dtypes, taken.attrs)
    extents = [tuple(map(tracer.extent_of, shape)) for shape in shapes]
    pairs = zip(found.dtypes, extents, strict=True)
    results = tuple(builder.new_value(dtype, shape) for dtype, shape in pairs)
    operands = tuple(operand for operand, _ in taken.operands)
    attrs = tuple(sorted(taken.attrs.items()))
    builder.nodes.append(Node(operator, operands, results, attrs, tracer.where()))
    return found.pack([tracer.wrapped(value) for value in results])


def _check(tracer: TracerLike, row: LibraryRow) -> None:
    """Check that the function cannot see whether NumPy is called now or later.

    Raises:
        UnsupportedError: it may catch what NumPy raises, or has other settings for its warnings.
    """
    if tracer.catches:
        raise UnsupportedError(f"{row.name}, where the function may catch what it raises")
    if tracer.sets_errors:
        raise UnsupportedError(
            f"{row.name}, where the function changes NumPy's settings of errors"
        )


class _Taken:
    """The arguments of a call, taken apart into operands and attributes.

    Attributes:
        given: what each operand is for.
        operands: a value or a number's expression of each, and the number.
        attrs: the others, by name.
        seen: all of them as rules of shapes see them.
    """

    def __init__(self, tracer: TracerLike, row: LibraryRow, named: Mapping[str, Any]):
        self.tracer, self.row = tracer, row
        self.given: list[LibraryArg] = []
        self.operands: list[tuple[Any, Any]] = []
        self.attrs: dict[str, Any] = {}
        self.seen = {name: self._argument(name, item) for name, item in named.items()}

    def _argument(self, name: str, item: Any) -> Any:
        """Take one argument; returns it as a rule sees it."""
        is_sequence = isinstance(item, list | tuple)
        if is_sequence and name in self.row.items and has_arrays(item):
            return [
                self._array(lifted(self.tracer, part), LibraryArg(name, True)) for part in item
            ]
        if has_arrays(item) or isinstance(item, np.ndarray):
            return self._array(lifted(self.tracer, item), LibraryArg(name))
        if is_traced_number(item) and name not in self.row.static:
            return self._number(item, name)
        self.attrs[name] = found = self._plain(item)
        return found

    def _array(self, array: Any, given: LibraryArg) -> Any:
        if not is_traced_array(array):
            raise UnsupportedError(f"{self.row.name}: {given.parameter} is no array of numbers")
        self._add(self.tracer.builder.resolved(array.value), None, given)
        return array

    def _number(self, item: Any, name: str) -> Any:
        kind = scalar_type(item.example)
        dtype = WEAK.get(kind) if isinstance(kind, type) else kind
        if dtype is None or dtype.is_complex:
            self.attrs[name] = found = self.tracer.concrete(item)
            return found
        self._add(Scalar(item.expr, dtype), item.example, LibraryArg(name, False, kind in WEAK))
        return item

    def _add(self, operand: Any, number: Any, given: LibraryArg) -> None:
        self.given.append(given)
        self.operands.append((operand, number))

    def _plain(self, item: Any) -> Any:
        """An argument that belongs to the guard.

        Raises:
            UnsupportedError: an object that no file could name.
        """
        if isinstance(item, list | tuple):
            return tuple(map(self._plain, item))
        found = self.tracer.concrete(item)
        if not isinstance(found, PLAIN):
            raise UnsupportedError(f"{self.row.name}: an argument of {type(found).__name__}")
        return found
