"""Arrays that lie apart: kernels with many of them load them by functions of their own."""

from __future__ import annotations

LOAD = "load_strided("
# More take a compiler longer than they save: eight of them, in one kernel, take 7 s of g++ 12.
MOST_IN_PLACE = 3


def with_strides_apart(text: str) -> str:
    """A kernel's text in which no load of many makes the kernel longer."""
    is_long = text.count(LOAD) > MOST_IN_PLACE
    return text.replace(LOAD, "load_strided_apart(") if is_long else text
