"""Fragments that test toggles: lines of C between ``#if``, ``#elif``, ``#else`` and ``#endif``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opweave.opcodes.codes import OpCode
from opweave.opcodes.conditions import (
    Conditional,
    Values,
    check_branches,
    condition,
    directive,
    lines_of,
    parsed,
    resolved,
    together,
)
from opweave.opcodes.defines import Define, shared
from opweave.opcodes.errors import FragmentError, NameRefusedError, OpweaveError, ToggleError
from opweave.opcodes.fragments import check_fragment
from opweave.opcodes.tokens import tokens

MOST_KEPT = 1024  # fragments that were read before


class FragmentLeaf(NamedTuple):
    """What a fragment is with some values of its toggles, and the first such values."""

    text: str
    values: Values

    @property
    def with_values(self) -> str:
        """Such as `` with USE_TABLE=1``, for a message."""
        given = " and ".join(f"{name}={value}" for name, value in self.values.items())
        return f" with {given}" * bool(given)


def tested(text: str, toggles: Sequence[Define]) -> tuple[Define, ...]:
    """Those of some toggles that a fragment names, in conditions or as numbers."""
    found = set(tokens(text))
    return tuple(t for t in toggles if t.name in found)


@lru_cache(MOST_KEPT)
def leaves(text: str, toggles: tuple[Define, ...]) -> tuple[FragmentLeaf, ...]:
    """What a fragment is, for all values of its toggles; its lines stay lines."""
    items = parsed(lines_of(text))
    found: dict[str, FragmentLeaf] = {}
    for values in together(toggles):
        left = "\n".join(resolved(items, values))
        found.setdefault(left, FragmentLeaf(left, values))
    return tuple(found.values())


@lru_cache(MOST_KEPT)
def spread(text: str, toggles: tuple[Define, ...]) -> tuple[str | FragmentLeaf, ...]:
    """An expression as whole expressions, one in each branch, between the lines that choose.

    x *              ->  #if TWICE
    #if TWICE            x * 2
    2                    #else
    #else                x * 3
    3                    #endif
    #endif
    """
    return tuple(_spread(parsed(lines_of(text)), together(toggles)))


def _spread(
    items: Sequence[Conditional | str], reaching: Sequence[Values]
) -> Iterator[str | FragmentLeaf]:
    """The same of lines that only some values reach."""
    at = next((n for n, item in enumerate(items) if isinstance(item, Conditional)), None)
    if at is None:
        lines = (str(item).strip() for item in items)
        yield FragmentLeaf(" ".join(line for line in lines if line), reaching[0])
        return
    choice = items[at]
    assert isinstance(choice, Conditional)
    taken = _taken(choice, reaching)
    for number, (line, body, those) in enumerate(taken):
        if len(taken) > 1:
            word, rest = directive(line)
            yield f"#{word}{rest.rstrip()}" if number else f"#if {rest.strip()}"
        yield from _spread([*items[:at], *body, *items[at + 1 :]], those)
    if len(taken) > 1:
        yield "#endif"


def _taken(
    choice: Conditional, reaching: Sequence[Values]
) -> list[tuple[str, list[Conditional | str], list[Values]]]:
    """The branches that any values take, with these values; no branch is an empty one."""
    left, found = list(reaching), []
    for line, body in (*choice.branches, ("#else", [])):
        those = [values for values in left if condition(line, values)]
        left = [values for values in left if values not in those]
        if those:
            found.append((line, list(body), those))
    return found


def leaves_of(name: str, text: Any, toggles: Sequence[Define]) -> tuple[FragmentLeaf, ...]:
    """The expressions of a fragment, each with values that lead to it; see ``branches_of``."""
    return tuple(p for p in branches_of(name, text, toggles) if isinstance(p, FragmentLeaf))


def branches_of(name: str, text: Any, toggles: Sequence[Define]) -> tuple[str | FragmentLeaf, ...]:
    """A fragment as ``spread`` has it; one without preprocessor lines as it is.

    Raises:
        FragmentError: see ``check_branches``.
    """
    if type(text) is not str or "#" not in text:
        return (FragmentLeaf(text, {}),)
    found = tested(text, toggles)
    check_branches(name, text, found)
    return spread(text, found)


# The rules


def check_text(
    name: str, text: str, params: Sequence[str], results: int, toggles: tuple[Define, ...]
) -> None:
    """Hold a fragment to the rules, with all values of its toggles.

    Raises:
        FragmentError, NameRefusedError: a rule is broken; says with which values.
    """
    if type(text) is not str or ("#" not in text and not toggles):
        check_fragment(name, text, params, results)
        return
    check_branches(name, text, toggles)
    found = leaves(text, toggles)
    for leaf in found:
        try:
            numbers = [t.name for t in toggles]
            check_fragment(name, leaf.text, params, results, numbers=numbers)
        except OpweaveError as error:
            raise type(error)(f"{error}{leaf.with_values}") from None
    first, other = found[0], next((f for f in found if _ends(f) != _ends(found[0])), None)
    if other is not None:
        raise FragmentError(
            f"{name}: expected an expression with every value, or statements with every value, "
            f"found both: {_ends(first)}{first.with_values}, {_ends(other)}{other.with_values}"
        )


def check_declared(operator: str, declared: Sequence[Define], codes: Sequence[OpCode]) -> None:
    """Hold the toggles of a list to its op-codes.

    Raises:
        ToggleError: an op-code has another toggle of that name, or none tests it.
    """
    pairs = [(f"the list {operator}", toggle) for toggle in declared]
    tested_by = [(f"op-code {c.name}", toggle) for c in codes for toggle in c.toggles]
    shared([*pairs, *tested_by])
    for toggle in declared:
        if not any(toggle == other for _, other in tested_by):
            raise ToggleError(
                f"{operator}: no op-code of the list tests {toggle.name}: write "
                f"'#if {toggle.name}' into one, or take the toggle out"
            )


def _ends(leaf: FragmentLeaf) -> str:
    return "statements" if ";" in tokens(leaf.text) else "an expression"


def check_tested(code: OpCode) -> None:
    """Hold an op-code's toggles to the rules: it has fragments, which test them all.

    Raises:
        FragmentError: a template supplies it.
        NameRefusedError: an operand has the name of a toggle.
        ToggleError: no fragment tests one.
    """
    if code.toggles and code.supplied:
        raise FragmentError(
            f"{code.name}: expected toggles in an op-code with fragments, found the phase "
            f"{code.phase.value}, which a template supplies"
        )
    for toggle in code.toggles:
        if toggle.name in (code.name, *code.params):
            raise NameRefusedError(
                f"{code.name}: {toggle.name} names a toggle and a value: rename one"
            )
        if not any(tested(row.text, (toggle,)) for row in code.rows):
            raise ToggleError(
                f"{code.name}: no fragment tests {toggle.name}: write '#if {toggle.name}' into "
                "one, or take the toggle out"
            )
