"""Arrays of a function that runs in parts: traced, or NumPy's where a kernel cannot help."""

from __future__ import annotations

import operator as operator_module
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import BuiltinMethodType
from typing import Any

import numpy as np

from opweave.compiler.arrays.casting import refuse_as_numpy, shown
from opweave.compiler.arrays.traced_operators import BINARY, COMPARISONS, is_traced
from opweave.compiler.numpy_api.dispatch import FUNCTIONS, METHODS, PROPERTIES
from opweave.compiler.parts.interface import LazyTracerLike
from opweave.compiler.parts.users_frame import called_there
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.refused import ASKED, not_yet
from opweave.compiler.traced.ufuncs import named_once
from opweave.compiler.traced.unwatched import unwatched
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import DTypeError, ShapeError, TraceError, UnsupportedError

# Python's operators: an array compares with a text, and leaves it to others to add theirs, which
# the ufuncs do not.
BY_PYTHON: dict[str, Callable[..., Any]] = {
    name: getattr(operator_module, f"{method}_", None) or getattr(operator_module, method)
    for method, name in (*BINARY, *COMPARISONS)
}
# Attributes through which anybody may write to an array.
MEMORY = (
    "__array_interface__", "__array_struct__", "__dlpack__", "__dlpack_device__", "__setstate__",
)  # fmt: skip
# References at most: to a stand-in, of one name or place of the user, of the method, of a variable
# and of the call that counts; to its array, twice of ``Given``, and of that call.  Of Python up to
# 3.13: later ones count fewer where a variable is only looked at.
NAMED_ONCE, MADE_HERE = (4, 3) if sys.version_info < (3, 14) else (0, 0)
# Types of operands that have no say in an operator.
PLAIN = (np.ndarray, int, float)
# Of the ends of a slice.
ENDS = (int, type(None))
# What a trace refuses and NumPy may know.
BREAKS = (UnsupportedError, TraceError, DTypeError)


class ArrayMethod:
    """A method of an array; who keeps it gets that of the array which is there then."""

    __opweave_stands__ = True

    def __init__(self, array: LazyArray, name: str):
        self.__self__, self.__name__ = array, name

    @property
    def _found(self) -> Any:
        return getattr(self.__self__._array(), self.__name__)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return BuiltinMethodType

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        array, name = self.__self__, self.__name__
        if name == "resize" and "refcheck" not in kwargs and sys.getrefcount(array) <= NAMED_ONCE:
            # NumPy refuses where anybody else has the array, and would take us for such a one
            kwargs |= {"refcheck": sys.getrefcount(array._array()) > MADE_HERE}
        run = array._or_eagerly if args or kwargs else array._or_eagerly_unwatched
        try:
            return run(
                f".{name}", lambda: array._method(name, args, kwargs),
                lambda *a, **k: called_there(getattr(array._array(), name), a, k), args, kwargs,
            )  # fmt: skip
        finally:
            if name == "resize":
                array.tracer.reshaped(array._array())


def _or_by_numpy(
    what: str, traced: Callable[..., Any], of: Callable[..., Any]
) -> Callable[..., Any]:
    """A method that is traced; ``of`` computes it by NumPy where no kernel can."""

    def method(self: LazyArray, *args: Any) -> Any:
        return self._or_eagerly(what, lambda: traced(self, *args), of, (self, *args))

    return method


class LazyArray(TracedArray):
    """A traced array; what no kernel can do, NumPy does with the array that it stands for."""

    __slots__ = ()
    tracer: LazyTracerLike

    def _or_eagerly(
        self, what: str, traced: Callable[[], Any], function: Callable[..., Any], args: Any,
        kwargs: Mapping[str, Any] = {},
    ) -> Any:  # fmt: skip
        try:
            return traced()
        except BREAKS as error:
            return self.tracer.eagerly(what, error, function, args, kwargs)

    # where no argument can run code of the user's
    _or_eagerly_unwatched = unwatched(_or_eagerly)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        kwargs = named_once(args, kwargs)
        return self._or_eagerly(
            f"np.{ufunc.__name__}" + f".{method}" * (method != "__call__"),
            lambda: super(LazyArray, self).__array_ufunc__(ufunc, method, *args, **kwargs),
            getattr(ufunc, method), args, kwargs,
        )  # fmt: skip

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            what = f"np.{function.__name__}"
            return self.tracer.eagerly(
                what, lambda: not_yet(what, self.tracer.where()), function, args, kwargs
            )
        return self._or_eagerly(
            f"np.{function.__name__}",
            lambda: super(LazyArray, self).__array_function__(function, types, args, kwargs),
            function, args, kwargs,
        )  # fmt: skip

    def _left_to_python(self, name: str, other: Any) -> Any:
        """An array of a class of its own has methods for operators, which NumPy leaves to it."""
        if type(other) in PLAIN or not isinstance(other, np.ndarray) or is_traced(other):
            return NotImplemented
        function = getattr(operator_module, f"{name}_", None) or getattr(operator_module, name)
        error = UnsupportedError(f"{name}: an operand of type {type(other).__name__}")
        return self.tracer.eagerly(name, error, function, (self, other), {})

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        try:
            return super()._applied(operator, *operands)
        except BREAKS as error:
            name = operator.name
            function = BY_PYTHON.get(name, getattr(np, name, operator.numpy))
            return self.tracer.eagerly(name, error, function, operands, {})

    @unwatched
    def __getattr__(self, name: str) -> Any:
        is_part = name in ("real", "imag") and self.value.dtype.is_complex  # memory of its own
        if name in PROPERTIES and not is_part:
            return super().__getattr__(name)
        if name in MEMORY and hasattr(self.__class__, name):
            self.tracer.broken(f".{name}")
            self.tracer.leaked = True
            return getattr(self._array(), name)
        kind = self.__class__  # of a number NumPy's, which has methods of its own
        if kind is np.memmap and not hasattr(kind, name):  # of the file; or nothing's
            return getattr(self._array(), name)
        if name.startswith("__") or not hasattr(kind, name):
            return super().__getattr__(name)
        if not callable(getattr(kind, name)):
            self.tracer.broken(f".{name}")
            self.tracer.leaked |= name in ("flat", "data", "base")
            return self.tracer.seen_of(getattr(self._array(), name))
        return ArrayMethod(self, name)

    def _method(self, name: str, args: Any, kwargs: Any) -> Any:
        if name not in METHODS:
            self._unsupported(f"ndarray.{name}")
        return self._call(f".{name}", METHODS[name], (self, *args), kwargs)

    def _array(self) -> Any:
        """The array itself, or the number that NumPy has for one without dimensions."""
        return self.tracer.concrete(self)

    def __getitem__(self, key: Any) -> Any:
        run = self._or_eagerly_unwatched if _is_plain(key) else self._or_eagerly
        made = run(
            "indexing", lambda: super(LazyArray, self).__getitem__(key),
            lambda array, key: array[key], (self, key),
        )  # fmt: skip
        if _is_plain(key) and isinstance(made, LazyArray):
            self.tracer.viewed(self, made, key)
        return self.tracer.told(made)

    __iter__ = _or_by_numpy("iteration", TracedArray.__iter__, iter)
    __matmul__ = _or_by_numpy("@", TracedArray.__matmul__, operator_module.matmul)
    __rmatmul__ = _or_by_numpy("@", TracedArray.__rmatmul__, lambda a, other: other @ a)

    def __setitem__(self, key: Any, value: Any) -> None:
        tracer = self.tracer
        if not tracer.leaked:
            try:
                super().__setitem__(key, value)
                return
            except BREAKS:
                pass  # so NumPy's own array is written to, below
        tracer.broken("assignment to elements")
        tracer.concrete(self)[tracer.concrete(key)] = tracer.concrete(value)

    def _assigned(self, value: Any, name: str) -> Any:
        if self.tracer.is_number(self.value):
            return value
        error: Exception | None = None
        try:
            if isinstance(value, TracedArray):
                return super()._assigned(value, name)
        except (UnsupportedError, DTypeError) as found:
            error = found
        self.tracer.broken(f"{name} on what others see too")
        target, source = self.tracer.concrete(self), self.tracer.concrete(value)
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise ValueError("output array is read-only")  # as a ufunc with ``out`` has it
        try:
            if np.ndim(source) > np.ndim(target):  # which an assignment would take
                raise ShapeError(
                    f"{shown(name)}: cannot store {np.shape(source)} into {target.shape} in place "
                    f"({self.tracer.where()}); give the result a name of its own"
                )
            refuse_as_numpy(name, target, source)
            np.copyto(target, source, casting="same_kind")
        except Exception as found:
            if error is None or not isinstance(error, TypeError):
                raise
            raise error from found
        finally:
            error = None  # its frames would hold this frame
        return self

    def __imatmul__(self, other: Any) -> Any:  # type: ignore[misc]
        if not self.tracer.leaked:
            with suppress(*BREAKS):
                return super()._assigned(self @ other, "__imatmul__")
        self.tracer.broken("@= on what others see too")
        target = self.tracer.concrete(self)
        target @= self.tracer.concrete(other)
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.tracer.broken("np.asarray()")  # the one who asks may write to any array
        self.tracer.leaked |= not self.tracer.asking and not copy
        return np.array(self._array(), dtype=dtype, copy=copy)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in TracedArray.__slots__:
            super().__setattr__(name, value)
            return
        self.tracer.broken(f"assignment to .{name}")
        setattr(self._array(), name, self.tracer.concrete(value))
        if name in ("shape", "strides", "dtype"):
            self.tracer.reshaped(self._array())

    def _pickled(self, *protocol: Any) -> Any:
        self._unsupported("a pickle")

    __reduce__ = _or_by_numpy(".__reduce__", _pickled, lambda a: a.__reduce__())
    __reduce_ex__ = _or_by_numpy(".__reduce__", _pickled, lambda a, p: a.__reduce_ex__(p))

    def __str__(self) -> str:
        return str(self._array())

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._array())


def _is_plain(key: Any) -> bool:
    """True for an index of Python's own numbers, which runs no code of the user's."""
    return type(key) is int or (
        type(key) is slice
        and type(key.start) in ENDS
        and type(key.stop) in ENDS
        and type(key.step) in ENDS
    )


LazyArray.__name__ = "numpy.ndarray"  # the name in Python's own messages


def _asked(what: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: LazyArray, *args: Any) -> Any:
        self.tracer.broken(what)  # all arrays: a loop would compute the others again each round
        return of(self.tracer.concrete(self), *args)

    return method


for _of, _what, _ in ASKED:
    setattr(LazyArray, f"__{_of.__name__}__", _asked(_what, _of))
