"""Traced arrays: what a user's function computes with while it is traced.

A ``TracedArray`` answers to NumPy's protocols and Python's operators by adding nodes of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.assignment import assign, check_assigned, fitted, put, put_at
from opweave.compiler.arrays.casting import types_first
from opweave.compiler.arrays.indexing import indexed, length, rows
from opweave.compiler.arrays.integers import plain
from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import has_arrays, lifted, lists_lifted
from opweave.compiler.arrays.traced_operators import ArrayOperators
from opweave.compiler.arrays.vectors import applied
from opweave.compiler.ir.values import Value
from opweave.compiler.library.calling import library_function, library_method
from opweave.compiler.numpy_api.dispatch import (
    FUNCTIONS,
    METHODS,
    PROPERTIES,
    REDUCES,
    operator_of,
)
from opweave.compiler.numpy_api.math_sums import ACCUMULATES, accumulated
from opweave.compiler.numpy_api.registry import NumpyFunction
from opweave.compiler.numpy_api.scipy_special import special_function
from opweave.compiler.numpy_api.signatures import NONE
from opweave.compiler.traced.exponents import power_by
from opweave.compiler.traced.refused import Refused, check_repeated, name_of_class, not_yet
from opweave.compiler.traced.selection import MaskSelection, selected, stored
from opweave.compiler.traced.ufuncs import Keywords, into, named_once, outer_operands, reduced_by
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import OpweaveError, UnsupportedError


class TracedArray(Refused, ArrayOperators):
    """Stands for an array of known dtype and rank and of symbolic extents."""

    __opweave_traced__ = "array"
    __slots__ = ("__weakref__", "origin", "tracer", "value")

    def __init__(self, tracer: TracerLike, value: Value):
        self.tracer = tracer
        self.value = value
        # if this is a part of an array: that array, and the index or how it was moved
        self.origin: tuple[TracedArray, Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in TracedArray.__slots__:
            self._unsupported(f"assignment to .{name}")
        object.__setattr__(self, name, value)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the array or NumPy number that it stands for, as ``isinstance`` asks it."""
        if self.value.shape or not self.tracer.is_number(self.value):
            return self.tracer.class_of(self.value)
        return self.value.dtype.numpy.type

    @property
    def __array_priority__(self) -> float:
        """NumPy's arrays have 0, its numbers the least; what computes is told by a ufunc."""
        kind = self.__class__
        if kind is np.memmap:
            return np.memmap.__array_priority__
        return -1e6 if issubclass(kind, np.generic) else 0.0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype.numpy

    @property
    def ndim(self) -> int:
        return len(self.value.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Extents: numbers where they are 1, traced scalars elsewhere."""
        return tuple(map(self.tracer.extent, self.value.shape))

    @property
    def size(self) -> Any:
        total: Any = 1
        for extent in self.shape:
            total = extent * total
        return total

    def __opweave_apply__(self, operator: Operator, operands: Any, attrs: Any) -> Any:
        return applied(self.tracer, operator, operands, attrs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        generalised = FUNCTIONS.get(ufunc) if ufunc.signature is not None else None
        if generalised is not None and method == "__call__":
            with types_first(ufunc, args, kwargs.get("out", ())):
                return self._call(f"np.{ufunc.__name__}", generalised, args, kwargs)
        if method == "outer" and ufunc.nin == 2:
            args, method = outer_operands(self.tracer, *args), "__call__"
        special = special_function(ufunc, args)
        if special is not None and method == "__call__" and not kwargs:
            return self._call(f"special.{ufunc.__name__}", special, args, kwargs)
        operator = operator_of(ufunc, args)
        kwargs = named_once(args, kwargs)
        out = kwargs.pop("out", None)
        if method != "__call__":
            return self._by_method(ufunc, method, out, args, kwargs)
        name = f"np.{ufunc.__name__}"
        if operator is None:
            self._unsupported(name)
        asked = self._call(name, Keywords.of, (ufunc, kwargs, out is not None), {})
        args = self._call(name, asked.operands, (args,), {})
        with types_first(ufunc, args, out or ()):
            result = self.tracer.apply(operator, lists_lifted(self.tracer, args))
        if out is None:
            made = result if isinstance(result, tuple) else (result,)
            laid = tuple(map(asked.laid_out, made)) if asked.order != "K" else made
            return laid if isinstance(result, tuple) else laid[0]
        return self._stored(asked, out, result if len(out) > 1 else [result])

    def _by_method(self, ufunc: np.ufunc, method: str, out: Any, args: Any, kwargs: Any) -> Any:
        """Another method of a ufunc than its call."""
        if method == "at":
            return self._call(f"np.{ufunc.__name__}.at", put_at, (ufunc, *args), {})
        if method == "reduceat" and out is None and self.tracer.calls_library:
            return self._call(f"np.{ufunc.__name__}.reduceat", reduced_by, (ufunc, *args), kwargs)
        if method == "reduce" and ufunc in REDUCES:
            return self._reduce(ufunc, out, *args, **kwargs)
        if method != "accumulate" or ufunc not in ACCUMULATES:
            self._unsupported(f"np.{ufunc.__name__}.{method}")
        return self._accumulate(ufunc, out, *args, **kwargs)

    def _stored(self, asked: Keywords, out: Any, results: Sequence[Any]) -> Any:
        """Write the results of a ufunc to the arrays of ``out=``: all of them, or none."""
        name = f"np.{asked.ufunc.__name__}"
        pairs = [(t, fitted(t, lifted(self.tracer, r))) for t, r in zip(out, results, strict=True)]
        pairs = [(t, self._call(name, asked.stored, (value, t), {})) for t, value in pairs]
        where = asked.where
        if where is not True:
            pairs = [(target, np.where(where, value, target)) for target, value in pairs]
        for target, value in pairs:
            check_assigned(target, value, name)
        for target, value in pairs:
            assign(target, value, name)
        return out if len(out) > 1 else out[0]

    def _reduce(self, ufunc: np.ufunc, out: Any, a: Any, axis: Any = 0, **kwargs: Any) -> Any:
        """``np.add.reduce`` and its kin, whose axis is 0 unless given."""
        asked = {k: v for k, v in kwargs.items() if v is not NONE and (k, v) != ("dtype", None)}
        asked |= {"axis": axis} if out is None else {"axis": axis, "out": out}
        return self._call(f"np.{ufunc.__name__}.reduce", _reduced, (REDUCES[ufunc], a), asked)

    def _accumulate(
        self, ufunc: np.ufunc, out: Any, a: Any, axis: Any = 0, dtype: Any = None
    ) -> Any:
        """``np.add.accumulate`` and its kin, whose axis is 0 unless given."""
        name = f"np.{ufunc.__name__}.accumulate"
        given = (ACCUMULATES[ufunc], name, a, axis, dtype)
        return self._call(name, accumulated, given, {"out": out})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler: Callable[..., Any] | None
        called = library_function(self.tracer, function, args, kwargs)
        handler = called or FUNCTIONS.get(function)
        if handler is None:
            self._unsupported(f"np.{function.__name__}")
        given = {key: item for key, item in kwargs.items() if key != "out"}
        if "out" in kwargs and not has_arrays([*args, *given.values()]):  # the only one is out=
            found = function(*args, **given)
            handler, args, kwargs = lifted, (self.tracer, found), {"out": kwargs["out"]}
        return self._call(f"np.{function.__name__}", handler, args, kwargs)

    def _call(self, name: str, handler: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        try:
            if isinstance(handler, NumpyFunction):
                args, kwargs = handler.bound(self.tracer, args, kwargs)
            before = len(self.tracer.builder.nodes)
            result = handler(*args, **{k: v for k, v in kwargs.items() if k != "out"})
            out = kwargs.get("out")
            return result if out is None else into(self._new(result, before), out, name)
        except OpweaveError as error:
            place = str(self.tracer.where())
            if not place or place in str(error):
                raise self.tracer.noted(error) from None
            raise self.tracer.noted(error.saying(f"{error} ({place})")) from None
        except Exception as error:  # of arguments that the handler has no meaning for
            text = f"{name}: {type(error).__name__}: {error} ({self.tracer.where()})"
            raise self.tracer.noted(UnsupportedError(text)) from error

    def _new(self, result: Any, before: int) -> Any:
        """What a function gives for ``out=``: a copy of what was there before it was called."""
        if not isinstance(result, TracedArray):
            return result
        made = self.tracer.builder.nodes[before:]
        return result if any(result.value in n.results for n in made) else result.copy()

    def __getattr__(self, name: str) -> Any:
        row = METHODS.get(name) or library_method(self.tracer, name)
        if row is not None:
            return lambda *args, **kwargs: self._call(f".{name}", row, (self, *args), kwargs)
        if name in PROPERTIES:
            return self._call(f".{name}", PROPERTIES[name], (self,), {})
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            self._unsupported(f"ndarray.{name}")
        if name == "__array_interface__":
            self.__array__()  # refuses: NumPy, which asks for it, is refused too
        if name.startswith("__"):
            raise AttributeError(name)
        kind = self.__class__
        if hasattr(kind, name) or kind is np.memmap:  # a method of its own class, or of np.memmap
            self._unsupported(f"{kind.__name__}.{name}")
        raise self._lacking(name)  # held by no variable: its traceback would hold the frame

    def _lacking(self, name: str) -> AttributeError:
        error = AttributeError(f"'{name_of_class(self)}' object has no attribute {name!r}")
        error.add_note(f"at {self.tracer.where()}, in a fused function")
        return error

    def of(self, value: Value) -> Any:
        """Another value of the same trace."""
        return self.tracer.wrapped(value)

    def __getitem__(self, key: Any) -> Any:
        if self.tracer.selects and (selection := selected(self, key)) is not None:
            return selection
        found: TracedArray = self._call("indexing", indexed, (self, key), {})
        if found.value.id in self.tracer.families:
            found.origin = (self, key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, MaskSelection):
            value, key = self._call("indexing", stored, (self, key, value), {}), ...
        self._call("assignment to elements", put, (self, key, value), {})

    def __iter__(self) -> Iterator[TracedArray]:
        found: Iterator[TracedArray] = self._call("iteration", rows, (self,), {})
        return found

    def __len__(self) -> int:
        return length(self)

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        if operator.name == "multiply":
            check_repeated(self, operands)
        return self.tracer.apply(operator, operands)

    def _power(self, exponent: Any) -> Operator:
        return power_by(self.tracer, self.value, exponent)

    def _assigned(self, value: Any, name: str) -> Any:
        if self.tracer.is_number(self.value):
            return value
        try:
            return assign(self, value, name)
        except OpweaveError as error:
            raise self.tracer.noted(error) from None

    def __matmul__(self, other: Any) -> Any:
        return self._call("@", FUNCTIONS[np.matmul], (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return self._call("@", FUNCTIONS[np.matmul], (other, self), {})

    def __imatmul__(self, other: Any) -> Any:
        with types_first(np.matmul, (self, other), (self,)):
            value = self @ other
        return self._assigned(value, "__imatmul__")

    def __divmod__(self, other: Any) -> Any:
        return self.tracer.apply(OPERATORS["divmod"], [self, other])

    def __rdivmod__(self, other: Any) -> Any:
        return self.tracer.apply(OPERATORS["divmod"], [other, self])

    def _unsupported(self, what: str) -> NoReturn:
        raise self.tracer.noted(not_yet(what, self.tracer.where()))


def _reduced(handler: Callable[..., Any], a: Any, **asked: Any) -> Any:
    """A reduction that is called past the table of functions, with plain arguments."""
    return handler(a, **{name: plain(name, item) for name, item in asked.items()})


TracedArray.__name__ = "numpy.ndarray"  # the name in texts of Python's errors
