"""JAX's arrays, which are immutable: read where they lie, and results as such arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken, refusing
from opweave._interchange.memory import on_gpu

LABEL = "jax.Array"
# Where XLA takes memory as it is; from elsewhere it copies.
ALIGNED = 64


def kind_of(cls: type) -> ArrayKind:
    """The kind of a class of JAX's."""
    if cls.__name__ == "ArrayImpl":
        return ArrayKind(LABEL, view, give, "jax.numpy.asarray({x})", is_immutable=True)
    do = "jax.random.key_data({x})" if "Key" in cls.__name__ else "np.asarray({x})"
    return refusing(LABEL, f"jax.{cls.__name__}, which has no elements to compute with", do)


def view(array: Any) -> Any:
    """The elements of an array where they lie, read-only.

    Raises:
        NotTaken: it was deleted, or lies on several devices.
    """
    if array.is_deleted():
        raise NotTaken("one that was deleted, or donated", "one that is still there")
    devices = array.devices()
    if len(devices) > 1:
        found = f"one on {len(devices)} devices"
        raise NotTaken(found, "jax.device_put({x}, jax.devices()[0])")
    (device,) = devices
    if device.platform == "cpu":
        return np.asarray(array)
    if device.platform in ("cuda", "gpu"):
        return on_gpu(array, LABEL)
    raise NotTaken(
        f"one on the device {device}", "jax.device_put({x}, jax.local_devices(backend='cpu')[0])"
    )


def give(array: Any, like: Any) -> Any:
    """A JAX array on the memory of an array that nobody else has; else a copy.

    Of 64-bit types JAX has the 32-bit ones, unless ``jax_enable_x64`` is set.

    Raises:
        NotTaken: JAX has no such dtype.
    """
    jax: Any = sys.modules["jax"]  # who has an array has imported it
    if not isinstance(array, np.ndarray):
        return jax.dlpack.from_dlpack(array)
    flags = array.flags
    is_own = flags.owndata and flags.writeable and flags.c_contiguous
    is_kept = array.dtype.itemsize < 8 or jax.config.jax_enable_x64
    if is_own and is_kept and array.dtype.isbuiltin == 1 and array.ctypes.data % ALIGNED == 0:
        return jax.dlpack.from_dlpack(array)
    try:
        return jax.numpy.asarray(array)
    except TypeError:
        found = f"a result of {array.dtype}, which JAX has not"
        raise NotTaken(found, "np.asarray({x}), and the result is NumPy's") from None
