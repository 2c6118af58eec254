"""Selections by a mask (``x[m]``): elementwise on the whole array, as long as nobody counts them.

How many elements a mask selects is known only at each call, so no kernel can hold them as an
array.  No such array is needed for operations on each element alone, if their result is assigned
back by the same mask, or is reduced:

    y[m] *= 2          ->  y = where(m, y * 2, y)
    x[m].mean()        ->  mean(x, where=m)

A mask of fewer dimensions selects rows, or columns (``x[:, m]``), which is the same with the mask
along each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.replacing import along_rows, mask_of
from opweave.compiler.arrays.reshaping import counted_axes
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Scalar, operand_key
from opweave.compiler.numpy_api.common import axis_of
from opweave.compiler.numpy_api.dispatch import METHODS
from opweave.compiler.traced.operands import OnlyOperand
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import DTypeError, UnsupportedError

# Reductions that have a value of no elements, which ``where=`` asks for.
REDUCED = ("sum", "prod", "mean", "var", "std", "any", "all")


def selected(array: TracedArrayLike, key: Any) -> MaskSelection | None:
    """What a traced mask selects, of an array's own shape or of that of some dimensions."""
    found = mask_of(array, key)
    if found is None or not is_traced_array(found[0]):
        return None
    mask, behind = found
    first = array.ndim - mask.ndim - behind
    fits = all(bool(m == n) for m, n in zip(array.shape[first:], mask.shape, strict=False))
    return MaskSelection(array, mask, behind) if fits else None


class MaskSelection(OnlyOperand):
    """The elements of an array where a mask is true, in one dimension.

    ``behind``: dimensions of the array behind those of the mask.
    """

    __array_priority__ = np.ndarray.__array_priority__
    __opweave_stands__ = True

    def __init__(self, whole: TracedArrayLike, mask: TracedArrayLike, behind: int):
        self.whole = whole.of(whole.value)  # the array as it is now, since a selection is a copy
        self.mask = mask.of(mask.value)
        self.behind = behind
        self._where = whole.tracer.where()  # it may be refused at another line

    def _of(self, whole: Any) -> MaskSelection:
        return MaskSelection(whole, self.mask, self.behind)

    def _is_like(self, item: Any) -> bool:
        """Whether the same elements of another array are selected."""
        dims, own = (item.whole.ndim, item.behind), (self.whole.ndim, self.behind)
        return dims == own and is_same(self.mask, item.mask)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What a selection is to the user's function: a copy, which is no file in memory."""
        found: Any = self.whole.__class__
        return np.ndarray if found is np.memmap else found

    @property
    def _found(self) -> MaskSelection:
        return self

    def refuse(self, *args: Any) -> NoReturn:
        tracer = self.whole.tracer
        raise tracer.noted(
            UnsupportedError(f"indexing by a mask; select by np.where ({self._where})")
        )

    def _operand(self, item: Any) -> Any:
        """An operand over the whole array: for each of its elements, or alike for all selected."""
        if isinstance(item, MaskSelection) and self._is_like(item):
            return item.whole
        if is_number(item) or (is_traced_array(item) and item.ndim <= self.behind):
            return item
        return self.refuse()

    def _values(self, operands: Sequence[Any]) -> Sequence[Any]:
        return list(map(self._operand, operands))

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        found = self.whole.tracer.apply(operator, self._values(operands))
        if isinstance(found, tuple):
            return tuple(self._of(part) for part in found)
        return self._of(found)

    def _power(self, exponent: Any) -> Operator:
        found: Operator = self.whole._power(exponent)
        return found

    def _assigned(self, value: Any, name: str) -> Any:
        """What ``y[m] += 1`` stores, in the selection's own type."""
        mine = self.whole.dtype
        if not isinstance(value, MaskSelection) or not np.can_cast(
            value.whole.dtype, mine, "same_kind"
        ):
            raise DTypeError(f"{name}: cannot store the result into {mine} in place")
        return self._of(value.whole.astype(mine))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name not in REDUCED or getattr(np, name) is not function or args[0] is not self:
            self.refuse()
        return self._reduced(name, *args[1:], **kwargs)

    def _reduced(self, name: str, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if args or set(kwargs) - {"dtype", "ddof"}:
            self.refuse()
        if axis is not None:
            rank, dims = self.whole.ndim, self.mask.ndim
            first = rank - dims - self.behind
            given = {*counted_axes(name, axis_of(name, axis), rank - dims + 1)}
            whole = (n + (dims - 1) * (n > first) for n in sorted(given - {first}))
            if first not in given:  # of each element that is selected
                made = self._called(name, tuple(whole), **kwargs)
                return MaskSelection(made, self.mask, self.behind - sum(n > first for n in given))
            axis = (*whole, *range(first, first + dims))
        return self._called(name, axis, where=along_rows(self.mask, self.behind), **kwargs)

    def _called(self, name: str, axis: Any, **kwargs: Any) -> Any:
        """A reduction of the whole array."""
        handler = METHODS[name].handler
        return self.whole._call(f".{name}", handler, (self.whole,), {**kwargs, "axis": axis})

    def __getattr__(self, name: str) -> Any:
        if name in REDUCED:
            return lambda *args, **kwargs: self._reduced(name, *args, **kwargs)
        if name == "dtype":
            return self.whole.dtype
        if name == "astype":
            return lambda dtype: self._of(self.whole.astype(dtype))
        if name == "copy":
            return lambda: self._of(self.whole)
        return super().__getattr__(name)


def is_same(first: TracedArrayLike, second: TracedArrayLike) -> bool:
    """True for the same mask, and for two masks that are computed alike from the same values."""
    if first.value.id == second.value.id:
        return True
    made = first.tracer.builder.nodes.makers
    nodes = [made.get(mask.value.id) for mask in (first, second)]
    keys = [_key(node) for node in nodes if node is not None]
    return len(keys) == 2 and keys[0] == keys[1]


def _key(node: Node) -> Any:
    operands = tuple(operand_key(o) if isinstance(o, Scalar) else o.id for o in node.operands)
    return node.operator.name, operands, node.attrs


def stored(target: TracedArrayLike, key: Any, value: MaskSelection) -> Any:
    """The array with its selected elements replaced.

    Raises:
        UnsupportedError: the new elements were selected by another mask.
    """
    into = selected(target, key)
    if into is None or not value._is_like(into):
        value.refuse()
    chosen = value.whole.astype(target.dtype)
    return np.where(along_rows(into.mask, into.behind), chosen, target)


MaskSelection.__name__ = "numpy.ndarray"  # the name in texts of Python's errors
