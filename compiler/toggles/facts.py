"""What a toggle is, and the facts that toggles are chosen from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from opweave.compiler.ir.accumulation import Plan
from opweave.compiler.ir.device import Device
from opweave.opcodes.defines import Define


@dataclass(frozen=True)
class TileShape:
    """The tiles of a block and of a thread; ``steps`` is the length along the inner dimension.

    ``stages``: so many tiles of a factor lie in shared memory, all but one on their way.
    """

    block_m: int
    block_n: int
    steps: int = 1
    thread_m: int = 1
    thread_n: int = 1
    stages: int = 1


@dataclass(frozen=True)
class ProductFacts:
    """Further facts, for the toggles of a product.

    Attributes:
        tile: row of ``TILES`` for its extents on its device, or name of one of ``ROW_TABLES``.
        accumulator_bytes: bytes of one running value.
        columns: columns of a tile that holds whole rows, 0 for tiles of any number.
        row_bytes: bytes of one element of the rows that a block keeps as well, 0 if it keeps none.
        copies: tiles may be copied without waiting.
    """

    tile: str
    accumulator_bytes: int
    columns: int = 0
    row_bytes: int = 0
    copies: bool = False


@dataclass(frozen=True)
class Declared:
    """A toggle that the operators of a kernel declare, and what was found for the kernel.

    Attributes:
        toggle: the declaration.
        value: the choice.
        holding: the values that can hold here.
        refused: the others, and why, which may name extents: no part of a shape class.
    """

    toggle: Define
    value: int
    holding: tuple[int, ...]
    refused: Mapping[int, str] = field(compare=False)

    @property
    def name(self) -> str:
        return self.toggle.name

    @property
    def row(self) -> Toggle:
        """It as a row of the kernel's table."""
        return Toggle(
            self.name, self.toggle.doc, lambda facts: self.value,
            lambda value, facts: self._reason(value), self.toggle.values,
        )  # fmt: skip

    def _reason(self, value: int) -> str:
        if value in self.holding:
            return ""
        may = f"it is {one_of(self.toggle.values)}"
        return self.refused.get(value, may)


@dataclass(frozen=True)
class Facts:
    """What the toggles of one kernel are chosen from: the shape class and the device.

    Attributes:
        device: the target.
        itemsize: bytes of the widest operand.
        can_vectorise: every chunked operand starts each row on a 16-byte boundary.
        large: enough elements to give each thread several chunks.
        long_offsets: an offset exceeds 31 bits.
        plan: the accumulation plan, for reductions.
        row_chunks: chunks of one thread that cover the longest row of the class.
        fills: the row takes all of them to their last element.
        product: further facts of a product.
        staged: bytes of one element of each operand that is staged in shared memory.
        joined: bytes of one running value of each reduction or scan.
        held: 32-bit registers that the loaded operands of one element take.
        slots: operations of one element, a special function counting as several, see ``Cost``.
        moved: bytes that are read and written for one element.
        in_chunks: operands that are read or written in chunks of consecutive elements.
        one_by_one: operands that are read element by element.
        is_flat: all operands lie densely, and are walked as one row.
        row_elements: elements of a chunk, which rows of a map on a host have; 0 for any.
        columns: columns that a thread walks together, where a reduction goes down columns.
        few_rows: the rows there, on a host and where they are few; 0 of others.
        own_lanes: they are no more than the running values of a column.
        rows_ahead: rows below that a host asks memory for; 0: what comes next lies in the row.
        across: threads of a block side by side there.
        channels: values of a pixel, in a loop over pixels.
        wide_functions: an element takes functions of numbers of 8 bytes or more.
        heavy: for scans, an element also takes special functions or conversions.
        shape: the tiles of this variant of a kernel of tiles, see ``tiles.VARIANTS``.
        stages: in this variant operands pass through shared memory.
        blocks: blocks of this variant that are to fit the shared memory of a multiprocessor; with
            several they may opt in to more than a kernel declares.
        bins: of a kernel that counts, with one for elements that have none.
        declared: toggles of the user's operators.
    """

    device: Device
    itemsize: int
    can_vectorise: bool
    large: bool
    long_offsets: bool
    plan: Plan | None = None
    row_chunks: int = 1
    fills: bool = False
    product: ProductFacts | None = None
    staged: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    held: int = 1
    slots: int = 0
    moved: int = 8
    in_chunks: int = 1
    one_by_one: int = 0
    is_flat: bool = False
    row_elements: int = 0
    columns: int = 1
    few_rows: int = 0
    own_lanes: bool = False
    rows_ahead: int = 0
    across: int = 1
    channels: int = 0
    wide_functions: bool = False
    heavy: bool = False
    shape: TileShape | None = None
    stages: bool = True
    blocks: int = 1
    bins: int = 0
    declared: tuple[Declared, ...] = ()


FLAG = (0, 1)
POWERS = tuple(1 << n for n in range(11))

Choice = Callable[[Facts], int]
# A value and the facts -> the reason why it cannot hold, or "".
Check = Callable[[int, Facts], str]


@dataclass(frozen=True)
class Toggle:
    """One ``#define``.

    Attributes:
        name: its name in the source.
        meaning: the comment beside it.
        choose: the compiler's choice from the facts.
        check: reason why a value cannot hold, or "".
        values: the values it may take.
    """

    name: str
    meaning: str
    choose: Choice
    check: Check = lambda value, facts: ""
    values: tuple[int, ...] = FLAG


def one_of(values: tuple[int, ...]) -> str:
    """What may be chosen from, as a message says it."""
    if len(values) > 2 and values == tuple(1 << n for n in range(len(values))):
        return f"a power of two up to {values[-1]}"
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}"


power = partial(Toggle, values=POWERS)


def on_device(gpu: int, *, host: int) -> Choice:
    """A choice that the kind of the device decides."""
    return lambda facts: host if facts.device.is_host else gpu
