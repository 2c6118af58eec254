"""Mistakes in functions that are called with arrays of other libraries, told as such.

Within a function arrays are NumPy's.  What it asks of them that only the library's own have, or
writes to them where nobody may, Python or NumPy refuses in words of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced
from opweave.opcodes.errors import (
    InterchangeError,
    OpweaveError,
    ReadOnlyError,
    TraceError,
)

# What NumPy and torch say of a tensor beside an array, where they do not name its class: NumPy
# takes the sum of what has an operator of its own for that of two sequences.
UNNAMED = {"torch": ("Concatenation operation is not implemented", "unsupported ScalarType")}
# What Python and NumPy say where a method of the library's and one of NumPy's have one name: of
# x.size(0), x.sum(dim=0), x.view(-1), x.astype(torch.float64).
OF_ONE_NAME = (
    "is not callable", "unexpected keyword argument", "Cannot interpret", "is not a dtype"
)  # fmt: skip
INSIDE = "inside of a fused function arrays are NumPy's"


def called(cls: type) -> str:
    """A class with its library.

    >>> called(np.ndarray)
    'numpy.ndarray'
    """
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def told_of(
    name: str, error: Exception, cls: type, read_only: Callable[[], Sequence[str]]
) -> OpweaveError | None:
    """What to raise for an error of a function; None for an error as any other.

    Args:
        name: of the function.
        cls: of the arrays that it was called with.
        read_only: asks for the classes of those that cannot be written to.
    """
    if isinstance(error, TypeError) and any(sign in str(error) for sign in OF_ONE_NAME):
        error.add_note(
            f"{name} was called with {called(cls)}: {INSIDE}, and methods and dtypes, too: "
            "x.size is a number there, x.sum takes axis=, and x.dtype is one of NumPy's"
        )
    if isinstance(error, OpweaveError):
        return None
    if isinstance(error, AttributeError):
        return _of_attribute(name, error, cls)
    if isinstance(error, ValueError):
        found = read_only() if "read-only" in str(error) else ()
        return _of_write(name, found[0]) if found else None
    return _of_type(name, error, cls)


def _of_attribute(name: str, error: AttributeError, cls: type) -> OpweaveError | None:
    asked, found = error.name, error.obj
    is_array = isinstance(found, np.ndarray | np.generic) or is_traced(found)
    if asked is None or not is_array or not hasattr(cls, asked):
        return None
    return TraceError(
        f"{name}: expected NumPy-style code, found .{asked}, which {called(cls)} has: {INSIDE}; "
        "write a function of np or ow in its place, such as np.maximum(x, 0) for x.relu()"
    )


def _of_write(name: str, found: str) -> OpweaveError:
    return ReadOnlyError(
        f"{name}: expected an argument that can be written to, found a {found} that is read-only "
        "or has elements that share memory; write to a copy, y = x.copy(), and return that"
    )


def _of_type(name: str, error: Exception, cls: type) -> OpweaveError | None:
    signs = (cls.__name__, *UNNAMED.get(cls.__module__.partition(".")[0], ()))
    if not any(sign in str(error) for sign in signs):
        return None
    return InterchangeError(
        f"{name}: expected NumPy's arrays alone, found {called(cls)} beside them ({error}): "
        f"{INSIDE}; call functions of np or ow, and pass what it computes with as arguments"
    )
