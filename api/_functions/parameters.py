"""The parameters of a function: names, defaults, and a call's values in their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave._functions.layout import Call, Layout
from opweave._saved.given import GivenArguments
from opweave.compiler.captures.assumptions import Assumptions
from opweave.compiler.captures.binding import function_behind, renew_signature
from opweave.compiler.tracing.calling import signature_of
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

P = inspect.Parameter
EMPTY = P.empty
VARIADIC = (P.VAR_POSITIONAL, P.VAR_KEYWORD)


class Parameters:
    """The parameters of a function."""

    def __init__(self, fn: Callable[..., Any], static: Sequence[str]):
        self.name = getattr(fn, "__name__", shown(fn))
        self.fn = fn
        self.wanted = tuple(static)
        self.describe(None)

    def describe(self, state: tuple[int, ...] | None) -> None:
        """Look at parameters and defaults; ``state`` says how the function is defined."""
        self.defaults, behind = Assumptions(), function_behind(self.fn)
        if behind is not self.fn:
            self.defaults.add_given(function_behind, self.fn)
        if behind is not None:
            self.defaults.add_defaults(behind)
        renew_signature(self.fn)
        self.signature = _signature_of(self.fn)
        self.parameters = list(self.signature.parameters.values())
        self.rows = [(p.name, p.default) for p in self.parameters]
        self.kinds = [(p.name, p.kind, p.default) for p in self.parameters]
        self.is_variadic = any(p.kind in VARIADIC for p in self.parameters)
        self.size = len(self.rows)  # of the values of a call
        self.count = -1 if self.is_variadic else self.size  # of arguments that are all
        by_name = (p.name for p in self.parameters if p.kind is P.POSITIONAL_OR_KEYWORD)
        self.by_name = frozenset(by_name)
        names = tuple(name for name, _ in self.rows)
        for wanted in self.wanted:
            if type(wanted) is not str or wanted not in names:
                raise ArgumentError(
                    f"fuse: static_argnames names {shown(wanted)}, not among {', '.join(names)}"
                )
        self.names = names
        self.has_out = "out" in names  # a parameter of the function's own
        self.static = tuple(name in self.wanted for name in names)
        self.selecting = tuple(map(names.index, self.wanted))
        self.plain = Layout(names, self.static, names, (None,) * len(names), state=state)

    def place(self, number: int) -> str:
        """How a user writes an argument by its position, such as ``rest[1]``."""
        kinds = [p.kind for p in self.parameters]
        rest = kinds.index(VARIADIC[0]) if VARIADIC[0] in kinds else len(kinds)
        if number >= rest:
            return f"{self.names[rest]}[{number - rest}]"
        return self.names[number] if number < len(kinds) else str(number)

    def given(self, call: Call) -> GivenArguments:
        """The arguments of a call, without arrays."""
        layout = call.layout
        same = layout.same is not None and len({*layout.same}) < len(layout.same)
        parameters = tuple(self.parameters)
        return GivenArguments(
            self.name, parameters, layout.parameters, layout.trees, call.types, same
        )

    def in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Argument values in the order of the parameters; of ``*args`` a tuple.

        Raises:
            ArgumentError: an argument is missing, unknown, or given twice.
        """
        if not kwargs and len(args) == self.count:
            return list(args)
        if not self.defaults.hold():
            self.describe(self.plain.state)
        if self.is_variadic:
            return self._any_in_order(args, kwargs)
        if len(args) > len(self.rows):
            raise ArgumentError(
                f"{self.name}: takes {len(self.rows)} arguments, found {len(args)}"
            )
        values, rest = list(args), dict(kwargs)
        for name, default in self.rows[len(args) :]:
            value = rest.pop(name, default)
            if value is EMPTY:
                raise ArgumentError(f"{self.name}: argument {name!r} is missing")
            values.append(value)
        if rest:
            raise ArgumentError(
                f"{self.name}: unknown or repeated argument {shown(next(iter(rest)))}; it takes "
                f"{', '.join(self.names)}"
            )
        return values

    def _any_in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The same of a function with ``*args`` or ``**kwargs``.

        Raises:
            ArgumentError: as ``in_order``, in Python's words.
        """
        values: list[Any] = []
        left, named = args, dict(kwargs)
        for name, kind, default in self.kinds:
            if kind is P.VAR_POSITIONAL:
                values.append(tuple(left))
                left = ()
            elif kind is P.VAR_KEYWORD and self.by_name.isdisjoint(named):
                values.append(named)
                named = {}
            elif kind is not P.KEYWORD_ONLY and left:
                values.append(left[0])
                left = left[1:]
            else:
                values.append(default if kind is P.POSITIONAL_ONLY else named.pop(name, default))
        if left or named or any(value is EMPTY for value in values):
            return self._bound(args, kwargs)
        return values

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """As Python binds arguments.

        Raises:
            ArgumentError: it refuses them.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        bound.apply_defaults()
        return list(bound.arguments.values())


def _signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function.

    Raises:
        ArgumentError: it has none that can be read.
    """
    try:
        return signature_of(fn)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"fuse: {shown(fn)} has no readable signature; wrap it in a def"
        ) from None
