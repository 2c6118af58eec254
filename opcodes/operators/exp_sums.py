"""The sum of exponentials of a row, of which the largest element is found on the way.

``sum(exp(x - max(x)))`` asks for the maximum before the first exponential.  A running value of
this reduction is a pair instead, which a complex number holds: the largest element so far, and the
sum of ``exp(element - largest)``.  A larger element scales the sum down (Milakov and Gimelshein,
"Online normalizer calculation for softmax", arXiv:1805.02867).

No user applies it: the compiler puts it in the place of such sums where a row is read again for
each pass (``compiler/scheduling/exp_sums.py``).  On the way all is float32 for float16 and
bfloat16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.codes import OpCode, Phase, rows
from opweave.opcodes.core import Cost, Kind, Operator
from opweave.opcodes.dtypes import C64, C128, F64, DType
from opweave.opcodes.operators.functions import figures
from opweave.opcodes.shapes import REDUCED


def exp_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of exp(x - max(x)); NaN where the largest element is not finite."""
    top = np.max(x, axis=axis, keepdims=True)
    return np.sum(np.exp(x - top), axis=axis, keepdims=keepdims)


def _pair(result: DType) -> DType:
    return C128 if result is F64 else C64


EXP_SUM = Operator(
    "exp_sum", Kind.REDUCE,
    (
        OpCode(
            "exp_sum", Phase.ACCUMULATE, ("acc", "x"),
            rows({"f": "with_exponential(acc, x)"}, {"f": "no_exponentials<T>()"}),
        ),
        OpCode("exp_sum", Phase.REDUCE, ("acc", "x"), rows({"f": "with_exponentials(acc, x)"})),
    ),
    exp_sum, rules.first, shape_rule=REDUCED, cost=Cost(8, 1), ulp=figures((2, 1), (1, 1)),
    accumulator=_pair, finish="sum_of_exponentials", needs_nonempty=True,
    attrs=(("axis", None), ("keepdims", False)),
)  # fmt: skip
