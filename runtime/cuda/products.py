"""Products by CUDA's library, cuBLAS, which CuPy calls on its current stream.

The executor hands CuPy in; only runtime/cuda/executor.py imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes.dtypes import HALVES
from opweave.opcodes.errors import LaunchError
from opweave.runtime.calls.by_numpy import Compute, Operand, product
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.cuda.graphs import is_captured

# CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION of cublasMath_t: where the library shares a sum
# out, its parts stay float32 until they are joined.
WIDE_SUMS = 16


class LibraryProducts:
    """Products on one device."""

    def __init__(self, cupy: Any, state: Any):
        self._cupy, self._state = cupy, state

    def computed(self, kernel: Kernel, layouts: Layouts, operands: Sequence[Operand]) -> Compute:
        """A function of a call's arrays that has the library compute a product."""
        what = f"{kernel.name}: a product by CUDA's library"
        _, dtype = layouts.shapes[layouts.base_of(kernel.params[-1].source)]
        queue = self._queue_wide if dtype in HALVES else self._queue
        compute = product(kernel, layouts, partial(self._multiply, what, queue))
        name, note = kernel.name, self._state.recent.append
        lies_apart = any(part for _, part in operands)

        def run(arrays: Any, numbers: Sequence[Any]) -> None:
            if lies_apart:
                given = [self._operand(arrays[array], part) for array, part in operands]
            else:
                given = [arrays[array] for array, _ in operands]
            compute(given, numbers)
            note(name)

        return run

    def _operand(self, array: Any, part: tuple[tuple[int, ...], Any, int] | None) -> Any:
        if part is None:
            return array
        shape, dtype, at = part
        return self._cupy.ndarray(shape, dtype, array.data + at)

    def _multiply(
        self, what: str, queue: Callable[[Any, Any, Any], None], left: Any, right: Any, out: Any
    ) -> None:
        """Queue a product on the current stream.

        Raises:
            LaunchError: the caller captures the stream, or the library fails.
            OutOfMemoryError: of a copy that the library needs.
        """
        if is_captured(self._cupy.cuda.get_current_stream()):
            raise LaunchError(
                f"{what} cannot be captured, since CuPy refuses to; capture "
                "fused.with_toggles(USE_VENDOR=0), whose products are kernels"
            )
        try:
            self._state.queued(what, out.nbytes, queue, left, right, out)
        except self._cupy.cuda.cublas.CUBLASError as error:
            raise self._state.failed(error, what) from error

    def _queue(self, left: Any, right: Any, out: Any) -> None:
        if left.ndim == right.ndim == 2:
            self._cupy.matmul(left, right, out=out)
        else:
            for factors in calls_of(left, right, out, self._cupy.broadcast_to):
                self._cupy.matmul(*factors[:2], out=factors[2])

    def _queue_wide(self, left: Any, right: Any, out: Any) -> None:
        """The same of 16-bit floats; where results are as wide as sums, the mode says nothing."""
        cuda = self._cupy.cuda
        handle = cuda.get_cublas_handle()
        before = cuda.cublas.getMathMode(handle)
        cuda.cublas.setMathMode(handle, before | WIDE_SUMS)
        try:
            self._queue(left, right, out)
        finally:
            cuda.cublas.setMathMode(handle, before)


def calls_of(
    left: Any, right: Any, out: Any, broadcast_to: Callable[..., Any]
) -> Iterator[tuple[Any, Any, Any]]:
    """The products that CuPy's matmul is called with.

    A batch by one matrix is one product of more rows.  Batches of 16-bit floats are taken one by
    one: CuPy copies them to float32, and so leaves the tensor cores.
    """
    batch = out.shape[:-2]
    if batch and right.ndim == 2 and out.flags.c_contiguous:
        yield left.reshape(-1, left.shape[-1]), right, out.reshape(-1, out.shape[-1])
    elif batch and out.dtype in [d.numpy for d in HALVES]:
        x, y = (broadcast_to(a, (*batch, *a.shape[-2:])) for a in (left, right))
        yield from ((x[at], y[at], out[at]) for at in np.ndindex(*batch))
    else:
        yield left, right, out
