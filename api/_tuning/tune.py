"""``ow.tune``: the toggles of a function by measurement, on the device at hand."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave._interchange.functions import takes_arrays
from opweave._lists.oplist import OpcodeKernel
from opweave._programs.program import Program
from opweave._tuning import kept
from opweave._tuning.trials import Candidate, Search, Trial
from opweave.compiler.ir.plain_arrays import is_array
from opweave.configuration import config
from opweave.opcodes.errors import ArgumentError, OpweaveError, OpweaveWarning
from opweave.regimes import clock_of
from opweave.runtime.binaries.build import header_digest
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.process.processor import processor
from opweave.runtime.process.share import threads

MOST = 8  # programs, the given one included


@dataclass(frozen=True)
class Tuning:
    """What ``ow.tune`` returns; prints as a table.

    Attributes:
        fused: the function with the toggles that were fastest.
        toggles: where they differ from the function as it was given.
        speedup: the time of the given function over theirs, measured in turn.
        tried: what was measured, the given function first; of a file, as it says.
        is_kept: nothing was measured: a file had the answer.
    """

    fused: Fused
    toggles: Mapping[str, int]
    speedup: float
    tried: tuple[Trial, ...]
    is_kept: bool = False

    def __str__(self) -> str:
        name = getattr(self.fused.__wrapped__, "__name__", "function")
        origin = "from the file" if self.is_kept else f"{len(self.tried)} programs measured"
        lines = [
            f"{name}: {shown(self.toggles)}, {self.speedup:.2f} times as fast ({origin})",
            "      us a call   of the best until then",
        ]
        lines += [
            f"  {t.seconds * 1e6:11.1f}   {t.ratio:8.2f}   {shown(t.toggles)}" for t in self.tried
        ]
        return "\n".join(lines)


def shown(toggles: Mapping[str, int]) -> str:
    """Toggles as text."""
    return ", ".join(f"{n}={v}" for n, v in toggles.items()) or "as given"


@takes_arrays
def tune(
    fused: Fused | OpcodeKernel, /, *args: Any, file: str | os.PathLike[str] | None = None,
    most: int = MOST, again: bool = False, **kwargs: Any,
) -> Tuning:  # fmt: skip
    """Measure a call with other toggles, and keep what is fastest.  Nothing runs it unasked.

    From the function as it is given on, one toggle after the other takes its next values; a change
    stays if the kernels of a call take 0.97 of the time or less, measured in turn with the best
    program until then.  Only programs whose results have the same bits are taken: accumulation
    plans, approximations and the choice of a library are left alone, and so are toggles that the
    function was given.  What is written to are copies.  Toggles that are best for these shapes may
    be refused for others, with a ``ToggleError``.

    Args:
        fused: a fused function, or a kernel of ``ow.kernel``.
        args, kwargs: its arguments, on the device to measure: NumPy's on the host, or CuPy's.
            Those that are called as what follows are given by position.
        file: JSON that keeps the result.  What it has of the same function, kernels, arguments,
            threads and device is returned unmeasured.
        most: programs that are measured, the given one included; 8 at most.
        again: measure although the file has the answer.

    Raises:
        ArgumentError: not a fused function, arguments that it does not take, NumPy's arrays for a
            GPU, or another ``most``.
        TraceError: the function is no whole, but runs in parts.
        FileError: the file is no such file, or cannot be written.
    """
    function, args = _function_of(fused, args)
    if type(most) is not int or not 1 <= most <= MOST:
        raise ArgumentError(f"tune: most: expected a number from 1 to {MOST}, found {most!r}")
    program = _checked(function.lower(*args, **kwargs), args, kwargs)
    path = None if file is None else Path(file)
    key = _key(program, args, kwargs)
    if path is not None:
        entry = kept.find(kept.read(path), key)
        found = None if again else _from_file(function, path, entry, args, kwargs)
        if found is not None:
            return found
        kept.check_writable(path)

    def make(toggles: Mapping[str, int]) -> Candidate:
        return _made(function.with_toggles(**toggles).lower(*args, **kwargs), args, kwargs)

    search = Search(make, dict(function.options.toggles), most)
    best = search.run()
    if path is not None:
        kept.write(path, {**key, **_measured(best, search.tried)}, key)
    made = function.with_toggles(**best.toggles)
    return Tuning(made, dict(best.toggles), 1 / best.ratio, tuple(search.tried))


def _checked(program: Program, args: Any, kwargs: Any) -> Program:
    """A program that runs where its arguments lie."""
    if program.target != "host" and program.arguments(args, kwargs).kind != "cuda":
        raise ArgumentError(
            f"tune: {program.fused.signature.name}: expected CuPy's arrays for {program.target}, "
            "found NumPy's; pass cupy.asarray(x), or say ow.config.device = 'auto'"
        )
    return program


def _function_of(fused: Any, args: tuple[Any, ...]) -> tuple[Fused, tuple[Any, ...]]:
    """The fused function of what was given, a method's with its instance before the arguments."""
    function: Any = fused.fused if isinstance(fused, OpcodeKernel) else fused
    if isinstance(function, partial) and not function.keywords:
        given: partial[Any] = function
        function, args = given.func, (*given.args, *args)
    if not isinstance(function, Fused):
        raise ArgumentError(
            f"tune: expected a function made by ow.fuse, or a kernel of ow.kernel, found "
            f"{type(fused).__name__}"
        )
    return function, args


def _made(program: Program, args: Any, kwargs: Any) -> Candidate:
    """What times a program's kernels, on copies of what it writes to."""

    def bits() -> Any:
        call = program.arguments(args, kwargs)
        return [_bits(each) for each in call.run(program.lowered, program.executor(call))]

    call = program.arguments(args, kwargs)
    arrays = list(call.arrays.values())
    prepared = Prepared(program.lowered, program.executor(call), call.extents, arrays)
    seconds = partial(clock_of(arrays), partial(prepared, arrays, call.env))
    return Candidate(program.lowered, bits, seconds)


def _bits(result: Any) -> tuple[Any, ...]:
    """What two results are compared by."""
    found = np.asarray(result.get() if hasattr(result, "get") else result)
    return found.dtype.str, found.shape, found.tobytes()


def _key(program: Program, args: Any, kwargs: Any) -> dict[str, Any]:
    """What an entry is found by."""
    device, call = program.lowered.device, program.fused.signature.bind(args, kwargs)
    held = [*call.values, *program.variant.trace.constants]
    text = "\n".join((*program.lowered.sources, header_digest()))
    return {
        "function": program.fused.signature.name,
        "arguments": [_kind(value) for value in held],
        "extents": {name: int(extent) for name, extent in program.found.extents.items()},
        "device": processor() if device.is_host else device.name,
        "threads": threads(config.threads) if device.is_host else 0,
        "kernels": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def _kind(value: Any) -> str:
    if is_array(value):
        return (
            f"{value.dtype}{list(value.shape)} by {[s // value.itemsize for s in value.strides]}"
        )
    return f"{type(value).__name__} {value}" if isinstance(value, int) else type(value).__name__


def _measured(best: Trial, tried: list[Trial]) -> dict[str, Any]:
    """What an entry says beside its key."""
    return {
        "toggles": dict(best.toggles),
        "times as fast": round(1 / best.ratio, 3),
        "tried": [
            {"toggles": dict(t.toggles), "microseconds": round(t.seconds * 1e6, 2),
             "of the best until then": round(t.ratio, 3)}
            for t in tried
        ],
        "date": date.today().isoformat(),
    }  # fmt: skip


def _from_file(
    function: Fused, path: Path, entry: kept.Entry | None, args: Any, kwargs: Any
) -> Tuning | None:
    """What a file has; None if it has nothing that holds."""
    if entry is None:
        return None
    try:
        made = function.with_toggles(**entry["toggles"])
        made.lower(*args, **kwargs)
        tried = tuple(
            Trial(t["toggles"], t["microseconds"] / 1e6, t["of the best until then"])
            for t in entry["tried"]
        )
        return Tuning(made, entry["toggles"], float(entry["times as fast"]), tried, True)
    except (OpweaveError, KeyError, TypeError, ValueError) as error:
        warnings.warn(
            f"tune: {path}: the entry of {entry['function']} does not hold "
            f"({type(error).__name__}: {error}); it is measured anew",
            OpweaveWarning, stacklevel=4,
        )  # fmt: skip
        return None
