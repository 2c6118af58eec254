"""Backends of a graph's runner: an executor, and how arrays travel there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opweave.compiler.ir.device import Device, device_for
from opweave.runtime.calls.arrays import held_at
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.host.replays import HostReplay
from opweave.runtime.simt.executors import VerifyExecutor


@dataclass(frozen=True)
class Backend:
    """A device, and what a runner needs of it.

    Attributes:
        device: what kernels are lowered for.
        travels: arrays are copied there and back.
        executor: runs them.
        upload: a NumPy array as the executor takes it.
        download: what a kernel wrote as a NumPy array.
        result: an output as NumPy returns it.
        replay: prepares a call with its arguments once; None where each launch is watched.
    """

    device: Device
    travels: bool
    executor: Any
    upload: Callable[[Any], Any]
    download: Callable[[Any], Any]
    result: Callable[[Any], Any]
    replay: Callable[[Prepared, Sequence[Any]], Any] | None


def backend_of(name: str, fast: bool, cached: bool, staging: bool = True) -> Backend:
    """The backend of a name: "host", "cuda", or an architecture, whose kernels are verified.

    Raises:
        NoDeviceError: there is no GPU, or no CuPy.
        ToggleError: no such architecture.
    """
    if name == "host":
        executor = HostExecutor(fast, cached)
        replay = HostReplay if held_at() else None
        return Backend(device_for("host"), False, executor, _same, _same, _same, replay)
    if name == "cuda":
        from opweave.runtime.cuda import executor as cuda
        from opweave.runtime.cuda.replays import DeviceReplay

        index = int(cuda.cupy().cuda.Device().id)
        on_gpu = cuda.executor(index, fast) if cached else cuda.CudaExecutor(index, fast, False)
        return Backend(
            cuda.live_device(index), True, on_gpu, cuda.copied_in, cuda.copied_back,
            cuda.copied_out, partial(DeviceReplay, staging=staging),
        )  # fmt: skip
    executor = VerifyExecutor(0, fast, cached)
    return Backend(device_for(name), False, executor, _same, _same, _same, None)


def _same(array: Any) -> Any:
    return array
