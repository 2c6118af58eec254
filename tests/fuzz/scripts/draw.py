"""Draw a script: line by line, and NumPy says at each what is valid."""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..program import Array, Number, swapped
from .forms import (
    BESIDE,
    EXPRESSIONS,
    HOLES,
    LITERALS,
    PACKINGS,
    PLAIN,
    RESULTS,
    STATEMENTS,
    TABLES,
    WEIGHTS,
)
from .script import Arguments, Line, Script, given

HOLE = re.compile(r"\{(\w+)\}")
DTYPES = (
    *("float32", "float64") * 6, *("int64", "int32") * 3, "bool", "bool", "int8", "int16", "uint8", "uint16",
    "uint32", "uint64", "float16", "complex64", "complex128",
)  # fmt: skip
SHAPES = (
    (4,), (6,), (5,), (3, 4), (4, 4), (2, 3), (4, 3), (1, 4), (3, 1), (2, 3, 4), (2, 2, 2), (1,), (), (0,), (0, 3),
    (17,), (7, 5), (33,),
)  # fmt: skip
# Small whole numbers and dyadic fractions for most, so that sums are exact in any order.
FILLS = (*("whole", "dyadic") * 3, "normal")
LAYOUTS = (
    *("C",) * 9, "Fortran", "Fortran", "steps", "negative", "all negative", "window", "moved", "repeated rows",
    "offset",
)  # fmt: skip
MODES = (*("fuse",) * 7, "replay", "repeat")
NUMBERS = (0, 1, 2, 3, -1, 0.5, 1.5, 2.0, True)
# Elements of one value, tries for one line, and values beyond which numbers grow out of hand.
MOST, TRIES, LARGEST = 3000, 12, 1e12


def draw(seed: int, number: int) -> Script:
    """The script of a seed and a number."""
    return Drawing(random.Random(f"{seed} {number} script")).script()


class Drawing:
    """One script being drawn: its lines, and the values of its names by NumPy."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[Line] = []
        self.held: dict[str, Any] = {}
        self.names: list[str] = []

    def script(self) -> Script:
        call = self.arguments()
        self.start(call)
        for number in range(self.rng.randint(3, 9)):
            self.line(f"v{number}")
        results = self.filled(self.rng.choice(RESULTS), {}, self.results())
        return Script(
            (call, *self.others(call)), tuple(self.lines), results.replace("{{", "{").replace("}}", "}"),
            self.rng.choice(("positions",) * 4 + tuple(PACKINGS)), self.rng.random() < 0.2,
            self.rng.choice(MODES),
        )  # fmt: skip

    def start(self, call: Arguments) -> None:
        scope: dict[str, Any] = {"np": np, "fuse": lambda f: f}
        for text in BESIDE.values():
            exec(text, scope)
        self.names = [a.name for a in call]
        self.held = scope | dict(zip(self.names, given(call), strict=True))

    def arguments(self) -> Arguments:
        rng, made = self.rng, []
        shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
        for n in range(rng.choice((1, 1, 2, 2, 3))):
            if n and rng.random() < 0.35:
                shape = rng.choice((shape[1:], shape, rng.choice(SHAPES)))
            if n and rng.random() < 0.5:
                dtype = rng.choice(DTYPES)
            made.append(self.array(f"a{n}", dtype, shape))
        if rng.random() < 0.15 and len(made) > 1:
            made[-1] = replace(made[0], name=made[-1].name, layout="same", of=made[0].name)
        numbers = [Number(f"s{n}", self.number()) for n in range(rng.choice((0, 0, 1, 1, 2)))]
        return (*made, *numbers)

    def array(self, name: str, dtype: str, shape: tuple[int, ...]) -> Array:
        fill, layout = self.rng.choice(FILLS), self.rng.choice(LAYOUTS)
        return Array(name, dtype, shape, layout, fill, self.rng.randrange(1 << 30))

    def number(self) -> Any:
        value = self.rng.choice(NUMBERS)
        typed = [np.float32, np.float64, np.int64, np.int8]
        return self.rng.choice(typed)(value) if self.rng.random() < 0.2 else value

    def line(self, new: str) -> None:
        """Add a line that NumPy takes; none where it takes none of several."""
        for _ in range(TRIES):
            kind = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            found = self.drawn(kind, new)
            if found is not None and self.runs(found):
                self.lines.append(found)
                return

    def drawn(self, kind: str, new: str) -> Line | None:
        forms: list[tuple[str, str]] = []
        try:
            text = self.expanded(kind, {"new": new}, forms)
        except IndexError:
            return None  # nothing that fits a hole
        if kind in EXPRESSIONS:
            text = f"{new} = {text}"
        made = new if re.search(rf"\b{new}\b", text) else ""
        return Line(text.replace("{{", "{").replace("}}", "}"), made, tuple(forms))

    def expanded(self, kind: str, filled: dict[str, str], forms: list[tuple[str, str]]) -> str:
        form = self.rng.choice(TABLES[kind])
        forms.append((kind, form))
        return self.filled(form, filled, {}, forms)

    def filled(
        self, form: str, filled: dict[str, str], fixed: dict[str, str],
        forms: list[tuple[str, str]] | None = None,
    ) -> str:  # fmt: skip
        """The template with its holes filled, equal ones alike."""
        filled = filled | fixed

        def text_of(hole: str) -> str:
            if hole.startswith("expr"):
                return self.expanded(self.rng.choice(PLAIN), {}, [] if forms is None else forms)
            if hole.startswith("write"):
                return self.simple_write([] if forms is None else forms)
            if hole in LITERALS:
                return self.rng.choice(LITERALS[hole])
            return self.name(hole)

        def replaced(found: re.Match[str]) -> str:
            if found[1] not in filled:
                filled[found[1]] = text_of(found[1])
            return filled[found[1]]

        return HOLE.sub(replaced, form)

    def simple_write(self, forms: list[tuple[str, str]]) -> str:
        """A write of one statement, which may stand in a block."""
        form = self.rng.choice([w for w in STATEMENTS["write"] if not w.startswith("for ")])
        forms.append(("write", form))
        return self.filled(form, {}, {}, forms)

    def name(self, hole: str) -> str:
        """A name of a value that fits; later ones more often."""
        fits = [n for n in self.names if HOLES[hole](self.held[n])]
        if hole == "s" and (not fits or self.rng.random() < 0.3):
            return self.rng.choice(LITERALS["c"])
        return self.rng.choice(fits + fits[-2:])

    def runs(self, line: Line) -> bool:
        """Run a line by NumPy; it is not for us where that fails, or makes what is too large."""
        before = {n: _copied(self.held[n]) for n in self.names}
        held = dict(self.held)
        try:
            with quiet():
                exec(line.text, held)
        except Exception:  # whatever Python and NumPy say of a drawn line
            self.restore(before)
            return False
        made = [held[n] for n in (*self.names, line.made) if n]
        if not all(map(is_for_us, made)):
            self.restore(before)
            return False
        self.held = held
        if line.made and isinstance(held[line.made], np.ndarray | np.generic | int | float):
            self.names.append(line.made)
        return True

    def restore(self, before: dict[str, Any]) -> None:
        """Undo what a line wrote."""
        with quiet():
            for name, value in before.items():
                if isinstance(value, np.ndarray) and self.held[name].flags.writeable:
                    self.held[name][...] = value

    def results(self) -> dict[str, str]:
        """Names for what is returned: the newest first, then any."""
        made = [line.made for line in self.lines if line.made in self.names]
        first = made[-1] if made else self.rng.choice(self.names)
        more = self.rng.choices(self.names, k=2)
        arrays = [n for n in self.names if isinstance(self.held[n], np.ndarray)]
        return {"a": first, "b": more[0], "c": self.rng.choice(arrays or more)}

    def others(self, call: Arguments) -> tuple[Arguments, ...]:
        """The same call again, with other values, and with other extents."""
        values = tuple(self.revalued(a) for a in call)
        old = self.rng.choice([e for a in call if isinstance(a, Array) for e in a.shape] or [1])
        new = self.rng.choice((1, 2, old + 1, 2 * old, 3))
        shapes = tuple(
            replace(a, shape=swapped(a.shape, old, new)) if isinstance(a, Array) else a
            for a in values
        )
        return (call, values, shapes, call)

    def revalued(self, argument: Array | Number) -> Array | Number:
        if isinstance(argument, Array):
            return replace(argument, seed=argument.seed + (0 if argument.of else 1))
        value = type(argument.value)(abs(self.rng.choice(NUMBERS)))
        return replace(argument, value=value)


def is_for_us(value: Any) -> bool:
    """Of a dtype that opweave has, not large, and of numbers that stay small."""
    if isinstance(value, list | tuple):
        return len(value) < 50 and all(map(is_for_us, value))
    if isinstance(value, int | float):
        return abs(value) < LARGEST
    if not isinstance(value, np.ndarray | np.generic):
        return False
    if value.dtype.name not in DTYPES or value.size > MOST:
        return False
    with quiet():
        wide = np.abs(np.asarray(value).astype(np.complex128))
    return not (wide > LARGEST).any()


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


@contextlib.contextmanager
def quiet() -> Any:
    """NumPy without warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
