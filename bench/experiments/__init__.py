"""The table of experiments: a module each.

``TITLE`` and ``ABOUT``, what is computed; ``FIGURES``; ``measure(record)``; ``reading(found)``,
what the figures of a document say, in a paragraph; ``DEVICES`` where not all will do.
To add one: a module here and its name in the table.
"""

from __future__ import annotations

import importlib
from typing import Any

EXPERIMENTS = (
    "traffic", "products", "transformer", "pixels", "fusion", "overhead", "intensity", "memory",
    "transpose", "shapes", "tiles", "convolution", "histogram", "copies", "guards", "compile",
    "network", "lists", "gallery", "functions", "graphs", "loop", "calls", "allocator",
)  # fmt: skip


def load(name: str) -> Any:
    """The module of an experiment."""
    return importlib.import_module(f"{__name__}.{name}")
