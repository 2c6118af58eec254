"""What was found, in a file that a person can read and change."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

from opweave.opcodes.errors import FileError

FORMAT = 1
_WRITING = Lock()

Entry = dict[str, Any]


def read(path: Path) -> list[Any]:
    """The entries of a file, as they are; none where there is no file.

    Raises:
        FileError: it cannot be read, or is no such file; says what is wrong.
    """
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise _refused(path, str(error)) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _refused(path, f'no {{"format": {FORMAT}, ...}}')
    if not isinstance(entries := data.get("tuned"), list):
        raise _refused(path, 'no list "tuned"')
    return entries


def _refused(path: Path, found: str) -> FileError:
    return FileError(
        f"{path}: expected a file that ow.tune has written, found {found}; remove it, or give "
        "another name"
    )


def find(entries: Sequence[Any], key: Mapping[str, Any]) -> Entry | None:
    """The entry of a function, its kernels, arguments and device."""
    return next((e for e in entries if isinstance(e, dict) and key.items() <= e.items()), None)


def check_writable(path: Path) -> None:
    """Find out before anything is measured whether a file can be written.

    Raises:
        FileError: it cannot.
    """
    with _written(path):
        pass


@contextmanager
def _written(path: Path) -> Iterator[IO[str]]:
    """A new file beside a path, which is gone in the end unless it has taken its place."""
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with made.open("x") as file:
            yield file
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error}") from None
    finally:
        with suppress(OSError):
            made.unlink()


def write(path: Path, entry: Entry, key: Mapping[str, Any]) -> None:
    """Put an entry into a file, in the place of one with its key; others stay as they are now.

    Raises:
        FileError: it cannot be written.
    """
    with _WRITING:
        others = [e for e in read(path) if find([e], key) is None]
        text = json.dumps({"format": FORMAT, "tuned": [*others, entry]}, indent=1) + "\n"
        with _written(path) as file:
            file.write(text)
            file.flush()
            os.replace(file.name, path)  # it is whole at any time
