"""How a loaded kernel is started on a GPU: its grid, shared memory, and what begins as zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.ir.device import STATIC_SHARED_BYTES
from opweave.compiler.ir.values import Extents
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.interface import Launchable

# The attribute to ask for more dynamic shared memory than a kernel has without asking:
# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of the CUDA driver API.
MOST_DYNAMIC_SHARED = 8


def starter(
    kernel: Launchable, function: Any, extents: Extents, device: Any, cuda: Any
) -> Callable[[tuple[Any, ...]], None]:
    """A function of the packed arguments that starts a kernel on the current stream.

    Args:
        function: the loaded kernel.
        device: the arrays' own.
        cuda: CuPy's module.
    """
    grid, block = kernel.grid(extents), kernel.block
    shared, zeroed = kernel.dynamic_bytes(extents), kernel.zeroed(extents)
    more = {"shared_mem": shared} if shared else {}

    def start(args: tuple[Any, ...]) -> None:
        with device:
            function(grid, block, args, **more)

    def start_with_more(args: tuple[Any, ...]) -> None:
        """Besides: attributes are those of a context, zeros are set on the stream."""
        with device:
            if shared > STATIC_SHARED_BYTES:
                cuda.driver.funcSetAttribute(function.ptr, MOST_DYNAMIC_SHARED, shared)
            for slot, nbytes in zeroed:
                given = args[slot]
                at = int(given) if isinstance(given, np.integer) else pointer(given)
                cuda.runtime.memsetAsync(at, 0, nbytes, cuda.get_current_stream().ptr)
        start(args)

    return start_with_more if zeroed or shared > STATIC_SHARED_BYTES else start
