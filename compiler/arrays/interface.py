"""Protocols of a tracer and of a traced array, for the functions that work on these.

The functions of this room and of ``numpy_api`` are written against the two protocols; ``traced``
has the classes.  ``is_traced_array`` asks at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.values import Extent, Value, Where
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import OpweaveError

# A view, by NumPy, of an array in the shape that is given.
Alias = Callable[[Any, tuple[int, ...]], Any]


class TracedArrayLike(Protocol):
    """An array of known dtype and rank; operators and NumPy's functions add to its graph.

    Attributes:
        tracer: the tracer of its trace.
        value: the value that it stands for now; another one after an assignment.
        origin: for a part of an array that array, and the index or how it was moved.
    """

    value: Value
    origin: Any

    @property
    def tracer(self) -> TracerLike: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def size(self) -> Any: ...
    def of(self, value: Value) -> TracedArrayLike: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __array__(self) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...


class TracerLike(Protocol):
    """What collects the graph.

    Attributes:
        builder: of the graph.
        env: numbers of the call that is traced, by name.
        inputs, borrowed: values that are arguments, and views of them.
        writable: what stands for arguments that may be written to, by identity.
        parts: writes to parts of these.
        unknown: what they hold behind writes by arrays of indices, computed only if it is read.
        mapped: arguments that are files in memory.
        families: arrays that share memory, by the ids of their values when that was noted.
        holds_made, made: arrays that NumPy would make are traced; the function made one.
        selects: what data select, by a mask or by a place, is traced.
        asks_truth: each comparison of numbers is part of the guard.
        catches, catches_index: the function may catch errors; an IndexError.
        raises_at_lines: what a number raises is raised at its line, as in parts.
        calls_library: calls of NumPy's library become nodes.
        counts: counts of elements by their values do, with so many bins at most.
        sets_errors: the function itself changes NumPy's settings of errors.
        may_warn: what NumPy warns of, for the extents of the call, is refused.
        suspects: values for which NumPy warns where they are not finite.
        edits: what stands for operators, by name, while an edited composite is traced.
        watches: errors are looked for in what NumPy computes while tracing.
        numbers, raising: numbers that were computed from others; those of them that may raise,
            with conditions, and their truth where they do not.
        static: names of numbers whose values are part of the guard.
        counted: names of those that differ from round to round of ``ow.repeat``.
        constants: arrays that are no arguments, each with its ``array`` and its ``value``.
    """

    builder: GraphBuilder
    env: dict[str, Any]
    inputs: set[int]
    borrowed: set[int]
    writable: dict[int, Any]
    parts: list[Any]
    unknown: set[int]
    mapped: set[int]
    holds_made: bool
    made: bool
    families: dict[int, Any]
    selects: bool
    asks_truth: bool
    catches: bool
    catches_index: bool
    raises_at_lines: bool
    calls_library: bool
    counts: int
    sets_errors: bool
    may_warn: bool
    watches: bool
    suspects: list[Value]
    edits: Mapping[str, Operator]
    numbers: list[Expr]
    raising: list[tuple[Expr, Expr, bool]]
    static: set[str]
    counted: frozenset[str]
    constants: list[Any]

    def apply(self, operator: Operator, operands: Sequence[Any], attrs: Any = None) -> Any:
        """Apply an operator to traced values and numbers."""

    def wrapped(self, value: Value) -> Any:
        """A value as the user's function sees it."""

    def concrete(self, item: Any) -> Any:
        """The number behind a traced one, which becomes static."""

    def constant(self, array: Any) -> Value:
        """An array that is no argument: made while tracing, or found in some object."""

    def copied(self, array: Any) -> Any:
        """A copy of an array that is no argument."""

    def indices(self, places: Any) -> Value:
        """Indices that the function made: a list, or an array."""

    def computed(self, expr: Expr, example: Any) -> Any:
        """A number that follows from others, with its value now."""

    def scalar(self, expr: Expr) -> Any:
        """A number that follows from extents."""

    def literal(self, item: Any) -> Expr:
        """A number of the function's own."""

    def extent(self, extent: Extent) -> Any:
        """An extent as the user has it in ``x.shape``."""

    def extent_of(self, item: Any) -> Extent:
        """A number that a user gives for an extent."""

    def steps(self, start: Any, stop: Any, step: int) -> Extent:
        """How many steps there are between two numbers that a user gives."""

    def decide(self, condition: Expr, value: bool) -> bool:
        """The truth of a number, which becomes part of the guard."""

    def truth(self, array: Any, what: str) -> Any:
        """A bool of Python's, from an array without dimensions."""

    def is_number(self, value: Value) -> bool:
        """True where NumPy has a number, no array."""

    def class_of(self, value: Value) -> type:
        """The class of an array, as the user's function may ask."""

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what calls NumPy, and nothing of the user's."""

    def hidden_view(self, array: Any, axes: tuple[int | None, ...]) -> TracedArrayLike:
        """A view that nobody can write through, since it has no name of its own."""

    def apart(self, view: Any) -> TracedArrayLike:
        """A number of NumPy's as a value of its own, no view."""

    def lock(self, array: Any) -> Any:
        """The same array, which nobody may write to."""

    def is_locked(self, array: Any) -> bool:
        """Whether nobody may write to an array."""

    def alias(self, array: Any, made: Any, of: Alias) -> Any:
        """An array that a kernel would make and NumPy has as a view, which ``of`` makes."""

    def spaced(self, made: Any) -> Any:
        """The same array, whose elements NumPy has with gaps between them."""

    def is_spaced(self, value: Value) -> bool:
        """Whether an array is such a one, or a view of it."""

    def relate(self, array: Any, view: Any) -> None:
        """Note that two arrays share memory."""

    def copies(self, array: Any, made: Any) -> None:
        """Note a part of an array that a kernel makes, and that is a view to NumPy."""

    def rewrite(self, array: Any, value: Value) -> None:
        """Let an array stand for another value."""

    def relatives(self, array: Any) -> Sequence[Any]:
        """Other arrays with the same memory that somebody still holds."""

    def lies_in_rows(self, value: Value) -> bool:
        """True where an array is known to lie row by row without gaps."""

    def noted(self, error: OpweaveError) -> OpweaveError:
        """Note a refusal: it holds even if the function catches it."""

    def errors(self) -> AbstractContextManager[Any]:
        """NumPy's settings of errors while tracing."""

    def where(self) -> Where:
        """The user's line."""
