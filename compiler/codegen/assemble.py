"""Assemble: from a group of the schedule to a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from opweave.compiler.codegen.assemble_columns import ColumnsAssembler, walks_columns
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
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.codegen.walks import Walk
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.values import Extents
from opweave.compiler.scheduling.schedule import Schedule
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
}


def assemble(
    schedule: Schedule,
    number: int,
    extents: Extents,
    spans: Mapping[int, int],
    device: Device,
    overrides: Mapping[str, int],
) -> Kernel:
    """Make the kernel of one group.

    ``spans`` maps an input's value id to the largest offset of its layout, in elements.

    Raises:
        ToggleError: an override cannot hold.
    """
    return _assembler(schedule, number, extents, spans, device, overrides).kernel()


def shape_class(
    schedule: Schedule, extents: Extents, spans: Mapping[int, int], device: Device
) -> tuple[tuple[Walk, Facts], ...]:
    """What the kernels of a schedule depend on besides it: walk and facts of each group."""
    made = (
        _assembler(schedule, n, extents, spans, device, {}) for n in range(len(schedule.groups))
    )
    return tuple((a.walk, a.facts()) for a in made)


def _assembler(
    schedule: Schedule,
    number: int,
    extents: Extents,
    spans: Mapping[int, int],
    device: Device,
    overrides: Mapping[str, int],
) -> Assembler:
    """The assembler of a group: that of its form, unless its operands lie across the loop.

    Then a map takes tiles, and a row group on the host bands of columns.
    """
    kind = ASSEMBLERS[schedule.groups[number].form.kind]
    made = kind(schedule, number, extents, spans, device, overrides)
    if kind is RowAssembler and walks_columns(made):
        return ColumnsAssembler(schedule, number, extents, spans, device, overrides)
    if not isinstance(made, MapAssembler) or kind is not MapAssembler:
        return made
    by_place = made.tables or made.coordinates
    if not by_place and reads_across(made) is not None:
        return TileAssembler(schedule, number, extents, spans, device, overrides)
    return made
