"""Kernels that NumPy computes on the host: products, what written kernels mean, library calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from opweave.opcodes.dtypes import HALVES

if TYPE_CHECKING:
    from opweave.compiler.kernels.handwritten import HandwrittenKernel
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.compiler.kernels.library import LibraryKernel
    from opweave.runtime.calls.layouts import Layouts

# (arrays, numbers) -> the results are written
Compute = Callable[[Any, Sequence[Any]], None]
# An array of the call, and shape, dtype and first byte of the operand in it; None where it is all.
Operand = tuple[int, tuple[tuple[int, ...], Any, int] | None]


def by_numpy(
    kernel: Kernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
) -> Compute:
    """A function of a call's arrays and numbers; it warns of nothing, as kernels do not.

    ``taken``: which of the numbers the kernel has.
    """
    if kernel.template == "library":
        from opweave.runtime.calls.library import called  # no saved program needs it

        kernel = cast("LibraryKernel", kernel)
        return called(kernel, layouts, [_taking(*each) for each in operands], taken)
    if kernel.template == "handwritten":
        compute = _meaning(cast("HandwrittenKernel", kernel), layouts)
    else:
        compute = product(kernel, layouts, _multiply)

    def run(arrays: Any, numbers: Sequence[Any]) -> None:
        given = [_operand(array, part, arrays) for array, part in operands]
        with np.errstate(all="ignore"):
            compute(given, [numbers[number] for number in taken])

    return run


def _taking(number: int, part: tuple[tuple[int, ...], Any, int] | None) -> Callable[[Any], Any]:
    return itemgetter(number) if part is None else partial(_operand, number, part)


def _operand(number: int, part: tuple[tuple[int, ...], Any, int] | None, arrays: Any) -> Any:
    if part is None:
        return arrays[number]
    shape, dtype, at = part
    return np.ndarray(shape, dtype, arrays[number], at)


def product(
    kernel: Kernel, layouts: Layouts, multiply: Callable[[Any, Any, Any], None]
) -> Compute:
    """A function of a product's operands that has ``multiply`` compute it: x, y, the result."""
    recipes = [layouts.recipe(param.source) for param in (kernel.params[0], kernel.params[-2])]
    x, y = [None if recipe is None else recipe.viewing() for recipe in recipes]

    def compute(arrays: Any, numbers: Sequence[Any]) -> None:
        left, right, out = arrays[0], arrays[-2], arrays[-1]  # x @ x has one parameter for both
        multiply(left if x is None else x(left), right if y is None else y(right), out)

    return compute


def _multiply(left: Any, right: Any, out: Any) -> None:
    """As a library has it: sums of 16-bit floats are float32, and rounded once."""
    if out.dtype in [d.numpy for d in HALVES]:
        out[...] = np.matmul(left.astype(np.float32), right.astype(np.float32))
    else:
        np.matmul(left, right, out)


def _meaning(kernel: HandwrittenKernel, layouts: Layouts) -> Compute:
    shapes = tuple(layouts.shape_of(r)[0] for r in kernel.node.results)

    def compute(arrays: Any, numbers: Sequence[Any]) -> None:
        left, rest = iter(arrays), iter(numbers)
        given, made = [], []
        for param in kernel.params:
            if param.kind == "scalar":
                given.append(param.source.dtype.numpy.type(next(rest)))
            elif param.kind == "input":
                given.append(layouts.viewed(next(left), param.source))
            else:
                made.append(next(left))
        found = kernel.row.by_numpy(*given, shapes=shapes)
        for target, result in zip(made, found if len(made) > 1 else (found,), strict=True):
            target[...] = result

    return compute
