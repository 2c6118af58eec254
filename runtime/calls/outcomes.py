"""What a call gives back: numbers of NumPy and of Python, and the errors that kernels noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr, evaluate
from opweave.opcodes.errors import BoundsError

# By the number of a node that notes indices: the elements of its axis, and the user's line.
Indexed = Mapping[int, tuple[Expr, str]]


def fault(nodes: Indexed, word: int, env: Mapping[str, Any]) -> BoundsError:
    """The error of an index that has no element, from what ``index_of`` in common.cuh noted."""
    size, at = nodes[(word >> 48) - 1]
    low = word & ((1 << 48) - 1)
    index = low - (1 << 48) if low >> 47 else low
    count = evaluate(size, env)
    return BoundsError(f"index {index} is out of bounds for an axis of {count} elements{at}")


def truth(number: Any) -> Any:
    """Python's bool in the place of NumPy's; anything else as it is, such as CuPy's arrays."""
    return bool(number) if isinstance(number, np.bool_) else number


def array_scalar(array: np.ndarray[Any, Any], boxed: bool) -> Any:
    """NumPy returns scalars for 0-d results, except from a few functions."""
    return array if boxed else array[()]
