"""Folders in which compilers work."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from opweave.runtime.process.locks import Once


@Once
def zig_cache() -> str:
    """A folder of this process, which only this user can write to."""
    folder, maker = tempfile.mkdtemp(prefix="opweave-zig-"), os.getpid()

    def remove() -> None:
        if os.getpid() == maker:  # a forked child comes here, too
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder for one compilation.

    ``tempfile.TemporaryDirectory`` has a finalizer, by which a child that is forked meanwhile
    would take the folder away from its parent.
    """
    folder = tempfile.mkdtemp(prefix="opweave-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
