"""Settings of this process; the environment gives their first values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.host import launcher, pool
from opweave.runtime.process import environment

# What a setting may be.
SETTINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "ejected": (lambda v: type(v) is bool, "True or False"),
    "device": (lambda v: type(v) is str and v in ("host", "cuda"), "'host' or 'cuda'"),
    "errors": (lambda v: type(v) is str and v in ("ignore", "numpy"), "'ignore' or 'numpy'"),
    "library": (lambda v: type(v) is bool, "True or False"),
    "loops": (lambda v: type(v) is bool, "True or False"),
    "recompile_limit": (lambda v: type(v) is int and v >= 1, "an integer of at least 1"),
    "threads": (lambda v: type(v) is int and 0 <= v < 2**31, "an integer, 0 to choose"),
    "kept_bytes": (lambda v: type(v) is int and 0 <= v < 2**63, "bytes, 0 to keep none"),
}


@dataclass
class Config:
    """Settings.

    Attributes:
        device: where NumPy arrays run: "host" or "cuda" (``OPWEAVE_DEVICE``).
        ejected: whether ejected kernels (``opweave eject``) run in the place of ours, in what is
            lowered from now on.
        library: whether calls of NumPy's library (a sort, an FFT, a solver) are steps of a whole,
            in functions that are traced from now on; else these run in parts.
        loops: whether loops of Python over NumPy arrays may run in C, where a
            function is no whole, or one of many short kernels.
        recompile_limit: how often a function is traced; calls that would need more run in parts,
            line by line where need be, and a warning says what differs from call to call.
        kept_bytes: memory of large results on the host that is kept for later ones when nobody
            holds it any more: a sixteenth of the machine's, at most 1 GiB; 0 keeps none.
        threads: how many threads a kernel takes on the host, never more than cores; 0 takes
            as many as ``OMP_NUM_THREADS``, or one for each core of this process's share.
        errors: "numpy" makes calls of fused functions warn and raise as ``np.errstate`` asks, of
            division by zero, overflow and invalid values in NumPy arrays that are computed on the
            host; "ignore" says nothing of them.
    """

    device: str = "host"
    recompile_limit: int = 64
    kept_bytes: int = field(default_factory=pool.default_limit)
    errors: str = "ignore"
    threads: int = 0
    loops: bool = True
    library: bool = True
    ejected: bool = True
    quick: ClassVar[bool] = True  # all settings let a prepared call be the whole call

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in SETTINGS:
            known = ", ".join(map(repr, SETTINGS))
            raise ArgumentError(f"unknown setting {shown(name)}: expected one of {known}")
        holds, expected = SETTINGS[name]
        if not holds(value):
            raise ArgumentError(f"{name}={shown(value)}: expected {expected}")
        object.__setattr__(self, name, value)
        usual = (self.device, self.errors, self.loops) == ("host", "ignore", True)
        object.__setattr__(self, "quick", usual)
        if name == "kept_bytes":
            pool.set_limit(value)
        if name == "threads":
            launcher.set_threads(value)

    @contextmanager
    def __call__(self, **changes: Any) -> Iterator[Config]:
        """Change settings within a ``with`` block."""
        before = {name: getattr(self, name) for name in changes if hasattr(self, name)}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)


config = Config(environment.device())
