"""Chains of a multiplication and an addition in turn, which no compiler folds into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FACTOR, TERM = np.float32(1.001), np.float32(0.5)
# What ``expression`` names.
CONSTANTS = {"factor": FACTOR, "term": TERM}


def chain(length: int) -> Callable[[Any], Any]:
    """``length`` operators as a user writes them."""

    def run(x: Any) -> Any:
        for number in range(length):
            x = x + TERM if number % 2 else x * FACTOR
        return x

    run.__name__ = f"chain_{length}"
    return run


def expression(length: int) -> str:
    """The same as one text.

    >>> expression(3)
    '(((x * factor) + term) * factor)'
    """
    text = "x"
    for number in range(length):
        text = f"({text} + term)" if number % 2 else f"({text} * factor)"
    return text
