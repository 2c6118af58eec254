"""Memory and devices: from others, to others, from one device to another."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded, computed, look
from opweave.xp.maps import COPY
from opweave.xp.nodes import LOCK, LazyNode, given, part_from, part_others, record

CPU = "cpu"


def names() -> list[str]:
    """The devices that there are; those of CuPy, where it is imported."""
    cupy = sys.modules.get("cupy")
    count = cupy.cuda.runtime.getDeviceCount() if cupy is not None else 0
    return [CPU, *(f"cuda:{number}" for number in range(count))]


def device_of(node: LazyNode) -> str:
    """The name of a node's device."""
    if node.library is np:
        return CPU
    return f"cuda:{node.memory.device.id if node.memory is not None else _current(node)}"


def _current(node: LazyNode) -> int:
    return int(node.library.cuda.runtime.getDevice())


def check(device: Any, what: str) -> str:
    """The name of a device; None is the CPU.

    Raises:
        ArgumentError: there is none of that name.
    """
    if device is None or device in names():
        return device or CPU
    raise ArgumentError(
        f"{what}: device={shown(device)}: expected one of {', '.join(names())}{at_line()}"
    )


def module_of(device: Any, what: str) -> Any:
    """The library whose memory a device has."""
    return np if check(device, what) == CPU else sys.modules["cupy"]


def seen_by_numpy(node: LazyNode) -> Any:
    """The elements, read-only; later writes to the node are not seen there."""
    memory = computed(node)
    if node.library is not np:
        return memory.get()
    with LOCK:
        if node.family is not None:
            node.family.is_shown = True
        found = node.memory.view()
    found.flags.writeable = False
    return found


def capsule(node: LazyNode, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
    """A DLPack capsule of the memory.

    Whoever takes it may write to it: what was recorded on the node is computed before, and what
    shares its memory gets its own.
    """
    memory = computed(node)
    look(*node.waiting())
    with LOCK:
        if (family := node.family) is not None:
            part_from(node) if family.given and not node.is_given else part_others(node)
            memory = node.memory
    options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    found = memory.__dlpack__(**{k: v for k, v in options.items() if v is not None})
    with LOCK:
        if node.family is not None:
            node.family.is_shown = True
    return found


def dlpack_device(node: LazyNode) -> tuple[Any, int]:
    """Type and number of a node's device, as DLPack has them."""
    found: tuple[Any, int] = computed(node).__dlpack_device__()
    return found


def moved(node: LazyNode, device: Any, stream: Any = None) -> LazyNode:
    """The node in the memory of a device, itself if it is there.

    Raises:
        ArgumentError: there is no such device, or a stream is given for the CPU.
    """
    if check(device, "to_device") == device_of(node):
        return node
    if device == CPU:
        return given(computed(node).get())
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(int(device.partition(":")[2])):
        return given(cupy.asarray(computed(node)))


def copied(node: LazyNode) -> LazyNode:
    """A node of its own with the same elements."""
    if node.memory is not None:
        return given(node.memory.copy())
    return bounded(record(COPY, (node,), (), node.shape, node.dtype))
