"""``ow.load_program``: a saved program, read and checked, ready to call; nothing is compiled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from opweave._saved.folder import read
from opweave._saved.machine import problem
from opweave._saved.plain import dtype_of
from opweave._saved.planning import planned_call
from opweave._saved.signature import SavedSignature
from opweave._tracebacks import folded
from opweave.compiler.captures.structure import packed
from opweave.opcodes.errors import ArgumentError, SavedError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.writes import Unwritten, written
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.host.launcher import give_runtime
from opweave.runtime.process import locks

HOST = "host"


@folded
def load_program(folder: str | os.PathLike[str]) -> LoadedProgram:
    """A program that ``program.save`` has written, to be called with arguments like its own.

    Nothing is traced or compiled.  Every byte is checked against the hashes of the manifest, and
    what was checked is what runs.  The folder is code, trusted as the place where it lies.

    Raises:
        FileError: there is no such folder, or it cannot be read.
        SavedError: it is damaged, of a newer version, or for another CPU; says which.
    """
    return LoadedProgram(Path(folder))


class LoadedProgram:
    """A saved program.  Call it as the function that it was lowered from.

    Attributes:
        folder: where it was read from.
        targets: what it has kernels for.
        arguments: the function with the arguments that it takes, as text.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        manifest, self._files = read(folder)
        self._targets: dict[str, dict[str, Any]] = manifest["targets"]
        self.targets = tuple(self._targets)
        data = manifest["signature"]
        self._signature = SavedSignature(data, data["structure"])
        self.arguments = str(self._signature)
        self._calls: dict[Any, PlannedCall] = {}
        self._lock = locks.rlock()
        if self.targets == (HOST,):
            self._check_host()

    def __repr__(self) -> str:
        return f"<saved program for {', '.join(self.targets)}: {self.arguments}>"

    @property
    def source(self) -> str:
        """Source of all kernels, of all targets."""
        texts = (text for name, text in self._files.items() if name.startswith("kernels/"))
        return "\n".join(text.decode() for text in texts)

    @folded
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernels: those for the host on NumPy's arrays, those for a GPU on CuPy's.

        Raises:
            ArgumentError: the arguments are not those that it was saved for; says both.
            SavedError: it has no kernels for the place where the arrays lie.
        """
        arrays, numbers, containers = self._signature.bound(args, kwargs)
        call = self._call_for(arrays)
        try:
            run = call if call.writes is None else _writing(call)
            outputs = run(arrays, numbers)
        except Unwritten as why:
            told = why
        else:
            return packed(self._signature.structure, outputs, containers)
        raise ArgumentError(f"{self._signature.name}: nothing was written: {told}")

    def _call_for(self, arrays: list[Any]) -> PlannedCall:
        """The kernels for the place where arrays lie, loaded when they are first asked for."""
        on_host = [isinstance(array, np.ndarray) for array in arrays]
        if any(on_host) and not all(on_host):
            raise ArgumentError(
                f"{self._signature.name}: NumPy and CuPy arrays are mixed: expected one kind"
            )
        key: Any = HOST
        if not all(on_host) or (not on_host and HOST not in self._targets):
            from opweave.runtime.cuda import executor as cuda

            key = cuda.device_of(arrays)
        found = self._calls.get(key)
        if found is None:
            with self._lock:
                found = self._calls.get(key)
                if found is None:
                    found = self._calls[key] = self._loaded(key)
        return found

    def _loaded(self, key: Any) -> PlannedCall:
        if key == HOST:
            self._check_host()
            give_runtime(self._files["host/runtime.so"])
            data = self._targets[HOST]
            return self._planned(data, HostExecutor(data["fast"]), "so")
        from opweave.runtime.cuda import executor as cuda

        arch = cuda.live_device(key).arch
        if arch not in self._targets:
            raise self._refused(f"it has no kernels for {arch}, where the arrays lie")
        data = self._targets[arch]
        return self._planned(data, cuda.executor(key, data["fast"]), "cubin")

    def _planned(self, data: Mapping[str, Any], executor: Any, kind: str) -> PlannedCall:
        binaries = {
            number: Binary(key, kind, self._files[path], self._files[text].decode(), "saved")
            for number, (path, text, key) in data["files"].items()
        }
        constants = [self._constant(*row) for row in data["constants"]]
        if kind == "cubin":
            from opweave.runtime.cuda import executor as cuda

            constants = [*map(cuda.copied_in, constants)]
        names = [self._signature.name, *self._signature.arrays]
        return planned_call(data["plan"], names, executor, binaries, constants)

    def _constant(self, path: str, dtype: str, shape: list[int]) -> Any:
        kind = dtype_of(dtype).numpy
        made = np.empty(tuple(shape), kind)  # where NumPy puts arrays, and kernels expect them
        made[...] = np.frombuffer(self._files[path], kind).reshape(made.shape)
        return made

    def _check_host(self) -> None:
        if HOST not in self._targets:
            raise self._refused("it has no kernels for the host, where the arrays lie")
        if why := problem(self._targets[HOST]):
            raise self._refused(why)

    def _refused(self, why: str) -> SavedError:
        return SavedError(
            f"{self.folder}: {why}; it was saved for {', '.join(self.targets)}: lower "
            f"{self._signature.name} here and save it again (its sources lie in "
            f"{self.folder / 'kernels'})"
        )


def _writing(call: PlannedCall) -> Any:
    return lambda arrays, numbers: written(call, arrays, numbers)
