"""Find the function that a user names: ``FILE.py:function`` or ``package.module:function``."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import FileError, OpweaveError, RequestError

MOST_NAMES = 8


def load(name: str) -> Any:
    """Import the file or module and return the named object.

    Raises:
        RequestError: the name does not parse, or there is no such file, module or function.
        FileError: the file cannot be imported; with the user's line.
    """
    place, colon, path = name.rpartition(":")
    if not (place and colon and path):
        raise RequestError(
            f"{name!r}: expected FILE.py:FUNCTION or package.module:FUNCTION, such as "
            "app.py:tonemap"
        )
    try:
        is_file = place.endswith(".py") or os.sep in place or Path(place).is_file()
        Path(place).exists()
    except (OSError, ValueError):  # too long, or with a character that no file name has
        raise RequestError(f"{shown(place)} is no name of a file or a module") from None
    module = _from_file(Path(place)) if is_file else _from_name(place)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise RequestError(_unknown(place, path, found, part))
        found = getattr(found, part)
    return found


def _unknown(place: str, path: str, found: Any, part: str) -> str:
    names = [n for n in dir(found) if not n.startswith("_") and _is_own(found, getattr(found, n))]
    near = difflib.get_close_matches(part, names, 3)
    if near:
        return f"{place} has no function {path!r}: did you mean {' or '.join(near)}?"
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    return f"{place} has no function {path!r}; it has {shown or 'no functions'}"


def _is_own(module: Any, found: Any) -> bool:
    """True for what a user may have meant: callables of this module, no classes or imports."""
    home = getattr(found, "__module__", None)
    ours = home in (getattr(module, "__name__", None), "opweave._lists.oplist")
    return callable(found) and not isinstance(found, type) and ours


def _from_file(path: Path) -> ModuleType:
    if not path.exists():
        raise RequestError(f"{path} does not exist: expected a Python file, such as app.py")
    if not path.is_file():
        raise RequestError(f"{path} is a folder: expected a Python file, such as app.py")
    if path.suffix != ".py":
        raise RequestError(f"{path} is no Python file: expected a name that ends in .py")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))  # as Python does for a script
    with users_code(str(path.resolve()), f"importing {path}"):
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "no known parent package" not in str(error):
                raise
            del sys.modules[name]
            return _from_package(path.resolve(), error)
    return module


def _from_package(path: Path, error: ImportError) -> ModuleType:
    """A file with relative imports as a module of its package.

    Raises:
        ImportError: the one given, where the file lies in no package.
    """
    parts, root = [] if path.stem == "__init__" else [path.stem], path.parent
    while (root / "__init__.py").is_file():
        parts, root = [root.name, *parts], root.parent
    if root == path.parent:
        raise error
    sys.path.insert(0, str(root))
    return importlib.import_module(".".join(parts))


def _module_name(path: Path) -> str:
    """The file's own name, unless another module goes by it: both may be asked for."""
    name = path.stem
    if name.isidentifier() and name not in sys.modules:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin == str(path.resolve()):
            return name
    return f"_opweave_file_{len(sys.modules)}"


def _from_name(name: str) -> ModuleType:
    with suppress(OSError):  # the folder may be gone
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # as python -m does
    with users_code("", f"importing {name}"):
        spec = _spec_of(name)
        if spec is None:
            hint = f"; did you mean {name}.py?" if Path(f"{name}.py").is_file() else ""
            raise RequestError(f"module {name!r} cannot be found here or where Python looks{hint}")
    with users_code(str(spec.origin), f"importing {name}"):
        return importlib.import_module(name)


def _spec_of(name: str) -> ModuleSpec | None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise RequestError(f"{name!r} is no module name: expected FILE.py or package.module")
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


@contextmanager
def users_code(file: str, doing: str) -> Iterator[None]:
    """Run a user's code: what it prints goes to standard error, what it raises names its line.

    Raises:
        FileError: it raised.
        OpweaveError: as raised.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (OpweaveError, KeyboardInterrupt, BrokenPipeError):
        raise
    except SyntaxError as error:
        place = f"{_short(error.filename or file)}:{error.lineno}"
        line = f": {error.text.strip()}" if error.text else ""
        raise FileError(f"{doing}: {place} is not Python: {error.msg}{line}") from error
    except (Exception, SystemExit) as error:
        raise FileError(f"{doing}: {_raised(error, file)}") from error


def _raised(error: BaseException, file: str) -> str:
    """Where and what was raised: the innermost line of the user's file, else of all."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.exists(f.filename)]
    own = [f for f in frames if os.path.realpath(f.filename) == os.path.realpath(file)]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    known = own or [
        f for f in frames if not Path(f.filename).is_relative_to(Path(__file__).parent)
    ]
    if not known:
        return text
    frame = known[-1]
    code = f": `{frame.line}`" if frame.line else ""
    return f"{_short(frame.filename)}:{frame.lineno} raises {text}{code}"


def _short(path: str) -> str:
    """A path as the user would type it."""
    with suppress(OSError, ValueError):
        near = os.path.relpath(path)
        return path if near.startswith("..") else near
    return path
