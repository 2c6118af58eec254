"""What tests lower: each (operator, kind of dtype, template, target) is a cell.

A whole run of the default tier leaves its cells in pytest's cache; with ``--hold-cells`` a run of
other tests fails if it lowers what is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from opweave.opcodes.operators.registry import BUILT_IN

Cell = tuple[str, str, str, str]
CELLS: set[Cell] = set()
KEPT = "opweave/cells"
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def watch() -> None:
    """Note from now on what this process lowers."""
    from opweave._programs import program
    from opweave.compiler.pipeline import specialise

    for module in (specialise, program):
        module.finish = _noting(module.finish)


def _noting(finish: Any) -> Any:
    def noted(*args: Any) -> Any:
        lowered = finish(*args)
        CELLS.update(cells_of(lowered))
        return lowered

    return noted


def cells_of(lowered: Any) -> Iterable[Cell]:
    """Of each operator of each kernel; the dtype is that of its first operand, or its result.

    Operators that a test has added are judged by that test, wherever they stand.
    """
    for group, kernel in zip(lowered.schedule.groups, lowered.kernels, strict=True):
        for number in group.nodes:
            node = lowered.graph.nodes[number]
            first = (node.values or node.results)[0]
            if node.operator.name not in BUILT_IN:
                continue
            yield (node.operator.name, first.dtype.kind, kernel.template, kernel.target)


def keep(config: pytest.Config, status: int) -> None:
    """Keep the cells of a whole default tier that ended by itself."""
    options = config.option
    is_whole = config.args == config.getini("testpaths") and options.tier == "default"
    is_part = options.keyword or options.markexpr or options.hold_cells
    if is_whole and not is_part and CELLS and status in ENDED:
        config.cache.set(KEPT, sorted(CELLS))


def lacking(config: pytest.Config) -> list[str]:
    """Which cells of this run the default tier lacks, if that is asked."""
    if not config.option.hold_cells:
        return []
    there = {tuple(cell) for cell in config.cache.get(KEPT, ())}
    if not there:
        return ["--hold-cells: a whole run of the default tier comes first"]
    return [f"no test of the default tier lowers {cell}" for cell in sorted(CELLS - there)]
