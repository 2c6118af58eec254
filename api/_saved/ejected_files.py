"""Ejected kernels as files: sources beside the user's code, each with a manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from opweave.opcodes.errors import EjectedError

FORMAT = 1
Place = tuple[str, ...]
# Bytes of a file name, of file systems of Linux; those of a name are ASCII.
MOST_NAME = 255
# What a manifest has, and the options of the command that say again what was ejected; their types.
TEXTS = list[str]
PARTS: Mapping[str, Any] = {
    "kernel": str, "place": TEXTS, "names": TEXTS, "function": str, "operators": TEXTS,
    "form": TEXTS, "parameters": TEXTS, "source": str,
}  # fmt: skip
ASKED: Mapping[str, Any] = {
    "arguments": TEXTS, "static": TEXTS, "target": str, "toggles": TEXTS, "fast": bool,
    "unfused": bool,
}  # fmt: skip
# Names of functions that a folder can have: of a module or a class, no lambda.
NAMED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
REMEDIES = (
    "eject it again with --force (the old file is kept as .old), remove the .cu and the .json, or "
    "set opweave.config.ejected = False"
)


@dataclass(frozen=True)
class Meaning:
    """What a kernel computes, and how it is called: an edited source must do the same.

    Attributes:
        operators: of its group, a line each, with values numbered from the first.
        form: its template and toggles, from which the launch follows.
        parameters: as the source declares them.
    """

    operators: tuple[str, ...]
    form: tuple[str, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class EjectedKernel:
    """A manifest and where it lies.

    Attributes:
        place: what it is for: target, options and arguments.
        names: of the function's parameters.
        function: a hash of the whole function's operators.
        source: a hash of the source as it was ejected.
        asked: the arguments of the command that ejected it.
    """

    path: Path
    kernel: str
    place: Place
    names: tuple[str, ...]
    function: str
    meaning: Meaning
    source: str
    asked: Mapping[str, Any]

    def text(self) -> str:
        """The source as it is now.

        Raises:
            EjectedError: it cannot be read.
        """
        try:
            return self.path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise EjectedError(f"{shown(self.path)} cannot be read: {error}; {REMEDIES}") from None


def shown(path: Path) -> str:
    """A path as people know it: from the user's folder on."""
    return "/".join(path.parts[-3:])


def folder_of(fn: Any) -> Path | None:
    """Where a function's ejected kernels lie; None where it can have none."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", "")
    if code is None or not code.co_filename.endswith(".py") or not NAMED.fullmatch(name):
        return None
    if len(name) > MOST_NAME:  # no file system has a folder of that name
        return None
    file, here = Path(code.co_filename), Path(fn.__globals__.get("__file__") or "")
    if not file.is_absolute() and here.name == file.name:  # of a script whose folder was left
        file = here
    return (
        file.resolve().with_suffix(".opweave") / name
    )  # where a link leads, as the command has it


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def entries(folder: Path) -> list[EjectedKernel]:
    """The ejected kernels of a function.

    Raises:
        EjectedError: a manifest cannot be read, or a source has none; names it.
    """
    found = (path for kind in ("*.cu", "*.json") for path in folder.glob(kind))
    return [read(path) for path in sorted({path.with_suffix(".json") for path in found})]


def read(path: Path) -> EjectedKernel:
    """A manifest.

    Raises:
        EjectedError: it is none.
    """
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, expected {FORMAT}")
        _check({name: data[name] for name in PARTS}, PARTS, "the manifest")
        _check(data["asked"], ASKED, "'asked'")
        parts = (tuple(data[n]) for n in ("operators", "form", "parameters"))
        rest = tuple(data["place"]), tuple(data["names"]), data["function"], Meaning(*parts)
        return EjectedKernel(
            path.with_suffix(".cu"), data["kernel"], *rest, data["source"], data["asked"]
        )
    except (OSError, RecursionError, ValueError, KeyError, TypeError) as error:
        raise EjectedError(
            f"{shown(path)} is no manifest of an ejected kernel ({error}); {REMEDIES}"
        ) from None


def _check(found: Any, expected: Mapping[str, Any], where: str) -> None:
    """Hold a part of a manifest to its types.

    Raises:
        ValueError: it has others.
    """
    if type(found) is not dict or found.keys() != expected.keys():
        raise ValueError(f"{where} has other names than {', '.join(expected)}")
    for name, kind in expected.items():
        value = found[name]
        texts = type(value) is list and all(type(each) is str for each in value)
        if not texts if kind is TEXTS else type(value) is not kind:
            raise ValueError(f"{name} is {value!r:.40}")


def manifest(entry: EjectedKernel) -> str:
    """The text of a manifest."""
    meaning = entry.meaning
    data = {
        "format": FORMAT, "kernel": entry.kernel, "place": entry.place, "names": entry.names,
        "function": entry.function, "operators": meaning.operators, "form": meaning.form,
        "parameters": meaning.parameters, "source": entry.source, "asked": dict(entry.asked),
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"
