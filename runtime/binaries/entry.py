"""One entry of the disk cache as it lies there; files are read without following links."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opweave.compiler.ir.device import ARCHES

FILES = ("kernel.cu", "binary", "manifest.json")
# Largest file that is read, in bytes; a manifest takes 2 kB, the longest source 1 MB.
MOST_BYTES = {"kernel.cu": 16 << 20, "binary": 256 << 20, "manifest.json": 1 << 20}


@dataclass(frozen=True)
class CachedEntry:
    """One entry as listed.

    Attributes:
        key: name of its folder.
        path: its folder.
        bytes: of its files.
        used: when it was last used, in seconds since the epoch.
        manifest: what it says of itself; empty if that cannot be read.
        made: when it was made, in seconds since the epoch.
    """

    key: str
    path: Path
    bytes: int
    used: float
    manifest: dict[str, Any]
    made: float = 0.0

    @property
    def kind(self) -> str:
        """The architecture, "host", or "host verify"; "unreadable" without a manifest."""
        parts = self.manifest.get("parts", {})
        arch = parts.get("arch")
        if arch not in ARCHES:
            return "unreadable"
        return f"{arch} verify" if "-DOW_VERIFY" in str(parts.get("flags")) else str(arch)

    @property
    def kernel(self) -> str:
        """Name of the kernel, as the head of its source has it, or ""."""
        with suppress(OSError):
            found = re.match(rb"// (\w+)\n", read_file(self.path / "kernel.cu"))
            return found.group(1).decode() if found else ""
        return ""


def listed(folder: Path) -> CachedEntry:
    """An entry as it lies there."""
    manifest: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        manifest = read_manifest(folder)
    size, made = 0, folder.lstat().st_mtime
    for name in FILES:
        with suppress(OSError):
            found = (folder / name).lstat()
            size, made = size + found.st_size, min(made, found.st_mtime)
    used = folder.lstat().st_mtime
    return CachedEntry(folder.name, folder, size, used, manifest, made)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of an entry, with parts that are a dictionary too.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no manifest.
    """
    try:
        found = json.loads(read_file(folder / "manifest.json"))
    except RecursionError:
        raise ValueError("the manifest is nested without end") from None
    if not isinstance(found, dict) or not isinstance(found.get("parts", {}), dict):
        raise ValueError("the manifest is no dictionary")
    return found


def read_file(path: Path) -> bytes:
    """A file of an entry: a plain file of ours, no larger than ``MOST_BYTES``.

    Raises:
        OSError: it is something else.
    """
    # A pipe in the place of a file would keep a reader waiting without O_NONBLOCK.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if about.st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user")
        most = MOST_BYTES.get(path.name, 0)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            raise OSError(f"{path} is no file of at most {most} bytes")
        return file.read(most)


def paths_in(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where that cannot be read."""
    with suppress(OSError):
        return [*folder.iterdir()]
    return []


def remove_tree(folder: Path) -> None:
    """Remove a folder, as far as that can be: Python's own way may raise what it is to ignore."""
    with suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)


def check_owned(path: Path) -> None:
    """Raise unless the folder is ours, no link, and nobody else's to write."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is not a folder")
    if found.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise PermissionError(f"{path} can be written by others")
