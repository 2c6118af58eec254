"""What becomes of a call inside of a fused function, and whether its result is NumPy's."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import opweave as ow
from opweave._functions.parts import BREAKS

from .rows import OPERANDS

FUSES, CALLED, IN_PARTS, REFUSED = "fuses", "called", "in parts", "refused"
OUTCOMES = (FUSES, CALLED, IN_PARTS, REFUSED)
FILE = "numpy_page.py"
# What a refusal says besides its reason: where, and on what.
ASIDE = re.compile(rf" \({FILE}:\d+\)|; .*|\n.*", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A call, what becomes of it, and the number of kernels or the reason."""

    call: str
    outcome: str
    note: str


def function_of(
    call: str, operands: Mapping[str, Any] = OPERANDS
) -> tuple[Callable[..., Any], list[Any]]:
    """A function of the operands that a call names, and copies of those."""
    code = compile(call.replace("; ", "\n"), FILE, "exec")
    names = sorted(set(code.co_names) & set(OPERANDS))
    *steps, last = call.split("; ")
    body = [*steps, last, "return z"] if steps else [f"return {last}"]
    scope: dict[str, Any] = {"np": np, "__name__": "numpy_page"}
    if "special." in call:
        from scipy import special

        scope["special"] = special
    text = f"def tried({', '.join(names)}):\n    " + "\n    ".join(body)
    exec(compile(text, FILE, "exec"), scope)
    return scope["tried"], [copy.copy(operands[name]) for name in names]


def judged(call: str) -> Row:
    """Lower a call for a GPU, or else for the host, without running anything."""
    function, args = function_of(call)
    fused = ow.fuse(function, fullgraph=True)
    try:
        count = len(fused.lower(*args, target="sm_90a").kernels)
    except BREAKS as error:
        called = _called(fused, args)
        return Row(call, CALLED, called) if called else Row(call, IN_PARTS, _reason(call, error))
    except Exception as error:
        return Row(call, REFUSED, f"{type(error).__name__}: {_reason(call, error)}")
    return Row(call, FUSES, _number(count, "kernel") if count else "no kernel")


def _called(fused: Any, args: list[Any]) -> str:
    """How many calls of NumPy's library a function is on the host; "" where it is no whole."""
    try:
        steps = [view.data.template for view in fused.lower(*args, target="host").kernels]
    except BREAKS:
        return ""
    calls = steps.count("library")
    kernels = f", {_number(len(steps) - calls, 'kernel')}" if len(steps) > calls else ""
    return _number(calls, "call") + kernels


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + "s" * (count > 1)


def _reason(call: str, error: Exception) -> str:
    text = ASIDE.sub("", str(error))
    name, _, rest = text.partition(": ")
    called = name.removeprefix("np.").removeprefix("ndarray").lstrip(".")
    text = rest if rest and re.search(rf"\b{re.escape(called)}\b", call) else text
    return text.replace("opweave does not compile this yet", "not compiled").replace("|", "\\|")


def difference(call: str) -> str:
    """How the result of a fused function differs from NumPy's; "" where it does not."""
    function, args = function_of(call)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*copy.deepcopy(args))
        try:
            found = ow.fuse(function)(*args)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return compared(found, expected)


def compared(found: Any, expected: Any) -> str:
    """How two results of a call differ."""
    if isinstance(expected, tuple | list):
        if type(found) is not type(expected) or len(found) != len(expected):
            return f"{type(found).__name__}, expected {type(expected).__name__}"
        pairs = enumerate(zip(found, expected, strict=True))
        return next((f"[{n}]: {d}" for n, pair in pairs if (d := compared(*pair))), "")
    if type(found) is not type(expected):
        return f"{type(found).__name__}, expected {type(expected).__name__}"
    if not isinstance(expected, np.ndarray | np.generic):
        return "" if found == expected else f"{found!r}, expected {expected!r}"
    kinds = [(a.dtype, a.shape) for a in (found, expected)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]}, expected {kinds[1]}"
    if expected.dtype.kind not in "fc":
        same = np.array_equal(found, expected)
        return "" if same else f"{found!r}, expected {expected!r}"
    size = expected.real.dtype.itemsize
    rough = {2: 4e-3, 4: 2e-5}.get(size, 1e-11)
    close = np.isclose(found, expected, rtol=rough, atol=rough, equal_nan=True)
    return "" if close.all() else f"{found[~close]!r}, expected {expected[~close]!r}"
