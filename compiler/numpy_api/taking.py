"""``take`` and ``take_along_axis`` on traced arrays: elements at places that another array has."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import checked, moved, place_type
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.numpy_api.creation import created
from opweave.compiler.numpy_api.movement import at_least_one
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError


@numpy_function(np.take, np.ndarray.take, counted=("axis",), flat=True)
def take(a: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Any:
    indices = np.asarray(indices) if isinstance(indices, list | tuple) else indices
    if mode not in ("raise", "clip", "wrap"):
        raise UnsupportedError(f"take: mode={mode!r}")
    if _are_whole(indices):
        before, behind = a.shape[:axis], a.shape[axis + 1 :]
        shape = (*before, *getattr(indices, "shape", ()), *behind)
        # NumPy looks at indices as often as there is something before their axis
        unseen = before if mode == "raise" else shape
        if any(extent == 0 for extent in unseen):  # nothing is taken, so that nothing is missing
            return created(a.tracer, shape, 0, a.dtype)
    if mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = np.remainder(indices, at_least_one(a.shape[axis]))
    return a[(*[slice(None)] * axis, indices)]


def _are_whole(indices: Any) -> bool:
    """Indices are integers, so that some place is meant by each."""
    dtype = indices.dtype if hasattr(indices, "dtype") else np.asarray(indices).dtype
    return dtype.kind in "biu"


@numpy_function(np.take_along_axis, arrays=(), counted=("axis",), flat=True)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if not is_traced(indices) or indices.dtype.kind not in "iu":
        raise UnsupportedError("take_along_axis: expected indices among the arguments")
    if arr.ndim != indices.ndim:
        raise ShapeError("take_along_axis: expected indices of as many dimensions as the array")
    dtype = place_type(arr.tracer, *arr.value.shape)
    return moved(arr, {axis: checked(arr.tracer, indices, arr.value.shape[axis])}, dtype)
