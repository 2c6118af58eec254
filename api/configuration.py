"""Settings of this process; the environment gives their first values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError
from opweave.runtime import environment


@dataclass
class Config:
    """Settings.

    Attributes:
        device: where NumPy arrays run: "host" or "cuda" (``OPWEAVE_DEVICE``).
    """

    device: str = "host"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in {f.name for f in fields(self)}:
            raise ArgumentError(f"unknown setting {shown(name)}: expected 'device'")
        if type(value) is not str or value not in ("host", "cuda"):
            raise ArgumentError(f"device={shown(value)}: expected 'host' or 'cuda'")
        object.__setattr__(self, name, value)

    @contextmanager
    def __call__(self, **changes: Any) -> Iterator[Config]:
        """Change settings within a ``with`` block."""
        before = replace(self)
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield self
        finally:
            for item in fields(self):
                setattr(self, item.name, getattr(before, item.name))


config = Config(environment.device())
