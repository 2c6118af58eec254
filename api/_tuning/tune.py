"""``ow.tune``: the toggles of a function by measurement, on the device at hand."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave._functions.fused import Fused
from opweave._interchange.functions import takes_arrays
from opweave._lists.oplist import OpcodeKernel
from opweave._tuning import kept
from opweave._tuning.trials import Search, Trial
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.tracing.calling import invoke
from opweave.opcodes.errors import ArgumentError
from opweave.regimes import clock_of
from opweave.runtime.process.processor import processor

if TYPE_CHECKING:
    from opweave._programs.program import Program

MOST = 8  # programs, the compiler's own included


@dataclass(frozen=True)
class Tuning:
    """What ``ow.tune`` returns; prints as a table.

    Attributes:
        fused: the function with the toggles that were fastest.
        toggles: where they differ from the compiler's choice.
        speedup: the time of the compiler's choice over theirs, measured in turn.
        tried: what was measured, the compiler's choice first; of a file, as it says.
        is_kept: nothing was measured: a file had the answer.
    """

    fused: Fused
    toggles: Mapping[str, int]
    speedup: float
    tried: tuple[Trial, ...]
    is_kept: bool = False

    def __str__(self) -> str:
        name = getattr(self.fused.__wrapped__, "__name__", "function")
        taken = f"{name}: {shown(self.toggles)}, {self.speedup:.2f} times as fast"
        lines = [f"  {t.seconds * 1e6:10.1f} us  {shown(t.toggles)}" for t in self.tried]
        origin = "from the file" if self.is_kept else f"{len(self.tried)} programs measured"
        return "\n".join([f"{taken} ({origin})", *lines])


def shown(toggles: Mapping[str, int]) -> str:
    """Toggles as text."""
    return ", ".join(f"{n}={v}" for n, v in toggles.items()) or "the compiler's choice"


@takes_arrays
def tune(
    fused: Fused | OpcodeKernel, *args: Any, file: str | os.PathLike[str] | None = None,
    most: int = MOST, again: bool = False, **kwargs: Any,
) -> Tuning:  # fmt: skip
    """Measure a call with other toggles, and keep what is fastest.  Nothing runs it unasked.

    From the compiler's choice on, one toggle after the other takes its next values; a change stays
    if a call takes 0.97 of the time or less, measured in turn with the best program until then.
    Only programs whose results have the same bits are taken: accumulation plans, approximations
    and the choice of a library are left alone.  Arguments that are written to are copies.  Toggles
    that are best for these shapes may be refused for others, with a ``ToggleError``.

    Args:
        fused: a fused function, or a kernel of ``ow.kernel``.
        args, kwargs: its arguments, on the device to measure: NumPy's on the host, or CuPy's.
        file: JSON that keeps the result.  What it has of the same function, kernels, arguments and
            device is returned unmeasured.
        most: programs that are measured, the compiler's choice included; 8 at most.
        again: measure although the file has the answer.

    Raises:
        ArgumentError: not a fused function, arguments that it does not take, or another ``most``.
        FileError: the file is no such file, or cannot be written.
    """
    function = fused.fused if isinstance(fused, OpcodeKernel) else fused
    if not isinstance(function, Fused):
        raise ArgumentError(
            f"tune: expected a function made by ow.fuse, or a kernel of ow.kernel, found "
            f"{type(fused).__name__}"
        )
    if type(most) is not int or not 1 <= most <= MOST:
        raise ArgumentError(f"tune: most: expected a number from 1 to {MOST}, found {most!r}")
    program = function.lower(*args, **kwargs)
    path = None if file is None else Path(file)
    entries = [] if path is None else kept.read(path)
    key = _key(program, args, kwargs)
    found = None if again else kept.find(entries, key)
    if found is not None:
        return _from_file(function, found)
    search = _search(program, args, kwargs, most)
    best = search.run()
    if path is not None:
        kept.write(path, entries, {**key, **_measured(best, search.tried)}, key)
    made = function.with_toggles(**best.toggles)
    return Tuning(made, dict(best.toggles), 1 / best.ratio, tuple(search.tried))


def _search(program: Program, args: Any, kwargs: Any, most: int) -> Search:
    function = program.fused
    call = function.signature.bind(args, kwargs)
    clock, expected = clock_of(call.arrays), _bits(program(*args, **kwargs))

    def lower(made: Fused) -> Any:
        return made.lower(*args, **kwargs).lowered

    def seconds(made: Fused) -> float:
        writes = program.variant.graph.written
        values = [v.copy("K") if writes and is_array(v) else v for v in call.values]
        return clock(partial(invoke, made, call.layout.arguments(values)))

    def has_same_bits(made: Fused) -> bool:
        return bool(_bits(made.lower(*args, **kwargs)(*args, **kwargs)) == expected)

    return Search(function, lower, seconds, has_same_bits, most)


def _bits(result: Any) -> Any:
    """What two results are compared by."""
    if isinstance(result, dict):
        return {name: _bits(value) for name, value in result.items()}
    if isinstance(result, tuple | list):
        return [_bits(value) for value in result]
    if is_array(result) or isinstance(result, np.generic):
        found = np.asarray(result.get() if hasattr(result, "get") else result)
        return found.dtype.str, found.shape, found.tobytes()
    return repr(result)


def _key(program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry is found by."""
    device = program.lowered.device
    given = [*args, *(kwargs[name] for name in sorted(kwargs))]
    sources = "\n".join(program.lowered.sources).encode()
    return {
        "function": program.fused.signature.name,
        "arguments": [_kind(value) for value in given],
        "device": processor() if device.is_host else device.name,
        "kernels": hashlib.sha256(sources).hexdigest()[:16],
    }


def _kind(value: Any) -> str:
    if is_array(value):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def _measured(best: Trial, tried: Sequence[Trial]) -> dict[str, Any]:
    """What an entry says beside its key."""
    return {
        "toggles": dict(best.toggles),
        "microseconds": round(best.seconds * 1e6, 2),
        "times as fast": round(1 / best.ratio, 3),
        "tried": [
            {"toggles": dict(t.toggles), "microseconds": round(t.seconds * 1e6, 2),
             "of the best until then": round(t.ratio, 3)}
            for t in tried
        ],
        "date": date.today().isoformat(),
    }  # fmt: skip


def _from_file(function: Fused, entry: kept.Entry) -> Tuning:
    toggles = entry["toggles"]
    tried = tuple(
        Trial(t["toggles"], t["microseconds"] / 1e6, t["of the best until then"])
        for t in entry.get("tried", ())
    )
    return Tuning(function.with_toggles(**toggles), toggles, entry["times as fast"], tried, True)
