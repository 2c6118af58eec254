"""Which questions a function's code asks, and which names it reads, by its instructions."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Sequence, Set
from dis import Instruction
from functools import cache, lru_cache
from typing import Any, TypeGuard

READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
# Between a name and its attribute where that is assigned, as in ``f.n += 1``.
BETWEEN = ("COPY", "CACHE", "EXTENDED_ARG")
# Names of functions that look at the frame, or at the names, of the code that calls them.
FRAMES = frozenset(
    {"eval", "exec", "globals", "locals", "vars", "_getframe", "currentframe", "id"}
)
# Names of functions that compare by identity first.
COMPARING = frozenset(
    {"id", "index", "count", "remove", "is_", "is_not", "contains", "countOf", "indexOf"}
)
# Those that do nothing else.
IDENTITY = frozenset({"is_", "is_not"})


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions that it makes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


@lru_cache(maxsize=64)  # each question below goes through the same code
def _instructions(code: types.CodeType) -> tuple[Instruction, ...]:
    return tuple(dis.get_instructions(code))


def steps(code: types.CodeType) -> Iterator[tuple[Instruction | None, Instruction]]:
    """The instructions, nested functions' too, each with the one in front of it that matters."""
    for inner in nested_codes(code):
        before: Instruction | None = None
        for instruction in _instructions(inner):
            yield before, instruction
            if instruction.opname not in BETWEEN:
                before = instruction


@lru_cache(maxsize=256)
def binds_outside(code: types.CodeType) -> bool:
    """Whether a function, or one that it makes, binds a name around it or a global one."""
    free = frozenset(code.co_freevars)
    return any(
        step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        or (step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in free)
        for _, step in steps(code)
    )


def loads_constant(instruction: Instruction | None) -> TypeGuard[Instruction]:
    """True for what loads a constant."""
    return instruction is not None and instruction.opname == "LOAD_CONST"


def _names(instruction: Instruction, names: Set[str]) -> bool:
    """True for what looks up one of some names."""
    return instruction.opname in (*ATTRIBUTES, *READS) and instruction.argval in names


@cache
def asks_frames(code: types.CodeType) -> str | None:
    """The function that the code calls to look at its own frame or names; a copy has others."""
    return next((str(one.argval) for _, one in steps(code) if _names(one, FRAMES)), None)


@cache
def asks_identity(code: types.CodeType) -> bool:
    """True for code that may ask whether two of its values are one object.

    A comparison with a constant does not count: no array is asked for.
    """
    return any(
        _names(one, COMPARING)
        or (one.opname in ("IS_OP", "CONTAINS_OP") and not loads_constant(before))
        for before, one in steps(code)
    )


@cache
def asks_truth(code: types.CodeType) -> bool:
    """True for code that may compare with True or False by ``is``, as ``case True`` does."""
    return any(
        _names(one, IDENTITY)
        or (one.opname == "IS_OP" and (not loads_constant(before) or type(before.argval) is bool))
        for before, one in steps(code)
    )


@cache
def catches(code: types.CodeType) -> bool:
    """True for code with an ``except``, a ``with`` or a ``finally``."""
    return any(one.opname == "PUSH_EXC_INFO" for _, one in steps(code))


# Names of classes that an IndexError is of, and of what takes them in a ``with``.
INDEX_ERRORS = frozenset({"IndexError", "LookupError", "Exception", "BaseException", "suppress"})


@cache
def catches_index(code: types.CodeType) -> bool:
    """True for code that may catch an IndexError: by its name, or in an ``except`` of all."""
    if catches(code) and not INDEX_ERRORS.isdisjoint(names_in(code)):
        return True
    return any(
        before is not None and (before.opname, one.opname) == ("PUSH_EXC_INFO", "POP_TOP")
        for before, one in steps(code)
    )


@cache
def _reads(code: types.CodeType) -> tuple[tuple[Any, ...], ...]:
    """Names that are read, by nested functions too, each with the attributes behind it.

    The first item says whether the name is a global.
    """
    return tuple(tuple(path) for inner in nested_codes(code) for path in _read_in(inner))


def _read_in(code: types.CodeType) -> Iterator[Sequence[Any]]:
    path: list[Any] = []
    for instruction in _instructions(code):
        if path and instruction.opname in BETWEEN:
            continue
        if path and instruction.opname in ATTRIBUTES:
            path.append(instruction.argval)
            continue
        if path:
            yield path
        is_read = instruction.opname in READS
        path = [instruction.opname in READS[:2], instruction.argval] if is_read else []


@cache
def names_in(code: types.CodeType) -> frozenset[str]:
    """Names and texts in a function's code, which may be names of attributes."""
    parts = [part for inner in nested_codes(code) for part in (*inner.co_names, *inner.co_consts)]
    return frozenset(part for part in parts if isinstance(part, str))
