"""A compiled kernel."""

from __future__ import annotations

from typing import NamedTuple


class Binary(NamedTuple):
    """A compiled kernel: ``kind`` is "cubin" or "so", ``origin`` is "compiled", "disk".

    Kernels that are the same but for names have one binary, each with its own source.
    """

    key: str
    kind: str
    payload: bytes
    source: str
    origin: str
