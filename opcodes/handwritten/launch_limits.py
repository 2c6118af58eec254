"""What any GPU takes of a launch: blocks, threads, shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

# CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
MOST_THREADS = 1024
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_BLOCK = (1024, 1024, 64)
MOST_SHARED = 227 * 1024  # of a block on sm_90, more than on any other
Three = tuple[int, int, int]


def three(what: str, given: Any, most: Sequence[int]) -> Three:
    """A number, or up to three, as three.

    Raises:
        ArgumentError: anything else, or one that is 0 or above the largest.
    """
    extents = given if isinstance(given, (tuple, list)) else (given,)
    try:
        numbers = [n.__index__() for n in extents]
    except (AttributeError, TypeError):
        numbers = []
    if not 1 <= len(numbers) <= 3 or isinstance(given, bool):
        raise ArgumentError(f"{what}={shown(given)}: expected a number, or up to three")
    x, y, z = (*numbers, 1, 1)[:3]
    for n, limit in zip((x, y, z), most, strict=True):
        if not 1 <= n <= limit:
            raise ArgumentError(f"{what}={shown(given)}: expected numbers from 1 to {tuple(most)}")
    return x, y, z


def check_block(what: str, given: Any) -> Three:
    """The threads of a block as three numbers.

    Raises:
        ArgumentError: more than a block has.
    """
    block = three(what, given, MOST_BLOCK)
    if prod(block) > MOST_THREADS:
        raise ArgumentError(f"{what}={shown(given)}: expected at most {MOST_THREADS} threads")
    return block


def check_shared(name: str, given: Any, most: int) -> None:
    """Refuse more shared memory than a device has.

    Raises:
        ArgumentError: not a number of bytes up to the most.
    """
    if (
        isinstance(given, bool)
        or not isinstance(given, int | np.integer)
        or not 0 <= given <= most
    ):
        raise ArgumentError(
            f"{name}: shared={shown(given)}: expected a number of bytes up to {most}, the shared "
            "memory of a block"
        )
