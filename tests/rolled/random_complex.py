"""Random loops over complex numbers, as text: Python's and NumPy's, beside real ones.

python -m tests.rolled.random_complex 0 500: programs by their seeds; those that differ are shown.
"""

from __future__ import annotations

import linecache
import random
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called

# From 3.14 on Python has other rules, and runs such loops itself (compiler/lines/complexes.py).
HAS_THESE_RULES = pytest.mark.skipif(sys.version_info >= (3, 14), reason="C runs none of it")
STARTS = ("0j", "1j", "0.5", "0", "z", "zs[0]", "complex(x[0], 1)", "x[1]", "-0.0", "True")
ARGUMENTS: tuple[Any, ...] = (
    0.3 + 0.4j, -0.0 - 1j, np.complex128(0.5 - 0.25j), np.complex64(1j), 1.5, 2, np.float64(0.25),
)  # fmt: skip
# Of complex numbers: of real ones C has other functions, with other last places.
RULED = (
    "np.exp(1j * {0})",
    "np.sqrt({0} - 1j)",
    "np.conj({0})",
    "np.negative({0})",
    "np.cos(1j + {0})",
)


class ComplexWriter:
    """Writes one function."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.names = ["s", "z", "w"]

    def one(self, *of: str) -> str:
        return self.rng.choice(of)

    def expression(self, depth: int = 2) -> str:
        """What is mostly complex."""
        if depth <= 0 or self.rng.random() < 0.15:
            return self.one(
                *self.names, *self.names, "zs[i]", "zs[i - 1]", "c4[i]", "x[i]", "i", "1j",
                "(2 - 0.5j)", "0.5", "3", f"complex(x[i], {self.real()})", "(-0.0)",
            )  # fmt: skip
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * {b} - {b})", f"({a} / {b})",
            f"(-{a})", f"(1j * {a}) ** {self.one('1', '2', '3', '5')}", f"({a} if {self.condition()} else {b})",
            f"abs({a})", f"complex({a})", f"turned({a})", f"({a}).conjugate()", f"({a}).real",
            f"({a}).imag", self.one(*RULED).format(a), f"({a} or {b})",
        )  # fmt: skip

    def real(self) -> str:
        name = self.one(*self.names)
        return self.one(
            "x[i]", "0.25", "i", f"abs({name})", f"{name}.imag", f"{name}.real", "-0.0"
        )

    def condition(self) -> str:
        a, b = self.one(*self.names), self.one(*self.names, "zs[i]", "0", "1j")
        return self.one(
            f"abs({a}) < 2", f"{a} == {b}", f"{a} != {b}", "i % 2", f"{self.real()} > 0.1", f"{a}"
        )

    def statement(self, depth: int = 2) -> list[str]:
        name = self.one(*self.names)
        if depth and self.rng.random() < 0.25:
            inner = [f"    {line}" for line in self.statement(depth - 1)]
            return [f"if {self.condition()}:", *inner]
        return [self.one(
            f"{name} = {self.expression()}", f"{name} = {self.expression(1)}",
            f"{name} {self.one('+', '-', '*')}= {self.expression(1)}", f"out[i] = {self.expression()}",
            f"many.append({self.expression(1)})", f"{name} = 0.5 * {name} + 0.1 * ({self.expression()})",
        )]  # fmt: skip

    def function(self) -> str:
        lines = [line for _ in range(self.rng.randint(1, 4)) for line in self.statement()]
        return "\n".join([
            "def turned(v):", "    return v * 1j if abs(v) < 3 else v - 1", "",
            "def f(zs, c4, x, z, w, out):", f"    s, many = {self.one(*STARTS)}, []",
            "    for i in range(len(x)):", *(f"        {line}" for line in lines),
            "    return s, z, w, many", "",
        ])  # fmt: skip

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.rng.randrange(1 << 30))
        zs = rng.normal(size=9) + 1j * rng.normal(size=9)
        if self.rng.random() < 0.2:
            zs[rng.integers(9)] = self.rng.choice([0, np.inf, complex(0, np.nan), -0j])
        z, w = self.rng.choice(ARGUMENTS), self.rng.choice(ARGUMENTS)
        return zs, zs[::-1].astype(np.complex64), rng.normal(size=9), z, w, np.zeros(9, complex)


def said(held: Any) -> Any:
    """Values with their types and bits; of NaN the sign is left open."""
    if isinstance(held, np.ndarray):
        return held.dtype, held.shape, [said(v) for v in held.ravel().tolist()]
    if isinstance(held, tuple | list):
        return type(held), [said(item) for item in held]
    return type(held), held if isinstance(held, int) else repr(held)


def differs(seed: int) -> tuple[str, bool]:
    """What a program does otherwise in C, "" if nothing; and whether C ran any of it."""
    writer = ComplexWriter(seed)
    text, scope = writer.function(), {"np": np}
    file = f"<complex {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    args = writer.arguments()
    rolled = Rolled(scope["f"])
    wanted = said(called(scope["f"], args))
    for _ in range(2):
        found = said(called(rolled, args))
        if found != wanted:
            return f"{text}\n{args}\nfound  {found}\nwanted {wanted}", bool(rolled.ran)
    faults = [site.left for site in rolled.sites if "a fault of" in site.left]
    return "".join(faults) and f"{text}\n{faults}", bool(rolled.ran)


def main(first: int, count: int) -> int:
    warnings.simplefilter("ignore")
    ran = wrong = 0
    for seed in range(first, first + count):
        text, in_c = differs(seed)
        ran, wrong = ran + in_c, wrong + bool(text)
        if text:
            print(f"seed {seed}\n{text}\n", flush=True)
    print(f"{count} programs, {ran} in C, {wrong} differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
