"""Composites while a function is traced: their definitions are traced in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.traced.arrays import TracedArray
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import OpweaveError

# Operators whose loops in NumPy compare with NaN, which is an error there.
COMPARING = ("logaddexp", "logaddexp2", "logsumexp")


def composed(tracer: TracerLike, operator: Operator, operands: Sequence[Any], attrs: Any) -> Any:
    """Trace the definition, with the operators that stand for edited parts."""
    plain = operator.plain_attrs(attrs)
    if operator.law in COMPARING:
        tracer.suspects += [o.value for o in operands if isinstance(o, TracedArray)]
    parts = zip(operator.parts, operator.made_of, strict=True)
    edited = {name: own for name, own in parts if own.name != name}
    before, tracer.edits = tracer.edits, {**tracer.edits, **edited}
    try:
        return operator.numpy(*operands, **plain)
    except OpweaveError as error:
        raise type(error)(f"{operator.name}: {error}") from None
    finally:
        tracer.edits = before
