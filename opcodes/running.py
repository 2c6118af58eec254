"""Lists of reductions and scans: what a running value begins with, and how two are joined.

    ["acc = 0", "acc + x"]

is an accumulate op-code, where ``acc`` is the running value of one lane and ``x`` the next
element, and a reduce op-code of the same text, where ``x`` is another partial result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import KINDS, Fragment, OpCode, Phase, rows
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.lists import check_order
from opweave.opcodes.tokens import tokens

PARAMS = ("acc", "x")
REALS = "fiub"  # the kinds that a text is for
PHASES = [Phase.ACCUMULATE, Phase.REDUCE]
# Operators of C that give another result where their operands change places, or are grouped anew.
ORDERED = frozenset(("-", "/", "%", "<<", ">>", "<", ">", "<=", ">="))


Text = str | Mapping[str, str]  # for all kinds of real numbers, or by kinds: {"iu": "acc ^ x"}


def running_list(
    operator: str, given: Text | Sequence[Text | OpCode], known: Sequence[Fragment] = ()
) -> tuple[OpCode, ...]:
    """The op-codes of a reduction or scan, of a fragment, a list of them, or two op-codes.

    ``known`` are rows of an operator that is edited: a text is for their kinds, and begins as
    they do unless the list says otherwise.

    Raises:
        FragmentError: what stands there is no such list.
    """
    items: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    if items and all(isinstance(item, OpCode) for item in items):
        codes = tuple(code.named(operator) for code in items)
    else:
        kinds = "".join(row.kinds for row in known if row.kinds != "c") or REALS
        *begun, join = _texts(operator, items, kinds, bool(known))
        starts = begun[0] if begun else {row.kinds: row.start for row in known}
        codes = (
            OpCode(operator, Phase.ACCUMULATE, PARAMS, rows(join, starts)),
            OpCode(operator, Phase.REDUCE, PARAMS, rows(join)),
        )
    check_running(operator, codes)
    return codes


def _texts(
    operator: str, items: Sequence[Any], kinds: str, is_begun: bool
) -> list[Mapping[str, str]]:
    """What the running value begins with, if the list says it, and how two are joined, by kinds.

    Raises:
        FragmentError: another list than ``["acc = 0", "acc + x"]``.
    """
    expected = "'acc = 0' and 'acc + x', what it begins with and then how two values are joined"
    found: list[Mapping[str, str]] = []
    for number, item in enumerate(items):
        texts = item if isinstance(item, Mapping) else {kinds: item}
        if not all(type(text) is str for pair in texts.items() for text in pair):
            _refuse(operator, items, number, f"texts, {expected}", shown(item))
        if not texts or not set("".join(texts)) <= set(KINDS):
            _refuse(operator, items, number, f"kinds of dtypes of {KINDS}", shown(list(texts)))
        kinds = "".join(texts)
        found.append(texts)
    assigns = [[tokens(t)[:2] == ["acc", "="] for t in texts.values()] for texts in found]
    if assigns and any(assigns[-1]):
        remedy = f"{shown(items[-1])}: put what it begins with before, or leave out 'acc ='"
        _refuse(operator, items, len(items) - 1, "how two values are joined", remedy)
    for number, each in enumerate(assigns[:-1]):
        if number or not all(each):
            _refuse(operator, items, number, expected, shown(items[number]))
    if not items or (len(items) == 1 and not is_begun):
        _refuse(operator, items, 0, expected, shown(items))
    begun = [{k: t.partition("=")[2].strip() for k, t in texts.items()} for texts in found[:-1]]
    return [*begun, found[-1]]


def check_running(operator: str, opcodes: Sequence[OpCode]) -> None:
    """Hold a list to the rules for reductions and scans.

    Raises:
        FragmentError: says which op-code breaks which.
    """
    check_order(operator, opcodes)
    phases = [code.phase for code in opcodes]
    if phases != PHASES or any(code.supplied for code in opcodes):
        found = ", ".join(phase.value for phase in phases) or "none"
        raise FragmentError(
            f"{operator}: expected an accumulate and a reduce op-code, found {found}"
        )
    kinds = ["".join(sorted("".join(row.kinds for row in code.rows))) for code in opcodes]
    if kinds[0] != kinds[1]:
        _refuse(operator, opcodes, 1, f"rows for the kinds {kinds[0]}, as of accumulate", kinds[1])
    for number, code in enumerate(opcodes):
        for row in code.rows:
            _check_row(operator, opcodes, number, row)


def _check_row(operator: str, opcodes: Sequence[OpCode], number: int, row: Fragment) -> None:
    """Hold a fragment to the rules: an expression of both values, whose order does not matter."""
    code, found = opcodes[number], tokens(row.text)
    if code.params != PARAMS:
        _refuse(operator, opcodes, number, "the operands acc and x", ", ".join(code.params))
    if row.is_statement:
        _refuse(operator, opcodes, number, "an expression", f"statements, {shown(row.text)}")
    if not set(PARAMS) <= set(found):
        _refuse(operator, opcodes, number, "an expression that reads acc and x", shown(row.text))
    if len(found) == 3 and found[1] in ORDERED:
        _refuse(
            operator, opcodes, number, "an associative expression, since lanes are joined in any "
            "order", f"{shown(row.text)}: accumulate with +, and put the rest around it"
        )  # fmt: skip
    if bool(row.start) is (code.phase is Phase.REDUCE):
        has = "none" if row.start == "" else shown(row.start)
        expected = "what the running value begins with" if not row.start else "no beginning"
        _refuse(operator, opcodes, number, expected, has)


def _refuse(
    operator: str, items: Sequence[Any], number: int, expected: str, found: str
) -> NoReturn:
    number = number % len(items) + 1 if items else 1
    raise FragmentError(
        f"{operator}: op-code {number} of {len(items)}: expected {expected}; found {found}"
    )
