"""Checks and timing: nothing is timed before its result was compared with float64."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bench.measure.clock import Run

# Elements that are compared at a time, so that float64 copies stay small.
PIECE = 1 << 24
# Bytes that outputs are filled with before a check: NaN in every float type.  Integers have no
# NaN, so they are checked twice, over two patterns.
NAN_BYTES, OTHER_BYTES = 0xFF, 0x5A


class WrongResult(Exception):
    """A result lies outside its error bound, or was not written; it is not timed."""


@dataclass(frozen=True)
class Expected:
    """What a result must be.

    Attributes:
        value: in float64, of the result's shape.
        relative: the largest relative error that rounding can make.
        absolute: the largest absolute error, a number or an array.
        depth: roundings in sequence, for people.
    """

    value: Any
    relative: float = 0.0
    absolute: Any = 0.0
    depth: int = 0


@dataclass(frozen=True)
class Runner:
    """One way to compute a result.

    Attributes:
        name: in the JSON and in the legends of plots.
        run: takes the arguments, returns the result.
        moved: bytes that it reads and writes, by its own number of passes; None: nobody knows.
        out: the array that it writes to, if it was given one.
        read: its result as an array of the executor's library.
        toggles: of the first kernel, where the runner is ours.
        role: "ours" for what a user gets, "variant" for what we made worse to compare, "peer".
        waits: it returns when the result is there, so that no event of ours brackets its work.
    """

    name: str
    run: Run
    moved: int | None = None
    out: Any = None
    read: Run = lambda result: result
    toggles: Mapping[str, int] | None = None
    role: str = "ours"
    waits: bool = False


def gamma(depth: int, dtype: Any) -> float:
    """Largest relative error of ``depth`` roundings in sequence: n u / (1 - n u)."""
    unit = np.finfo(dtype).eps / 2
    return float(depth * unit / (1 - depth * unit))


# Errors of a sum grow with the square root of its length, not with the length: a random walk
# (Higham and Mary, "A new approach to probabilistic rounding error analysis", 2019).  With this
# factor no right result was ever refused, and one by TF32 is at 8192.
WALK = 8.0


def likely(xp: Any, x: Any, w: Any) -> Any:
    """How far a float32 product may lie from the wide one, in any order of its sums.

    ``WALK * u * sqrt(n) * sqrt(x^2 @ w^2)``: against the bound by the length alone, 2 n u |x| |w|,
    it does not let a result of fewer digits pass where n is large.
    """
    unit, n = np.finfo(np.float32).eps / 2, x.shape[-1]
    return WALK * unit * n**0.5 * xp.sqrt((x * x) @ (w * w))


def check(xp: Any, found: Any, expected: Expected) -> float:
    """Largest error in units of the bound; exact agreement counts 0.

    Raises:
        WrongResult: names the shape, or how many elements are wrong and the first of them.
    """
    if tuple(found.shape) != tuple(expected.value.shape):
        raise WrongResult(f"expected shape {expected.value.shape}, found {found.shape}")
    flat, wanted = found.reshape(-1), expected.value.reshape(-1)
    bound = expected.absolute
    bound = bound.reshape(-1) if getattr(bound, "shape", ()) else None
    largest = 0.0
    for start in range(0, flat.size, PIECE):
        piece = slice(start, start + PIECE)
        value = wanted[piece]
        error = xp.abs(flat[piece].astype(np.float64) - value)
        allowed = expected.relative * xp.abs(value)
        allowed += expected.absolute if bound is None else bound[piece]
        wrong = ~(error <= allowed)  # NaN is wrong: the output was poisoned with it
        if bool(wrong.any()):
            at = int(xp.argmax(wrong))
            raise WrongResult(
                f"{int(wrong.sum())} elements from {start + at} on: expected {float(value[at])}, "
                f"found {float(flat[start + at])}, bound {float(allowed[at]):.3g}"
            )
        ratio = error / xp.where(allowed > 0, allowed, 1.0)
        largest = max(largest, float(ratio.max())) if ratio.size else largest
    return largest


def poison(xp: Any, shape: tuple[int, ...], dtype: Any, pattern: int = NAN_BYTES) -> Any:
    """An array whose every byte is ``pattern``: NaN, if it is float and the pattern 0xFF."""
    count = math.prod(shape) * np.dtype(dtype).itemsize
    return xp.full(count, pattern, np.uint8).view(dtype).reshape(shape)


def poison_ours(shape: tuple[int, ...], dtype: Any, pattern: int) -> Any:
    """The same from the memory that opweave keeps for its own results on the host."""
    try:
        from opweave.runtime.host.pool import allocator
    except ModuleNotFoundError:  # an older build, which is compared
        allocator = import_module("opweave.runtime.pool").allocator

    made = allocator(shape, np.dtype(dtype))()
    made.reshape(-1).view(np.uint8).fill(pattern)
    return made


def check_run(
    xp: Any, runner: Runner, args: tuple[Any, ...], dtype: Any, expected: Expected
) -> float:
    """Run over poisoned memory and check; see ``check``.

    An output that the runner allocates comes, as a rule, from the block that was freed last: so
    poisoned blocks are freed before the run, of opweave's own memory too.  An output that is given
    is poisoned itself.

    Raises:
        WrongResult: see ``check``; also another dtype than ``dtype``.
    """
    patterns = (NAN_BYTES,) if np.dtype(dtype).kind == "f" else (NAN_BYTES, OTHER_BYTES)
    largest = 0.0
    for pattern in patterns:
        if runner.out is None:
            blocks = [poison(xp, expected.value.shape, dtype, pattern) for _ in range(2)]
            if xp is np:
                blocks.append(poison_ours(expected.value.shape, dtype, pattern))
            del blocks
        else:
            runner.out.reshape(-1).view(np.uint8).fill(pattern)
        found = runner.read(runner.run(*args))
        same_kind = runner.role == "peer" and found.dtype.kind == np.dtype(dtype).kind == "i"
        if found.dtype != np.dtype(dtype) and not same_kind:
            raise WrongResult(f"expected dtype {np.dtype(dtype)}, found {found.dtype}")
        largest = max(largest, check(xp, found, expected))
    return largest
