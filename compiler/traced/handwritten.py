"""A kernel that someone wrote, called on traced values: operands are checked, shapes are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.ir.expr import evaluate, literal
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.values import Operand, Scalar, Shape, Value, Where
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import BOOL, DType
from opweave.opcodes.errors import ArgumentError, DTypeError, OpweaveError, ShapeError
from opweave.opcodes.handwritten.c_parameters import CParameter
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel, Shaped

# Elements of all arrays up to which the meaning is tried while tracing, and trials that are kept.
MOST_TRIED, MOST_KEPT = 1 << 20, 256
_tried: dict[Any, None] = {}


def launched(
    tracer: TracerLike, kernel: Operator, operands: Sequence[Any], typed: Sequence[Any],
    where: Where,
) -> Any:  # fmt: skip
    """Append the kernel to the graph, return its results as the user's function sees them.

    Args:
        operands: as the user gave them.
        typed: a value for each array, expression and type for each number.

    Raises:
        ArgumentError, DTypeError: an operand that the parameter is not for.
        ShapeError: no shape, or a meaning that gives another one.
    """
    assert isinstance(kernel, CudaKernel)
    at = f" ({where})" if where.file else ""
    try:
        wrapped = tuple(map(tracer.wrapped, _launched(tracer, kernel, operands, typed, where)))
    except OpweaveError as error:
        if at and at not in str(error):
            raise type(error)(f"{error}{at}") from error.__cause__
        raise
    return wrapped[0] if len(wrapped) == 1 else wrapped


def _launched(
    tracer: TracerLike, kernel: CudaKernel, operands: Sequence[Any], typed: Sequence[Any],
    where: Where,
) -> tuple[Value, ...]:  # fmt: skip
    builder, names = tracer.builder, [p.name for p in kernel.operands]
    pairs = zip(kernel.operands, typed, strict=True)
    found = {p.name: _operand(kernel, p, item) for p, item in pairs}
    _meet(tracer, kernel, found)
    given = dict(zip(names, operands, strict=True))
    asked = [name for name in names if name in kernel.named_numbers]
    numbers = {name: tracer.concrete(given[name]) for name in asked}
    seen = {**given, **_shaped(tracer, found), **numbers}
    shapes = [_shape(tracer, kernel, p.name, seen) for p in kernel.made]
    made = [(p.name, p.dtype) for p in kernel.made if p.dtype is not None]
    results = tuple(builder.new_value(d, s) for (_, d), s in zip(made, shapes, strict=True))
    seen |= _shaped(tracer, {n: v for (n, _), v in zip(made, results, strict=True)})
    found |= {
        p.name: _number(tracer, kernel, p, seen) for p in kernel.given if p.name in kernel.extents
    }
    _try_meaning(tracer, kernel, found, shapes)
    items = map(found.__getitem__, kernel.params)
    read = tuple(builder.resolved(o) if isinstance(o, Value) else o for o in items)
    attrs = (("numbers", tuple(numbers.items())),)
    builder.nodes.append(Node(kernel, read, results, attrs, where))
    return results


def _meet(tracer: TracerLike, kernel: CudaKernel, found: Mapping[str, Operand]) -> None:
    """Let operands that must have one shape have it, in later calls too.

    Raises:
        ShapeError: they have not.
    """
    builder = tracer.builder
    arrays = {name: item for name, item in found.items() if isinstance(item, Value)}
    for name in kernel.same[1:]:
        first, other = (arrays[n].shape for n in (kernel.same[0], name))
        shown = [tuple(map(builder.example, shape)) for shape in (first, other)]
        if shown[0] != shown[1]:
            raise ShapeError(
                f"{kernel.c_name}: {kernel.same[0]} and {name} must have one shape, found "
                f"{shown[0]} and {shown[1]}"
            )
        builder.become([first], [other])


def _shaped(tracer: TracerLike, found: Mapping[str, Operand]) -> dict[str, Any]:
    """What functions of shapes see of the arrays."""
    return {
        name: Shaped(tuple(map(tracer.extent, item.shape)), item.dtype.numpy)
        for name, item in found.items()
        if isinstance(item, Value)
    }


def _operand(kernel: CudaKernel, p: CParameter, item: Any) -> Operand:
    """An operand, if the parameter is for its kind and type.

    Raises:
        ArgumentError: a number for an array, or the other way round.
        DTypeError: another type.
    """
    assert p.dtype is not None
    what = f"{kernel.c_name}: parameter {p.name} ({p.text}): expected"
    if isinstance(item, Value):
        if not p.is_pointer:
            raise ArgumentError(
                f"{what} a number, found an array {item.type}: a kernel takes numbers from the "
                "host; read the array in the kernel, through a pointer"
            )
        if item.dtype.numpy != p.dtype.numpy:
            raise DTypeError(
                f"{what} an array of {p.dtype.numpy_name}, found {item.dtype.numpy_name}: convert "
                f"it with .astype({p.dtype.numpy_name!r})"
            )
        return item
    expr, kind = item
    if p.is_pointer:
        raise ArgumentError(f"{what} an array of {p.dtype.numpy_name}, found a number")
    if not _takes(p.dtype, kind):
        shown = kind.numpy_name if isinstance(kind, DType) else f"a Python {kind.__name__}"
        raise DTypeError(
            f"{what} {p.dtype.numpy_name}, found {shown}: convert it with "
            f"np.{p.dtype.numpy.type.__name__}(...)"
        )
    if expr.op == "literal":
        converted(expr.args[0], p.dtype)  # refuses an integer that does not fit
    return Scalar(expr, p.dtype)


def _takes(dtype: DType, kind: Any) -> bool:
    """True for a number that a parameter takes as it is, as NumPy joins it to an array."""
    if isinstance(kind, DType):
        return kind.numpy == dtype.numpy or kind is BOOL
    return dtype.kind in {int: "iuf", float: "f"}.get(kind, "")


def _shape(tracer: TracerLike, kernel: CudaKernel, name: str, seen: Mapping[str, Any]) -> Shape:
    """The shape of an output.

    Raises:
        ShapeError: the user's function gives none.
    """
    found = kernel.asked(f"outputs[{name!r}]", kernel.outputs[name], seen)
    items = found if isinstance(found, tuple | list) else (found,)
    try:
        return tuple(tracer.extent_of(item) for item in items)
    except (OpweaveError, TypeError, ValueError) as error:
        raise ShapeError(
            f"{kernel.c_name}: outputs[{name!r}]: expected a shape of whole numbers ({error})"
        ) from None


def _number(
    tracer: TracerLike, kernel: CudaKernel, p: CParameter, seen: Mapping[str, Any]
) -> Scalar:
    """A number that follows from shapes.

    Raises:
        ArgumentError: the user's function gives no whole number that fits.
    """
    assert p.dtype is not None
    found = kernel.asked(f"extents[{p.name!r}]", kernel.extents[p.name], seen)
    example = getattr(found, "example", found)
    if isinstance(example, bool) or not isinstance(example, int | np.integer):
        raise ArgumentError(f"{kernel.c_name}: extents[{p.name!r}]: expected a whole number")
    converted(example, p.dtype)
    return Scalar(getattr(found, "expr", None) or literal(int(example)), p.dtype)


def _try_meaning(
    tracer: TracerLike, kernel: CudaKernel, found: Mapping[str, Operand], shapes: Sequence[Shape]
) -> None:
    """Ask the meaning for its shapes and dtypes, with zeros, where that is little work.

    Raises:
        ShapeError, DTypeError: the meaning gives other arrays than the kernel makes.
    """
    builder = tracer.builder
    made = tuple(tuple(map(builder.example, shape)) for shape in shapes)
    sizes = {
        name: tuple(map(builder.example, item.shape))
        for name, item in found.items()
        if isinstance(item, Value)
    }
    key = kernel, made, tuple(sizes.items())
    if key in _tried or sum(map(prod, (*made, *sizes.values()))) > MOST_TRIED:
        return
    operands = [_example(tracer, item) for item in map(found.__getitem__, kernel.params)]
    with np.errstate(all="ignore"):
        try:
            kernel.by_numpy(*operands, shapes=made)
        except (ShapeError, DTypeError):
            raise
        except Exception:  # of zeros it may raise anything
            pass
    if len(_tried) >= MOST_KEPT:
        _tried.clear()
    _tried[key] = None


def _example(tracer: TracerLike, item: Operand) -> Any:
    """Zeros in the place of an array, and the example of a number."""
    builder = tracer.builder
    if isinstance(item, Value):
        return np.zeros(tuple(map(builder.example, item.shape)), item.dtype.numpy)
    return converted(evaluate(item.expr, {**tracer.env, **builder.extents}), item.dtype)
