"""One entry of the disk cache as it lies there; files are read without following links."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES = ("kernel.cu", "binary", "manifest.json")


@dataclass(frozen=True)
class Entry:
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
        arch = str(parts.get("arch", "unreadable"))
        return f"{arch} verify" if "-DOW_VERIFY" in str(parts.get("flags")) else arch

    @property
    def kernel(self) -> str:
        """Name of the kernel, as the head of its source has it, or ""."""
        with suppress(OSError):
            found = re.match(rb"// (\w+)\n", read_file(self.path / "kernel.cu"))
            return found.group(1).decode() if found else ""
        return ""


def listed(folder: Path) -> Entry:
    """An entry as it lies there."""
    manifest: Any = {}
    with suppress(OSError, ValueError):
        manifest = json.loads(read_file(folder / "manifest.json"))
    known = isinstance(manifest, dict) and isinstance(manifest.get("parts", {}), dict)
    size, made = 0, folder.lstat().st_mtime
    for name in FILES:
        with suppress(OSError):
            found = (folder / name).lstat()
            size, made = size + found.st_size, min(made, found.st_mtime)
    used = folder.lstat().st_mtime
    return Entry(folder.name, folder, size, used, manifest if known else {}, made)


def read_file(path: Path) -> bytes:
    # A pipe in the place of a file would keep a reader waiting without O_NONBLOCK.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user")
        return file.read()


def check_owned(path: Path) -> None:
    """Raise unless the folder is ours, no link, and nobody else's to write."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is not a folder")
    if found.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise PermissionError(f"{path} can be written by others")
