"""Arrays made of a number: operators without an operand that has a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.core import Kind, OpCode, Operator, Phase
from opweave.opcodes.shapes import RESHAPED


def full(x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """An array of this shape and dtype whose every element is ``x``."""
    return np.full(shape, x, dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "full", Kind.CREATE,
        (OpCode("full", Phase.PROLOGUE, "x", ("x",), dtypes="fiub", exact=True),),
        full, rules.stated, shape_rule=RESHAPED, attrs=(("dtype", None), ("shape", ())),
    ),
)  # fmt: skip
