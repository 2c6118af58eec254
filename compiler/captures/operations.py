"""What a function's code says of its operations, before it runs: which, and how long they get."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Sequence
from dis import Instruction
from functools import cache
from itertools import pairwise

from opweave.compiler.captures.bytecode import (
    ATTRIBUTES,
    READS,
    loads_constant,
    nested_codes,
)

# Instructions of Python's operators.
ARITHMETIC = ("BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT")
# The name of an index that selects by a comparison, as ``x[x > 0]``.
MASK = "[]"
# Names of what makes more elements than its longest operand has.
LENGTHENING = frozenset(
    "newaxis outer meshgrid mgrid ogrid ix_ indices expand_dims atleast_2d atleast_3d "
    "broadcast_to broadcast_arrays tile repeat kron vander".split()
)
# What makes a view of another shape where the array lies in rows, and a copy where it does not.
RESHAPING = frozenset({"reshape", "ravel"})
# What has dimensions in another order than its operand; arrays computed of it lie as it does.
TURNING = frozenset(
    "T mT transpose matrix_transpose permute_dims swapaxes moveaxis rollaxis".split()
)
# Functions that write into an array, besides those that are given ``out=``; and methods that do,
# while NumPy's functions of some of these names give new arrays.
WRITING = frozenset("put put_along_axis place putmask copyto fill_diagonal shuffle".split())
WRITING_METHODS = frozenset({"fill", "sort", "partition"})


@cache
def writes_in_place(code: types.CodeType) -> bool:
    """Whether the code may write into an array: elements, ``+=``, ``out=``, ``x.sort()``.

    >>> def f(x):
    ...     x[0] = 1
    >>> writes_in_place(f.__code__), writes_in_place(compile("x + 1", "", "eval"))
    (True, False)
    """
    codes = list(nested_codes(code))
    steps = [one for inner in codes for one in dis.get_instructions(inner)]
    of_arrays = any(  # not of a module, which is a global
        one.argval in WRITING_METHODS and before.opname != "LOAD_GLOBAL"
        for before, one in pairwise(steps)
        if one.opname in ("LOAD_METHOD", "LOAD_ATTR")
    )
    by_operator = any(
        one.opname == "STORE_SUBSCR" or (one.opname == "BINARY_OP" and one.argrepr.endswith("="))
        for one in steps
    )
    keywords = (n for c in codes for names in c.co_consts if type(names) is tuple for n in names)
    return (
        of_arrays
        or by_operator
        or "out" in keywords
        or not WRITING.isdisjoint(operations_in(code))
    )


@cache
def operations_in(code: types.CodeType) -> tuple[str, ...]:
    """Names that the code calls or reads, each time that it does.

    An operator of Python's is "", and an index by a comparison ``MASK``.

    >>> def f(x):
    ...     return sin(x) + x
    >>> operations_in(f.__code__)
    ('sin', '')
    """
    found = []
    for inner in nested_codes(code):
        before = None
        for one in dis.get_instructions(inner):
            if _is_index(one) and before is not None and before.opname == "COMPARE_OP":
                found.append(MASK)
            elif one.opname in ARITHMETIC:
                found.append("")
            elif one.opname in (*ATTRIBUTES, *READS):
                found.append(str(one.argval))
            before = one
    return tuple(found)


@cache
def attributes_in(code: types.CodeType) -> frozenset[str]:
    """Names of attributes that the code reads."""
    steps = (one for inner in nested_codes(code) for one in dis.get_instructions(inner))
    return frozenset(str(one.argval) for one in steps if one.opname in ATTRIBUTES)


@cache
def lengthening_lines(code: types.CodeType) -> frozenset[tuple[str, int]]:
    """Lines that may make arrays with more elements than any that the code is given, by file."""
    return frozenset(
        (inner.co_filename, (one.positions and one.positions.lineno) or 0)
        for inner in nested_codes(code)
        for one in _lengthening(tuple(dis.get_instructions(inner)))
    )


def _lengthening(steps: Sequence[Instruction]) -> Iterator[Instruction]:
    """Names of such functions, and indices with None in them, as ``x[:, None]``: a new axis."""
    for at, one in enumerate(steps):
        is_name = one.opname in (*ATTRIBUTES, *READS) and one.argval in LENGTHENING
        is_index = _is_index(one) and _is_none(steps, at - 1)
        is_tuple = one.opname == "BUILD_TUPLE" and any(
            _is_none(steps, n) for n in _made(steps, at)
        )
        is_constant = loads_constant(one) and type(one.argval) is tuple and None in one.argval
        if is_name or is_index or is_tuple or is_constant:
            yield one


@cache
def integers_in(code: types.CodeType) -> frozenset[int]:
    """Integers that stand in the code, which may be extents."""
    parts = [part for inner in nested_codes(code) for part in inner.co_consts]
    return frozenset(part for part in parts if type(part) is int)


def _is_index(one: Instruction) -> bool:
    return one.opname == "BINARY_SUBSCR" or one.argrepr == "[]"  # the latter in CPython 3.14


def _is_none(steps: Sequence[Instruction], at: int) -> bool:
    return at >= 0 and steps[at].opname == "LOAD_CONST" and steps[at].argval is None


def _made(steps: Sequence[Instruction], at: int) -> Iterator[int]:
    """Where the items of a tuple are made that is built there: the last instruction of each."""
    end = at - 1
    for _ in range(steps[at].arg or 0):
        yield end
        missing = 1
        while missing > 0 and end >= 0:
            missing -= dis.stack_effect(steps[end].opcode, steps[end].arg)
            end -= 1
