"""Classes of any library that hold memory by a protocol, and say nothing else of it.

A class that answers to NumPy's functions (``__array_ufunc__``, ``__array_function__``) gives its
elements a meaning, as units and labels do; a kernel would lose it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken
from opweave._interchange.memory import CPU, CUDA, interface_on_gpu, on_gpu
from opweave.compiler.traced.foreign import AS_CUPY, row_of

MEANING = ("__array_ufunc__", "__array_function__", "__opweave_apply__")


def kind_of(cls: type) -> ArrayKind | None:
    """The kind of a class, by the first protocol that it has; None where it has none."""
    row = row_of(cls)
    if issubclass(cls, np.ndarray | np.generic) or row not in ("", AS_CUPY):
        return None
    if any(getattr(cls, name, None) is not None for name in MEANING):
        return None
    for protocol, view in VIEWS.items():
        if _gives(getattr(cls, protocol, None)):
            label = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
            give = _by_namespace if hasattr(cls, "__array_namespace__") else None
            return ArrayKind(label, partial(view, label), give)
    return None


def _gives(attribute: Any) -> bool:
    """Whether an attribute of a class may give a description: a method, a property or a dict."""
    return hasattr(type(attribute), "__get__") or isinstance(attribute, dict)


def by_interface(label: str, value: Any) -> Any:
    """What ``__array_interface__`` describes, where it lies."""
    try:
        found = np.asarray(value, copy=False)
    except Exception as error:
        raise NotTaken(
            f"one whose __array_interface__ fails ({error})", "np.asarray({x})"
        ) from None
    if found.dtype.hasobject:
        raise NotTaken("one of Python's objects", "np.asarray({x}, float)")
    return found


def by_dlpack(label: str, value: Any) -> Any:
    """What ``__dlpack__`` hands over; read-only, if it says so or cannot say it."""
    try:
        device = int(value.__dlpack_device__()[0])
        if device == CPU:
            return np.from_dlpack(value)
    except Exception as error:
        raise NotTaken(f"one whose __dlpack__ fails ({error})", "np.asarray({x})") from None
    if device == CUDA:
        return on_gpu(value, label)
    raise NotTaken(
        f"one on DLPack's device {device}", "a copy of it on a CPU, or on a GPU of CUDA"
    )


VIEWS: dict[str, Callable[[str, Any], Any]] = {
    "__array_interface__": by_interface,
    "__array_struct__": by_interface,
    "__dlpack__": by_dlpack,
    "__cuda_array_interface__": interface_on_gpu,
}


def _by_namespace(array: Any, like: Any) -> Any:
    """An array as the array API standard has it: by the namespace of another one."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        array = array.copy()  # not every consumer knows of read-only memory
    try:
        return like.__array_namespace__().from_dlpack(array)
    except Exception as error:
        found = f"a result of {array.dtype}, which from_dlpack refuses ({error})"
        raise NotTaken(found, "np.asarray({x}), and the result is NumPy's") from None
