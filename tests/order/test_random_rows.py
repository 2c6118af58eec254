"""Random loops over rows and columns: rows side by side do what rounds in order do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.loops.random_programs import loaded
from tests.loops.test_loops_in_c import called, is_same, run_in_c
from tests.order.sources import BY_SIDE, drawn, sources

__all__ = ["sources"]  # a fixture

pytestmark = pytest.mark.host

TEXT = """
def program({arrays}, a):
    for i in range(3, u.shape[0] - 3):
        for j in range({first}, u.shape[1] - 3):
{body}
"""


def program(seed: int) -> tuple[str, list[str]]:
    """A function of two loops that looks at elements around the one that it is at."""
    own = random.Random(seed)
    names = ["u", "v", "w"][: own.randint(1, 3)]

    def element(name: str) -> str:
        near = [(0, -1), (-1, 0), (-1, 1), (1, 0), (0, 1), (0, 0), (-1, -1), (0, -2), (-2, 1)]
        row, column = own.choice([*near, (own.randint(-3, 3), own.randint(-3, 3))])
        return f"{name}[i + {row}, j + {column}]"

    lines = []
    for _ in range(own.randint(1, 2)):
        target = own.choice(names)
        to = f"{target}[i, j]" if own.random() < 0.8 else element(target)
        terms = [f"0.25 * {element(own.choice(names))}" for _ in range(own.randint(1, 4))]
        terms.append(f"0.5 * {target}[i, j - 1]" if own.random() < 0.7 else "a")
        lines.append(f"            {to} = {' + '.join(terms)}")
    text = TEXT.format(arrays=", ".join(names), first=own.randint(3, 5), body="\n".join(lines))
    return text, names


def reduction(seed: int) -> str:
    """A function of two loops that builds numbers up along rows, and uses them behind."""
    own = random.Random(seed)
    sums = ["s", "t", "p"][: own.randint(1, 3)]

    def number() -> str:
        read = [
            "u[i, j]",
            "v[i, j]",
            "u[i, j - 1]",
            "v[i, 0]",
            "u[i - 1, j]",
            "v[j % 3, j]",
            "w[j]",
            "a",
        ]
        return f"{own.choice([*sums, *read])} * 0.5"

    lines = [f"        {name} = u[i, {own.randint(0, 2)}]" for name in sums]
    lines.append("        for j in range(1, u.shape[1]):")
    for name in sums:
        kind = own.choice(["{0} += {1}", "{0} = {0} * 0.5 + {1}", "{0} = max({0}, {1})"])
        lines.append(f"            {kind.format(name, number())}")
    if own.random() < 0.5:
        lines.append(f"            v[i, j] = {own.choice(sums)} + {number()}")
    ends = [
        "z[i] = s",
        "if s > b:\n            b = s",
        "v[i, 0] = s",
        "z[i // 2] += s",
        "b = b * 0.5 + s",
    ]
    lines += [f"        {text}" for text in own.sample(ends, own.randint(1, 3))]
    text = "\n".join(["    b = u[0, 0]", "    for i in range(1, u.shape[0]):", *lines])
    return f"def program(u, v, w, z, a):\n{text}\n    return b, {', '.join(sums)}\n"


@pytest.mark.parametrize("seed", range(10))
def test_random_reductions_are_those_of_rounds_in_order(seed, tmp_path, sources):
    by_side = 0
    for each in range(seed * 8, seed * 8 + 8):
        text = reduction(each)
        function = loaded(text, tmp_path, f"reduction_{each}").program
        args = drawn(31, 50), drawn(31, 50), drawn(50), drawn(31), np.float64(0.3)
        assert is_same(called(function, args), run_in_c(function, args), exactly=True), text
        by_side += BY_SIDE in sources[-1]
    assert by_side


@pytest.mark.parametrize("seed", range(24))
def test_random_neighbours_are_those_of_rounds_in_order(seed, tmp_path, sources):
    by_side = 0
    for each in range(seed * 8, seed * 8 + 8):
        text, names = program(each)
        function = loaded(text, tmp_path, f"neighbours_{each}").program
        args = (*(drawn(31, 150) * (1 + n) for n in range(len(names))), 0.3)
        assert is_same(called(function, args), run_in_c(function, args), exactly=True), text
        by_side += BY_SIDE in sources[-1]
    assert by_side
