"""The table of NumPy's functions that are compiled; a decorator makes its rows.

    @numpy_function(np.repeat, np.ndarray.repeat, counted=("axis",), flat=True)
    def repeat(a, repeats, axis=None): ...

A *handler* computes for traced arrays what a function of NumPy's computes for arrays.  It has
those parameters of NumPy's function that opweave compiles; an argument that it does not name is
refused, never ignored.  A *row* says of which function that is, and what is done to the arguments
of a call before the handler gets them.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from opweave.compiler.arrays.integers import plain
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.numpy_api.signatures import BY_POSITION, NumpyParameters, Parameter, checked
from opweave.opcodes.allowed import is_number
from opweave.opcodes.cached import cached_property

Handler = TypeVar("Handler", bound=Callable[..., Any])
Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
SPECIAL_MODULE = "scipy.special."


def unboxed(found: Any) -> Any:
    """An array; in the place of one without dimensions the number that NumPy returns."""
    return found if found.ndim else found[()]


@dataclass(frozen=True, eq=False)
class NumpyFunction:
    """A function of NumPy's or SciPy's, or a method of arrays, with its handler.

    Attributes:
        name: NumPy's.
        handler: computes the result from arguments that are prepared.
        like: a function whose signature is NumPy's.
        arrays: parameters that are arrays: a list becomes one; None stands for the first one.
        numbers: a number becomes an array there, too.
        each: the first argument is a sequence, of which each item becomes an array.
        counted: parameters that are an axis of the first array: from the end becomes from 0.
        flat: without an axis the array becomes one of one dimension.
        unboxed: a result without dimensions becomes a number.
        creates: makes arrays of what need not be one; the handler's first parameter is the tracer.
    """

    name: str
    handler: Callable[..., Any]
    like: Callable[..., Any]
    arrays: tuple[str, ...] | None = None
    numbers: bool = False
    each: bool = False
    counted: tuple[str, ...] = ()
    flat: bool = False
    unboxed: bool = False
    creates: bool = False

    @property
    def chapter(self) -> str:
        """The module of the handler: a chapter of NumPy's documentation."""
        return self.handler.__module__.rpartition(".")[2]

    @cached_property
    def parameters(self) -> NumpyParameters:
        """How NumPy takes a call; as the handler does where a function in C does not tell."""
        try:
            return NumpyParameters.of(self.like)
        except (TypeError, ValueError):
            return NumpyParameters.of(self.handler)

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.handler)

    @property
    def own(self) -> Mapping[str, Parameter]:
        """The handler's parameters."""
        return self.signature.parameters

    @cached_property
    def placed(self) -> tuple[str, ...]:
        """Those that an argument by position may be."""
        kinds = (*BY_POSITION, Parameter.VAR_POSITIONAL)
        return tuple(name for name, p in self.own.items() if p.kind in kinds)

    @cached_property
    def by_position(self) -> tuple[str, ...]:
        """NumPy's names of the arguments that the handler gets by position."""
        only = sum(p.kind is Parameter.POSITIONAL_ONLY for p in self.own.values())
        return self.parameters.names[: max(self.parameters.needed, only)]

    @cached_property
    def direct(self) -> int:
        """So many arguments by position mean the same to NumPy's function and to the handler."""
        needed = self.parameters.needed
        pairs = zip(self.parameters.names[needed:], self.placed[needed:], strict=False)
        return needed + [*(a == b for a, b in pairs), False].index(False)

    @cached_property
    def _arrays(self) -> tuple[str, ...]:
        return self.placed[: not self.each] if self.arrays is None else self.arrays

    def bound(self, tracer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments of a call of NumPy's function as the handler takes them, and ``out``.

        However a user writes a call, by position or by name, the handler gets one form: what
        NumPy needs by position, all else by name, and nothing that is NumPy's default.

        Raises:
            UnsupportedError: NumPy takes no such call, or the handler no such argument.
            AxisError: the array has no such axis.
        """
        is_plain = not kwargs and self.parameters.needed <= len(args) <= self.direct
        if not is_plain and not (self.parameters.starred and not kwargs):
            named = self.parameters.named(args, kwargs)
            rest = args[len(self.parameters.names) :]
            first = tuple(named.pop(name) for name in self.by_position if name in named)
            args, kwargs = (*first, *rest), checked(named, self.own)
        last = len(self.placed) - 1  # a starred parameter, if there is one
        made = [self._given(tracer, self.placed[min(n, last)], a) for n, a in enumerate(args)]
        named = {name: self._given(tracer, name, item) for name, item in kwargs.items()}
        if self.each:
            made[0] = [lifted(tracer, item) for item in made[0]]
        for name in self.counted:
            self._count(name, made, named)
        return tuple(made), named

    def _given(self, tracer: Any, name: str, item: Any) -> Any:
        """An argument; a list becomes an array where NumPy takes one, and so may a number."""
        item = plain(name, item)
        is_kept = name not in self._arrays or (is_number(item) and not self.numbers)
        return item if is_kept else lifted(tracer, item)

    def _count(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Count an axis from 0."""
        place = self.placed.index(name) if name in self.placed else len(args)
        is_placed = place < len(args)
        axis = args[place] if is_placed else kwargs.get(name, self.own[name].default)
        if axis is None and self.flat:
            args[0] = args[0].reshape(-1) if args[0].ndim != 1 else args[0]
            axis = 0
        else:
            axis = counted_axis(self.name, axis, args[0].ndim)
        if is_placed:
            args[place] = axis
        else:
            kwargs[name] = axis

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The handler's result, from arguments that are prepared."""
        found = self.handler(*args, **kwargs)
        return unboxed(found) if self.unboxed else found


# The rows: of functions by the function itself, of others by their name.
FUNCTIONS: dict[Any, NumpyFunction] = {}
METHODS: dict[str, NumpyFunction] = {}
PROPERTIES: dict[str, NumpyFunction] = {}
CREATORS: dict[str, NumpyFunction] = {}
SPECIAL: dict[str, NumpyFunction] = {}
# By a ufunc the reduction that its ``reduce`` is.
REDUCES: dict[np.ufunc, Callable[..., Any]] = {}
OF_ARRAYS: dict[type, dict[str, NumpyFunction]] = {
    types.MethodDescriptorType: METHODS, types.GetSetDescriptorType: PROPERTIES,
}  # fmt: skip


def numpy_function(
    *functions: Any,
    like: Callable[..., Any] | None = None,
    reduces: np.ufunc | None = None,
    **options: Any,
) -> Callable[[Handler], Handler]:
    """Enter a handler into the table.

    Args:
        functions: NumPy's functions and methods or attributes of ``np.ndarray``; by its name one
            that not every version of NumPy has, or one of ``scipy.special``, which only somebody
            else imports.
        like: a function with NumPy's signature; needed where NumPy's own does not tell it in
            each version, or tells more than is so.  A method has that of the function before it.
        reduces: the ufunc whose ``reduce`` it is.
        options: see ``NumpyFunction``.
    """

    def entered(handler: Handler) -> Handler:
        told: Callable[..., Any] = handler
        for function in functions:
            if isinstance(function, str) and function.startswith(SPECIAL_MODULE):
                name = function.removeprefix(SPECIAL_MODULE)
                SPECIAL[name] = NumpyFunction(name, handler, handler, **options)
            elif found := getattr(np, function, None) if isinstance(function, str) else function:
                told = told if type(found) in OF_ARRAYS else found
                _enter(found, NumpyFunction(found.__name__, handler, like or told, **options))
        if reduces is not None:
            REDUCES[reduces] = handler
        return handler

    return entered


def _enter(function: Any, row: NumpyFunction) -> None:
    table = CREATORS if row.creates else OF_ARRAYS.get(type(function))
    if table is None:
        FUNCTIONS[function] = row
    else:
        table[row.name] = row
