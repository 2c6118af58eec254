"""Whether a class or a dict was changed, told by the number that CPython keeps of it for itself.

CPython gives a class another number (``tp_version_tag``) whenever it, or a base of it, is
changed, and a dict another (``ma_version_tag``, up to Python 3.12) whenever a name in it is.  No
number is given twice.  Equal numbers mean that nothing was changed.  Other numbers mean nothing:
who asks has to look.  Where a probe at import does not find the numbers, everybody has to look
each time.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

# Where the numbers lie in CPython's objects, in bytes from their beginning, and their formats.
OF_CLASS = (384, "I")
OF_DICT = (24, "Q")
# A number that nothing has, and the field of what has no number.
NEVER = -1
NO_FIELD: Sequence[int] = (0,)


def _field(owner: Any, place: tuple[int, str]) -> Sequence[int]:
    """The number as a sequence of one; ``owner`` has to live as long as it is asked."""
    offset, form = place
    size = struct.calcsize(form)
    raw = memoryview((ctypes.c_char * size).from_address(id(owner) + offset)).cast("B")
    return raw.cast("Q") if form == "Q" else raw.cast("I")


def _has(kind: Any, place: tuple[int, str]) -> bool:
    """Whether objects of a type are so large that they may have a number there."""
    return bool(kind.__basicsize__ >= place[0] + struct.calcsize(place[1]))


def _differ(field: Sequence[int], changes: Sequence[Callable[[], Any]]) -> bool:
    """Whether each of some changes makes another number."""
    seen = [field[0]]
    for change in changes:
        change()
        seen.append(field[0])
    return len(set(seen)) == len(seen)


def _knows_classes() -> bool:
    if not _has(type, OF_CLASS):
        return False
    base: Any = type("Base", (), {"m": 1})
    cls: Any = type("Class", (base,), {})
    _ = cls.m
    field = _field(cls, OF_CLASS)

    def asked(change: Callable[..., Any], *args: Any) -> Callable[[], Any]:
        return lambda: (change(*args), cls.m)  # a look-up gives a class its number

    return _differ(field, [
        asked(setattr, cls, "k", 1),
        asked(setattr, cls, "k", 2),
        asked(delattr, cls, "k"),
        asked(setattr, base, "m", 2),
        asked(setattr, base, "n", 2),
        lambda: setattr(cls, "k", 3),  # it has none until it is asked
    ]) and field[0] == 0  # fmt: skip


def _knows_dicts() -> bool:
    if sys.version_info >= (3, 13) or not _has(dict, OF_DICT):
        return False
    made: dict[str, Any] = {"a": 1}
    return _differ(_field(made, OF_DICT), [
        lambda: made.__setitem__("a", 2),
        lambda: made.__setitem__("b", 2),
        lambda: made.update(a=3),
        lambda: made.pop("b"),
        made.clear,
    ])  # fmt: skip


def _probed(knows: Callable[[], bool]) -> bool:
    """What a probe finds, which nothing but CPython on 64 bits, with its lock, is asked."""
    is_known = sys.implementation.name == "cpython" and sys.maxsize > 1 << 32
    return is_known and not sysconfig.get_config_var("Py_GIL_DISABLED") and knows()


KNOWS_CLASSES = _probed(_knows_classes)
KNOWS_DICTS = _probed(_knows_dicts)


def version_field(owner: Any) -> Sequence[int]:
    """The number of a class or dict, at index 0; it may be read while somebody holds the owner."""
    if isinstance(owner, type):
        return _field(owner, OF_CLASS) if KNOWS_CLASSES else NO_FIELD
    return _field(owner, OF_DICT) if KNOWS_DICTS else NO_FIELD


def version(owner: Any, field: Sequence[int]) -> int:
    """The number to compare with later; ``NEVER`` where there is none."""
    if isinstance(owner, type):
        type.__getattribute__(owner, "__hash__")  # a look-up gives a class its number
    return field[0] or NEVER
