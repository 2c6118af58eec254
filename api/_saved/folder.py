"""The folder of a saved program: written in one step, read whole and checked against its hashes.

    manifest.json           signature, plans, and the SHA-256 of every file
    kernels/TARGET/*.cu     sources, to be read
    host/*.so               kernels for this kind of CPU, and the scheduler that runs them
    cubin/sm_90a/*.cubin    kernels for an architecture
    constants/TARGET/*.bin  arrays that the function made, or read from outside

Hashes find damage.  They do not find an attacker, who can write a consistent folder: it is code,
and trusted as the place where it lies.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import FileError, SavedError

# Raised with each change of what a manifest says or means.
FORMAT = 1
MANIFEST = "manifest.json"
# Names of files, which never lead out of the folder.
FILE = re.compile(
    r"kernels/\w+/\w+\.cu|host/\w+\.so|cubin/sm_\w+/\w+\.cubin|constants/\w+/\w+\.bin"
)
MOST_BYTES = 1 << 32
MOST_OF_MANIFEST = 64 << 20


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _canonical(manifest: Mapping[str, Any]) -> bytes:
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()


def write(place: Path, manifest: dict[str, Any], files: Mapping[str, bytes]) -> None:
    """Write a folder that is whole, or not there.

    Raises:
        FileError: something lies there already, or it cannot be written.
    """
    import secrets  # loading needs neither
    import shutil

    if os.path.lexists(place) and not _is_empty(place):
        raise FileError(
            f"{place} is there already: expected a new folder; remove it, or save to another one"
        )
    sums = {name: {"bytes": len(data), "sha256": digest(data)} for name, data in files.items()}
    manifest = {"format": FORMAT, **manifest, "files": sums}
    manifest["sha256"] = digest(_canonical(manifest))
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    made = place.absolute().parent / f".{place.name}-{secrets.token_hex(8)}"
    try:
        for name, data in {**files, MANIFEST: text.encode()}.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        os.replace(made, place)
    except OSError as error:
        raise FileError(f"{place} cannot be written: {error}") from None
    finally:  # Ctrl-C leaves nothing behind either
        shutil.rmtree(made, ignore_errors=True)


def _is_empty(place: Path) -> bool:
    with suppress(OSError):
        return place.is_dir() and not place.is_symlink() and not any(place.iterdir())
    return False


def read(place: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of a folder, and its files, of which every byte was checked.

    Raises:
        FileError: there is no such folder, or a file of it cannot be read.
        SavedError: it is no saved program, is damaged, or is of a newer version.
    """
    manifest = _manifest(place)
    files = {}
    for name, about in manifest["files"].items():
        for folder in (place / name).parents[: name.count("/")]:
            if folder.is_symlink():
                raise FileError(f"{folder} cannot be read: it is a link, which is not followed")
        data = _file(place / name, MOST_BYTES)
        if digest(data) != about["sha256"]:
            raise SavedError(
                f"{place / name} was changed or damaged: expected {about['bytes']} bytes of "
                f"SHA-256 {about['sha256'][:12]}..., found {len(data)} of {digest(data)[:12]}...; "
                "save the program again"
            )
        files[name] = data
    return manifest, files


def _manifest(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        raise FileError(f"{place} is no folder: expected one that program.save has written")
    if not os.path.lexists(place / MANIFEST):
        raise SavedError(f"{place} is no saved program: it has no {MANIFEST}")
    text = _file(place / MANIFEST, MOST_OF_MANIFEST)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(place) from None
    if not isinstance(found, dict):
        raise damaged(place)
    version = found.get("format")
    if type(version) is int and version > FORMAT:
        raise SavedError(
            f"{place} was saved by opweave {shown(found.get('opweave'))} in format {version}: "
            f"expected format {FORMAT} or an older one; install that opweave, or a newer one"
        )
    if version != FORMAT or found.get("sha256") != digest(_canonical(found)):
        raise damaged(place)
    if not all(map(FILE.fullmatch, found["files"])):
        raise SavedError(f"{place / MANIFEST} names a file outside of the folder")
    return found


def damaged(place: Path) -> SavedError:
    """What to raise for a manifest that is none."""
    return SavedError(f"{place / MANIFEST} was changed or damaged: save the program again")


def _file(path: Path, most: int) -> bytes:
    """A plain file, read without following a link."""
    try:
        # A pipe in the place of a file would keep a reader waiting without O_NONBLOCK.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_size > most:
                raise OSError(f"no file of at most {most} bytes")
            return file.read(most)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error}") from None
