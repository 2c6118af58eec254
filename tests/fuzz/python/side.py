"""One side of a comparison: a program in modules of its own, run call by call, and what was seen."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from opweave.opcodes.errors import OpweaveWarning

from .describe import Described, Describer, name_of
from .modules import MODULES
from .program import Python

NAME = "fuzz_program"
# Names in upper case that are not compared: of the side itself, or without a state of their own.
UNSEEN = ("FOLDER", "LOCK", "WEAK")
Fuse = Callable[[Any], Any]


@dataclass
class Seen:
    """What one call did.

    Attributes:
        error: what it raised.
        before: arguments and state before the call.
        result, arguments, state: afterwards; state is what the modules have in upper case.
        output: what was printed.
        logs, warned: records and warnings, as texts.
        files: what lies in the folder of the program.
        sharing: arrays that share memory.
        hooks: which hook of the interpreter's another one stands in for afterwards.
    """

    error: BaseException | None = None
    before: tuple[Described, ...] = ()
    result: Described | None = None
    arguments: Described | None = None
    state: Described | None = None
    output: str = ""
    logs: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    sharing: list[tuple[str, str]] = field(default_factory=list)
    hooks: str = ""


@contextlib.contextmanager
def written(program: Python) -> Iterator[Path]:
    """The program in a folder, so that ``inspect`` finds its lines."""
    folder = Path(tempfile.mkdtemp(prefix="opweave-python-"))
    try:
        for name, below, text in MODULES:
            (folder / below).mkdir(exist_ok=True)
            (folder / below / f"{name}.py").write_text(text)
        (folder / f"{NAME}.py").write_text(program.source)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def observed(program: Python, folder: Path, decorate: Fuse, inside: Fuse) -> list[Seen]:
    """Make all calls of a program; ``decorate`` is for the function, ``inside`` for those beside it."""
    with _surroundings(program, folder) as (records, caught):
        module = _loaded(folder, inside)
        function, profiled = decorate(module.f), program.mode == "profiled"
        describer = Describer()
        return [
            _seen(call, function, module, folder, describer, records, caught, profiled)
            for call in module.all_calls
        ]


def _loaded(folder: Path, inside: Fuse) -> Any:
    """The modules, anew."""
    for name, below, _ in MODULES:
        _module(name, folder / below / f"{name}.py", {})
    files = folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    return _module(NAME, folder / f"{NAME}.py", {"fuse": inside, "FOLDER": str(files)})


def _module(name: str, path: Path, known: dict[str, Any]) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    made.__dict__.update(known)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        place = (
            f"{record.name} {record.levelname} {record.filename}:{record.lineno} {record.funcName}"
        )
        self.found.append(f"{place}: {record.getMessage()}")


@contextlib.contextmanager
def _surroundings(program: Python, folder: Path) -> Iterator[tuple[list[str], list[Any]]]:
    """Random numbers, logging, warnings and modules as they are for every side."""
    known = {n: sys.modules.get(n) for n in (NAME, *(m[0] for m in MODULES))}
    handler, logger = _Records(), logging.getLogger("fuzz")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    numbers, arrays, printing = random.getstate(), np.random.get_state(), np.get_printoptions()
    random.seed(7)
    np.random.seed(7)
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(program.filter)  # type: ignore[arg-type]
            yield handler.found, caught
    finally:
        sys.dont_write_bytecode = before
        random.setstate(numbers)
        np.random.set_state(arrays)
        np.set_printoptions(**printing)
        os.environ.pop("FUZZ_MODE", None)
        logger.removeHandler(handler)
        for name, module in known.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def _seen(
    call: Any, function: Any, module: Any, folder: Path, describer: Describer,
    records: list[str], caught: list[Any], profiled: bool,
) -> Seen:  # fmt: skip
    made, out = Seen(), io.StringIO()
    del records[:], caught[:]
    result = None
    given: tuple[Any, Any] = ([], {})
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:  # what raises is compared, also where an earlier call left what cannot be written to
            given = call()
        except Exception as error:
            made.error = error
        arguments = [*given[0], *given[1].values()]
        made.before = (describer(arguments), describer(_state(module)))
        describer.sharing()
        try:
            if made.error is None:
                with _hooks(made, profiled):
                    result = function(*given[0], **given[1])
        except Exception as error:
            made.error = error
    made.output, made.logs = out.getvalue(), list(records)
    made.warned = [_warning(w, folder) for w in caught if not _is_ours(w)]
    made.arguments = describer(arguments, "argument ")
    made.result = describer(result, "result")
    made.state = describer(_state(module), "state ")
    made.sharing = describer.sharing()
    made.files = {p.name: p.read_bytes() for p in sorted((folder / "files").iterdir())}
    return made


@contextlib.contextmanager
def _hooks(seen: Seen, profiled: bool) -> Iterator[None]:
    """Whether the profiler and the tracer are those of before; with a profiler if asked."""
    before = sys.getprofile(), sys.gettrace()
    hook = (lambda *event: None) if profiled else before[0]
    sys.setprofile(hook)
    try:
        yield
    finally:
        found = sys.getprofile(), sys.gettrace()
        sys.setprofile(before[0])
        names = ("profiler", "tracer")
        seen.hooks = " ".join(
            n for n, a, b in zip(names, found, (hook, before[1]), strict=True) if a is not b
        )


def _is_ours(found: Any) -> bool:
    return issubclass(found.category, OpweaveWarning)


def _warning(found: Any, folder: Path) -> str:
    place = (
        ""
        if Path(found.filename).parent != folder
        else f" {Path(found.filename).name}:{found.lineno}"
    )
    return f"{name_of(found.category)}{place}: {found.message}"


def _state(module: Any) -> dict[str, Any]:
    """What modules have in upper case, but for what cannot be compared."""
    found: dict[str, Any] = {
        "random": hash(random.getstate()),
        "np.random": str(np.random.get_state()),
    }
    for name in (NAME, *(m[0] for m in MODULES)):
        held = vars(sys.modules[name])
        found |= {f"{name}.{n}": v for n, v in held.items() if n.isupper() and n not in UNSEEN}
    return found
