"""``opweave eject`` and ``opweave check-ejected``: kernels as files beside the user's code."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from opweave._programs.ejected import function_hash, meaning_of, place_of
from opweave._programs.program import Program
from opweave._saved.ejected_files import (
    ASKED,
    EjectedKernel,
    digest,
    entries,
    folder_of,
    manifest,
    shown,
)
from opweave.cli.inspecting import requested
from opweave.cli.terminal import print_json, print_table
from opweave.configuration import config
from opweave.opcodes.errors import EjectedError, FileError, OpweaveError, RequestError

WELL = ("unchanged", "edited")


def eject(options: Namespace) -> int:
    """Write the files, and print their names."""
    with config(ejected=False):
        request = requested(options)
        program = request.lower()
    made = list(ejected_of(program, options))
    for path in (path for entry, _ in made for path in _in_place_of(entry)):
        if not options.force:
            raise FileError(
                f"{shown(path)} is there already: --force ejects it again, and keeps the "
                "old file as .old"
            )
        _put_away(path)
    for entry, text in made:
        _write(entry, text)
    written = [os.path.relpath(entry.path) for entry, _ in made]
    if options.json:
        print_json({"function": options.function, "target": program.target, "written": written})
    else:
        print("\n".join(written))
    return 0


def ejected_of(program: Program, options: Namespace) -> Iterator[tuple[EjectedKernel, str]]:
    """The kernels of a program that are asked for, with their sources.

    Raises:
        RequestError: there is no such kernel, or the function has no file.
    """
    fused, lowered = program.fused, program.lowered
    folder = folder_of(fused.signature.fn)
    if folder is None:
        raise RequestError(
            f"{options.function}: expected a function with a name in a Python file, beside which "
            "kernels can lie; a lambda, a list or a function within another one has none"
        )
    known = {k.name: n for n, k in enumerate(lowered.kernels) if not k.by_numpy}
    if not known or (options.kernel is not None and options.kernel not in known):
        raise RequestError(
            f"--kernel {options.kernel}: expected one of {', '.join(known) or 'no kernels'}"
        )
    place = _place_of(program)
    asked = {name: getattr(options, name) for name in ASKED}
    for name, number in known.items():
        if options.kernel in (None, name):
            text = lowered.sources[number]
            meaning = meaning_of(lowered, number)
            key = digest(repr((place, meaning.form)))[:8]
            yield EjectedKernel(
                folder / f"{name}.{program.target}.{key}.cu", name, place,
                tuple(fused.signature.names), function_hash(program.variant.graph),
                meaning, digest(text), asked,
            ), text  # fmt: skip


def _place_of(program: Program) -> tuple[str, ...]:
    """What the kernels of a program are for, as manifests have it."""
    assert program.given is not None  # it is what lower has returned
    fused, arch = program.fused, program.lowered.device.arch
    return place_of(arch, program.given.types, fused.options, fused.signature.names)


def _in_place_of(entry: EjectedKernel) -> list[Path]:
    """The sources that a new one replaces: its own, and those of what the function was before.

    Kernels that stand for the same function, for other lengths, stay.
    """
    own = any(path.exists() for path in (entry.path, entry.path.with_suffix(".json")))
    with suppress(EjectedError):
        others = entries(entry.path.parent)
        same = (e for e in others if (e.place, e.kernel) == (entry.place, entry.kernel))
        stale = [e.path for e in same if e.function != entry.function]
        return [*dict.fromkeys([entry.path] * own + stale)]
    return [entry.path] * own


def _write(entry: EjectedKernel, text: str) -> None:
    """Write a source and its manifest."""
    try:
        entry.path.parent.mkdir(parents=True, exist_ok=True)
        entry.path.write_text(text)
        entry.path.with_suffix(".json").write_text(manifest(entry))
    except OSError as error:
        raise FileError(f"{entry.path}: {error}") from None


def _put_away(path: Path) -> None:
    """Keep a source under another name; its manifest follows from the function."""
    old = path.with_suffix(".cu.old")
    number = 1
    while old.exists():
        number += 1
        old = path.with_suffix(f".cu.old{number}")
    try:
        with suppress(FileNotFoundError):
            path.rename(old)
        path.with_suffix(".json").unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"{path}: {error}") from None


@dataclass(frozen=True)
class EjectedState:
    """What became of an ejected kernel.

    Attributes:
        state: "unchanged", "edited", "drifted" where its function has changed, "orphaned" where
            that is gone, "unreadable".
    """

    file: str
    state: str
    detail: str = ""


def check_ejected(options: Namespace) -> int:
    """Print a line for each; exit status 1 unless all stand for what their functions do."""
    found = [state for folder in _folders(options.file) for state in _states(folder)]
    if options.json:
        print_json({"ejected": [asdict(state) for state in found]})
    elif found:
        print_table(("file", "state", ""), [(s.file, s.state, s.detail) for s in found])
    else:
        print("nothing is ejected here")
    return 0 if all(state.state in WELL for state in found) else 1


def _folders(file: str | None) -> list[Path]:
    if file is None:
        return sorted(path for path in Path().rglob("*.opweave") if path.is_dir())
    if not file.endswith(".py"):
        raise RequestError(f"{file}: expected a Python file, such as app.py")
    folder = Path(file).with_suffix(".opweave")
    if not folder.is_dir() and not Path(file).is_file():
        raise RequestError(f"{file}: expected a Python file that is there, or was")
    return [folder] if folder.is_dir() else []


def _states(folder: Path) -> Iterator[EjectedState]:
    for function in sorted(p for p in folder.iterdir() if p.is_dir()):
        try:
            known = entries(function)
        except EjectedError as error:
            yield EjectedState(os.path.relpath(function), "unreadable", str(error))
            continue
        for entry in known:
            yield _state(entry, folder.with_suffix(".py"), function.name)


def _state(entry: EjectedKernel, file: Path, function: str) -> EjectedState:
    name = os.path.relpath(entry.path)
    try:
        text = entry.text()
    except EjectedError as error:
        return EjectedState(name, "unreadable", str(error))
    asked = Namespace(**{**entry.asked, "function": f"{file}:{function}"})
    try:
        request = requested(asked)
    except OpweaveError as error:
        return EjectedState(name, "orphaned", str(error))
    try:
        program = request.lower()
    except EjectedError as error:
        return EjectedState(name, "drifted", str(error))
    except OpweaveError as error:
        return EjectedState(name, "drifted", f"it cannot be lowered any more: {error}")
    place = _place_of(program)
    if place != entry.place:
        used = f"kernels of ours run: it is for {' '.join(entry.place)}, where {' '.join(place)}"
        return EjectedState(name, "drifted", f"{used} is asked for now")
    return EjectedState(name, "unchanged" if digest(text) == entry.source else "edited")
