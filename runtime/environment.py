"""The environment, read in one place: four variables and no more, and the cores."""

from __future__ import annotations

import os
from pathlib import Path

from opweave.opcodes.errors import ArgumentError


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def cache_folder() -> Path:
    """``OPWEAVE_CACHE_DIR``, else ``opweave`` in the XDG cache folder."""
    given = os.environ.get("OPWEAVE_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "opweave"


def cache_bytes(default: int) -> int:
    """``OPWEAVE_CACHE_SIZE``: bytes, or with a suffix K, M or G.

    Raises:
        ArgumentError: not a size.
    """
    text = os.environ.get("OPWEAVE_CACHE_SIZE", "").strip()
    if not text:
        return default
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    digits, factor = (
        (text[:-1], factors[text[-1].upper()]) if text[-1].upper() in factors else (text, 1)
    )
    if not digits.isdigit():
        raise ArgumentError(
            f"OPWEAVE_CACHE_SIZE={text!r}: expected bytes such as 500000000, 500M or 2G"
        )
    return int(digits) * factor


def device() -> str:
    """``OPWEAVE_DEVICE``: where NumPy arrays run, "host" (the default) or "cuda".

    Raises:
        ArgumentError: another word.
    """
    found = os.environ.get("OPWEAVE_DEVICE", "host").lower()
    if found not in ("host", "cuda"):
        raise ArgumentError(f"OPWEAVE_DEVICE={found!r}: expected 'host' or 'cuda'")
    return found


def logs() -> frozenset[str]:
    """``OPWEAVE_LOGS``: a comma-separated set of topics: "recompiles" says what was traced."""
    return frozenset(filter(None, os.environ.get("OPWEAVE_LOGS", "").split(",")))
