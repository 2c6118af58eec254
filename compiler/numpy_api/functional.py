"""Functions that are applied to parts of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError


@numpy_function(np.piecewise, arrays=())
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function of the whole array; of its result the elements where its condition holds.

    NumPy calls a function with those elements alone, so the result is the same only if the
    function is elementwise.

    Raises:
        UnsupportedError: a function that is not elementwise; any function if the fused function
            runs in parts, since NumPy does not call it where its condition holds nowhere.
        ShapeError: neither as many functions as conditions, nor one more.
    """
    conditions = list(condlist) if isinstance(condlist, tuple | list) else [condlist]
    if any(getattr(condition, "ndim", 0) not in (0, x.ndim) for condition in conditions):
        raise UnsupportedError("piecewise: conditions as rows of one array")
    if len(funclist) == len(conditions) + 1:
        *functions, default = funclist
        found = _piece(default, x, args, kw)
    else:
        functions, found = list(funclist), x.dtype.type(0)
    if len(functions) != len(conditions):
        raise ShapeError(f"piecewise: {len(funclist)} functions for {len(conditions)} conditions")
    for condition, function in zip(conditions, functions, strict=True):
        found = np.where(condition, _piece(function, x, args, kw), found)
    return found


def _piece(function: Any, x: Any, args: Any, kw: Any) -> Any:
    if not callable(function):
        return x.dtype.type(function)
    if not x.tracer.selects:
        raise UnsupportedError("piecewise: functions, which NumPy calls with parts")
    nodes = x.tracer.builder.nodes
    before = len(nodes)
    found = function(x, *args, **kw)
    if not all(node.is_map for node in nodes[before:]):
        raise UnsupportedError("piecewise: a function that is not elementwise")
    return found.astype(x.dtype) if is_traced_array(found) else x.dtype.type(found)
