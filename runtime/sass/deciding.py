"""Which instructions decide about control and addresses: the others are counted, not computed.

A name decides before an instruction if a branch, a guard or an address may follow from what it
holds there.  That is found backwards along the flow, as liveness is: what an instruction reads
decides where what it writes does.  What is read under a guard alone was written under the same
guard, often: such names are kept with it, as pairs, until its predicate is another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.listing import SassInstruction
from opweave.runtime.sass.slices import CONTROL, MEMORY, PREDICATES, of_address, read, written

Guard = tuple[int, str]  # a predicate and its sign
Name = int | tuple[int, Guard]


@dataclass(frozen=True)
class Deciding:
    """The slice of a kernel that is to be computed.

    Attributes:
        rows: numbers of its instructions.
        before: by block the names that decide where it begins.
        from_shared: something that decides comes out of shared memory.
    """

    rows: frozenset[int]
    before: dict[int, frozenset[int]]
    from_shared: bool


def deciding(flow: Flow) -> Deciding:
    """The slice of a kernel, with what it stores in shared memory where that comes back."""
    found = _slice(flow, stores_decide=False)
    return _slice(flow, stores_decide=True) if found.from_shared else found


def _slice(flow: Flow, *, stores_decide: bool) -> Deciding:
    every = flow.listing.instructions
    following = {b: _following(flow, b) for b in flow.leaders}
    leading: dict[int, list[int]] = defaultdict(list)
    for block, others in following.items():
        for other in others:
            leading[other].append(block)
    before: dict[int, frozenset[Name]] = dict.fromkeys(flow.leaders, frozenset())
    rows: set[int] = set()
    # in turns, each block once: behind a function stand all blocks that call it
    waiting = dict.fromkeys(reversed(flow.leaders))
    while waiting:
        block = next(iter(waiting))
        del waiting[block]
        names: set[Name] = set().union(*(before[b] for b in following[block]))
        for n in reversed(range(block, flow.ends[block])):
            if _step(every[n], names, stores_decide=stores_decide):
                rows.add(n)
        if names != before[block]:
            before[block] = frozenset(names)
            waiting |= dict.fromkeys(leading[block])
    from_shared = any(every[n].root == "LDS" for n in rows)
    return Deciding(frozenset(rows), {b: _plain(n) for b, n in before.items()}, from_shared)


def _plain(names: Iterable[Name]) -> frozenset[int]:
    return frozenset(name if isinstance(name, int) else name[0] for name in names)


def _step(one: SassInstruction, names: set[Name], *, stores_decide: bool) -> bool:
    """Names that decide before an instruction, of those behind it; whether it is computed."""
    writes, guard = written(one), _guard(one)
    is_computed = not _plain(names).isdisjoint(writes)
    if writes:
        _overwrite(names, set(writes), guard)
    reads: list[int] = []
    if is_computed or one.root in CONTROL or (stores_decide and one.root == "STS"):
        reads = read(one)
    elif one.root in MEMORY:
        reads = [r for o in one.operands for r in of_address(one, o)]
    if guard is None:
        names.update(reads)
    elif reads:
        names.update((name, guard) for name in reads if name not in names)
        names.add(guard[0])
    return is_computed


def _guard(one: SassInstruction) -> Guard | None:
    return (PREDICATES + one.guard.index, one.guard.sign) if one.guard else None


def _overwrite(names: set[Name], writes: set[int], guard: Guard | None) -> None:
    """Take out what an instruction writes; pairs with a predicate that it writes stand alone."""
    for name in list(names):
        own, condition = (name, None) if isinstance(name, int) else name
        if own in writes and (guard is None or guard == condition):
            names.discard(name)
        elif condition and condition[0] in writes:
            names.discard(name)
            names.add(own)


def _following(flow: Flow, block: int) -> list[int]:
    """Blocks that come next; behind a return those behind any call."""
    last = flow.listing.instructions[flow.ends[block] - 1]
    if last.root not in ("RET", "BRX", "JMP"):
        return flow.successors(block, calls=True)
    return flow.returns if last.root == "RET" else list(flow.leaders)
