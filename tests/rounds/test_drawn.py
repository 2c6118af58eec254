"""Loops that are drawn: results and arguments are those of NumPy, whichever way rounds run."""

import linecache
import random
import textwrap

import numpy as np
import pytest

import opweave as ow
from tests.rounds.cupy_by_shim import on_gpu

pytestmark = pytest.mark.nvrtc
HELPERS = """
def halved(a, t):
    if t % 2:
        a = a * 0.5
    return a
def added(a, b):
    a[1:-1] += 0.1 * b[2:]
    return b
"""
EXPRESSIONS = (
    "{a} * 0.5 + {b} * 0.25", "np.roll({a}, 1) * 0.5 + 0.1 * {b}", "np.minimum({a}, {b})", "{a}",
    "np.abs({a} - {b}).max() * 0.1 + {a} * s", "{a}[::-1] * 0.9", "{a}.copy()", "{a} + k * 0.001",
    "{a} * 0.5 + S[t]", "{a} * 0.9 ** t", "{a} * 0.5 + S[k % 7]", "halved({a}, t)", "added({a}, {b})",
)  # fmt: skip
STATEMENTS = (
    "{a} = {e}", "{a} = {e}", "{a}[1:-1] = 0.5 * {b}[2:] + 0.3 * {c}[:-2]", "{a} += 0.1 * {b}",
    "{a}[1:-1] += 0.1 * ({b}[2:] - {b}[:-2])", "{a}, {b} = {b}, {a}", "u, v, w = w, u, v",
    "{a}[3] = {b}[1]", "s = s * 0.9", "s = {a}.mean()", "k += 2", "if t % 3 == 1:\n    {a} = {e}",
    "if t % 2 == 0:\n    {a}[1:] = {b}[:-1]", "{a}.fill(s)",
)  # fmt: skip


def statement(drawn):
    a, b, c = (drawn.choice("uvw") for _ in range(3))
    e = drawn.choice(EXPRESSIONS).format(a=drawn.choice("uvw"), b=drawn.choice("uvw"))
    return textwrap.indent(drawn.choice(STATEMENTS).format(a=a, b=b, c=c, e=e), "        ")


def program(seed):
    """A function of three arrays, rows to read, and a number of rounds."""
    drawn = random.Random(seed)
    rounds = drawn.choice(["n", "1, n + 1", "n, 0, -1", "0, 2 * n, 2"])
    text = "\n".join([
        HELPERS, "def looped(u, v, w, S, n):", "    s, k = 0.5, 2", f"    for t in range({rounds}):",
        *(statement(drawn) for _ in range(drawn.choice([1, 2, 3, 4]))),
        f"    {drawn.choice('uvw')}[0] = 7.0", "    return u, v, w, s, k",
    ])  # fmt: skip
    name, made = f"drawn_{seed}.py", {"np": np}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), made)
    return made["looped"]


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("seed", range(16))
def test_a_loop_that_is_drawn_is_what_numpy_has(rolled, seed):
    looped, values = program(seed), np.random.default_rng(seed)
    fused = ow.fuse(looped)
    arrays = [values.random(12), values.random(12), values.random(12), values.random((40, 12))]
    for n in (9, 1, 4):
        own, numpys = [on_gpu(a) for a in arrays], [a.copy() for a in arrays]
        found, wanted = fused(*own, n), looped(*numpys, n)
        for a, b in zip((*found, *own), (*wanted, *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-9)
