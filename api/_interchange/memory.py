"""Memory that two libraries share, as arrays of NumPy's and CuPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave._interchange.kinds import NotTaken
from opweave.opcodes.errors import NoDeviceError
from opweave.runtime.calls.arrays import overlaps_itself

# Types of devices in dlpack.h.
CPU, CUDA = 1, 2


def once_each(array: Any) -> Any:
    """An array, read-only where elements share memory: as of an expanded tensor."""
    if type(array) is np.ndarray and overlaps_itself(array):
        array.flags.writeable = False
    return array


def on_gpu(value: Any, label: str) -> Any:
    """An array on a GPU as CuPy's, by DLPack.

    CuPy passes its current stream, on which our kernels run, and the producer has that stream
    wait for its own.

    Raises:
        NotTaken: without CuPy, or without a device.
    """
    return _cupy(label).from_dlpack(value)


def interface_on_gpu(label: str, value: Any) -> Any:
    """The same by ``__cuda_array_interface__``, whose stream CuPy waits for."""
    return _cupy(label).asarray(value)


def _cupy(label: str) -> Any:
    from opweave.runtime.cuda.executor import cupy

    try:
        return cupy()
    except NoDeviceError as error:
        raise NotTaken(f"{label} on a GPU, and {error}", "a copy of it on a CPU") from None
