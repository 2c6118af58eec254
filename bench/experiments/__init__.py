"""The table of experiments: a module each.

``TITLE`` and ``ABOUT``, what is computed; ``FIGURES``; ``measure(record)``; ``reading(found)``,
what the figures of a document say, in a paragraph; ``DEVICES`` where not all will do.
To add one: a module in ``kernels``, ``calls`` or ``rolled``, and its name in the table.
"""

from __future__ import annotations

import importlib
from typing import Any

EXPERIMENTS = (
    "traffic", "products", "transformer", "pixels", "fusion", "overhead", "intensity", "memory",
    "transpose", "shapes", "tiles", "convolution", "histogram", "copies", "guards", "compile",
    "network", "lists", "gallery", "programs", "npbench", "sweeps", "functions", "ranges", "moves",
    "rows", "columns", "graphs", "loop", "calls", "allocator", "scale", "torch",
)  # fmt: skip
MODEL = "model"  # it measures nothing, and runs alone
# What they measure lies around kernels: the way to a source, to a binary, to a launch.
CALLS = (
    "copies", "guards", "compile", "network", "lists", "graphs", "loop", "calls", "allocator",
    "scale",
)  # fmt: skip
LOOPS = ("sweeps",)  # of Python


def load(name: str) -> Any:
    """The module of an experiment, or of the standing table."""
    if name == MODEL:
        return importlib.import_module(f"{__name__}.model.table")
    room = "calls" if name in CALLS else "rolled" if name in LOOPS else "kernels"
    return importlib.import_module(f"{__name__}.{room}.{name}")
