"""What was found, in a file that a person can read and change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from opweave.compiler.toggles.choose import check_overrides
from opweave.opcodes.errors import FileError, OpweaveError

FORMAT = 1
NEEDED = {"function", "arguments", "device", "kernels", "toggles", "times as fast"}

Entry = dict[str, Any]


def read(path: Path) -> list[Entry]:
    """The entries of a file; none where there is no file.

    Raises:
        FileError: it cannot be read, or is no such file; says what is wrong.
    """
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise FileError(
            f"{path}: expected a file that ow.tune has written, found {error}"
        ) from None
    wrong = _wrong(data)
    if wrong:
        raise FileError(
            f"{path}: expected a file that ow.tune has written, found {wrong}; remove it, or give "
            "another name"
        )
    return list(data["tuned"])


def _wrong(data: Any) -> str:
    """What is wrong with a file's contents, or ""."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return f'no {{"format": {FORMAT}, ...}}'
    entries = data.get("tuned")
    if not isinstance(entries, list):
        return 'no list "tuned"'
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or (missing := NEEDED - entry.keys()):
            lacking = ", ".join(sorted(missing)) if isinstance(entry, dict) else "everything"
            return f"an entry {number} that lacks {lacking}"
        try:
            check_overrides(entry["toggles"])
        except (OpweaveError, AttributeError) as error:
            return f"an entry {number} of {entry['function']} with {error}"
    return ""


def find(entries: Sequence[Entry], key: Mapping[str, Any]) -> Entry | None:
    """The entry of a function, its arguments, device and kernels."""
    return next((e for e in entries if all(e[name] == key[name] for name in key)), None)


def write(path: Path, entries: Sequence[Entry], entry: Entry, key: Mapping[str, Any]) -> None:
    """Write a file with one entry more, or another one in its place; it is whole at any time.

    Raises:
        FileError: it cannot be written.
    """
    others = [e for e in entries if find([e], key) is None]
    text = json.dumps({"format": FORMAT, "tuned": [*others, entry]}, indent=1) + "\n"
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        made.write_text(text)
        os.replace(made, path)
    except OSError as error:
        with suppress(OSError):
            made.unlink()
        raise FileError(f"{path} cannot be written: {error}") from None
