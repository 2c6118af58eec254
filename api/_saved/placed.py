"""A loaded program where its arrays lie: kernels in memory, and a call that is ready to run.

This is imported with the first call: loading a program needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opweave._saved.plain import dtype_of
from opweave._saved.planning import planned_call
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.writes import Unwritten, written

Files = Mapping[str, bytes]
# (arrays, numbers by name) -> outputs
Run = Callable[[list[Any], dict[str, Any]], list[Any]]


def on_host(data: Mapping[str, Any], files: Files, names: Sequence[str]) -> Run:
    """A call of kernels for the host.

    Args:
        data: of the manifest, for the target.
        names: of the function, and of its arrays.
    """
    from opweave.runtime.host.executor import HostExecutor  # not where kernels run on a GPU
    from opweave.runtime.host.launcher import give_runtime

    give_runtime(files["host/runtime.so"])
    constants = [_constant(files, *row) for row in data["constants"]]
    executor, binaries = HostExecutor(data["fast"]), _binaries("so", data, files)
    return _run(planned_call(data["plan"], names, executor, binaries, constants), constants)


def on_gpu(device: Any, data: Mapping[str, Any], files: Files, names: Sequence[str]) -> Run:
    """A call of kernels for a GPU, on a device."""
    from opweave.runtime.cuda import executor as cuda

    constants = [cuda.copied_in(_constant(files, *row)) for row in data["constants"]]
    executor, binaries = cuda.executor(device, data["fast"]), _binaries("cubin", data, files)
    return _run(planned_call(data["plan"], names, executor, binaries, constants), constants)


def _binaries(kind: str, data: Mapping[str, Any], files: Files) -> dict[str, Binary]:
    return {
        number: Binary(key, kind, files[path], files[text].decode(), "saved")
        for number, (path, text, key) in data["files"].items()
    }


def _constant(files: Files, path: str, dtype: str, shape: list[int]) -> Any:
    kind = dtype_of(dtype).numpy
    made = np.empty(tuple(shape), kind)  # where NumPy puts arrays, and kernels expect them
    made[...] = np.frombuffer(files[path], kind).reshape(made.shape)
    return made


def _run(call: PlannedCall, constants: Sequence[Any]) -> Run:
    run = call if call.writes is None else _writing(call)
    return _keeping(run, constants) if constants else run


def _keeping(run: Run, constants: Sequence[Any]) -> Run:
    """A call whose results are never the arrays that the program keeps, or views of them."""

    def own(output: Any) -> Any:
        kept = any(each is output or each is getattr(output, "base", None) for each in constants)
        return output.copy() if kept else output

    return lambda arrays, numbers: [*map(own, run(arrays, numbers))]


def _writing(call: PlannedCall) -> Run:
    def writing(arrays: list[Any], numbers: dict[str, Any]) -> list[Any]:
        try:
            return written(call, arrays, numbers)
        except Unwritten as why:
            told = why
        raise ArgumentError(f"{call.name}: nothing was written: {told}")

    return writing
