"""Signatures of NumPy's functions, and arguments bound to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import UnsupportedError

Parameter = inspect.Parameter
BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
NONE = np._NoValue  # NumPy's default where None means something

# Arguments that change no element, with what they may be; a handler may know better.
ASIDE: dict[str, tuple[Any, ...]] = {
    "subok": (False, True),
    "device": (None, "cpu"),
    "order": ("K", "A", "C", None),
    "kind": (None,),
}


@dataclass(frozen=True)
class NumpyParameters:
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
    def of(cls, function: Callable[..., Any]) -> NumpyParameters:
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


def checked(named: dict[str, Any], own: Mapping[str, Parameter]) -> dict[str, Any]:
    """Arguments by name that a handler takes; ``out`` too, unless it is None.

    Raises:
        UnsupportedError: the handler has no meaning for one.
    """
    out = named.pop("out", None)
    is_open = any(p.kind is Parameter.VAR_KEYWORD for p in own.values())
    known = {n for n, p in own.items() if is_open or p.kind is not Parameter.POSITIONAL_ONLY}
    for name in [n for n in named if not is_open and n not in known]:
        item = named.pop(name)
        if not any(is_same(item, one) for one in ASIDE.get(name, ())):
            raise UnsupportedError(f"argument {name}={shown(item)} is not compiled")
    return named if out is None else {**named, "out": out}
