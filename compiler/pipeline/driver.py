"""The driver: from a function to the source of its kernels, one pass after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from opweave.compiler.codegen.assemble import assemble
from opweave.compiler.codegen.operands import Setting
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.render import render
from opweave.compiler.scheduling.accumulation_plans import plan
from opweave.compiler.scheduling.compile_costs import group_seconds
from opweave.compiler.scheduling.fuse import fuse
from opweave.compiler.scheduling.schedule import Schedule
from opweave.compiler.scheduling.verify import verify_graph, verify_schedule
from opweave.compiler.toggles.choose import check_overrides, override_plan
from opweave.compiler.toggles.declared import Choices
from opweave.opcodes.cached import cached_property
from opweave.opcodes.defines import USE_VENDOR
from opweave.opcodes.structural import Structure


@dataclass(frozen=True)
class Options:
    """What changes the kernels besides the function and its arguments.

    Attributes:
        toggles: the user's toggle values.
        fused: False makes every operator a kernel of its own.
        fast: relaxed arithmetic, see docs/kernels.md, "Numbers".
        library: products may go to the vendor's library; False where one kernel is asked for.
        fullgraph: what cannot become kernels is refused, not run between them.
        replay: calls on a GPU that come again may become CUDA graphs.
        watched: there are further outputs, which say whether NumPy would find an error.
        repeated: results become arguments again and again, see ``FunctionGraph.repeated``.
        counted: arguments of such a step that differ from round to round.
        writes: the function may write to its arguments; a step of ``ow.repeat`` may not.
        structure: structural op-codes in the place of the templates'.
    """

    toggles: tuple[tuple[str, int], ...] = ()
    fused: bool = True
    fast: bool = False
    library: bool = True
    fullgraph: bool = False
    replay: bool = False
    watched: bool = False
    repeated: bool = False
    counted: tuple[str, ...] = ()
    writes: bool = True
    structure: Structure = ()

    @property
    def overrides(self) -> dict[str, int]:
        return ({"USE_FAST_MATH": 1} if self.fast else {}) | dict(self.toggles)

    @property
    def vendor(self) -> bool | None:
        """Whether products go to the vendor's library; None where shapes and types decide."""
        asked = self.overrides.get(USE_VENDOR)
        return False if not self.library else None if asked is None else bool(asked)


@dataclass(frozen=True)
class Lowered:
    """A function lowered for a target: its schedule, kernels and their source.

    Attributes:
        ejected: the file that each source is from, "" for ours; None where nobody has looked.
    """

    graph: FunctionGraph
    schedule: Schedule
    kernels: tuple[Kernel, ...]
    sources: tuple[str, ...]
    device: Device
    structure: Structure = ()
    ejected: tuple[str, ...] | None = None

    @cached_property
    def seconds(self) -> tuple[float, ...]:
        """What each kernel takes to compile, by constants."""
        groups = self.schedule.groups
        return tuple(group_seconds(self.graph, groups[k.group]) for k in self.kernels)


def schedule_graph(
    graph: FunctionGraph,
    extents: Mapping[str, int],
    device: Device,
    options: Options,
    choices: Choices | None = None,
) -> Schedule:
    """Plan and fuse a simplified graph.

    Raises:
        ToggleError: an override is unknown or has an impossible value.
    """
    overrides = check_overrides(options.overrides)
    planned = plan(graph, extents, device, override_plan(overrides), options.vendor)
    if choices:
        nodes = (replace(n, choices=choices.get(n.result.id, ())) for n in planned.nodes)
        planned = planned.with_nodes(nodes)
    return verify_schedule(fuse(verify_graph(planned), options.fused))


def finish(
    schedule: Schedule,
    extents: Mapping[str, int],
    spans: Mapping[int, int],
    device: Device,
    overrides: Mapping[str, Any],
    structure: Structure = (),
) -> Lowered:
    """Choose the toggles of a schedule's kernels, assemble and render them."""
    plain = check_overrides(overrides)
    kernels = assemble(Setting(schedule, extents, spans, device, plain, structure))
    sources = tuple(render(kernel) for kernel in kernels)
    return Lowered(schedule.graph, schedule, kernels, sources, device, structure)
