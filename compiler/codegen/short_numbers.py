"""Operations on a GPU that are cheaper on numbers of few bits, and give the same bits.

A division of floats takes a dozen instructions, half of which look for numbers at the ends of the
range.  Where both numbers have at most 16 bits, and no such exponents, a product with the
reciprocal and one correction give the quotient (``whole_quotient`` in ``templates/opweave.cuh``).
Of bfloat16 numbers the product alone rounds to the quotient (``bfloat16_quotient``).  The
reciprocal is computed once: the divisor is a literal, or the same for a row.  Float32 numbers of a
row are divided a chunk at a time (``compiler/kernels/quotients.py``).

A float becomes a byte by way of an int.  Whether an int can hold it is not asked where the float
follows from bytes, or is clipped, by numbers of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import frexp, inf, nan
from typing import TYPE_CHECKING

import numpy as np

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Value
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import BF16, F16, F32, F64, HALVES, I8, U8

if TYPE_CHECKING:
    from opweave.compiler.codegen.tables import TableReads

MOST_BITS = 16
MOST_INT = 2.0**31
MOST_HALF, MOST_FLOAT = 65504.0, 1e38
# The exponent of a literal divisor: far from the ends of the range, whatever is divided.
MOST_EXPONENT = 64


def cheaper(made: TableReads, node: Node) -> str:
    """The function that computes a node so; "" for the operator's own op-code."""
    return _divided(made, node) or _converted(made, node)


def _divided(made: TableReads, node: Node) -> str:
    if node.operator is not OPERATORS["divide"] or node.result.dtype not in (F16, BF16, F32):
        return ""
    of, by = node.operands
    uniform = (
        _is_short(by) if isinstance(by, Scalar) else by.dtype in HALVES and made.along_row(by)
    )
    if not uniform or isinstance(of, Scalar):
        return ""
    if of.dtype in HALVES:
        return "short_quotient" if of.dtype is F16 else "bfloat16_quotient"
    return "whole_quotient" if _is_whole(made, of) and isinstance(by, Scalar) else ""


def divides_by_row(made: TableReads, node: Node) -> bool:
    """A node divides float32 numbers by one that is the same for a row, the long way."""
    if node.operator is not OPERATORS["divide"] or node.result.dtype is not F32:
        return False
    of, by = node.operands
    uniform = made.along_row(by) and not made.along_row(of) and not _is_power_of_two(by)
    return uniform and not cheaper(made, node)


def _is_power_of_two(by: Operand) -> bool:
    """A literal by which a compiler divides in one product."""
    return isinstance(by, Scalar) and abs(frexp(_number(by))[0]) == 0.5


def _is_whole(made: TableReads, value: Value) -> bool:
    """A value is an integer of few bits, as a float."""
    node = made.makers.get(value.id)
    if node is None or node.operator is not OPERATORS["cast"]:
        return False
    dtype = node.operands[0].dtype
    return dtype.kind in "iub" and 8 * dtype.itemsize <= MOST_BITS


def _is_short(by: Scalar) -> bool:
    """A literal that is a number of few bits and no zero."""
    fraction, exponent = frexp(_number(by))
    shifted = abs(fraction) * 2**MOST_BITS
    return 0 < shifted < 2**MOST_BITS and shifted.is_integer() and abs(exponent) <= MOST_EXPONENT


def _number(scalar: Scalar) -> float:
    """A literal in its own type; NaN for what is none, or is complex."""
    if scalar.expr.op != "literal" or scalar.dtype.is_complex:
        return nan
    with np.errstate(all="ignore"):  # 1e30 is no float16: the call says so
        return float(scalar.dtype.numpy.type(scalar.expr.args[0]))


def _converted(made: TableReads, node: Node) -> str:
    if node.operator is not OPERATORS["cast"] or node.result.dtype not in (U8, I8):
        return ""
    (of,) = node.operands
    low, high = _range(made.ranges, of)
    held = of.dtype.is_float and of.dtype is not F64 and -MOST_INT < low <= high < MOST_INT
    return f"byte_of<{node.result.dtype.register}>" if held else ""


Range = tuple[float, float]
UNKNOWN = -inf, inf


def ranges(nodes: Iterable[Node]) -> dict[int, Range]:
    """By its id what a float lies between, unless it is NaN, as far as operators tell."""
    found: dict[int, Range] = {}
    for node in nodes:
        rule = RANGES.get(node.operator.name)
        dtype = node.result.dtype
        if rule is None or node.operator is not OPERATORS[node.operator.name]:
            continue
        low, high = rule(*(_range(found, o) for o in node.operands))
        most = MOST_HALF if dtype is F16 else MOST_FLOAT
        if dtype.is_float and low <= high:
            found[node.result.id] = -_above(-low, most), _above(high, most)
    return found


def _above(end: float, most: float) -> float:
    """An end of a range with what rounding may add, and more; infinity where it overflows."""
    rounded = end + abs(end) / 64
    return rounded if rounded < most else inf


def _range(known: Mapping[int, Range], operand: Operand) -> Range:
    if isinstance(operand, Scalar):
        number = _number(operand)
        return (number, number) if abs(number) < inf else UNKNOWN
    if operand.dtype.kind in "iu" and operand.dtype.itemsize <= 4:
        limits = np.iinfo(operand.dtype.numpy)
        return float(limits.min), float(limits.max)
    return known.get(operand.id, UNKNOWN)


def _clipped(of: Range, low: Range, high: Range) -> Range:
    return min(max(of[0], low[0]), high[0]), min(max(of[1], low[1]), high[1])


def _product(x: Range, y: Range) -> Range:
    ends = [a * b for a in x for b in y]
    return UNKNOWN if any(end != end for end in ends) else (min(ends), max(ends))


def _quotient(x: Range, y: Range) -> Range:
    return UNKNOWN if y[0] <= 0 <= y[1] else _product(x, (1 / y[1], 1 / y[0]))


RANGES: Mapping[str, Callable[..., Range]] = {
    "cast": lambda x: x,
    "clip": _clipped,
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "divide": _quotient,
}
