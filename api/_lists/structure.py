"""Structural op-codes in lists: index and guard once for a list, others at their load or store.

k = ow.kernel([ow.opcodes.grid_stride, ow.load("x", by=ow.opcodes.read_only), ...])
k = k.replace("store y", ow.opcodes.streaming_store)
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
    arity,
    at,
    labels_of,
    refused,
)
from opweave._tracebacks import folded
from opweave.compiler.ir.names import c_names
from opweave.compiler.traced.made import users_line
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import ORDER, Phase
from opweave.opcodes.contracts import CONTRACTS
from opweave.opcodes.errors import EditError, FragmentError
from opweave.opcodes.structural import COPIED, EACH, Placed, Structural, Structure, refuse_removal

ONCE = (Phase.INDEX, Phase.GUARD)  # in a list


@folded
def structural(phase: str, text: str, *, name: str = "own", blocks: int = 0) -> Structural:
    """A structural op-code of one's own, for ``replace`` of a kernel or a list.

    ow.structural("index", "first = ((index_t)blockIdx.x * BLOCK + threadIdx.x) * VECTOR")
    ow.structural("load", "__ldcg(p)")

    Args:
        phase: ``"index"``, ``"guard"``, ``"load"`` or ``"store"``.
        text: CUDA C.  An index binds ``first``, of ``cols`` elements, or is the head of a loop
            over it; a guard binds ``end``; a load is an expression over ``p``, the address of the
            element, a store one over ``p`` and the value ``x``.
        name: what it is called in lists and comments.
        blocks: of a loop, the most blocks of a launch; 0 for as many as the array takes.

    Raises:
        EditError: no such phase.
        FragmentError: the text breaks the contract of its phase; names what it must bind.
        NameRefusedError: the name may not enter source.
    """
    phases = {p.value: p for p in CONTRACTS}
    where = users_line()
    line = f" ({where})" if where.file else ""
    if type(phase) is not str or phase not in phases:
        known = ", ".join(phases)
        raise EditError(f"structural: expected a phase of {known}; found {shown(phase)}{line}")
    try:
        return Structural(phases[phase], name, text, blocks=blocks)
    except (FragmentError, EditError) as error:
        raise type(error)(f"{error}{line}") from None


def apart(codes: Sequence[Any], name: str) -> tuple[list[Any], tuple[Structural, ...]]:
    """The op-codes of a list of that name, and those that it has once.

    Raises:
        EditError: a phase out of order, two of a phase, or a load or store by itself.
    """
    once: dict[Phase, Structural] = {}
    for number, code in enumerate(codes):
        if not isinstance(code, Structural):
            continue
        if text := _misplaced(code, codes[:number], once):
            where = users_line()
            line = f" ({where})" if where.file else ""
            place = f"{name}: op-code {number}, {code.phase.value} {code.name}"
            raise EditError(f"{place}: {text}{line}")
        once[code.phase] = code
    return [c for c in codes if not isinstance(c, Structural)], tuple(once.values())


def _misplaced(code: Structural, before: Sequence[Any], once: Iterable[Phase]) -> str:
    """Why an op-code may not stand behind others in a list, or ""."""
    phase = code.phase
    if phase not in ONCE:
        how = f'ow.{phase.value}("x", by={code.name})'
        return f"expected it at what it reads or writes: write {how}"
    if phase in once:
        return f"a list has one {phase.value}, and two are given"
    later = [p.value for p in once if ORDER[p] > ORDER[phase]]
    later += ["loads and operators"] * any(not isinstance(c, Structural) for c in before)
    text = "a phase out of order: a kernel has it before "
    return text + later[0] if later else ""


def check_structure(found: ListLike) -> None:
    """Hold op-codes of loads and stores to their phases and to what is in memory.

    Raises:
        EditError: names the op-code, the list and the user's line.
    """
    read: dict[str, Structural] = {}
    for number, code in enumerate(found.codes):
        if isinstance(code, Called):
            refuse_within(code.kernel)
        if not isinstance(code, Load | Store):
            continue
        phase = Phase.LOAD if isinstance(code, Load) else Phase.STORE
        text = ""
        if code.by is not None and code.by.phase is not phase:
            text = f"expected an op-code of the phase {phase.value}, found {code.by.name}, which "
            text += f"is one of the phase {code.by.phase.value}"
        elif isinstance(code, Load) and code.label not in found.arguments and code.by:
            text = f"{code.by.name} reads memory, and {code.label!r} is a result in a register"
        elif (
            isinstance(code, Load) and code.by and read.setdefault(code.label, code.by) != code.by
        ):
            text = "it is loaded twice, by different op-codes; an array is read in one way"
        if text:
            raise refused(found, number, text)
    values = [value for _, value in _stored(found)]
    for code, value in _stored(found):
        if code.by and values.count(value) > 1:
            text = f"{code.by.name} writes a value that is stored twice, which is one array"
            raise refused(found, found.codes.index(code), text)
        if code.by and value in found.arguments:
            text = f"{code.by.name} writes what a kernel makes; {value!r} is an argument, which "
            text += f"no kernel writes anew; {COPIED}"
            raise refused(found, found.codes.index(code), text)


def structure_of(found: ListLike) -> Structure:
    """The structural op-codes of a list, by the names of its arguments and numbers of results."""
    names = dict(zip(found.arguments, c_names(found.arguments), strict=True))
    results = list(dict.fromkeys(value for _, value in _stored(found)))
    loads = {c.label: c.by for c in found.codes if isinstance(c, Load) and c.by}
    return (
        *(Placed(code, EACH) for code in found.once),
        *(Placed(code, EACH, names[label]) for label, code in loads.items()),
        *(Placed(c.by, EACH, results.index(value)) for c, value in _stored(found) if c.by),
    )


def _stored(found: ListLike) -> list[tuple[Store, Any]]:
    """The stores of a list, each with what tells the value that it stores from others."""
    return _stored_within(found, {name: name for name in found.arguments}, ())


def _stored_within(
    found: ListLike, given: Mapping[str, Any], place: tuple[int, ...]
) -> list[tuple[Store, Any]]:
    """The same for a list that is called at a place, with values for its arguments."""
    named: dict[str, Any] = dict(given)
    running: Any = None
    stores = []
    for number, code in enumerate(found.codes):
        if isinstance(code, Store):
            stores.append((code, named[code.value] if code.value else running))
        elif isinstance(code, Load):
            running = named[code.label]
        else:
            made: list[Any] = [(*place, number)]
            if isinstance(code, Called):  # which may return an argument, or one value twice
                operands = [named[o] if type(o) is str else o for o in code.operands]
                operands[:0] = [running] * (arity(code) - len(operands))
                inner = dict(zip(code.kernel.arguments, operands, strict=True))
                made = [v for _, v in _stored_within(code.kernel, inner, made[0])]
            running = made[0]
            named.update(zip(labels_of(code), made, strict=False))
    return stores


def put(code: Structural, name: str, once: Sequence[Structural]) -> tuple[Structural, ...]:
    """The op-codes that a list has once, with another one in its place.

    Raises:
        EditError: the place is that of another phase.
    """
    if name != code.phase.value:
        raise EditError(
            f"{shown(name)}: {code.name} is an op-code of the phase {code.phase.value}: write "
            f"replace({code.phase.value!r}, ...)"
        )
    made = {c.phase: c for c in once} | {code.phase: code}
    return tuple(sorted(made.values(), key=lambda c: ORDER[c.phase]))


def by(code: Code, structural: Structural) -> Code:
    """A load or store with its op-code.

    Raises:
        EditError: neither of them.
    """
    if isinstance(code, Load | Store):
        return replace(code, by=structural)
    raise EditError(
        f"{code.name}: {structural.name} is an op-code of the phase {structural.phase.value}, and "
        "takes the place of one of its own phase"
    )


def without(name: str, once: Sequence[Structural]) -> tuple[Structural, ...]:
    """The op-codes that a list has once, without one: the template's stands there again.

    Raises:
        EditError: it is the template's.
    """
    left = tuple(c for c in once if c.phase.value != name)
    if len(left) == len(once):
        raise refuse_removal(name)
    return left


def joined(first: ListLike, second: ListLike, feeds: Mapping[str, str]) -> tuple[Structural, ...]:
    """Those of two lists that become one; ``feeds`` as in ``feeds_of``.

    Raises:
        EditError: each has another one, or a result that is added up is no result any more.
    """
    lists = f"joining {first.name}{at(first)} and {second.name}{at(second)}"
    made: dict[Phase, Structural] = {}
    for code in (*first.once, *second.once):
        if made.setdefault(code.phase, code) != code:
            raise EditError(
                f"both have an op-code of the phase {code.phase.value}, {made[code.phase].name} "
                f"and {code.name}: take one out with remove({code.phase.value!r})\n{lists}"
            )
    fed = [c for c in first.codes if isinstance(c, Store) and c.label in feeds.values()]
    for store in fed:
        if store.by and store.by.adds:
            raise EditError(
                f"{store.name} adds to what is there, and {second.name} takes its result: "
                f"expected a store that writes\n{lists}"
            )
    return tuple(made.values())


def refuse_within(found: ListLike) -> None:
    """Refuse a list that is called where its kernel is not one of its own.

    Raises:
        EditError: it has structural op-codes; names them.
    """
    named = [c.phase.value for c in found.once]
    named += [c.name for c in found.codes if isinstance(c, Load | Store) and c.by]
    if named:
        raise EditError(
            f"{found.name}: structural op-codes ({', '.join(named)}) belong to a kernel of its "
            "own, and here the list fuses with others: call it alone, or use the list without "
            f"them{at(found)}"
        )
