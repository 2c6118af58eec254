"""Calls of NumPy's functions, bound to NumPy's own signatures.

However a user writes a call, by position or by name, the handler gets it in one form: what NumPy
asks for by position, all else by name, and nothing that says what NumPy does anyway.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.opcodes.allowed import is_number, shown
from opweave.opcodes.errors import UnsupportedError

Parameter = inspect.Parameter
BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
NONE = np._NoValue  # NumPy's default where None means something

# Methods of arrays as NumPy takes them; what it hides behind ``**kwargs`` too.
METHODS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("sum", "prod"),
        lambda self, axis=None, dtype=None, out=None, keepdims=False, initial=NONE, where=True: 0,
    ),
    **dict.fromkeys(
        ("max", "min"),
        lambda self, axis=None, out=None, keepdims=False, initial=NONE, where=True: 0,
    ),
    **dict.fromkeys(
        ("any", "all", "mean"),
        lambda self, axis=None, dtype=None, out=None, keepdims=False, *, where=True: 0,
    ),
    **dict.fromkeys(
        ("var", "std"),
        lambda self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True,
        mean=None: 0,
    ),
    **dict.fromkeys(
        ("argmax", "argmin"), lambda self, axis=None, out=None, *, keepdims=False: 0
    ),
    **dict.fromkeys(("cumsum", "cumprod"), lambda self, axis=None, dtype=None, out=None: 0),
    **dict.fromkeys(("conj", "conjugate"), lambda self: 0),
    **dict.fromkeys(("ravel", "flatten", "copy"), lambda self, order="C": 0),
    "clip": lambda self, min=None, max=None, out=None, **kwargs: 0,
    "round": lambda self, decimals=0, out=None: 0,
    "take": lambda self, indices, axis=None, out=None, mode="raise": 0,
    "repeat": lambda self, repeats, axis=None: 0,
    "diagonal": lambda self, offset=0, axis1=0, axis2=1: 0,
    "trace": lambda self, offset=0, axis1=0, axis2=1, dtype=None, out=None: 0,
    "searchsorted": lambda self, v, side="left", sorter=None: 0,
    "choose": lambda self, *choices, out=None, mode="raise": 0,
    "transpose": lambda self, *axes: 0,
    "swapaxes": lambda self, axis1, axis2, /: 0,
    "squeeze": lambda self, axis=None: 0,
    "reshape": lambda self, *shape, order="C", copy=None: 0,
    "astype": lambda self, dtype, order="K", casting="unsafe", subok=True, copy=True: 0,
    "dot": lambda self, other, /, out=None: 0,
    "fill": lambda self, value: 0,
    "compress": lambda self, condition, axis=None, out=None: 0,
}  # fmt: skip
# Functions in C that do not tell their signature in each version of NumPy.
UNTOLD: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("concatenate", "concat"),
        lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": 0,
    ),
    **dict.fromkeys(
        ("matmul", "vecdot", "matvec", "vecmat"), lambda x1, x2, /, out=None, **kwargs: 0
    ),
    **dict.fromkeys(("inner", "vdot"), lambda a, b, /: 0),
    "where": lambda condition, x=None, y=None, /: 0,
    "dot": lambda a, b, out=None: 0,
    "copyto": lambda dst, src, casting="same_kind", where=True: 0,
    "putmask": lambda a, /, mask, values: 0,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *,
    device=None: 0,
}  # fmt: skip
# Arguments that change no element, with what they may be; a handler may know better.
ASIDE: dict[str, tuple[Any, ...]] = {
    "subok": (False, True),
    "device": (None, "cpu"),
    "order": ("K", "A", "C", None),
    "kind": (None,),
}
# How many of the first arguments are arrays, if given as lists or ranges too; one unless named.
ARRAYS: dict[str, int] = {
    **dict.fromkeys(
        """concatenate concat stack hstack vstack dstack column_stack block select einsum where
        multi_dot take_along_axis copyto putmask place fill_diagonal fill broadcast_arrays ix_
        piecewise compress""".split(),
        0,
    ),
    **dict.fromkeys(
        """dot matmul vdot inner outer kron cross tensordot convolve correlate vecdot matvec
        vecmat polyval""".split(),
        2,
    ),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "meshgrid"), 64),
}
# Of these the numbers too, which lose nothing of their type.
NUMBERS = frozenset(
    "dot outer inner vdot kron cross tensordot convolve vecdot matvec vecmat".split()
)


def as_array(tracer: Any, item: Any, numbers: bool = False) -> Any:
    """What stands for an array beside traced ones, as one of them."""
    if is_traced_array(item) or item is None or (is_number(item) and not numbers):
        return item
    return lifted(tracer, item)


@dataclass(frozen=True)
class Form:
    """How NumPy takes the arguments of a function.

    Attributes:
        names: those that go by position, in order.
        needed: so many of them have no default.
        by_name: those that go by name.
        defaults: by name.
        starred: any more go by position.
        open: any more go by name.
    """

    names: tuple[str, ...]
    needed: int
    by_name: frozenset[str]
    defaults: Mapping[str, Any]
    starred: bool
    open: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Form:
        """
        Raises:
            ValueError, TypeError: it does not tell its signature.
        """
        given = inspect.signature(function).parameters.values()
        named = [p for p in given if p.kind not in STARRED]
        placed = [p for p in named if p.kind in BY_POSITION]
        return cls(
            tuple(p.name for p in placed),
            sum(p.default is Parameter.empty for p in placed),
            frozenset(p.name for p in named if p.kind is not Parameter.POSITIONAL_ONLY),
            {p.name: p.default for p in named if p.default is not Parameter.empty},
            any(p.kind is Parameter.VAR_POSITIONAL for p in given),
            any(p.kind is Parameter.VAR_KEYWORD for p in given),
        )

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, without the defaults.

        Raises:
            UnsupportedError: NumPy takes no such call.
        """
        if len(args) > len(self.names) and not self.starred:
            raise UnsupportedError(
                f"takes {len(self.names)} positional arguments but {len(args)} were given"
            )
        found = dict(zip(self.names, args, strict=False))
        for name, item in kwargs.items():
            if name in found or not (self.open or name in self.by_name):
                kind = "a repeated" if name in found else "an unexpected"
                raise UnsupportedError(f"got {kind} keyword argument {shown(name)}")
            found[name] = item
        missing = [name for name in self.names[: self.needed] if name not in found]
        if missing:
            raise UnsupportedError(f"missing a required argument: {missing[0]!r}")
        return {n: v for n, v in found.items() if not is_same(v, self.defaults.get(n, self))}


def is_same(item: Any, default: Any) -> bool:
    """An argument says what NumPy does without it."""
    return item is default or (
        type(item) is type(default) in (bool, int, float, str) and bool(item == default)
    )


class Called:
    """A handler behind NumPy's signature of a function.

    ``arrays``: so many of its first arguments are arrays; ``numbers``: also given as numbers.
    """

    def __init__(self, handler: Callable[..., Any], form: Form, arrays: int, numbers: bool):
        own = list(inspect.signature(handler).parameters.values())
        placed = [p.name for p in own if p.kind in BY_POSITION]
        only = sum(p.kind is Parameter.POSITIONAL_ONLY for p in own)
        self.handler, self.form = handler, form
        self.arrays, self.numbers = arrays, numbers
        self.by_position = form.names[: max(form.needed, only)]
        self.known = frozenset(p.name for p in own if p.kind is not Parameter.POSITIONAL_ONLY)
        self.open = any(p.kind is Parameter.VAR_KEYWORD for p in own)
        same = [a == b for a, b in zip(form.names[form.needed :], placed[form.needed :])]  # noqa: B905
        self.direct = form.needed + ([*same, False].index(False))

    def bound(
        self, tracer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arguments as the handler takes them; ``out`` among those by name.

        Raises:
            UnsupportedError: NumPy takes no such call, or the handler has no meaning for it.
        """
        is_plain = not kwargs and self.form.needed <= len(args) <= self.direct
        if not is_plain and not (self.form.starred and not kwargs):
            named = self.form.named(args, kwargs)
            rest = args[len(self.form.names) :]
            first = tuple(named.pop(name) for name in self.by_position if name in named)
            args, kwargs = (*first, *rest), self._of_handler(named)
        if all(map(is_traced_array, args[: self.arrays])):
            return args, kwargs
        arrays = (as_array(tracer, item, self.numbers) for item in args[: self.arrays])
        return (*arrays, *args[self.arrays :]), kwargs

    def _of_handler(self, named: dict[str, Any]) -> dict[str, Any]:
        out, keepdims = named.pop("out", None), named.get("keepdims", False)
        if not isinstance(keepdims, int | np.integer | np.bool_):
            raise UnsupportedError(f"keepdims={shown(keepdims)}: expected True or False")
        for name in [n for n in named if not (self.open or n in self.known)]:
            item = named.pop(name)
            if not any(is_same(item, one) for one in ASIDE.get(name, ())):
                raise UnsupportedError(f"argument {name}={shown(item)} is not compiled")
        return named if out is None else {**named, "out": out}


@functools.cache
def called(name: str, function: Callable[..., Any], handler: Callable[..., Any]) -> Called:
    """A handler behind the signature of NumPy's function; behind its own where that is untold."""
    arrays, numbers = ARRAYS.get(name, 1), name in NUMBERS
    try:  # what a generalised ufunc says of its defaults it does not take
        form = Form.of(UNTOLD[name] if isinstance(function, np.ufunc) else function)
    except (TypeError, ValueError, KeyError):
        form = Form.of(UNTOLD.get(name, handler))
    return Called(handler, form, arrays, numbers)


@functools.cache
def method(name: str, handler: Callable[..., Any]) -> Called:
    """A handler behind the signature of a method of arrays."""
    return Called(handler, Form.of(METHODS[name]), ARRAYS.get(name, 1), name in NUMBERS)
