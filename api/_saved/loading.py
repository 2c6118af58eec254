"""``ow.load_program``: a saved program, read and checked, ready to call; nothing is compiled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave._saved.folder import damaged, read
from opweave._saved.machine import problem
from opweave._saved.signature import SavedSignature
from opweave._tracebacks import folded
from opweave.compiler.captures.structure import packed
from opweave.opcodes.errors import ArgumentError, SavedError
from opweave.runtime.process import locks

if TYPE_CHECKING:
    from opweave._saved.placed import Run

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
        try:
            self._targets: dict[str, dict[str, Any]] = manifest["targets"]
            self.targets = tuple(self._targets)
            data = manifest["signature"]
            self._signature = SavedSignature(data, data["structure"])
        except (LookupError, TypeError, ValueError):
            raise damaged(folder) from None
        self.arguments = str(self._signature)
        self._runs: dict[Any, Run] = {}
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

        Arrays of other libraries are taken where they lie, and results are of their kind.

        Raises:
            ArgumentError: the arguments are not those that it was saved for; says both.
            SavedError: it has no kernels for the place where the arrays lie.
        """
        try:
            return self._called(*args, **kwargs)
        except ArgumentError:
            # one of another library, perhaps: which takes modules that loading does without
            from opweave._interchange.exchange import exchanged

            if (found := exchanged(self._signature, args, kwargs)) is None:
                raise
        return found.run(self._called)

    def _called(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call with NumPy's or CuPy's arrays."""
        arrays, numbers, containers = self._signature.bound(args, kwargs)
        outputs = self._run_for(arrays)(arrays, numbers)
        return packed(self._signature.structure, outputs, containers)

    def _run_for(self, arrays: list[Any]) -> Run:
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
        found = self._runs.get(key)
        if found is None:
            with self._lock:
                found = self._runs.get(key)
                if found is None:
                    found = self._runs[key] = self._loaded(key)
        return found

    def _loaded(self, key: Any) -> Run:
        from opweave._saved import placed  # a program that is loaded may never be called

        names = [self._signature.name, *self._signature.arrays]
        if key == HOST:
            self._check_host()
            return placed.on_host(self._targets[HOST], self._files, names)
        from opweave.runtime.cuda import executor as cuda

        arch = cuda.live_device(key).arch
        if arch not in self._targets:
            raise self._refused(f"it has no kernels for {arch}, where the arrays lie")
        return placed.on_gpu(key, self._targets[arch], self._files, names)

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
