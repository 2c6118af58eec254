"""Assemble: from the groups of a schedule to kernels."""

from __future__ import annotations

from collections.abc import Iterator

from opweave.compiler.codegen.assemble_columns import ColumnsAssembler, walks_columns
from opweave.compiler.codegen.assemble_handwritten import HandwrittenAssembler
from opweave.compiler.codegen.assemble_matrix import TileAssembler, reads_across
from opweave.compiler.codegen.assemble_pixels import PixelAssembler
from opweave.compiler.codegen.assemble_products import (
    ProductAssembler,
    ProductRowsAssembler,
    VendorAssembler,
)
from opweave.compiler.codegen.assemble_rows import MapAssembler, ReduceAssembler, RowAssembler
from opweave.compiler.codegen.assemble_scans import (
    ScanAssembler,
    ScanColumnsAssembler,
    ScanPartsAssembler,
)
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.operands import Setting
from opweave.compiler.codegen.structure import TAKES, structured
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
    "vendor": VendorAssembler,
    "handwritten": HandwrittenAssembler,
}


def assemble(setting: Setting) -> tuple[Kernel, ...]:
    """Make the kernels of all groups of a schedule.

    Raises:
        ToggleError: an override cannot hold.
        EditError, DTypeError: a structural op-code that does not fit.
    """
    return tuple(
        structured(made.kernel(), setting, number)
        for number, made in enumerate(_assemblers(setting))
    )


def shape_class(setting: Setting) -> tuple[tuple[Walk, Facts], ...]:
    """What the kernels of a schedule depend on besides it: walk and facts of each group."""
    return tuple((made.walk, made.facts()) for made in _assemblers(setting))


def _assemblers(setting: Setting) -> Iterator[Assembler]:
    """The assembler of each group: that of its form, unless its operands lie across the loop.

    Then a map takes tiles, unless the user has given it an index or a guard, and a row group on
    the host bands of columns, unless it has any op-codes of the user's in its structure.
    """
    for number, group in enumerate(setting.schedule.groups):
        made = ASSEMBLERS[group.form.kind](setting, number)
        if type(made) is RowAssembler and not made.placed and walks_columns(made):
            made = ColumnsAssembler(setting, number)
        elif type(made) is MapAssembler and _takes_tiles(made):
            made = TileAssembler(setting, number)
        yield made


def _takes_tiles(made: MapAssembler) -> bool:
    """A map reads across its loop, and has no index or guard of a user's."""
    kept = all(code.phase in TAKES["tile"] for code in made.placed)
    return kept and reads_across(made) is not None
