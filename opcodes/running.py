"""Lists of reductions, scans and products: what a running value begins with, and how it goes on.

    ["acc = 0", "acc + x"]

is an accumulate op-code, where ``acc`` is the running value of one lane and ``x`` the next
element, and a reduce op-code of the same text, where ``x`` is another partial result.  In a
product the next elements are ``x`` and ``y``, and there are no partial results.  Toggles that
stand in the list are what the texts may test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from opweave.opcodes.allowed import shown
from opweave.opcodes.branches import FragmentLeaf, check_declared, leaves_of, tested
from opweave.opcodes.codes import KINDS, Fragment, OpCode, Phase, rows
from opweave.opcodes.defines import Define, without_toggles
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
    operator: str, given: Text | Sequence[Text | OpCode | Define], known: Sequence[Fragment] = ()
) -> tuple[OpCode, ...]:
    """The op-codes of a reduction or scan, of a fragment, a list of them, or two op-codes.

    ``known`` are rows of an operator that is edited: a text is for their kinds, and begins as
    they do unless the list says otherwise.

    Raises:
        FragmentError: what stands there is no such list.
        ToggleError: a toggle that no op-code tests, or that one declares otherwise.
    """
    items, declared = without_toggles(given)
    if items and all(isinstance(item, OpCode) for item in items):
        codes = tuple(code.named(operator) for code in items)
    else:
        starts, join = _texts(operator, items, known, declared)
        toggles = _tested(join, declared)
        codes = (
            OpCode(operator, Phase.ACCUMULATE, PARAMS, rows(join, starts), toggles=toggles),
            OpCode(operator, Phase.REDUCE, PARAMS, rows(join), toggles=toggles),
        )
    check_running(operator, codes)
    if declared:
        check_declared(operator, declared, codes)
    return codes


def product_list(
    operator: str,
    given: Text | Sequence[Text | OpCode | Define],
    old: Sequence[OpCode],
    known: Sequence[Fragment] = (),
) -> tuple[OpCode, ...]:
    """The op-codes of a product: ``["acc = 0", "acc + x * y"]``, of ``old`` tiles and results.

    ``known`` are rows of an operator that is edited, see ``running_list``.

    Raises:
        FragmentError: what stands there is no such list.
        ToggleError: a toggle that no op-code tests, or that one declares otherwise.
    """
    items, declared = without_toggles(given)
    load, accumulate, result = (code.named(operator) for code in old)
    if items and all(isinstance(item, OpCode) for item in items):
        codes = tuple(code.named(operator) for code in items)
    else:
        starts, join = _texts(operator, items, known, declared)
        accumulate = OpCode(
            operator, Phase.ACCUMULATE, accumulate.params, rows(join, starts),
            toggles=_tested(join, declared),
        )  # fmt: skip
        codes = (load, accumulate, result.of_kinds("".join(join)))
    check_product(operator, codes)
    if declared:
        check_declared(operator, declared, codes)
    return (codes[0].named(old[0].name), *codes[1:])


def _tested(texts: Mapping[str, str], declared: Sequence[Define]) -> tuple[Define, ...]:
    return tuple(t for t in declared if any(tested(text, (t,)) for text in texts.values()))


def _texts(
    operator: str, items: Sequence[Any], known: Sequence[Fragment], declared: Sequence[Define]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What the running value begins with, and how it takes the next value, by kinds.

    Raises:
        FragmentError: another list than ``["acc = 0", "acc + x"]``.
    """
    kinds = "".join(row.kinds for row in known if row.kinds != "c") or REALS
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
    _check_beginnings(operator, items, found, declared, expected)
    if not items or (len(items) == 1 and not known):
        _refuse(operator, items, 0, expected, shown(items))
    if len(found) == 1:
        return {row.kinds: row.start for row in known}, found[0]
    return {k: t.partition("=")[2].strip() for k, t in found[0].items()}, found[1]


def _check_beginnings(
    operator: str, items: Sequence[Any], found: Sequence[Mapping[str, str]],
    declared: Sequence[Define], expected: str,
) -> None:  # fmt: skip
    """All texts but the last say what a running value begins with, whatever toggles choose."""
    for number, text in ((n, t) for n, texts in enumerate(found[:-1]) for t in texts.values()):
        if "#" in text or tested(text, declared):
            same = "what it begins with, the same with every value of a toggle"
            _refuse(operator, items, number, same, shown(text))
    assigns = [[_assigns(operator, t, declared) for t in texts.values()] for texts in found]
    if assigns and any(assigns[-1]):
        remedy = f"{shown(items[-1])}: put what it begins with before, or leave out 'acc ='"
        _refuse(operator, items, len(items) - 1, "how two values are joined", remedy)
    for number, each in enumerate(assigns[:-1]):
        if number or not all(each):
            _refuse(operator, items, number, expected, shown(items[number]))


def _assigns(operator: str, text: str, declared: Sequence[Define]) -> bool:
    """A text, or one of its branches, gives the running value what it begins with."""
    found = leaves_of(operator, text, declared)
    return any(tokens(leaf.text)[:2] == ["acc", "="] for leaf in found)


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
    check_kinds(operator, opcodes)
    for number, code in enumerate(opcodes):
        _check_rows(operator, opcodes, number, PARAMS)
        for leaf in _leaves(operator, code):
            parts = tokens(leaf.text)
            if len(parts) == 3 and parts[1] in ORDERED:
                expected = "an associative expression, since lanes are joined in any order"
                remedy = ": accumulate with +, and put the rest around it"
                _refuse(operator, opcodes, number, expected, _shown(leaf) + remedy)


def check_product(operator: str, opcodes: Sequence[OpCode]) -> None:
    """Hold a list to the rules for products.

    Raises:
        FragmentError: says which op-code breaks which.
    """
    check_order(operator, opcodes)
    phases = [code.phase for code in opcodes]
    if phases != [Phase.LOAD, *PHASES] or not opcodes[0].supplied:
        found = ", ".join(phase.value for phase in phases) or "none"
        raise FragmentError(
            f"{operator}: expected the op-codes load_tile, accumulate and reduce, found {found}"
        )
    check_kinds(operator, opcodes[1:])
    _check_rows(operator, opcodes, 1, ("acc", "x", "y"))
    _check_rows(operator, opcodes, 2, ("acc",))


def check_kinds(operator: str, opcodes: Sequence[OpCode]) -> None:
    """Hold an accumulate and a reduce op-code to the same kinds of dtypes.

    Raises:
        FragmentError: there are others.
    """
    kinds = ["".join(sorted("".join(row.kinds for row in code.rows))) for code in opcodes]
    if kinds[0] != kinds[1]:
        raise FragmentError(
            f"{operator}: expected rows for the kinds {kinds[0]} in reduce, as in accumulate; "
            f"found {kinds[1]}"
        )


def _check_rows(
    operator: str, opcodes: Sequence[OpCode], number: int, params: tuple[str, ...]
) -> None:
    """Hold fragments to the rules: expressions of all operands, which begin where they must."""
    code = opcodes[number]
    named = f"{', '.join(params[:-1])} and {params[-1]}" if len(params) > 1 else params[0]
    if code.params != params:
        _refuse(operator, opcodes, number, f"the operands {named}", ", ".join(code.params))
    for leaf in _leaves(operator, code):
        if ";" in tokens(leaf.text):
            _refuse(operator, opcodes, number, "an expression", f"statements, {_shown(leaf)}")
        if not set(params) <= set(tokens(leaf.text)):
            _refuse(operator, opcodes, number, f"an expression that reads {named}", _shown(leaf))
    for row in code.rows:
        if bool(row.start) is not (code.phase is Phase.ACCUMULATE):
            expected = "no beginning" if row.start else "what the running value begins with"
            _refuse(operator, opcodes, number, expected, row.start or "none")


def _leaves(operator: str, code: OpCode) -> Iterator[FragmentLeaf]:
    for row in code.rows:
        yield from leaves_of(operator, row.text, code.toggles)


def _shown(leaf: FragmentLeaf) -> str:
    return f"{shown(leaf.text)}{leaf.with_values}"


def _refuse(
    operator: str, items: Sequence[Any], number: int, expected: str, found: str
) -> NoReturn:
    number = number % len(items) + 1 if items else 1
    raise FragmentError(
        f"{operator}: op-code {number} of {len(items)}: expected {expected}; found {found}"
    )
