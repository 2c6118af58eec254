"""``program.export``: a program as one file that needs no opweave."""

from __future__ import annotations

import os
from pathlib import Path

from opweave._saved.cuda_file import cuda_file
from opweave._saved.exported import exported
from opweave._saved.python_file import python_file
from opweave._saved.saving import Saveable
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError, FileError


def export(program: Saveable, *places: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a program to files, by their names' ends: .cu with a header beside it, or .py.

    Raises:
        SavedError: what such a file cannot do; names it, and nothing is written.
        ArgumentError: another end.
        FileError: it is there already, or cannot be written.
    """
    paths = [*map(Path, places)]
    for path in paths:
        if path.suffix not in (".cu", ".py"):
            raise ArgumentError(f"{shown(str(path))}: expected a name that ends in .cu or .py")
    found, texts = exported(program), {}
    for path in paths:
        if path.suffix == ".py":
            texts[path] = python_file(found)
        else:
            made = cuda_file(found)
            texts |= {path: made.source, path.with_suffix(".h"): made.header}
    for name in texts:
        if os.path.lexists(name):
            raise FileError(f"{name} is there already: remove it, or name another file")
    for name, text in texts.items():
        try:
            name.write_text(text)
        except OSError as error:
            raise FileError(f"{name} cannot be written: {error}") from None
    return tuple(texts)
