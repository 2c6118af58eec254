"""The on-disk cache of binaries: content-addressed, verified, capped.

An entry is a folder ``ab/abcd.../`` with the readable ``kernel.cu``, the ``binary``, and
``manifest.json``, which repeats the key and the hashes of both.  It is written beside its place
and moved there in one step.  Whatever does not verify is a miss.  The cache is as trusted as the
user's account: the folder belongs to the user, mode 0700, and no symbolic link is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
FILES = ("kernel.cu", "binary", "manifest.json")
DEFAULT_BYTES = 1 << 30
STALE_SECONDS = 3600


@dataclass(frozen=True)
class Entry:
    """One entry as listed: when it was last used (seconds since the epoch), and its bytes."""

    key: str
    path: Path
    bytes: int
    used: float
    manifest: dict[str, Any]


def key_of(parts: dict[str, Any]) -> str:
    """The key: SHA-256 of everything that can change the binary; pure."""
    text = json.dumps({"format": FORMAT, **parts}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class DiskCache:
    """A folder of entries.

    A folder that cannot be used gives one warning and a cache that remembers nothing; a call never
    fails because of it.
    """

    def __init__(self, root: Path, most_bytes: int = DEFAULT_BYTES):
        self.root = root
        self.most_bytes = most_bytes
        self._usable: bool | None = None
        self._bytes: int | None = None
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The binary under a key, if the entry is whole and unchanged."""
        if not self._check_root():
            return None
        folder = self._folder(key)
        try:
            manifest, binary, _ = self._read(folder, key)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._warn(f"cache entry {folder} does not verify ({error}); it is rebuilt")
            return None
        with suppress(OSError):
            os.utime(folder)
        return binary if manifest["key"] == key else None

    def put(self, key: str, source: str, binary: bytes, parts: dict[str, Any]) -> None:
        """Store an entry; failures are warned of once."""
        if not self._check_root():
            return
        text = source.encode()
        manifest = {
            "key": key,
            "format": FORMAT,
            "source_sha256": digest(text),
            "binary_sha256": digest(binary),
            "parts": parts,
        }
        made = self.root / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            made.mkdir(mode=0o700)
            contents = (text, binary, json.dumps(manifest, indent=1, sort_keys=True).encode())
            for name, data in zip(FILES, contents, strict=True):
                _write_new(made / name, data)
            self._move(made, self._folder(key))
            self._add(sum(map(len, contents)))
        except OSError as error:
            shutil.rmtree(made, ignore_errors=True)
            self._give_up(f"{error}")

    def entries(self) -> Iterator[Entry]:
        """All entries whose manifest can be read."""
        if not self._check_root():
            return
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]/*")):
            try:
                size = sum((folder / name).lstat().st_size for name in FILES)
                manifest = json.loads(_read_file(folder / "manifest.json"))
                yield Entry(folder.name, folder, size, folder.lstat().st_mtime, manifest)
            except (OSError, ValueError):
                continue

    def verify(self) -> tuple[list[str], list[str]]:
        """Keys of the good and of the broken entries."""
        good, broken = [], []
        if self._check_root():
            for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]/*")):
                try:
                    self._read(folder, folder.name)
                    good.append(folder.name)
                except (OSError, ValueError):
                    broken.append(folder.name)
        return good, broken

    def prune(self, most_bytes: int | None = None) -> int:
        """Remove the least recently used entries beyond the cap, and what was left half written.

        Returns the number of entries removed.
        """
        cap = self.most_bytes if most_bytes is None else most_bytes
        if not self._check_root():
            return 0
        for left in self.root.glob(".tmp-*"):
            with suppress(OSError):
                if time.time() - left.lstat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
        found = sorted(self.entries(), key=lambda e: e.used, reverse=True)
        kept, removed = 0, 0
        for entry in found:
            if removed or kept + entry.bytes > cap:
                self._remove(entry.path)
                removed += 1
            else:
                kept += entry.bytes
        self._bytes = kept
        return removed

    def clear(self) -> int:
        """Remove every entry; returns how many."""
        return self.prune(0)

    def _folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _read(self, folder: Path, key: str) -> tuple[dict[str, Any], bytes, bytes]:
        for path in (folder.parent, folder):
            _check_owned(path)
        manifest = json.loads(_read_file(folder / "manifest.json"))
        if not isinstance(manifest, dict) or manifest.get("key") != key:
            raise ValueError("the manifest is of another key")
        binary = _read_file(folder / "binary")
        source = _read_file(folder / "kernel.cu")
        if key_of(manifest.get("parts", {})) != key:
            raise ValueError("the key does not follow from its parts")
        if manifest.get("parts", {}).get("source") != digest(source):
            raise ValueError("kernel.cu was changed")
        if manifest.get("binary_sha256") != digest(binary):
            raise ValueError("the binary was changed")
        return manifest, binary, source

    def _move(self, made: Path, place: Path) -> None:
        """Put a folder in its place; one that is there already stays unless it is broken."""
        place.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            os.rename(made, place)
        except OSError:
            try:
                self._read(place, place.name)
            except (OSError, ValueError):
                self._remove(place)
                with suppress(OSError):  # another process may have been faster
                    os.rename(made, place)
                    return
                shutil.rmtree(made, ignore_errors=True)
            else:
                shutil.rmtree(made, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        """Take an entry away in one step, then delete it; a reader has it whole or not at all."""
        gone = self.root / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
        with suppress(OSError):
            os.rename(path, gone)
            if gone.is_dir() and not gone.is_symlink():
                shutil.rmtree(gone, ignore_errors=True)
            else:
                gone.unlink()

    def _add(self, count: int) -> None:
        with self._lock:
            if self._bytes is None:
                self._bytes = sum(e.bytes for e in self.entries())
            else:
                self._bytes += count
            over = self._bytes > self.most_bytes
        if over:
            self.prune()

    def _check_root(self) -> bool:
        if self._usable is None:
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_owned(self.root)
                self._usable = True
            except OSError as error:
                self._give_up(str(error))
        return bool(self._usable)

    def _give_up(self, reason: str) -> None:
        if self._usable is not False:
            self._usable = False
            self._warn(
                f"cache folder {self.root} cannot be used ({reason}); kernels are kept in "
                "memory only. Set OPWEAVE_CACHE_DIR to a folder of your own."
            )

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _write_new(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _read_file(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user")
        return file.read()


def _check_owned(path: Path) -> None:
    """Raise unless the folder is ours, no link, and nobody else's to write."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is not a folder")
    if found.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise PermissionError(f"{path} can be written by others")
