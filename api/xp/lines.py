"""The user's line: where an operation is recorded, and for messages."""

from __future__ import annotations

import sys
from types import FrameType

from opweave.compiler.traced.made import line_of, users_frame

OURS = "opweave"
Line = tuple[str, int]


def at_line() -> str:
    """The user's line, for a message: " (file.py:3)"."""
    where = line_of(users_frame())
    return f" ({where})" if where.file else ""


def line_now() -> Line:
    """File and line of the innermost frame that is not ours; as ``users_frame``, in less time."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(OURS):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0
