"""Lists of op-codes: what a user writes as fragments, and the rules for lists.

In an elementwise list every op-code but the last binds a name, ``"s = 1 / (1 + exp(-x))"``, which
later ones read.  The last one is the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.branches import FragmentLeaf, branches_of, check_declared
from opweave.opcodes.codes import ORDER, Fragment, OpCode, Phase
from opweave.opcodes.defines import Define, shared, without_toggles
from opweave.opcodes.errors import FragmentError, NameRefusedError, OpweaveError
from opweave.opcodes.fragments import NAMED
from opweave.opcodes.tokens import is_c_name, tokens


def listed(
    operator: str,
    given: str | Sequence[str | OpCode | Define],
    params: Sequence[str],
    results: int = 1,
) -> tuple[OpCode, ...]:
    """The op-codes of an elementwise operator, of a fragment or of a list of them.

    Op-codes in the list are taken as they are; the last is named after the operator, and makes its
    results.  Toggles in the list are what its fragments may test.

    Raises:
        FragmentError: what stands there is no such list.
        NameRefusedError: a name may not enter generated source.
        ToggleError: a toggle that no op-code tests, or that one declares otherwise.
    """
    items, declared = without_toggles(given)
    if not items:
        raise FragmentError(f"{operator}: expected a fragment, or a list of them; found none")
    parsed = [_parsed(operator, items, number, declared) for number in range(len(items))]
    codes: list[OpCode] = []
    for number, (name, item) in enumerate(parsed):
        if isinstance(item, OpCode):
            codes.append(item.named(name))
            continue
        makes = results if number == len(items) - 1 else 1
        known = (*params, *(code.name for code in codes))
        codes.append(_coded(operator, parsed, number, known, makes, declared))
    if codes[-1].results != results:
        _refuse(operator, codes, len(codes) - 1, f"{results} results", f"{codes[-1].results}")
    if declared:
        check_declared(operator, declared, codes)
    return tuple(codes)


def digest(text: str) -> str:
    """Eight digits that stand for a text in a name."""
    import hashlib  # loading its library takes longer than loading this file

    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def _at(operator: str, number: int, count: int) -> str:
    """Where a list is wrong, such as ``swish: op-code 1 of 2``."""
    return f"{operator}: op-code {number + 1} of {count}"


def _tokens(text: Any) -> list[str]:
    """The tokens of a fragment; none of what an op-code refuses for its characters."""
    try:
        return tokens(text)
    except (FragmentError, TypeError):
        return []


def _parsed(
    operator: str, items: Sequence[Any], number: int, declared: Sequence[Define]
) -> tuple[str, Any]:
    """The name of an op-code, and the op-code or the fragment that makes its result.

    Raises:
        FragmentError: one that is not the last binds no name.
    """
    item, is_last = items[number], number == len(items) - 1
    at = _at(operator, number, len(items))
    if isinstance(item, OpCode):
        return (operator if is_last else item.name), item
    parts = branches_of(at, item, declared)
    names = [(_bound(p.text), p) for p in parts if isinstance(p, FragmentLeaf)]
    bound, first = next(((name, p) for name, p in names if name), ("", names[0][1]))
    if is_last and bound:
        raise FragmentError(
            f"{at}: expected an expression, or statements that return it, since the last op-code "
            f"is the result; found {shown(first.text)}: leave out '{bound} ='"
        )
    if is_last:
        return operator, item
    if not bound:
        raise FragmentError(
            f"{at}: expected 'name = expression', since only the last op-code is the result; "
            f"found {shown(item)}"
        )
    for name, other in names:
        if name != bound:
            found = f"{name!r} is" if name else "nothing"
            raise FragmentError(
                f"{at}: {bound!r} is bound{first.with_values}, and {found}{other.with_values}: "
                "bind one name in each branch"
            )
    return bound, "\n".join(p if isinstance(p, str) else _expression(p.text) for p in parts)


def _coded(
    operator: str, parsed: Sequence[tuple[str, Any]], number: int, known: tuple[str, ...],
    results: int, declared: Sequence[Define],
) -> OpCode:  # fmt: skip
    """The op-code of a fragment, which reads of what is ``known`` what it names."""
    name, text = parsed[number]
    found = _tokens(text)
    _check_bound(operator, parsed, number, [t for t in found if t not in known])
    toggles = tuple(t for t in declared if t.name in found)
    try:
        code = OpCode(name, Phase.EPILOGUE, known, (Fragment(text),), results, toggles=toggles)
    except OpweaveError as error:
        at = "" if len(parsed) == 1 else f"{_at(operator, number, len(parsed))}, "
        raise type(error)(f"{at}{error}") from None
    read = known if len(parsed) == 1 else tuple(name for name in known if name in found)
    return replace(code, params=read)


def _bound(text: Any) -> str:
    """The name that a fragment binds; "" of statements, and where there is none."""
    found = _tokens(text)
    binds = found[1:2] == ["="] and is_c_name(found[0]) and ";" not in found
    return found[0] if binds else ""


def _expression(text: str) -> str:
    return text.partition("=")[2].strip()


def _check_bound(
    operator: str, parsed: Sequence[tuple[str, Any]], number: int, found: Sequence[str]
) -> None:
    """Refuse an unknown name that is bound there or later."""
    for later, (name, _) in enumerate(parsed[number:-1], number):
        if name in found:
            where = "itself" if later == number else f"op-code {later + 1}"
            raise FragmentError(
                f"{_at(operator, number, len(parsed))}: expected operands and earlier results, "
                f"found {name!r}, which {where} binds: put what binds it before what reads it"
            )


def check_order(operator: str, opcodes: Sequence[OpCode]) -> None:
    """Hold a list to the order of a kernel's phases.

    Raises:
        FragmentError: an op-code stands behind a later phase.
    """
    for number, (before, code) in enumerate(itertools.pairwise(opcodes), 1):
        if ORDER[code.phase] < ORDER[before.phase]:
            _refuse(
                operator, opcodes, number, "phases in the order of a kernel",
                f"{code.phase.value} after {before.phase.value}: put it before {before.name}",
            )  # fmt: skip


def check_elementwise(operator: str, opcodes: Sequence[OpCode], params: Sequence[str]) -> None:
    """Hold a list to the rules for elementwise operators.

    Raises:
        FragmentError, NameRefusedError: say which op-code breaks which.
        ToggleError: two op-codes declare a toggle differently.
    """
    shared((f"{operator}: op-code {code.name}", t) for code in opcodes for t in code.toggles)
    known = list(params)
    for number, code in enumerate(opcodes):
        is_last = number == len(opcodes) - 1
        if code.supplied or code.phase not in (Phase.EPILOGUE, Phase.PROLOGUE):
            _refuse(operator, opcodes, number, "an elementwise op-code, with fragments",
                    f"phase {code.phase.value}: take one of an elementwise operator")  # fmt: skip
        strange = next((p for p in code.params if p not in known), None)
        if strange is not None:
            _refuse(operator, opcodes, number, f"operands among {', '.join(known)}",
                    f"{strange!r}: bind it in an op-code before this one")  # fmt: skip
        if is_last:
            return
        if code.results > 1 or any(row.is_statement for row in code.rows):
            _refuse(operator, opcodes, number, "an expression that makes one result",
                    "statements: only the last op-code may have them")  # fmt: skip
        _check_result(operator, opcodes, number, known)
        known.append(code.name)


def _check_result(
    operator: str, opcodes: Sequence[OpCode], number: int, known: Sequence[str]
) -> None:
    """Hold the name that an op-code binds to the rules: free, and read by a later op-code."""
    name, at = opcodes[number].name, _at(operator, number, len(opcodes))
    check_name(name, f"{at}: result")
    texts = [tokens(row.text) for code in opcodes for row in code.rows]
    called = {a for found in texts for a, b in itertools.pairwise(found) if b == "("}
    for taken, what in (
        (known, "an operand or an earlier result has it"),
        (NAMED, "it means something else in a fragment"),
        (called, "a fragment of the list calls a function of that name"),
    ):
        if name in taken:
            raise NameRefusedError(f"{at}: result name {name!r} refused: {what}; pick another")
    if not any(name in code.params for code in opcodes[number + 1 :]):
        _refuse(operator, opcodes, number, "a result that a later op-code reads",
                f"none that reads {name!r}: use it, or take this op-code out")  # fmt: skip


def _refuse(
    operator: str, opcodes: Sequence[OpCode], number: int, expected: str, found: str
) -> NoReturn:
    at, name = _at(operator, number, len(opcodes)), opcodes[number].name
    raise FragmentError(f"{at}, {name}: expected {expected}, found {found}")
