"""Integers, and what NumPy takes for one: an axis, an extent, a count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.opcodes.allowed import is_number, shown
from opweave.opcodes.errors import IntegerError, OpweaveError

MOST = np.iinfo(np.int64)


def integer(item: Any, what: str) -> int:
    """A plain integer, which each function of NumPy's takes.

    Raises:
        IntegerError: anything else.  NumPy decides, and is not of one mind: some functions take
            bools or floats, others refuse them.
    """
    if not isinstance(item, bool):
        try:
            found = index(item)
        except OpweaveError:
            raise
        except Exception:  # also what an __index__ of the user's own raises
            found = MOST.max + 1
        if MOST.min <= found <= MOST.max:
            return found
    raise IntegerError(f"{what} must be an integer, found {shown(item)}")


def _integers(item: Any, what: str) -> Any:
    """An integer, several, or what stands for other things than integers."""
    is_traced_integer = is_traced_number(item) and isinstance(item, int | np.integer)
    if item is None or isinstance(item, slice | range) or is_traced_integer:
        return item
    if type(item) in (tuple, list):
        return type(item)(_integers(one, what) for one in item)
    return item if getattr(item, "ndim", 0) else integer(item, what)


def _places(item: Any, what: str) -> Any:
    """Indices, in an array or in nested sequences that are not empty."""
    if type(item) in (tuple, list) and item:
        return type(item)(_places(one, what) for one in item)
    is_kept = is_traced(item) or isinstance(item, range) or getattr(item, "ndim", False)
    is_float = getattr(getattr(item, "dtype", None), "kind", "i") in "fc"
    return item if is_kept and not is_float else integer(item, what)


def _parts(item: Any, what: str) -> Any:
    """Indices or a slice."""
    return item if isinstance(item, slice) else _places(item, what)


def _flag(item: Any, what: str) -> Any:
    if type(item) in (bool, int) or (is_traced_number(item) and isinstance(item, int)):
        return item
    raise IntegerError(f"{what}={shown(item)}: expected True or False")


def _number(item: Any, what: str) -> Any:
    if is_number(item) and not isinstance(item, complex):
        return item
    raise IntegerError(f"{what}={shown(item)}: expected a number")


COUNTS = """axis axis1 axis2 axisa axisb axisc axes decimals k n N M newshape num offset
shape source destination""".split()
# Of the arguments of these names, in each of NumPy's functions: what makes them plain.
PLAIN: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(COUNTS, _integers), "indices": _places, "obj": _parts,
    "keepdims": _flag, "ddof": _number, "correction": _number,
}  # fmt: skip


def plain(name: str, item: Any) -> Any:
    """An argument that NumPy takes for integers, in their plain form; any other as it is.

    Raises:
        IntegerError: something else, which is left to NumPy.
    """
    check = PLAIN.get(name)
    return item if check is None else check(item, name)
