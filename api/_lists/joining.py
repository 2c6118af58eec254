"""Two op-code lists become one: what the first stores feeds what the second loads.

scale: load x, multiply(2.0), store y   +   shift: load y, add("b"), store z
-> load x, multiply(2.0), add("b"), store z        with ``load b`` where shift has it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opweave._lists.codes import (
    Called,
    Code,
    ListLike,
    Load,
    Store,
    at,
    labels_of,
    names_in,
)
from opweave.opcodes.allowed import check_name
from opweave.opcodes.errors import EditError

MOST_NAME = 64


def join(first: ListLike, second: ListLike, given: Mapping[str, str]) -> tuple[Any, str]:
    """The op-codes of both lists as one, and a name.

    Raises:
        EditError: see ``OpcodeKernel.then``.
    """
    feeds = feeds_of(first, second, given)
    check_joined(first, second, feeds)
    left = (a for a in second.arguments if a not in feeds)
    taken = {*first.arguments, *left, *labels_in(first), *labels_in(second)}
    codes, names = _left(first, set(feeds.values()), taken)
    made = set(names.values()) - set(labels_in(first)) - set(first.arguments)
    fed = {argument: names.get(value, value) for argument, value in feeds.items()}
    codes += [_renamed(_in_register(c, feeds), fed, {}) for c in second.codes]
    return tuple(_tidy(codes, made, set(fed.values()))), _name(first.name, second.name)


def _in_register(code: Code, feeds: Mapping[str, str]) -> Code:
    """An op-code that reads no memory, if it is a load of what feeds the list."""
    return replace(code, by=None) if isinstance(code, Load) and code.label in feeds else code


def feeds_of(first: ListLike, second: ListLike, given: Mapping[str, str]) -> dict[str, str]:
    """What feeds arguments of the second list: results of the first, or its arguments.

    Raises:
        EditError: nothing does for certain.
    """
    for argument, value in given.items():
        if argument not in second.arguments:
            raise _both(first, second, f"{second.name} loads no {argument!r}")
        if value not in (*first.results, *first.arguments):
            raise _both(first, second, f"{first.name} has no result or argument {value!r}")
    by_name = {a: a for a in second.arguments if a in first.results}
    if by_name or given:
        return by_name | dict(given)
    if len(first.results) == len(second.arguments):
        return dict(zip(second.arguments, first.results, strict=True))
    raise _both(first, second, (
        f"{first.name} stores {', '.join(first.results)} and {second.name} loads "
        f"{', '.join(second.arguments)}: no name is in both, and their counts differ; say what "
        f"feeds what: {first.name}.then({second.name}, {second.arguments[0]}={first.results[0]!r})"
    ))  # fmt: skip


def check_joined(first: ListLike, second: ListLike, feeds: Mapping[str, str]) -> None:
    """Check that each name means one thing in both lists.

    Raises:
        EditError: names the name, both lists, and what to do.
    """
    left = [a for a in second.arguments if a not in feeds]
    kept = [r for r in first.results if r not in feeds.values()]
    labels = labels_in(first), labels_in(second)
    for name in _common(set(second.results) - set(first.results), first.arguments):
        raise _both(first, second, (
            f"a cycle: {first.name} loads {name!r}, which {second.name} stores, and "
            f"{second.name} waits for {first.name}; " + _rename(second, name)
        ))  # fmt: skip
    # names of the first list, of the second, and what they would be
    for own, others, what in (
        (kept, second.results, "two results"),
        (first.arguments, left, "two arguments"),
        (first.arguments, labels[1], "an argument and a result"),
        (labels[0], left, "a result and an argument"),
        (labels[0], labels[1], "two results that are named"),
    ):
        for name in _common(own, others):
            also = f", or {first.name}.then({second.name}, {name}={name!r}) for one and the same"
            also *= what.endswith(("argument", "arguments"))
            text = f"{name!r} would be {what}; {_rename(second, name)}{also}"
            raise _both(first, second, text)


def renamed(found: ListLike, names: Mapping[str, str]) -> tuple[Code, ...]:
    """The op-codes of a list under other names.

    Raises:
        EditError: the list has no such name, or has the new one.
    """
    known = {*found.arguments, *found.results, *labels_in(found)}
    for name, other in names.items():
        check_name(other, "new")
        if name not in known:
            has = ", ".join(sorted(known))
            raise EditError(f"{found.name}: no {name!r} to rename; it has {has}{at(found)}")
        if other in known:
            raise EditError(f"{found.name}: {other!r} is there already; pick another{at(found)}")
    return tuple(_renamed(c, names, names) for c in found.codes)


def labels_in(found: ListLike) -> tuple[str, ...]:
    """The names that a list gives to results within it."""
    return tuple(label for code in found.codes for label in labels_of(code))


def _common(names: Iterable[str], others: Iterable[str]) -> list[str]:
    return sorted(set(names) & set(others))


def _rename(found: ListLike, name: str) -> str:
    return f'rename one: {found.name}.renamed({name}="{name}_2")'


def _both(first: ListLike, second: ListLike, text: str) -> EditError:
    lists = " and ".join(f"{k.name}{at(k)}" for k in (first, second))
    return EditError(f"{text}\njoining {lists}")


def _name(first: str, second: str) -> str:
    name = first if first == second else f"{first}_{second}"
    return name if len(name) <= MOST_NAME else first


def _left(found: ListLike, fed: set[str], taken: set[str]) -> tuple[list[Code], dict[str, str]]:
    """The op-codes of a list without the stores that feed, and the names of what they stored."""
    codes: list[Code] = []
    names: dict[str, str] = {}
    for code in found.codes:
        if not (isinstance(code, Store) and code.label in fed):
            codes.append(code)
        elif code.value:
            names[code.label] = code.value
        else:
            names[code.label] = _labelled(codes, code.label, taken)
    return codes, names


def _labelled(codes: list[Code], wanted: str, taken: set[str]) -> str:
    """The name of the running value behind some op-codes, which is given one."""
    number = max(n for n, code in enumerate(codes) if not isinstance(code, Store))
    code = codes[number]
    if isinstance(code, Load):
        return code.label
    if not labels_of(code):
        label = wanted
        while label in taken:
            label += "_2"
        taken.add(label)
        codes[number] = code = code.named(label)  # type: ignore[union-attr]
    return labels_of(code)[0]


def _renamed(code: Code, names: Mapping[str, str], outputs: Mapping[str, str]) -> Code:
    """An op-code that reads and makes other names; ``outputs`` are those of stores."""
    if isinstance(code, Load):
        return replace(code, label=names.get(code.label, code.label))
    if isinstance(code, Store):
        label, value = outputs.get(code.label, code.label), names.get(code.value, code.value)
        return replace(code, label=label, value=value)
    operands = tuple(names.get(o, o) if type(o) is str else o for o in code.operands)
    labels = tuple(names.get(label, label) for label in labels_of(code))
    if isinstance(code, Called):
        return replace(code, operands=operands, labels=labels)
    return replace(code, operands=operands, label=labels[0] if labels else "")


def _tidy(codes: Sequence[Code], made: set[str], fed: set[str]) -> list[Code]:
    """Without loads of what feeds that nobody needs, and without names that nobody reads.

    All other loads stay, also those that only count once an op-code is put in or taken out.
    """
    kept: list[Code] = []
    running: tuple[str, ...] = ()
    bound: set[str] = set()
    for number, code in enumerate(codes):
        is_fed = isinstance(code, Load) and code.label in fed & bound
        if is_fed and (running == (code.label,) or _is_passed_over(codes[number + 1 :])):
            continue
        kept.append(code)
        if not isinstance(code, Store):
            running = (code.label,) if isinstance(code, Load) else labels_of(code)
            bound.update(running)
    unread = made - {name for code in kept for name in names_in(code)}
    return [_without_names(code, unread) for code in kept]


def _is_passed_over(codes: Iterable[Code]) -> bool:
    """Whether another load comes before the running value may be read."""
    for code in codes:
        if not isinstance(code, Store):
            return isinstance(code, Load)
        if not code.value:
            return False
    return True


def _without_names(code: Code, names: set[str]) -> Code:
    if not labels_of(code) or not names.issuperset(labels_of(code)):
        return code
    return replace(code, labels=()) if isinstance(code, Called) else replace(code, label="")
