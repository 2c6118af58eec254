"""Calls of functions that have loops, out of a function that is no whole: each is fused itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FunctionType, MethodType
from typing import Any, Protocol

import numpy as np

from opweave.compiler.captures.owners import is_helper
from opweave.compiler.captures.source import has_loop

# Calls of these go on after they have returned.
LAZY = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
MOST_CALLED = 64


class FusedFunction(Protocol):
    """A function that was fused, its calls that are a whole, and what becomes of others."""

    prepared_calls: Any
    fallback: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class CalledFunctions:
    """The functions with loops that one function calls, fused.

    Args:
        caller: that function; it is not fused once more where it calls itself.
        fuse: makes a fused function.
    """

    def __init__(self, caller: Any, fuse: Callable[[FunctionType], FusedFunction]):
        self._caller, self._fuse = getattr(caller, "__code__", None), fuse
        self._known: dict[CodeType, tuple[FunctionType, FusedFunction]] = {}

    def clear(self) -> None:
        """Fuse them anew at their next calls."""
        self._known.clear()

    def instead_of(self, plain: Any) -> FusedFunction | None:
        """What is called in the place of a function; None for itself."""
        if not _is_with_loops(plain) or plain.__code__ is self._caller:
            return None
        found = self._known.get(plain.__code__)
        if found is None and len(self._known) < MOST_CALLED:
            found = self._known[plain.__code__] = plain, self._fuse(plain)
        return found[1] if found is not None and _are_alike(found[0], plain) else None


class CallSite:
    """A call of a function, of which it is known at the call whether it has loops.

    Attributes:
        node: its syntax tree; ``name`` that of what is called.
        left: why the plain function was called.
    """

    def __init__(self, node: ast.Call, called: CalledFunctions):
        self.node, self.name, self._called = node, node.func, called
        self.left = "it calls no function with loops that C runs"
        self.sources: list[str] = []
        self._fused: FusedFunction | None = None

    def of(self, function: Any) -> Any:
        """The function, or method, to call in its place."""
        is_method = type(function) is MethodType
        found = self._called.instead_of(function.__func__ if is_method else function)
        if found is None:
            return function
        self._fused = found
        return partial(found, function.__self__) if is_method else found

    @property
    def in_c(self) -> list[str]:
        """What was compiled of the loops of the function."""
        rolled = self._fused.fallback.loops.known.values() if self._fused is not None else ()
        return [source for each in rolled if each is not None for _, source in each.in_c]

    @property
    def compiled(self) -> int:
        """Whether C or kernels have run a call."""
        found = self._fused
        if found is None:
            return 0
        return int(found.prepared_calls.is_known or found.fallback.loops.run_any())

    def takes_over(self, before: Any) -> None:
        """Know what a site of the same call has found out."""
        self._fused = before._fused


def may_call_loops(function: FunctionType) -> bool:
    """Whether a function may call one with loops, by the names in its code alone."""
    code = function.__code__
    names = (*code.co_names, *code.co_freevars)
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return any(map(has_loop, inner)) or any(
        _is_with_loops(_found(name, function)) or _may_be_method(name, code) for name in names
    )


def _may_be_method(name: str, code: CodeType) -> bool:
    """Whether a name may be that of a method of the user's; those of arrays are none."""
    return code.co_argcount > 0 and not hasattr(np.ndarray, name) and name not in vars(np)


def may_have_loops(node: ast.expr, function: FunctionType, inner: Mapping[str, ast.AST]) -> bool:
    """Whether what is called may be a function of the user's that has loops.

    Args:
        inner: functions that are defined inside of the function, by name.
    """
    if isinstance(node, ast.Name):
        if node.id in inner:
            return any(isinstance(n, ast.For | ast.While) for n in ast.walk(inner[node.id]))
        return _is_with_loops(_found(node.id, function))
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    is_given = node.value.id in function.__code__.co_varnames[: function.__code__.co_argcount]
    if is_given:  # a method of an object; those of arrays are none of the user's
        return not hasattr(np.ndarray, node.attr)
    return _is_with_loops(getattr(_found(node.value.id, function), node.attr, None))


def _found(name: str, function: FunctionType) -> Any:
    """What a name outside of a function means."""
    free = function.__code__.co_freevars
    if name in free and function.__closure__ is not None:
        cell = function.__closure__[free.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # an empty one
            return None
    return function.__globals__.get(name)


def _is_with_loops(function: Any) -> bool:
    is_own = type(function) is FunctionType and is_helper(function)
    return is_own and has_loop(function.__code__) and not function.__code__.co_flags & LAZY


def _are_alike(known: FunctionType, other: FunctionType) -> bool:
    """Whether a function does what another one of the same code does.

    One that is defined inside of a function is another one at each call.
    """
    return known is other or (
        known.__closure__ is None
        and other.__closure__ is None
        and known.__globals__ is other.__globals__
        and known.__defaults__ == other.__defaults__ is None
        and known.__kwdefaults__ == other.__kwdefaults__ is None
    )
