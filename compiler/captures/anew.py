"""Functions that are made anew at each call, as lambdas are: which of them do the same."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from opweave.compiler.captures.bytecode import binds_outside
from opweave.compiler.captures.kinds import BY_TYPE, is_constant, is_made_anew
from opweave.compiler.captures.source import SEES_NAMES, NoLoopError, tree_of
from opweave.compiler.captures.structure import Identity

# What is the same wherever its text is.
CONSTANTS = BY_TYPE | {complex, str, bytes, type(None)}
# Functions that hold each other.
DEEPEST = 4
# Functions that are known.
MOST = 256


def function_key(value: Any, depth: int = 0) -> Any:
    """What is equal of functions made anew that do the same when they are called now.

    Their code, and what they have from around them: constants by their values, all else by which
    object it is.  None of a function that may bind a name around it, or that holds more.
    """
    if not is_made_anew(value) or value.__dict__ or value.__kwdefaults__ or depth > DEEPEST:
        return None
    if binds_outside(code := value.__code__):
        return None
    try:
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
    except ValueError:  # one is empty
        return None
    held = (_identified(v, depth) for v in (*(value.__defaults__ or ()), *cells))
    return code, id(value.__globals__), tuple(held)


def _identified(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in (float, complex):
        return kind, repr(value)  # 0.0 is not -0.0
    if kind in CONSTANTS:
        return kind, value
    if kind is tuple and is_constant(value):
        return kind, *(_identified(item, depth) for item in value)
    inner = function_key(value, depth + 1)
    return Identity(value) if inner is None else inner


def only_called(function: FunctionType) -> frozenset[str]:
    """The parameters of a function with which it does nothing else than to call them.

    None where its source is not there, or where it may see its own names.
    """
    try:
        tree = tree_of(function)
    except NoLoopError:
        return frozenset()
    parts = [part for statement in tree.body for part in ast.walk(statement)]
    if any(getattr(part, "id", "") in SEES_NAMES for part in parts):
        return frozenset()
    called = {id(part.func) for part in parts if isinstance(part, ast.Call)}
    uses = [n for n in parts if isinstance(n, ast.Name) and id(n) not in called]
    inner = (p for p in parts if isinstance(p, ast.FunctionDef | ast.Lambda | ast.ClassDef))
    uses += [n for p in inner for n in ast.walk(p) if isinstance(n, ast.Name)]
    code = function.__code__
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return frozenset(given) - {name.id for name in uses}


class MadeAnew:
    """Functions among the arguments of a function: the first one of those that do the same.

    Only of arguments with which it does nothing else than to call them.
    """

    def __init__(self, fn: Any):
        self._fn = fn
        self._first: dict[Any, FunctionType] = {}
        self._called: tuple[Any, frozenset[str]] = None, frozenset()

    def clear(self) -> None:
        """Forget them."""
        self._first.clear()

    def alike(self, names: Sequence[str], values: Sequence[Any]) -> list[Any] | None:
        """Arguments with the first ones in the place of functions; None where one is not known."""
        found: list[Any] = []
        for name, value in zip(names, values, strict=True):
            if isinstance(value, FunctionType):
                key = function_key(value)
                first = self._first.get((name, key)) if key is not None else None
                if first is None or function_key(first) != key:  # it may hold another value now
                    return None
                value = first
            found.append(value)
        return found

    def note(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """Know the functions of a call, whose other arguments are no containers."""
        for name, value in zip(names, values, strict=False):
            if isinstance(value, FunctionType) and name in self._only_called():
                if len(self._first) >= MOST:
                    self._first.clear()
                self._first[name, function_key(value)] = value

    def _only_called(self) -> frozenset[str]:
        code = getattr(self._fn, "__code__", None)
        if self._called[0] is not code:
            is_own = isinstance(self._fn, FunctionType)
            self._called = code, only_called(self._fn) if is_own else frozenset()
        return self._called[1]
