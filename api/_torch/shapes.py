"""Operators of ATen that move or view elements, take them by index, or make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave._torch.rows import DEFAULT, AtenCall, AtenRow
from opweave.compiler.ir.values import is_short

# More than any extent: where torch's slices end that go on to the end.
NO_END = 1 << 62
# Rows of fewer elements are narrow.
NARROW = 16


def same(x: Any, *_: Any) -> Any:
    """The operand; a cast is what its type says."""
    return x


def reshaped(x: Any, shape: Sequence[int]) -> Any:
    return x.reshape(tuple(shape))


def permuted(x: Any, order: Sequence[int]) -> Any:
    return np.transpose(x, tuple(order))


def transposed(x: Any, first: int = 0, second: int = 1) -> Any:
    """Two axes swapped; what has fewer than two stays."""
    return np.swapaxes(x, first, second) if x.ndim > 1 else x


def expanded(x: Any, shape: Sequence[int], implicit: bool = False) -> Any:
    """Broadcast; -1 stands for an extent that stays."""
    own = (*[1] * (len(shape) - x.ndim), *x.shape)
    wanted = tuple(o if n == -1 else n for n, o in zip(shape, own, strict=True))
    return np.broadcast_to(x, wanted)


def unsqueezed(x: Any, axis: int) -> Any:
    return np.expand_dims(x, axis)


def squeezed(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Without axes of extent 1; others stay."""
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    dropped = tuple(a for a in given if x.ndim and x.shape[a] == 1)
    return np.squeeze(x, dropped) if dropped else x


def at_axis(x: Any, axis: int, key: Any) -> Any:
    """Elements along one axis."""
    axis %= x.ndim
    return x[(*[slice(None)] * axis, key)]


def sliced(
    x: Any, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    until = None if end is None or end >= NO_END else end
    return at_axis(x, axis, slice(start, until, step))


def selected(x: Any, axis: int, index: int) -> Any:
    return at_axis(x, axis, index)


def split(x: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Pieces of given extents."""
    found, start = [], 0
    for size in sizes:
        found.append(at_axis(x, axis, slice(start, start + size)))
        start += size
    return found


def joined(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays along an axis; empty ones of one dimension do not count."""
    counted = [a for a in arrays if a.ndim > 1 or a.shape != (0,)]
    return np.concatenate(counted or list(arrays)[:1], axis)


def stacked(arrays: Sequence[Any], axis: int = 0) -> Any:
    return np.stack(arrays, axis)


def flipped(x: Any, axes: Sequence[int]) -> Any:
    """A copy, as torch makes one: no tensor lies backwards."""
    return np.flip(x, tuple(axes)).copy() if axes else x


def repeated(x: Any, times: Sequence[int]) -> Any:
    return np.tile(x, tuple(times))


def padded(x: Any, pad: Sequence[int], value: Any = 0) -> Any:
    """A constant around; torch names the widths from the last axis on."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    return np.pad(x, widths, constant_values=value)


def diagonal(x: Any, offset: int = 0, first: int = 0, second: int = 1) -> Any:
    return np.diagonal(x, offset, first, second)


def from_front(index: Any, extent: Any) -> Any:
    """An index whose negative elements lie outside: torch refuses them, and NumPy counts back."""
    return np.where(index < 0, extent, index)


def embedded(weight: Any, index: Any, *_: Any) -> Any:
    return weight[from_front(index, weight.shape[0])]


def indexed(x: Any, places: Sequence[Any]) -> Any:
    return x[tuple(slice(None) if p is None else p for p in places)]


def index_selected(x: Any, axis: int, index: Any) -> Any:
    return at_axis(x, axis, from_front(np.reshape(index, (-1,)), x.shape[axis]))


def gathered(x: Any, axis: int, index: Any, sparse_grad: bool = False) -> Any:
    """Along an axis; elsewhere the index may be shorter than the array."""
    axis %= x.ndim
    index = from_front(index, x.shape[axis])
    extents = enumerate(index.shape)
    x = x[tuple(slice(None) if a == axis else slice(0, n) for a, n in extents)]
    return np.take_along_axis(x, index, axis)


def full(shape: Sequence[int], value: Any, dtype: Any) -> Any:
    return np.broadcast_to(dtype.type(value), tuple(shape)) if shape else dtype.type(value)


def full_like(x: Any, value: Any, dtype: Any) -> Any:
    return np.full_like(x, value, dtype)


def scalar(value: Any, dtype: Any) -> Any:
    return dtype.type(value)


def counted(start: Any, end: Any, step: Any = 1, *, dtype: Any) -> Any:
    return np.arange(start, end, step).astype(dtype)


def copied(x: Any, source: Any, *_: Any) -> Any:
    """The elements of another array, in the shape of this one."""
    return np.broadcast_to(source, x.shape)


def piece(found: Sequence[Any], place: int) -> Any:
    """One of several results."""
    return found[place]


def shrinks(asked: AtenCall) -> bool:
    """Padding that takes elements away."""
    return any(not isinstance(n, int) or n < 0 for n in asked.args[1])


def has_mask(asked: AtenCall) -> bool:
    """An index that says how many elements there are, or several of which NumPy moves the axes."""
    dtypes = [str(p.dtype) for p in asked.args[1] if p is not None]
    return "torch.bool" in dtypes or "torch.uint8" in dtypes


def has_no_axis(asked: AtenCall) -> bool:
    return bool(asked.args[0].dim() == 0)


def is_torchs_join(asked: AtenCall) -> bool:
    """Arrays that torch joins better.

    In narrow rows a kernel would compute each element as one of every piece, and choose; unless
    these are so few together that a thread has all of a row in registers.
    """
    if mixes_types(asked):
        return True
    arrays = asked.args[0]
    axis = asked.args[1] if len(asked.args) > 1 else 0
    is_last = axis in (-1, arrays[0].dim() - 1) and arrays[0].dim() > 1
    widths = [array.shape[-1] for array in arrays]
    is_narrow = is_last and all(type(n) is int and n < NARROW for n in widths)
    return is_narrow and not is_short(sum(widths))


def mixes_types(asked: AtenCall) -> bool:
    """Arrays of several types, whose empty ones count for the type alone."""
    return any(a.dim() == 1 for a in asked.args[0]) and any(a.dim() > 1 for a in asked.args[0])


MOVES: dict[str, AtenRow] = {
    **dict.fromkeys(
        ("view.default", "reshape.default", "_unsafe_view.default"), AtenRow(reshaped, moves=True)
    ),
    "permute.default": AtenRow(permuted, moves=True),
    "t.default": AtenRow(transposed, moves=True),
    "transpose.int": AtenRow(transposed, moves=True),
    "expand.default": AtenRow(expanded, moves=True),
    "unsqueeze.default": AtenRow(unsqueezed, moves=True),
    **dict.fromkeys(
        ("squeeze.default", "squeeze.dim", "squeeze.dims"), AtenRow(squeezed, moves=True)
    ),
    "slice.Tensor": AtenRow(sliced, moves=True),
    "select.int": AtenRow(selected, moves=True),
    "split_with_sizes.default": AtenRow(split, moves=True),
    "diagonal.default": AtenRow(diagonal, moves=True),
    "alias.default": AtenRow(same, moves=True),
    "detach.default": AtenRow(same, moves=True),
}
COPIES: dict[str, AtenRow] = {
    "clone.default": AtenRow(same),
    "_to_copy.default": AtenRow(same),
    "lift_fresh_copy.default": AtenRow(same),
    "copy.default": AtenRow(copied),
    "cat.default": AtenRow(joined, DEFAULT, left=is_torchs_join),
    "stack.default": AtenRow(stacked, DEFAULT, last=1),
    "flip.default": AtenRow(flipped),
    "repeat.default": AtenRow(repeated),
    "constant_pad_nd.default": AtenRow(padded, left=shrinks),
    "embedding.default": AtenRow(embedded),
    "index.Tensor": AtenRow(indexed, left=has_mask),
    "index_select.default": AtenRow(index_selected, left=has_no_axis),
    "gather.default": AtenRow(gathered, left=has_no_axis),
}
# What may give its operand back, or a view of it.
SHARING = frozenset((*(row.compute for row in MOVES.values()), same, copied, flipped, repeated,
                     padded, joined))  # fmt: skip
MADE: dict[str, AtenRow] = {
    "full.default": AtenRow(full, makes=True),
    "full_like.default": AtenRow(full_like, makes=True),
    "scalar_tensor.default": AtenRow(scalar, makes=True),
    "arange.start_step": AtenRow(counted, makes=True),
}
TABLE: dict[str, AtenRow] = {
    **{f"aten.{name}": row for name, row in (MOVES | COPIES | MADE).items()},
    "prims.convert_element_type.default": AtenRow(same, last=1),
    "_operator.getitem": AtenRow(piece, moves=True),
}
