"""Assemble: from the groups of a schedule to kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from opweave.compiler.codegen.assemble_columns import columns_assembler
from opweave.compiler.codegen.assemble_handwritten import HandwrittenAssembler, LibraryAssembler
from opweave.compiler.codegen.assemble_matrix import TileAssembler, reads_across
from opweave.compiler.codegen.assemble_pixels import PixelAssembler
from opweave.compiler.codegen.assemble_products import (
    ProductAssembler,
    ProductRowsAssembler,
    VendorAssembler,
)
from opweave.compiler.codegen.assemble_rows import (
    CountAssembler,
    MapAssembler,
    ReduceAssembler,
    RowAssembler,
)
from opweave.compiler.codegen.assemble_scans import (
    ScanAssembler,
    ScanColumnsAssembler,
    ScanPartsAssembler,
)
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.operands import Setting
from opweave.compiler.codegen.structure import TAKES, check_used, structured
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.walks import Walk
from opweave.compiler.toggles.facts import Facts

# The assembler of each form.
ASSEMBLERS: dict[str, type[Assembler]] = {
    "map": MapAssembler,
    "pixel": PixelAssembler,
    "row": RowAssembler,
    "reduce": ReduceAssembler,
    "scan": ScanAssembler,
    "scan_parts": ScanPartsAssembler,
    "scan_columns": ScanColumnsAssembler,
    "product": ProductAssembler,
    "product_rows": ProductRowsAssembler,
    "count": CountAssembler,
    "vendor": VendorAssembler,
    "handwritten": HandwrittenAssembler,
    "library": LibraryAssembler,
}


# Makes the assembler of a class for the group of a number.
Make = Callable[[type[Assembler], int], Assembler]


def assemble(setting: Setting) -> tuple[Kernel, ...]:
    """Make the kernels of all groups of a schedule.

    Raises:
        ToggleError: an override cannot hold.
        EditError, DTypeError: a structural op-code that does not fit.
    """
    found = _assemblers(setting, lambda kind, number: kind(setting, number))
    made = tuple(structured(each.kernel(), setting, number) for number, each in enumerate(found))
    if made:
        check_used(made, setting)
    return made


class ShapeClasses:
    """The shape classes of a schedule on a device, with the overrides of its function.

    A call with other extents asks for one, so the assemblers are kept and moved to the extents.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[type[Assembler], int], Assembler] = {}

    def of(self, setting: Setting) -> tuple[tuple[Walk, Facts], ...]:
        """What the kernels depend on besides the schedule: walk and facts of each group."""
        found = _assemblers(setting, partial(self._made, setting))
        return tuple((made.walk, made.facts()) for made in found)

    def _made(self, setting: Setting, kind: type[Assembler], number: int) -> Assembler:
        known = self._kept.get((kind, number))
        made = known and known.at(setting.extents, setting.spans)
        if made is None:
            made = self._kept[kind, number] = kind(setting, number)
        return made


def _assemblers(setting: Setting, make: Make) -> Iterator[Assembler]:
    """The assembler of each group: that of its form, unless its operands lie across the loop.

    Then a map takes tiles, unless the user has given it an index or a guard, and a row group bands
    of columns, unless it has any op-codes of the user's in its structure.
    """
    for number, group in enumerate(setting.schedule.groups):
        made = make(ASSEMBLERS[group.form.kind], number)
        if isinstance(made, RowAssembler | ReduceAssembler) and (down := columns_assembler(made)):
            made = make(down, number)
        elif type(made) is MapAssembler and _takes_tiles(made):
            made = make(TileAssembler, number)
        yield made


def _takes_tiles(made: MapAssembler) -> bool:
    """A map reads across its loop, and has no index or guard of a user's."""
    kept = all(code.phase in TAKES["tile"] for code in made.placed)
    return kept and reads_across(made) is not None
