"""Arguments as text: ``f32[1080,1920,3]``, ``gamma=2.2``, ``1.4``, ``True``, ``mode=fast``."""

from __future__ import annotations

import ast
import difflib
import mmap
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import Parameter
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import DTypeError, RequestError

ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<extents>[^\[\]]*)\](?::(?P<order>\w+))?")
WORDS: Mapping[str, Any] = {"True": True, "False": False, "None": None}
BY_NAME = {name: d for d in dtypes.ALL for name in (d.name, d.numpy_name)}
MOST_MADE_UP = 1 << 28  # bytes
EXPECTED = "expected an array such as f32[1080,1920,3], a number, True or False"


def bind(
    texts: Sequence[str],
    parameters: Sequence[tuple[str, Any]],
    static: Sequence[str],
    function: str = "function",
) -> dict[str, Any]:
    """Values of the arguments by name, in the order of the parameters.

    ``["f32[8]", "gamma=2.2"]`` for ``f(img, gamma)`` gives ``{"img": zeros(8), "gamma": 2.2}``

    Raises:
        RequestError: too many, too few, one twice, or one that does not parse.
    """
    names = [name for name, _ in parameters]
    takes = f"{function} takes ({', '.join(_shown(n, d) for n, d in parameters)})"
    given: dict[str, Any] = {}
    for text in texts:
        name, value = _named(text, names, takes)
        left = [n for n in names if n not in given]
        if name is None and not left:
            raise RequestError(f"{takes}: found {len(texts)} --arg; leave out --arg {text!r}")
        name = name or left[0]
        if name in given:
            raise RequestError(f"{takes}: --arg gives {name!r} twice; leave out one")
        given[name] = parse(value, name, name in static, static)
    for name, default in parameters:
        if name not in given and default is Parameter.empty:
            add = f'add --arg "{name}=f32[1080,1920]" or a number'
            raise RequestError(f"{takes}: found {len(texts)} --arg, {name!r} is missing; {add}")
    return {n: given.get(n, d) for n, d in parameters}


def _shown(name: str, default: Any) -> str:
    return name if default is Parameter.empty else f"{name}={default!r}"


def _named(text: str, names: Sequence[str], takes: str) -> tuple[str | None, str]:
    """Take ``name=`` off; a text that names nothing is the next argument in order."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier():
        return None, text
    if name.strip() not in names:
        near = difflib.get_close_matches(name.strip(), names, 1)
        hint = f"did you mean {near[0]}?" if near else "leave it out"
        raise RequestError(f"{takes}: --arg {text!r} names no argument of it; {hint}")
    return name.strip(), value


def parse(text: str, name: str, is_static: bool, static: Sequence[str] = ()) -> Any:
    """The value of one argument.

    Raises:
        RequestError: it does not parse; says what would.
    """
    text = text.strip()
    if is_plain(text):
        return plain(text)
    array = ARRAY.fullmatch(text)
    if array:
        return make_array(array["dtype"], array["extents"], array["order"] or "C", text)
    if is_static:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(text)
        return text
    with suppress(ValueError):
        return complex(text)
    known = f"only {', '.join(static)} takes one" if static else "no argument takes one"
    raise RequestError(
        f"--arg {shown(text)} for {name!r}: {EXPECTED}; a string needs static_argnames or "
        f"--static ({known} here)"
    )


def is_plain(text: str) -> bool:
    """True for a number, True, False or None."""
    with suppress(ValueError):
        plain(text)
        return True
    return False


def plain(text: str) -> Any:
    """A number, True, False or None.

    Raises:
        ValueError: none of these.
    """
    if text in WORDS:
        return WORDS[text]
    with suppress(ValueError):
        return int(text)
    return float(text)


def make_array(dtype: str, extents: str, order: str, text: str) -> np.ndarray[Any, Any]:
    """A read-only array of zeros that takes no memory.

    Raises:
        RequestError: an unknown dtype, an extent that is no extent, an unknown order.
    """
    kind = BY_NAME.get(dtype)
    if kind is None:
        raise RequestError(f"--arg {text!r}: {_no_dtype(dtype)}")
    if order not in ("C", "F"):
        raise RequestError(f"--arg {text!r}: expected the order :C or :F, found :{order}")
    parts = [p.strip() for p in extents.split(",")] if extents.strip() else []
    if not all(p.isascii() and p.isdigit() and len(p) < 20 for p in parts):
        raise RequestError(f"--arg {shown(text)}: expected extents such as 1080,1920,3")
    shape = tuple(map(int, parts))
    total = kind.itemsize
    for extent in shape:
        total *= extent
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        # Read-only, because what can be written counts against the memory of the machine.
        memory = mmap.mmap(-1, max(total, 1), flags, mmap.PROT_READ)
        return np.ndarray(shape, kind.numpy, memory, order="C" if order == "C" else "F")
    except (OSError, OverflowError, ValueError) as error:
        raise RequestError(
            f"--arg {text!r}: an array of {total} bytes has no place here ({error}); expected a "
            "smaller one: the kernels depend on the class of a shape, not on its size"
        ) from None


def made_up(value: Any) -> Any:
    """An array of the same dtype and shape with numbers in it; anything else as it is.

    Raises:
        RequestError: it is too large to be filled.
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.nbytes > MOST_MADE_UP:
        raise RequestError(
            f"the function runs in parts, which only a run shows, and {value.dtype} "
            f"{value.shape} is too large for one: expected at most {MOST_MADE_UP} bytes"
        )
    most = {"b": 2, "i": 8, "u": 8}.get(value.dtype.kind, 1)
    made = np.asarray(np.random.default_rng(0).random(value.shape) * most)
    if value.dtype.kind == "b":
        made = made >= 1
    order: Any = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return np.asarray(made.astype(value.dtype), order=order)


def _no_dtype(name: str) -> str:
    expected = ", ".join(f"{d.name} ({d.numpy_name})" for d in dtypes.ALL)
    try:
        dtypes.of(name)
    except DTypeError as error:
        verdict = "not supported" if "not supported" in str(error) else "no dtype"
    else:
        verdict = "not spelt out"
    return f"{name} is {verdict}: expected one of {expected}"
