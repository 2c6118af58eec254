"""The on-disk cache of binaries: content-addressed, verified, capped.

An entry is a folder ``ab/abcd.../`` with the readable ``kernel.cu``, the ``binary``, and
``manifest.json``, which repeats the key and the hashes of both.  Kernels that are the same but for
names share an entry: the key has the hash of their canonical source (``canonical.py``), and
``kernel.cu`` is the first of them, with its own names.  It is written beside its place
and moved there in one step.  Whatever does not verify is a miss.  The cache is as trusted as the
user's account: the folder belongs to the user, mode 0700, and no symbolic link is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from opweave.opcodes.errors import OpweaveWarning
from opweave.runtime.binaries.claims import claimed
from opweave.runtime.binaries.entry import (
    FILES,
    CachedEntry,
    check_owned,
    listed,
    paths_in,
    read_file,
    read_manifest,
    remove_tree,
)
from opweave.runtime.process import locks

FORMAT = 1
DEFAULT_BYTES = 1 << 30
# Share of the cap that an overflowing cache is emptied to.
PRUNED_TO = 0.9
STALE_SECONDS = 3600
SHELF, KEY = re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{64}")
UNFINISHED = re.compile(r"\.tmp-\d+-[0-9a-f]{16}")


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
        self._lock = locks.lock()

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
            self._give_up(f"{error}")
        finally:  # Ctrl-C leaves nothing behind either
            remove_tree(made)

    def claim(self, key: str) -> AbstractContextManager[bool]:
        """Hold a key while its entry is made; gives True if another process had it till now."""
        if not self._check_root():
            return nullcontext(False)
        shelf = self._folder(key).parent
        with suppress(OSError):
            shelf.mkdir(mode=0o700, exist_ok=True)
        return claimed(shelf)

    def problem(self) -> str:
        """Why the folder cannot be used, or ""; makes nothing and warns of nothing."""
        try:
            check_owned(self.root)
        except FileNotFoundError:
            above = next(p for p in self.root.absolute().parents if p.exists())
            usable = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
            return "" if usable else f"{above} cannot be written"
        except OSError as error:
            return str(error)
        usable = os.access(self.root, os.R_OK | os.W_OK | os.X_OK)
        return "" if usable else f"{self.root} cannot be written"

    def entries(self) -> Iterator[CachedEntry]:
        """All entries, also those whose manifest cannot be read."""
        for folder in self._folders():
            with suppress(OSError):
                check_owned(folder)
                yield listed(folder)

    def verify(self) -> tuple[list[str], list[str]]:
        """Keys of the good and of the broken entries."""
        good, broken = [], []
        for folder in self._folders():
            try:
                self._read(folder, folder.name)
                good.append(folder.name)
            except (OSError, ValueError):
                broken.append(folder.name)
        return good, broken

    def prune(self, most_bytes: int | None = None, older_than: float | None = None) -> int:
        """Remove the least recently used entries beyond the cap, and what was left half written.

        With ``older_than``, also what was not used for that many seconds.  Returns the number of
        entries removed.
        """
        cap = self.most_bytes if most_bytes is None else most_bytes
        oldest = float("-inf") if older_than is None else time.time() - older_than
        kept, removed, full = 0, 0, False
        self._sweep()
        for entry in sorted(self.entries(), key=lambda e: e.used, reverse=True):
            full = full or kept + entry.bytes > cap
            if (full or entry.used < oldest) and self.discard(entry.key):
                removed += 1
            else:
                kept += entry.bytes
        self._bytes = kept
        return removed

    def clear(self) -> int:
        """Remove every entry; returns how many.  What is not an entry stays."""
        removed = self.prune(0)
        for shelf in self._shelves():
            with suppress(OSError):  # the folder is not empty
                shelf.rmdir()
        return removed

    def discard(self, key: str) -> bool:
        """Remove one entry; a link, or a folder with files of somebody else, stays."""
        folder = self._folder(key)
        try:
            check_owned(folder.parent)
            check_owned(folder)
            with os.scandir(folder) as found:
                ours = all(f.name in FILES and not f.is_dir(follow_symlinks=False) for f in found)
        except OSError:
            return False
        if ours:
            self._remove(folder)
        return ours and not os.path.lexists(folder)

    def _shelves(self) -> list[Path]:
        """The folders that entries stand in, never through a link."""
        if not os.path.lexists(self.root) or not self._check_root():
            return []
        with suppress(OSError):
            found = [p for p in paths_in(self.root) if SHELF.fullmatch(p.name)]
            return sorted(p for p in found if p.is_dir() and not p.is_symlink())
        return []

    def _folders(self) -> list[Path]:
        """The places of all entries, broken ones too."""
        found = (p for shelf in self._shelves() for p in paths_in(shelf))
        return sorted(p for p in found if KEY.fullmatch(p.name) and p.parent.name == p.name[:2])

    def _sweep(self) -> None:
        """Remove what a process left half written."""
        if not os.path.lexists(self.root) or not self._check_root():
            return
        for left in paths_in(self.root):
            with suppress(OSError):
                old = time.time() - left.lstat().st_mtime > STALE_SECONDS
                if old and UNFINISHED.fullmatch(left.name):
                    remove_tree(left)

    def _folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _read(self, folder: Path, key: str) -> tuple[dict[str, Any], bytes, bytes]:
        for path in (folder.parent, folder):
            check_owned(path)
        manifest = read_manifest(folder)
        if manifest.get("key") != key:
            raise ValueError("the manifest is of another key")
        binary = read_file(folder / "binary")
        source = read_file(folder / "kernel.cu")
        if key_of(manifest.get("parts", {})) != key:
            raise ValueError("the key does not follow from its parts")
        if manifest.get("source_sha256") != digest(source):
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

    def _remove(self, path: Path) -> None:
        """Take an entry away in one step, then delete it; a reader has it whole or not at all."""
        gone = self.root / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            with suppress(OSError):
                os.rename(path, gone)
        finally:  # also after Ctrl-C
            if gone.is_dir() and not gone.is_symlink():
                remove_tree(gone)
            with suppress(OSError):
                gone.unlink()

    def _add(self, count: int) -> None:
        with self._lock:
            if self._bytes is None:  # once in a process
                self._sweep()
                self._bytes = sum(e.bytes for e in self.entries())
            else:
                self._bytes += count
            over = self._bytes > self.most_bytes
        if over:  # some way below the cap, or every further entry would prune again
            self.prune(int(self.most_bytes * PRUNED_TO))

    def _check_root(self) -> bool:
        if self._usable is None:
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                check_owned(self.root)
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
        warnings.warn(message, OpweaveWarning, stacklevel=2)


def _write_new(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
