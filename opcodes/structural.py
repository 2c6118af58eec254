"""Structural op-codes: index, guard, load and store of a template, as a user's own.

What each of them must bind, and may name, is in ``contracts.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.codes import Phase
from opweave.opcodes.contracts import CONTRACTS, adds, bound, check_text, is_loop
from opweave.opcodes.errors import EditError
from opweave.opcodes.tokens import rename

MOST_BLOCKS = 2**31 - 1
EACH = -1  # every kernel
# What to do about a store of an argument.
COPIED = "put an op-code in between, such as ow.opcodes.copy, or store it without by="


@dataclass(frozen=True)
class Structural:
    """What stands in the place of a structural op-code of a template.

    Attributes:
        phase: index, guard, load or store.
        name: what it is called in lists and comments.
        text: CUDA C, within the contract of its phase.
        words: the policy of ``opweave.cuh`` by which whole chunks are read or written in words
            of several elements; "" for one element after the other.
        blocks: of a loop, the most blocks of a launch; 0 for as many as the array takes.
        fills: of a loop: as many blocks as the device holds at once.
    """

    phase: Phase
    name: str
    text: str
    words: str = ""
    blocks: int = 0
    fills: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, f"{self.phase.value} op-code")
        at = f"{self.phase.value} {self.name}"
        check_text(at, self.phase, self.text)
        _check_blocks(at, self)
        plain = " ".join(rename(self.text, {}).split())  # one line, without comments
        object.__setattr__(self, "text", plain)

    def __call__(self, *, blocks: int) -> Structural:
        """The same index op-code with so many blocks, as in ``grid_stride(blocks=64)``.

        Raises:
            EditError: no loop, or no number of blocks.
        """
        return replace(self, blocks=blocks, fills=False)

    def __str__(self) -> str:
        return f"{self.phase.value:<10} {self.name:<14} {self.text}"

    @property
    def is_loop(self) -> bool:
        """An index op-code by which a thread takes more than one set of chunks."""
        return self.phase is Phase.INDEX and is_loop(self.text)

    @property
    def adds(self) -> bool:
        """A store that adds to what is there, instead of writing over it."""
        return self.phase is Phase.STORE and adds(self.text)

    @property
    def bound(self) -> str:
        """The expression of an index or a guard, behind the name that it binds."""
        return bound(self.name, self.phase, self.text)

    def over(self, **operands: str) -> str:
        """The text over other names; an operand that stands alone takes no parentheses."""
        wrapped = {name: f"({text})" if " " in text else text for name, text in operands.items()}
        made = rename(self.text, wrapped)
        for text, held in zip(operands.values(), wrapped.values(), strict=True):
            if text != held:
                made = made.replace(f"({held})", held).replace(f"({held},", f"({text},")
        return made


def _check_blocks(at: str, code: Structural) -> None:
    if type(code.blocks) is not int or not 0 <= code.blocks <= MOST_BLOCKS:
        raise EditError(
            f"{at}: blocks={shown(code.blocks)}: expected a number from 1 to {MOST_BLOCKS}"
        )
    if (code.blocks or code.fills) and not (code.phase is Phase.INDEX and code.is_loop):
        raise EditError(
            f"{at}: blocks={code.blocks}: expected an index op-code that is a loop: with fewer "
            "blocks another one leaves elements out"
        )


class Placed(NamedTuple):
    """A structural op-code in a kernel, or in each of a list's.

    Attributes:
        group: number of the kernel; EACH for every one that loads or stores this.
        of: the kernel's name for what is loaded or stored; of a list the argument's name, or the
            number of a result; "" for what a kernel has once.
    """

    code: Structural
    group: int = 0
    of: str | int = ""

    def is_in(self, number: int) -> bool:
        """Whether it may stand in a kernel of this number."""
        return self.group in (number, EACH)

    @property
    def place(self) -> str:
        """What it takes the place of, such as ``load x``."""
        return f"{self.code.phase.value} {self.of}".strip()


Structure = tuple[Placed, ...]


def with_placed(structure: Structure, added: Sequence[Placed]) -> Structure:
    """A structure with further op-codes; they take the place of those that stood there."""
    taken = {(p.code.phase, p.group, p.of) for p in added}
    kept = (p for p in structure if (p.code.phase, p.group, p.of) not in taken)
    return (*kept, *added)


def refuse_inside(name: str, structure: Structure) -> None:
    """Refuse a function of a list inside another function, whose kernels are its own.

    Raises:
        EditError: the list has structural op-codes; names them.
    """
    if structure:
        named = ", ".join(f"{p.code.phase.value} {p.code.name}" for p in structure)
        raise EditError(
            f"{name}: structural op-codes ({named}) belong to a kernel of its own, and here the "
            "list fuses with others: call it alone, or use the list without them"
        )


def refuse_removal(place: str) -> EditError:
    """What to say where a structural op-code such as ``guard`` or ``load x`` is taken out."""
    phase = place.split()[0]
    contract = next((c for p, c in CONTRACTS.items() if p.value == phase), None)
    if contract is None:
        return EditError(f"{shown(place)} is structural: the template supplies it")
    what = f"what binds {contract.binds!r}, {contract.says}" if contract.binds else contract.says
    return EditError(
        f"{shown(place)} is structural: a kernel needs {what}; put another op-code in its place "
        "with replace"
    )


_LOOP = (
    "for (index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR; "
    "first < cols; first += (index_t)gridDim.x * (CHUNKS * BLOCK * VECTOR))"
)
# Ready-made ones, as attributes of ``ow.opcodes``.
READY: dict[str, Structural] = {
    code.name: code
    for code in itertools.starmap(Structural, (
        (Phase.INDEX, "grid_stride", _LOOP, "", 0, True),
        (Phase.LOAD, "read_only", "load_by<ReadOnly>(p)", "ReadOnly"),
        (Phase.LOAD, "streaming_load", "load_by<Streaming>(p)", "Streaming"),
        (Phase.LOAD, "packed_pairs", "load(p)", "Pairs"),
        (Phase.STORE, "streaming_store", "store_by<Streaming>(p, x)", "Streaming"),
        (Phase.STORE, "accumulate", "add_to(p, x)"),
    ))
}  # fmt: skip
