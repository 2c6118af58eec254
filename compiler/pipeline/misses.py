"""Why a call was traced anew: what differs from what was traced before, in the user's terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.tracing.arguments import ArrayType, Static
from opweave.opcodes.allowed import shown

# Differences that are named; the rest is counted.
MOST_NAMED = 3
# What is said where no argument differs.
PACKED = (
    "the arguments are packed otherwise, lie on another device, or a function, class or name that "
    "is used was changed"
)


def typed(argument: Any) -> str:
    """An argument as a guard sees it; ``1`` stands for extents of 1, ``n`` for all others."""
    if isinstance(argument, ArrayType):
        extents = ", ".join("1" if e == 1 else "n" for e in argument.shape)
        rest = "" if argument.layout == "C" else f" in order {argument.layout}"
        return f"{argument.dtype}[{extents}]{rest}{'' if argument.aligned else ', not aligned'}"
    if isinstance(argument, Static):
        return shown(argument.value)
    return f"a number of type {type(argument).__name__}"


def by_types(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs between the kinds of arguments of two calls."""
    pairs = [(name, typed(before[name]), typed(now[name])) for name in now if name in before]
    found = [f"{name} is {new}, and was {old}" for name, old, new in pairs if old != new]
    return _joined(found) or PACKED


def by_values(
    graph: FunctionGraph, static: Mapping[str, Any], values: Mapping[str, Any],
    now: Mapping[str, Any], same: Any, holds: Any,
) -> str:  # fmt: skip
    """What a guard asks for and a call does not fulfil; ``static`` has the values asked for."""
    numbers = [name for name, a in now.items() if not isinstance(a, ArrayType | Static)]
    names = extent_names(now) | dict(zip(graph.scalars, numbers, strict=True))
    found = [
        f"{_named(name, names)} is {shown(values[name])}, and was {shown(value)}: its value is "
        "asked for"
        for name, value in static.items()
        if not same(value, values[name])
    ]
    found += [
        f"{_named(a, names)} == {_named(b, names)} held"
        for a, b in graph.equal
        if values[a] != values[b]
    ]
    found += [
        f"{_named(repr(condition), names)} was {value}"
        for condition, value in graph.conditions
        if not holds(condition, value, values)
    ]
    return _joined(found)


def extent_names(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Extents by their symbols, as ``x.shape[0]``."""
    arrays = [(name, a) for name, a in arguments.items() if isinstance(a, ArrayType)]
    found = [f"{name}.shape[{axis}]" for name, a in arrays for axis in range(len(a.shape))]
    return {f"n{number}": text for number, text in enumerate(found)}


def _named(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: names.get(m[0], m[0]), text)


def _joined(found: Sequence[str]) -> str:
    rest = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join(found[:MOST_NAMED]) + rest
