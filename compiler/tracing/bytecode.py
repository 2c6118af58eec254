"""Which questions a function's code asks, and which names it reads, by its instructions."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")


ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


# Between a name and its attribute where that is assigned, as in ``f.n += 1``.
BETWEEN = ("COPY", "CACHE", "EXTENDED_ARG")


# Names of functions that look at the frame, or at the names, of the code that calls them.
FRAMES = frozenset(
    {"eval", "exec", "globals", "locals", "vars", "_getframe", "currentframe", "id"}
)


@cache
def asks_frames(code: types.CodeType) -> str | None:
    """The function that the code calls to look at its own frame or names; a copy has others."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in (*ATTRIBUTES, *READS) and instruction.argval in FRAMES:
            return str(instruction.argval)
    inner = (asks_frames(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return next(filter(None, inner), None)


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions that it makes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


# Names of functions that compare by identity first.
COMPARING = frozenset(
    {"id", "index", "count", "remove", "is_", "is_not", "contains", "countOf", "indexOf"}
)


@cache
def asks_identity(code: types.CodeType) -> bool:
    """True for code that may ask whether two of its values are one object.

    A comparison with a constant does not count: no array is asked for.
    """
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "CONTAINS_OP" and before != "LOAD_CONST":
            return True
        if instruction.opname == "IS_OP" and before != "LOAD_CONST":
            return True
        if instruction.opname in (*ATTRIBUTES, *READS) and instruction.argval in COMPARING:
            return True
        if instruction.opname not in BETWEEN:
            before = instruction.opname
    return any(asks_identity(c) for c in code.co_consts if isinstance(c, types.CodeType))


@cache
def asks_truth(code: types.CodeType) -> bool:
    """True for code that may compare with True or False by ``is``, as ``case True`` does."""
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP":
            is_constant = before is not None and before.opname == "LOAD_CONST"
            if not is_constant or type(before.argval) is bool:
                return True
        if instruction.opname in (*ATTRIBUTES, *READS) and instruction.argval in ("is_", "is_not"):
            return True
        if instruction.opname not in BETWEEN:
            before = instruction
    return any(asks_truth(c) for c in code.co_consts if isinstance(c, types.CodeType))


@cache
def catches(code: types.CodeType) -> bool:
    """True for code with an ``except``, a ``with`` or a ``finally``."""
    names = (instruction.opname for instruction in dis.get_instructions(code))
    inner = (catches(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return "PUSH_EXC_INFO" in names or any(inner)


# Names of classes that an IndexError is of, and of what takes them in a ``with``.
INDEX_ERRORS = frozenset({"IndexError", "LookupError", "Exception", "BaseException", "suppress"})


@cache
def catches_index(code: types.CodeType) -> bool:
    """True for code that may catch an IndexError: by its name, or in an ``except`` of all."""
    if catches(code) and not INDEX_ERRORS.isdisjoint(names_in(code)):
        return True
    return any(
        (one.opname, then.opname) == ("PUSH_EXC_INFO", "POP_TOP")
        for inner in nested_codes(code)
        for one, then in pairwise(dis.get_instructions(inner))
    )


@cache
def _reads(code: types.CodeType) -> tuple[tuple[Any, ...], ...]:
    """Names that are read, by nested functions too, each with the attributes behind it.

    The first item says whether the name is a global.
    """
    return tuple(map(tuple, _read_in(code)))


def _read_in(code: types.CodeType) -> Iterator[Sequence[Any]]:
    path: list[Any] = []
    for instruction in dis.get_instructions(code):
        if path and instruction.opname in BETWEEN:
            continue
        if path and instruction.opname in ATTRIBUTES:
            path.append(instruction.argval)
            continue
        if path:
            yield path
        is_read = instruction.opname in READS
        path = [instruction.opname in READS[:2], instruction.argval] if is_read else []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _reads(constant)


@cache
def names_in(code: types.CodeType) -> frozenset[str]:
    """Names and texts in a function's code, which may be names of attributes."""
    found = {*code.co_names, *(c for c in code.co_consts if isinstance(c, str))}
    inner = (names_in(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return frozenset(found.union(*inner))
