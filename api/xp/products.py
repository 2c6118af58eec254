"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from opweave.opcodes.errors import ShapeError
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.maps import broadcast, promotion_of
from opweave.xp.nodes import LazyNode, XpOperation, record
from opweave.xp.reductions import check_kinds

MATMUL = XpOperation("matmul", np.matmul)


def multiplied(first: LazyNode, second: LazyNode) -> LazyNode:
    """The node of a product of matrices, of stacks of them, or of vectors.

    Raises:
        DTypeError: of other elements than numbers, or kinds that do not promote.
        ShapeError: the shapes do not fit.
    """
    one = LazyNode((), first.dtype, first.library), LazyNode((), second.dtype, second.library)
    dtype, _ = promotion_of("matmul", one)
    check_kinds("matmul", dtype, "ifc")
    a, b = first.shape, second.shape
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ShapeError(f"matmul: shapes {list(a)} and {list(b)} do not fit{at_line()}")
    stack = broadcast("matmul", a[:-2], b[:-2])
    shape = (*stack, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
    return bounded(record(MATMUL, (first, second), (), shape, dtype))
