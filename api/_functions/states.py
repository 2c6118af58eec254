"""What ``np.errstate`` asks for that kernels do not do, and how users are told."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from types import FrameType
from typing import Any

import numpy as np

from opweave.compiler.traced.made import users_frame
from opweave.opcodes.errors import OpweaveWarning

# What NumPy does unless it is asked for more.
DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def asked_for() -> str:
    """What ``np.errstate`` asks for that kernels do not do, as a text; "" for nothing."""
    state: Mapping[str, Any] = {**np.geterr()}
    more = (kind for kind in DEFAULTS if state[kind] not in ("ignore", DEFAULTS[kind]))
    return ", ".join(f"{kind}={state[kind]!r}" for kind in more)


def tell_of_errors(name: str, asked: str) -> None:
    """Say that kernels do not do what ``np.errstate`` asks for."""
    tell(
        f"{name} is compiled under np.errstate({asked}), and its kernels neither warn nor raise; "
        'opweave.config(errors="numpy") makes calls do both, as NumPy does'
    )


def tell(text: str) -> None:
    """Warn at the user's line that calls."""
    warnings.warn(text, OpweaveWarning, stacklevel=_levels())


def _levels() -> int:
    """How far up the caller's line is from the function that asks."""
    users = users_frame()
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and frame is not users:
        frame, levels = frame.f_back, levels + 1
    return levels
