"""The table of experiments: a module each, with ``TITLE``, ``ABOUT`` and ``measure(record)``.

To add one: a module here, its name in the table, its figures in ``plots.py``.
"""

from __future__ import annotations

import importlib
from typing import Any

EXPERIMENTS = ("fusion", "products", "pixels", "network")


def load(name: str) -> Any:
    """The module of an experiment."""
    return importlib.import_module(f"experiments.{name}")
