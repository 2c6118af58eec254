"""The entry of the command line: parse, run, and turn every failure into one line.

Exit status: 0 done, 1 failed, 2 a mistake in the request, 130 stopped with Ctrl-C, 141 nobody
reads the output any more.  What a command needs is imported when it runs.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from opweave.cli.options import parser
from opweave.opcodes.errors import ArgumentError, OpweaveError, RequestError, ToggleError

FAILED, MISTAKEN, STOPPED, UNREAD = 1, 2, 130, 141
MOST_TEXT = 2000
MISTAKES = (RequestError, ArgumentError, ToggleError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return run(given)
        finally:
            flush()
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        return UNREAD
    except Exception as error:
        if "--traceback" in given:
            traceback.print_exc()
        print(f"opweave: error: {message(error)}", file=sys.stderr)
        return MISTAKEN if isinstance(error, MISTAKES) else FAILED


def run(argv: Sequence[str]) -> int:
    """Run a command line.

    Raises:
        RequestError: it does not parse.
        OpweaveError: whatever the command raises.
    """
    with suppress(AttributeError):  # a stream that a test or an embedding put there
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.showwarning = _say
        if not argv:
            parser().print_help()
            return 0
        options = parser().parse_args(argv)
        module, function = options.run.split(":")
        command = getattr(importlib.import_module(f"opweave.cli.{module}"), function)
        return int(command(options))


def message(error: BaseException) -> str:
    """The text of an error on one line, without control characters.

    >>> message(RequestError("expected\\n  a number"))
    'expected a number'
    """
    text = str(error)
    if not isinstance(error, OpweaveError):
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f" ({os.path.basename(f.filename)}:{f.lineno})" for f in last)
        text = f"{type(error).__name__}: {text}{place}; --traceback shows the way there"
    line = " ".join(text.split())
    line = line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]}..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def flush() -> None:
    """Write out what was printed; after a failure nothing is left for Python to fail on."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


def _say(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as one line, in the place of Python's two."""
    print(f"opweave: warning: {' '.join(str(message).split())}", file=sys.stderr)
