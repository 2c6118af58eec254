"""A tracer of arrays that are there: what each stands for, and how NumPy sees it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import Alias
from opweave.compiler.ir.builder import GraphBuilder, scalar_type
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value, Where
from opweave.compiler.parts.interface import Describe, Given
from opweave.compiler.parts.lazy_array import LazyArray
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.exponents import is_special_exponent
from opweave.compiler.traced.lengths import MOST_TERMS
from opweave.compiler.traced.numbers import TracedScalar
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.traced.unwatched import unwatched
from opweave.compiler.tracing.results import boxed
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import ArgumentError, DTypeError, SubclassError, UnsupportedError


class TracedInteger(TracedScalar, int):
    """A number that follows from extents of arrays that are there.

    Its expression lets one kernel serve arrays of other extents.  To all else it is an integer,
    also to functions in C, which ask no stand-in.
    """

    def __new__(cls, tracer: Any, *of: Any) -> Any:
        """What has its class from the number itself makes plain integers, as ``type(n)(2)``."""
        return int.__new__(cls, of[-1]) if of else int(tracer)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (self.example,)


TracedInteger.__name__ = "int"  # the name in texts of Python's errors


class TracerOfGiven(Tracer):
    """Takes arrays and numbers that are there.

    Attributes:
        given: values that are there, by their numbers.
        live: stand-ins that somebody holds, by their identities.
        aliases: what each value is a view of to NumPy.
        views: what other stand-ins for one value are, by theirs.
        first: of each value the stand-in that is its array.
        handed: of arrays that NumPy was given the stand-ins, by the arrays' identities.
    """

    def __init__(self, first_line: int, describe: Describe):
        super().__init__(GraphBuilder({}), {}, first_line, describe)
        self.given: dict[int, Given] = {}
        self.live: dict[int, weakref.ref[LazyArray]] = {}
        self.aliases: dict[int, tuple[Value, Alias]] = {}
        self.views: dict[int, Any] = {}
        self.first: dict[int, int] = {}
        self.handed: dict[int, weakref.ref[LazyArray]] = {}

    def held(self) -> list[LazyArray]:
        """Stand-ins that somebody holds."""
        return [a for a in (r() for r in list(self.live.values())) if a is not None]

    @unwatched
    def wrapped(self, value: Value) -> LazyArray:
        made = LazyArray(self, value)
        number = id(made)
        # no function of Python's, of which the profile function would be told
        self.live[number] = weakref.ref(made, partial(self.live.pop, number))
        return made

    def truth(self, array: TracedArray, what: str) -> Any:
        """The bool itself, which Python may ask anything."""
        return bool(array)

    @unwatched
    def taken(self, item: Any, name: str = "") -> Any:
        """What the function sees of an array, of a number, or of anything else."""
        if not is_array(item):
            return item
        known = self.handed.get(id(item), _nothing)()
        if known is not None and known.value.id in self.given and self.array_of(known) is item:
            return known
        try:
            value = self._input(item, name)
        except (DTypeError, ArgumentError, SubclassError):
            return item  # NumPy computes with it
        made = self.wrapped(value)
        self.first[value.id] = id(made)
        return made

    def _input(self, array: Any, name: str = "") -> Value:
        assert self.describe is not None
        kind = self.describe(name, array)
        value = self.builder.new_input(kind.dtype, kind.shape)
        self.there(value, array, name)
        self.given[value.id].type = kind
        self.mapped |= {value.id} if type(array) is np.memmap else set()
        self.array_class = np.ndarray if isinstance(array, np.ndarray) else type(array)
        return value

    def there(self, value: Value, found: Any, name: str = "") -> None:
        """A value becomes an input of all that follows."""
        assert self.describe is not None
        array = found if is_array(found) else np.asarray(found)
        self.given[value.id] = Given(value, name, array, found, self.describe)
        self.inputs.add(value.id)
        if array is not found:
            self.unboxed.add(value.id)

    def reshaped(self, array: Any) -> None:
        """An array that has another shape or type from now on, under each of its names."""
        for held in self.held():
            given = self.given.get(held.value.id)
            if given is not None and given.found is array:
                held.value = self._input(array, given.name)

    def computed(self, expr: Expr, example: Any) -> Any:
        """An integer keeps its expression, since it may be an extent; any other is itself."""
        keeps = type(example) is int and expr.size <= MOST_TERMS
        return TracedInteger(self, expr, example) if keeps else example

    def literal(self, item: Any) -> Expr:
        """A number, which no kernel holds: another one at the next call is no other kernel."""
        name = f"number{len(self.env)}"
        self.env[name] = item
        return Expr("argument", (name,))

    def indices(self, places: Any) -> Value:
        """Indices beside arrays on the host; elsewhere the arrays' own module takes them.

        Raises:
            UnsupportedError: the arrays lie elsewhere.
        """
        if not all(isinstance(given.array, np.ndarray) for given in self.given.values()):
            raise UnsupportedError("indices on the host of arrays that lie elsewhere")
        return self.constant(places)

    def constant(self, array: Any) -> Value:
        """An array that the function got past us, and may write to: as it is now."""
        return self._input(array.copy())

    def alias(self, array: TracedArray, made: TracedArray, of: Alias) -> TracedArray:
        there = self.given.keys() >= {made.value.id, array.value.id}
        if made.value is not array.value and there:  # computed at once, see ``leaked``
            view = of(self.given[array.value.id].found, self.given[made.value.id].array.shape)
            self.there(made.value, view)
        elif made.value is not array.value:
            self.aliases[made.value.id] = (array.value, of)
        return super().alias(array, made, of)

    @unwatched
    def viewed(self, array: TracedArray, made: TracedArray, key: Any) -> None:
        """Let a part of an array that is there be NumPy's own view: no segment knows its place."""
        given = self.given.get(array.value.id)
        if given is None or made.value.id in self.given or not made.value.shape:
            return
        view = given.found[self.concrete(key)]
        if not isinstance(view, np.ndarray) or np.may_share_memory(view, given.found):
            self.there(made.value, view)

    def lies_in_rows(self, value: Value) -> bool:
        given = self.given.get(value.id)
        if value.id in self.aliases:
            return False  # NumPy's view lies as its array does
        if given is None:
            return super().lies_in_rows(value)
        return bool(given.array.flags.c_contiguous)

    def _operand(self, operator: Operator, item: Any, where: Where) -> Any:
        if is_number(item) and not is_traced(item):
            is_itself = operator.name == "power" and is_special_exponent(item)
            return literal(item) if is_itself else self.literal(item), scalar_type(item)
        return super()._operand(operator, item, where)

    def boxed(self, graph: FunctionGraph, ids: Mapping[int, int]) -> frozenset[int]:
        """Outputs of a segment that NumPy returns as arrays without dimensions.

        ``ids`` maps our numbers of values to the segment's.
        """
        return boxed(graph, *({n for old, n in ids.items() if old in known}
                              for known in (self.hidden, self.unboxed)))  # fmt: skip

    def array_of(self, item: TracedArray) -> Any:
        """The array of a stand-in; of a second one for the same value a view, which is another."""
        found = self.given[item.value.id].found
        if not is_array(found) or self.first.setdefault(item.value.id, id(item)) == id(item):
            return found
        known = self.views.get(id(item))
        if known is None or known[0]() is not item or known[1] is not found:
            known = self.views[id(item)] = weakref.ref(item), found, found[...]
        return known[2]


def _nothing() -> None:
    """What a reference to nothing gives."""


def is_traced(item: Any) -> bool:
    """True for a traced number, which says of itself that it is of the number's class."""
    return issubclass(type(item), TracedScalar)
