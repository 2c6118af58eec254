"""Random valid programs.  NumPy says at each step what is valid, and what dtype and shape it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.toggles.choose import KNOWN
from opweave.compiler.toggles.facts import FLAG
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind, Operator

from . import arrays, forms
from .program import Array, Number, Program, Step
from .validity import DTYPES, ERRORS, FLOAT_NAMES, MOST, NotForUs, checked_values, is_float

SMALL = (0, 1, 1, 2, 3, 4, 5, 7, 11, 13)
# Around chunks, warps, blocks and tiles.
EDGES = (15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 255, 256, 257)
LONG = (511, 513, 1009, 1023, 1024, 1025, 2047, 2048, 2049, 4097, 8193, 32767, 32769, 65537)
INTS = (0, 1, 2, 3, -1, -2, 5, 100, 255, 2**31 - 1, -(2**31), 2**40)
FLOATS = (0.5, 2.0, 1.0, -1.5, 0.1, 3.0, -1.0, 0.0, -0.0, np.nan, np.inf, -np.inf, 1e-3, 1e30)
COMPLEXES = (1j, 2 - 0.5j, complex(-0.0, -1.0), complex(0.0, np.inf), complex(np.nan, 3.0))
FILLS = ("normal", "mixed", "mixed", "specials", "unit", "unit", "bits")
# It is relaxed arithmetic: its results are for information.
NOT_STRICT = ("USE_FAST_MATH",)


def generate(seed: int, number: int) -> Program:
    """Program ``number`` of a seed; always the same for the same registry."""
    return Maker(np.random.default_rng([seed, number])).program()


class Maker:
    """One program in the making: its arguments, steps, and NumPy's values of all names."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.arguments: list[Array | Number] = []
        self.steps: list[Step] = []
        self.held: dict[str, Any] = {}
        self.home = self.choice(DTYPES)
        self.space = self.shape()

    def choice(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def program(self) -> Program:
        self.array(self.space)
        wanted = 1 + int(self.rng.geometric(0.34))
        for _ in range(6 * wanted):
            if len(self.steps) >= min(wanted, 10):
                break
            self.step()
        while not self.steps:
            self.step()
        return Program(
            tuple(self.arguments), tuple(self.steps), self.outputs(), self.toggles()
        ).pruned()

    # Shapes and arguments

    def shape(self) -> tuple[int, ...]:
        if self.chance(0.06):  # long rows, which several blocks or passes share
            long = self.choice(LONG)
            rows = [n for n in (1, 2, 3, 5) if n * long <= MOST]
            return (long,) if self.chance(0.5) else (self.choice(rows), long)
        rank = self.choice((0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4))
        found: list[int] = []
        for _ in range(rank):
            pool = SMALL if self.chance(0.6) or np.prod(found or [1]) > 40 else EDGES
            found.append(self.choice(pool))
        return tuple(int(e) for e in self.rng.permutation(found))

    def dtype(self) -> str:
        return str(self.home if self.chance(0.6) else self.choice(DTYPES))

    def array(self, shape: tuple[int, ...], dtype: str = "", fill: str = "") -> str:
        """A new array argument, or a view of one that fits; returns its name."""
        name = f"a{len(self.arguments)}"
        dtype = dtype or self.dtype()
        made = self.alias(name, shape, dtype) if self.chance(0.3) else None
        if made is None:
            layout = "C" if self.chance(0.55) else self.choice(tuple(arrays.LAYOUTS))
            seed = int(self.rng.integers(1 << 30))
            made = Array(name, dtype, shape, layout, fill or self.choice(FILLS), seed)
        return self.add(made)

    def alias(self, name: str, shape: tuple[int, ...], dtype: str) -> Array | None:
        for item in self.arguments:
            if not isinstance(item, Array) or item.dtype != dtype or item.shape != shape:
                continue
            square = shape == shape[::-1] and len(shape) > 1
            layout = self.choice(("same", "reversed", *(("transposed",) if square else ())))
            return Array(name, dtype, shape, layout, of=item.name)
        return None

    def add(self, item: Array | Number) -> str:
        self.arguments.append(item)
        self.held[item.name] = (
            item.value if isinstance(item, Number) else arrays.make(item, self.held)
        )
        return item.name

    def number(self) -> Any:
        """A number as it stands in the text, or a new scalar argument."""
        kind = self.rng.random()
        value = self.choice(INTS) if kind < 0.5 else self.choice(FLOATS)
        if kind > 0.97:
            value = self.choice((True, False))
        elif kind > 0.94:
            value = self.choice(COMPLEXES)
        return value if self.chance(0.35) else self.add(Number(f"s{len(self.arguments)}", value))

    # Operands

    def values(self) -> list[str]:
        return [n for n, v in self.held.items() if isinstance(v, np.ndarray | np.generic)]

    def value(self) -> str:
        """A name of an array value; the newest are likelier."""
        names = self.values()
        return names[-1 - min(int(self.rng.geometric(0.45)) - 1, len(names) - 1)]

    def beside(self, name: str) -> Any:
        """An operand that broadcasts against another: a value, a new argument or a number."""
        shape = np.shape(self.held[name])
        draw = self.rng.random()
        if draw < 0.3:
            return self.number()
        if draw < 0.7:
            fitting = [n for n in self.values() if _broadcasts(np.shape(self.held[n]), shape)]
            if fitting:
                return self.choice(fitting)
        return self.array(self.narrowed(shape), self.matching(name))

    def matching(self, name: str) -> str:
        found = np.asarray(self.held[name]).dtype.name
        return found if self.chance(0.7) and found in DTYPES else self.dtype()

    def narrowed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another."""
        draw = self.rng.random()
        if draw < 0.5:
            return shape
        if draw < 0.7:
            return shape[int(self.rng.integers(len(shape) + 1)) :]
        return tuple(1 if self.chance(0.4) else e for e in shape)

    def operands(self, row: Operator) -> tuple[Any, ...]:
        if row.mixes is not None:
            return (self.picture(row.mixes[0]), *(self.number() for _ in row.params[1:]))
        if row.kind is Kind.CONTRACT or row.name == "linear":
            return self.factors(row)
        # now and then of a type that nothing has so far, so that every operator meets every type
        fresh = self.chance(0.15)
        first: Any = self.array(self.space, self.choice(DTYPES)) if fresh else self.value()
        if row.kind is Kind.COMPOSITE:
            return (first, *(self.number() for _ in row.params[1:]))
        rest = [self.beside(first) for _ in row.params[1:]]
        operands = [first, *rest]
        if len(operands) == 2 and self.chance(0.3):
            operands.reverse()
        return tuple(operands)

    def picture(self, channels: int) -> str:
        found = [
            n for n in self.values()
            if np.shape(self.held[n])[-1:] == (channels,) and is_float(self.held[n])
        ]  # fmt: skip
        if found and self.chance(0.8):
            return str(found[-1])
        shape = (*self.space[:2], channels) if np.prod(self.space[:2]) < 3000 else (5, channels)
        dtype = self.home if self.home in FLOAT_NAMES else self.choice(FLOAT_NAMES)
        return self.array(shape, dtype, self.choice(("unit", "unit", "mixed", "normal")))

    def factors(self, row: Operator) -> tuple[Any, ...]:
        """Operands of a product: a value and an argument that fits it, in either place."""
        name = self.value()
        shape = np.shape(self.held[name])
        if not shape or shape[-1] > 300:
            name = self.array((self.choice(SMALL), self.choice((*SMALL, *EDGES))))
            shape = np.shape(self.held[name])
        fill = self.choice(("unit", "normal", "normal", "mixed"))
        dtype = self.matching(name)
        columns = self.choice((*SMALL, *EDGES))
        batch = shape[:-2] if self.chance(0.3) else ()
        if len(shape) > 1 and self.chance(0.25) and row.kind is Kind.CONTRACT:
            return self.array((*batch, columns, shape[-2]), dtype, fill), name
        if self.chance(0.12) and row.kind is Kind.CONTRACT:
            return name, self.array((shape[-1],), dtype, fill)
        other = self.array((*batch, shape[-1], columns), dtype, fill)
        if row.kind is Kind.CONTRACT:
            return name, other
        return name, other, self.array((columns,), dtype, fill)

    # Steps

    def step(self) -> None:
        """Try one more step; nothing happens where NumPy, or a rule below, refuses it."""
        names, weights = forms.drawn_names()
        name = str(self.rng.choice(names, p=weights))
        before = len(self.arguments), dict(self.held)
        step = self.called(name) if name in forms.CALLED else self.applied(OPERATORS[name])
        try:
            if step is not None:
                self.append(step)
        except (*ERRORS, NotForUs):
            del self.arguments[before[0] :]
            self.held = before[1]

    def append(self, step: Step) -> None:
        """Add a step.

        Raises:
            NotForUs: a type, a size or a value that opweave does not promise to take.
            Exception: NumPy refuses it.
        """
        made = checked_values(step, self.held)
        self.steps.append(step)
        self.held |= made

    def called(self, name: str) -> Step | None:
        source = self.value()
        rank = np.ndim(self.held[source])
        lowest, text = forms.CALLED[name]
        if rank < lowest or rank > 4:
            return None
        return Step((self.fresh(),), name, text(rank, self.rng), (source,))

    def applied(self, row: Operator) -> Step:
        operands = self.operands(row)
        first = self.held[operands[0]] if isinstance(operands[0], str) else 0
        text = forms.text(row, np.ndim(first), self.rng)
        results = [c.results for c in row.opcodes if row.mixes is None and row.kind is Kind.MAP]
        count = max(results, default=1)
        return Step(tuple(self.fresh(n) for n in range(count)), row.name, text, operands)

    def fresh(self, number: int = 0) -> str:
        return f"v{sum(len(s.results) for s in self.steps) + number}"

    # What comes last

    def outputs(self) -> tuple[str, ...]:
        made = [r for s in self.steps for r in s.results]
        found = [made[-1]]
        while self.chance(0.3) and len(found) < 4:
            pool = self.values() if self.chance(0.1) else made
            found.append(self.choice(pool))
        return tuple(found)

    def toggles(self) -> tuple[tuple[str, int], ...]:
        if not self.chance(0.08):
            return ()
        known = sorted(set(KNOWN) - set(NOT_STRICT))
        found = {}
        for _ in range(1 + self.chance(0.4)):
            name = self.choice(known)
            is_flag = KNOWN[name].values == FLAG
            found[name] = self.choice((0, 1)) if is_flag else 2 ** int(self.rng.integers(0, 9))
        return tuple(sorted(found.items()))


def _broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        found = np.broadcast_shapes(shape, other)
    except ValueError:
        return False
    return int(np.prod(found, dtype=np.int64)) <= MOST
