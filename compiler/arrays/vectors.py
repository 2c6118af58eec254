"""Vectors as operands of products, by NumPy's rules of ``@``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.opcodes.core import Kind, Operator

# The axes of a vector as the left and as the right matrix of a product.
AS_MATRIX = ((None, 0), (0, None))


def applied(
    tracer: TracerLike, operator: Operator, operands: Sequence[Any], attrs: Mapping[str, Any]
) -> Any:
    """What an operator gives; a vector in a product is a matrix of one row or one column.

    That row or column is none of the result's.
    """
    if operator.kind is not Kind.CONTRACT:
        return tracer.apply(operator, operands, attrs)
    given = [
        lifted(tracer, o) if isinstance(o, list | tuple | np.ndarray) else o for o in operands
    ]
    is_vector = [is_traced_array(o) and o.ndim == 1 for o in given]
    if not any(is_vector):
        return tracer.apply(operator, operands, attrs)
    for n, axes in enumerate(AS_MATRIX):
        if is_vector[n]:
            given[n] = tracer.hidden_view(given[n], axes)
    product = tracer.apply(operator, given, attrs)
    kept = list(range(product.ndim))
    del kept[product.ndim - 2 + (not is_vector[0]) : product.ndim - (not is_vector[1])]
    return tracer.hidden_view(product, tuple(kept))
