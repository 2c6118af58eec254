"""Operations on elements: the table, and how one is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError, DTypeError, ShapeError
from opweave.xp.dtypes import BOOL, REAL_OF, DType, promoted, said, with_number
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.nodes import Handle, LazyNode, XpOperation, given, record

NUMBERS = frozenset((bool, int, float, complex))
OPERANDS = (Handle, int, float, complex, np.generic, np.ndarray)
# Exponents that are part of a program, since kernels of them are faster: x ** 2 is x * x.
STATIC_EXPONENTS = frozenset((-1, 0, 1, 2, 3, 4, 0.5, -0.5))
# What the dtype of a result follows from.
SAME, TRUTH, REAL = "same", "truth", "real"


class MapRow(NamedTuple):
    """A function of elements.

    Attributes:
        kinds: letters of the dtypes that it takes, see ``dtypes.LETTER``.
        result: its dtype: that to which operands promote, bool, or the real one of that.
        accepted: the kinds as NumPy's letters.
    """

    operation: XpOperation
    kinds: str
    result: str
    operands: int
    accepted: str


def _unchanged(x: Any) -> Any:
    """What copies make of an array: fused functions return arrays of their own."""
    return np.positive(x) if x.dtype.kind != "b" else np.logical_or(x, x)


def _power(x: Any, exponent: Any) -> Any:
    """With the exponent as an attribute, and so a constant of the program."""
    return np.power(x, exponent)


def _rows(
    operands: int, result: str, table: dict[str, tuple[str, Callable[..., Any]]]
) -> dict[str, MapRow]:
    """Rows of a table: kinds and NumPy's function by the standard's name."""
    return {
        name: MapRow(XpOperation(name, compute), kinds, result, operands, kinds.replace("i", "iu"))
        for name, (kinds, compute) in table.items()
    }


MAPS: dict[str, MapRow] = {
    **_rows(1, SAME, {
        "acos": ("fc", np.arccos), "acosh": ("fc", np.arccosh), "asin": ("fc", np.arcsin),
        "asinh": ("fc", np.arcsinh), "atan": ("fc", np.arctan), "atanh": ("fc", np.arctanh),
        "bitwise_invert": ("bi", np.invert), "ceil": ("if", np.ceil), "conj": ("ifc", np.conj),
        "cos": ("fc", np.cos), "cosh": ("fc", np.cosh), "exp": ("fc", np.exp),
        "expm1": ("fc", np.expm1), "floor": ("if", np.floor), "log": ("fc", np.log),
        "log10": ("fc", np.log10), "log1p": ("fc", np.log1p), "log2": ("fc", np.log2),
        "logical_not": ("b", np.logical_not), "negative": ("ifc", np.negative),
        "positive": ("ifc", np.positive), "reciprocal": ("fc", np.reciprocal),
        "round": ("ifc", np.round), "sign": ("ifc", np.sign), "sin": ("fc", np.sin),
        "sinh": ("fc", np.sinh), "sqrt": ("fc", np.sqrt), "square": ("ifc", np.square),
        "tan": ("fc", np.tan), "tanh": ("fc", np.tanh), "trunc": ("if", np.trunc),
    }),
    **_rows(1, REAL, {"abs": ("ifc", np.abs), "imag": ("c", np.imag), "real": ("ifc", np.real)}),
    **_rows(1, TRUTH, {
        "isfinite": ("ifc", np.isfinite), "isinf": ("ifc", np.isinf), "isnan": ("ifc", np.isnan),
        "signbit": ("f", np.signbit),
    }),
    **_rows(2, SAME, {
        "add": ("ifc", np.add), "atan2": ("f", np.arctan2), "bitwise_and": ("bi", np.bitwise_and),
        "bitwise_left_shift": ("i", np.left_shift), "bitwise_or": ("bi", np.bitwise_or),
        "bitwise_right_shift": ("i", np.right_shift), "bitwise_xor": ("bi", np.bitwise_xor),
        "copysign": ("f", np.copysign), "divide": ("fc", np.divide),
        "floor_divide": ("if", np.floor_divide), "hypot": ("f", np.hypot),
        "logaddexp": ("f", np.logaddexp), "maximum": ("if", np.maximum),
        "minimum": ("if", np.minimum), "multiply": ("ifc", np.multiply),
        "nextafter": ("f", np.nextafter), "pow": ("ifc", np.power),
        "remainder": ("if", np.remainder), "subtract": ("ifc", np.subtract),
    }),
    **_rows(2, TRUTH, {
        "equal": ("bifc", np.equal), "greater": ("if", np.greater),
        "greater_equal": ("if", np.greater_equal), "less": ("if", np.less),
        "less_equal": ("if", np.less_equal), "logical_and": ("b", np.logical_and),
        "logical_or": ("b", np.logical_or), "logical_xor": ("b", np.logical_xor),
        "not_equal": ("bifc", np.not_equal),
    }),
}  # fmt: skip
POW_STATIC = XpOperation("pow", _power)
COPY = XpOperation("copy", _unchanged)
POW = MAPS["pow"].operation
# What keeps integers as they are; of floats and complex numbers it is NumPy's function.
ROUNDING = frozenset(("ceil", "floor", "round", "trunc"))


def node_of(x: Any, what: str) -> LazyNode:
    """The node of an array.

    Raises:
        ArgumentError: it is none of ours.
    """
    if isinstance(x, Handle):
        return x._node
    raise ArgumentError(
        f"{what}: expected an array of opweave.xp, found {_found(x)}{at_line()}: make one by "
        "xp.asarray"
    )


def _found(x: Any) -> str:
    """What stands in an array's place: an array by its shape, else the value."""
    shape = getattr(x, "shape", None)
    return f"{shown(x) if shape is None else f'one of shape {shape}'}, of type {type(x).__name__}"


def operand_of(x: Any, what: str) -> Any:
    """The node of an array, or a number of Python's.

    Raises:
        ArgumentError: it is neither.
    """
    if isinstance(x, Handle):
        return x._node
    if type(x) in NUMBERS:
        return x
    if isinstance(x, int | float):  # of other classes, such as np.float64
        return int(x) if isinstance(x, int) else float(x)
    if isinstance(x, complex):
        return complex(x)
    return given(np.asarray(x)) if isinstance(x, np.generic) else node_of(x, what)


def is_operand(x: Any) -> bool:
    """Whether an operator takes it, or says what is wrong with it."""
    return isinstance(x, OPERANDS)


def mapped(row: MapRow, *operands: Any) -> LazyNode:
    """The node of a function of elements.

    Raises:
        DTypeError: the standard gives the function no meaning for these dtypes, or no promotion.
        ShapeError: the shapes do not broadcast.
        ArgumentError: an operand is no array of ours.
    """
    name = row.operation.name
    found = [x._node if isinstance(x, Handle) else operand_of(x, name) for x in operands]
    dtype, shape = promotion_of(name, found)
    if dtype.kind not in row.accepted:
        raise DTypeError(f"{name}: expected {said(row.kinds)}, found {dtype}{at_line()}")
    operation, attrs = row.operation, ()
    if name in ROUNDING and dtype.kind in "iu":
        operation = MAPS["positive"].operation
    elif operation is POW and type(found[1]) in (int, float) and found[1] in STATIC_EXPONENTS:
        return bounded(record(POW_STATIC, found[:1], (("exponent", found[1]),), shape, dtype))
    if row.result == TRUTH:
        dtype = BOOL
    elif row.result == REAL:
        dtype = REAL_OF.get(dtype, dtype)
    return bounded(record(operation, found, attrs, shape, dtype))


def promotion_of(what: str, operands: Sequence[Any]) -> tuple[DType, tuple[int, ...]]:
    """The dtype to which operands promote, and the shape to which they broadcast."""
    first, last = operands[0], operands[-1]
    if type(first) is LazyNode and len(operands) <= 2 and _are_plain(first, last):
        return first.dtype, first.shape
    nodes = [operand for operand in operands if type(operand) is LazyNode]
    if not nodes:
        raise ArgumentError(f"{what}: expected an array among the operands{at_line()}")
    dtype, shape = nodes[0].dtype, nodes[0].shape
    for node in nodes[1:]:
        both = dtype if node.dtype is dtype else promoted(dtype, node.dtype)
        if both is None:
            raise DTypeError(
                f"{what}: {dtype} and {node.dtype} are of kinds that do not promote"
                f"{at_line()}: cast one by astype"
            )
        dtype = both
        if node.shape != shape:
            shape = broadcast(what, shape, node.shape)
    if len(nodes) < len(operands):
        for number in operands:
            if type(number) is not LazyNode:
                dtype = with_number(dtype, number, what)
    return dtype, shape


def _are_plain(first: LazyNode, last: Any) -> bool:
    """Whether two operands promote and broadcast to what the first is, as most do."""
    if type(last) is LazyNode:
        return last.dtype is first.dtype and last.shape == first.shape
    return type(last) is float and first.dtype.kind in "fc"


def broadcast(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which shapes broadcast.

    Raises:
        ShapeError: they do not.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " and ".join(map(str, map(list, shapes)))
        raise ShapeError(f"{what}: shapes {texts} do not broadcast{at_line()}") from None
