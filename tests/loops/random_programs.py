"""Random programs with loops, run by Python and by C: ``python -m tests.loops.random_programs``."""

from __future__ import annotations

import argparse
import copy
import importlib.util
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opweave._loops.rolled import Rolled
from opweave.compiler.captures.source import NoLoopError
from opweave.opcodes.errors import OutOfRangeError
from tests.loops.random_functions import CallWriter, FunctionWriter
from tests.loops.random_text import RESULTS, Statement, Writer, text_of

DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "u1", "i1", "u8", "f2", "c8", "?")
# Where C may differ in the last places.
LOOSE = (
    "sum(",
    "@",
    "dot(",
    "tanh",
    "sqrt",
    "** ",
    "abs(",
    "var(",
    "std(",
    "trace",
    "linalg",
    "det(",
)
TOLERANCE = {"f2": 1e-2, "f4": 1e-4, "c8": 1e-4}
# Who writes programs from a seed on, and what these return.
WRITERS = (
    (0, Writer, RESULTS),
    (1_000_000, FunctionWriter, (*RESULTS, "g", "h")),
    (2_000_000, CallWriter, (*RESULTS, "g", "h")),
)
MOST_STEPS = 60  # of shrinking
MOST_SECONDS = 5.0  # of a call, with what it compiles


@dataclass
class Program:
    """A function and what it is called with.

    Attributes:
        seed: of its arguments.
    """

    statements: list[Statement]
    results: list[str]
    seed: int

    @property
    def text(self) -> str:
        return text_of(self.statements, self.results, self.seed % 4 == 0)

    @property
    def is_loose(self) -> bool:
        body = self.text.split("def program")[1]
        return any(word in body for word in LOOSE)


def made(seed: int) -> Program:
    chosen = random.Random(seed)
    write, names = next(row for first, *row in reversed(WRITERS) if seed >= first)
    statements = write(chosen).function()
    results = [name for name in names if chosen.random() < 0.25]
    return Program(statements, results, seed)


def array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """An array of small numbers, laid out in one of several ways."""
    low = 0 if dtype[0] in "u?" else -3
    twice = tuple(2 * extent for extent in shape)
    whole = rng.integers(low, 6, twice)
    numbers = whole * 0.5 if dtype[0] in "fc" and rng.random() < 0.3 else whole
    big = numbers.astype(dtype)
    if big.size and dtype[0] == "f" and rng.random() < 0.1:
        big[(0,) * len(shape)] = rng.choice([np.nan, np.inf, -0.0])
    ways = [
        lambda: big[tuple(slice(e) for e in shape)].copy(),
        lambda: big[tuple(slice(e) for e in shape)].copy(),
        lambda: big[(slice(None, None, 2),) * len(shape)],
        lambda: big[tuple(slice(e) for e in shape)].copy()[::-1],
        lambda: np.asfortranarray(big[tuple(slice(e) for e in shape)]),
        lambda: big[tuple(slice(e) for e in shape[::-1])].copy().T,
    ]
    return ways[rng.integers(len(ways))]()


def arguments(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(DTYPES))
    length = int(rng.choice([0, 1, 2, 3, 4, 4, 5, 6, 6]))
    kinds = [str(rng.choice(DTYPES)) if rng.random() < 0.3 else kind for _ in range(5)]
    x, y, z = (array(rng, (length,), k) for k in kinds[:3])
    A, B = (array(rng, (3, 3), k) for k in kinds[3:])
    alias = rng.random()
    if alias < 0.08:
        y = x
    elif alias < 0.12:
        y = x[::-1]
    elif alias < 0.16:
        B = A.T
    numbers = [2, 1.5, np.float64(0.5), np.int32(3), np.float32(2.5), True, np.True_, -1, 0.0]
    a = numbers[rng.integers(len(numbers))]
    return [x, y, z, A, B, int(rng.integers(-1, 5)), int(rng.integers(0, 4)), a]


def loaded(text: str, folder: Path, name: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(function: Any, args: list[Any]) -> tuple[Any, list[Any]]:
    own = copy_of(args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.signal(signal.SIGALRM, too_long)
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
            return ("returned", function(*own)), own
    except Exception as error:
        return ("raised", error), own
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class EndlessError(Exception):
    """A program that does not end."""


def too_long(*_: Any) -> None:
    raise EndlessError


def copy_of(args: list[Any]) -> list[Any]:
    """Copies that lie in memory as the arguments do, in a buffer of their own for all."""
    bases: dict[int, Any] = {}
    memo: dict[int, Any] = {}
    found = []
    for arg in args:
        if not isinstance(arg, np.ndarray):
            found.append(arg)
            continue
        if id(arg) not in memo:
            base = arg if arg.base is None else arg.base
            if id(base) not in bases:
                bases[id(base)] = copy.deepcopy(base.copy(order="K"))
            held = bases[id(base)]
            offset = arg.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            memo[id(arg)] = np.ndarray(arg.shape, arg.dtype, held, offset, arg.strides)
        found.append(memo[id(arg)])
    return found


def same(a: Any, b: Any, loose: bool) -> bool:
    """Whether two values are one: their types, their bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(same(p, q, loose) for p, q in zip(a, b, strict=True))
    if isinstance(a, np.ndarray | np.generic):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if loose and a.dtype.kind in "fc":
            near = TOLERANCE.get(a.dtype.str[1:], 1e-9)
            return bool(np.allclose(a, b, near, near, equal_nan=True))
        return bits(a) == bits(b)
    if loose and isinstance(a, float):
        return bool(np.isclose(a, b, 1e-6, 1e-6, equal_nan=True))
    return repr(a) == repr(b)


def bits(a: Any) -> bytes:
    """The bytes of numbers; every NaN is one."""
    found = np.array(a)
    if found.dtype.kind in "fc":
        found[np.isnan(found)] = np.nan
    return found.tobytes()


def difference(program: Program, folder: Path, any_text: bool = False) -> str | None:
    """How C differs from Python: "" where it does not, None where no loop ran in C."""
    name = f"program{abs(hash(program.text))}"
    function = loaded(program.text, folder, name).program
    args = arguments(program.seed)
    want, want_args = outcome(function, args)
    if isinstance(want[1], EndlessError):
        return None
    if isinstance(want[1], NameError | TypeError | AttributeError):
        any_text = True
    try:
        rolled = Rolled(function)
    except NoLoopError:
        return None
    got, got_args = outcome(rolled, args)
    if isinstance(got[1], OutOfRangeError):
        return ""
    wrong = compared(want, got, program.is_loose, any_text)
    if not wrong and not same(want_args, got_args, program.is_loose):
        wrong = f"arguments afterwards: Python {want_args!r}, C {got_args!r}"
    if wrong:
        return f"{wrong}\nleft: {[site.left for site in rolled.sites]}"
    return "" if rolled.ran else None


def compared(want: Any, got: Any, loose: bool, any_text: bool) -> str:
    said = f"Python {want!r}, C {got!r}"
    if want[0] != got[0]:
        return said
    if want[0] == "returned":
        return "" if same(want[1], got[1], loose) else said
    if type(want[1]) is not type(got[1]):
        return said
    if isinstance(want[1], ValueError):  # NumPy says the same of shapes in many words
        return ""
    return "" if any_text or str(want[1]) == str(got[1]) else said


def smaller(statements: list[Statement]) -> Iterator[list[Statement]]:
    """The same with a statement less, or with a block's statements in its place."""
    for place, statement in enumerate(statements):
        before, behind = statements[:place], statements[place + 1 :]
        yield before + behind
        if isinstance(statement, str):
            continue
        if statement[0].startswith(("if", "else")):
            yield [*before, *statement[1], *behind]
        for inside in smaller(statement[1]):
            yield [*before, (statement[0], inside), *behind]


def shrunk(program: Program, folder: Path, any_text: bool) -> Program:
    """A smaller program that differs, too."""
    steps, found = 0, True
    while found and steps < MOST_STEPS:
        found = False
        tries = [Program(s, program.results, program.seed) for s in smaller(program.statements)]
        fewer = [[r for r in program.results if r != gone] for gone in program.results]
        tries += [Program(program.statements, results, program.seed) for results in fewer]
        for less in tries:
            steps += 1
            try:
                found = bool(difference(less, folder, any_text))
            except SyntaxError:
                found = False
            if found:
                program = less
                break
            if steps >= MOST_STEPS:
                break
    return program


def report(program: Program, wrong: str) -> str:
    body = program.text.split("def program")[1]
    args = ", ".join(repr(a) for a in arguments(program.seed))
    return f"seed {program.seed}\ndef program{body}\nargs: {args}\n{wrong}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--any-text", action="store_true", help="do not compare texts of errors")
    parser.add_argument("--most", type=int, default=20, help="differences to stop at")
    asked = parser.parse_args()
    end, seed, ran, left, found = time.monotonic() + 60 * asked.minutes, asked.seed, 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end and found < asked.most:
            program = made(seed)
            wrong = difference(program, Path(name), asked.any_text)
            ran, left, seed = ran + (wrong is not None), left + (wrong is None), seed + 1
            if wrong:
                found += 1
                small = shrunk(program, Path(name), asked.any_text)
                print(report(small, difference(small, Path(name), asked.any_text) or wrong))
                sys.stdout.flush()
    print(f"{ran} ran in C, {left} did not, {found} differ; the next seed is {seed}")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
