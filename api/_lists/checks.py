"""Is an op-code list whole?  Each name means one value, and each value is there before its use."""

from __future__ import annotations

from opweave._lists.codes import (
    Called,
    Code,
    ListLike,
    Load,
    Store,
    arity,
    at,
    labels_of,
    makes_running,
    names_in,
    refused,
)
from opweave.opcodes.allowed import shown
from opweave.opcodes.defines import Define, shared
from opweave.opcodes.errors import EditError, ToggleError


def check_list(found: ListLike) -> None:
    """Hold a list to the rules.

    Raises:
        EditError: names the op-code, the list and the user's line, and says what to do.
    """
    if not found.arguments:
        raise EditError(f"{found.name}: the list loads nothing; begin with load('x'){at(found)}")
    if not any(isinstance(c, Store) for c in found.codes):
        raise EditError(f"{found.name}: the list stores nothing; end with store(){at(found)}")
    check_names(found)
    check_toggles(found)
    known: set[str] = set()
    has_running = False
    for number, code in enumerate(found.codes):
        if not (isinstance(code, Load) and code.label in found.arguments):
            _check_bound(found, number, known)
        _check_count(found, number, has_running)
        known.update((code.label,) if isinstance(code, Load) else labels_of(code))
        has_running = has_running if isinstance(code, Store) else makes_running(code)


def check_names(found: ListLike) -> None:
    """Check that no name is given twice.

    Raises:
        EditError: two stores of one name, or two results, or a result and an argument.
    """
    stored: dict[str, int] = {}
    named: dict[str, int] = {}
    for number, code in enumerate(found.codes):
        if isinstance(code, Store):
            if code.label in stored:
                raise refused(found, number, (
                    f"two stores have one name, op-code {stored[code.label]} is the other; name "
                    "each output"
                ))  # fmt: skip
            stored[code.label] = number
        for label in labels_of(code):
            other = f"op-code {named[label]}" if label in named else "an argument"
            if label in named or label in found.arguments:
                text = f"{label!r} names two values, {other} has the name, too; pick another"
                raise refused(found, number, text)
            named[label] = number


def check_toggles(found: ListLike) -> None:
    """Check that no toggle is declared in two ways.

    Raises:
        ToggleError: names both op-codes.
    """
    declared: list[tuple[str, Define]] = []
    for number, code in enumerate(found.codes):
        who = f"op-code {number}" if declared else f"op-code {number} of {found.name}"
        declared += [(who, toggle) for toggle in _toggles_in(code)]
        try:
            shared(declared)
        except ToggleError as error:
            text = f"{found.name}: op-code {number}, {code.name}: {error}{at(found)}"
            raise ToggleError(text) from None


def _toggles_in(code: Code) -> tuple[Define, ...]:
    if isinstance(code, Load | Store):
        return ()
    if isinstance(code, Called):
        return tuple(toggle for inner in code.kernel.codes for toggle in _toggles_in(inner))
    return code.operator.toggles


def _check_bound(found: ListLike, number: int, known: set[str]) -> None:
    code = found.codes[number]
    for name in names_in(code):
        if name in known:
            continue
        later = [n for n, c in enumerate(found.codes) if n >= number and _binds(c, name)]
        if later:
            by = f"bound later, by op-code {later[0]}" if later[0] > number else "its own result"
            raise refused(found, number, f"operand {name!r} is {by}: bind it before its use")
        raise refused(found, number, (
            f"operand {shown(name)} is neither a loaded argument nor an earlier result; known are "
            f"{', '.join(sorted(known)) or 'none'}"
        ))  # fmt: skip


def _binds(code: Code, name: str) -> bool:
    return name in labels_of(code) or (isinstance(code, Load) and code.label == name)


def _check_count(found: ListLike, number: int, has_running: bool) -> None:
    """Check the number of operands, of which the running value may be one."""
    code = found.codes[number]
    if isinstance(code, Load):
        return
    if isinstance(code, Store):
        if not code.value and not has_running:
            raise refused(found, number, "there is no value yet; store behind what computes it")
        return
    takes, given = arity(code), len(code.operands)
    if 0 <= takes - given <= has_running:
        _check_labels(found, number)
        return
    says = "the running value supplies one" if has_running else "there is no running value"
    args = f" ({', '.join(code.kernel.arguments)})" if isinstance(code, Called) else ""
    raise refused(found, number, (
        f"takes {takes} operands{args}, {given} given; {says}, name the others: "
        f"{code.name}('x', ...)"
    ))  # fmt: skip


def _check_labels(found: ListLike, number: int) -> None:
    code = found.codes[number]
    if isinstance(code, Called) and len(code.kernel.results) > 1 and not code.labels:
        results = ", ".join(code.kernel.results)
        raise refused(found, number, (
            f"has {len(code.kernel.results)} results ({results}); name each: "
            f"{code.name}.named({', '.join(map(repr, code.kernel.results))})"
        ))  # fmt: skip
