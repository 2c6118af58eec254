"""A compiled kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Binary:
    """A compiled kernel: ``kind`` is "cubin" or "so", ``origin`` is "compiled", "disk".

    Kernels that are the same but for names have one binary, each with its own source.
    """

    key: str
    kind: str
    payload: bytes
    source: str
    origin: str
