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


ENDS = ("{a}.max() > {limit}", "s > {limit} or {a}[0] < 0.1", "not {a}.min() < {limit}", "t > 5",
        "made is not None and made.max() > {limit}")  # fmt: skip


def end(drawn, leaves):
    test = drawn.choice(ENDS).format(a=drawn.choice("uvw"), limit=drawn.choice([0.2, 0.6, 1.5]))
    return f"        if {test}:\n            {leaves}"


def looped(drawn):
    """The lines of a loop over a range."""
    rounds = drawn.choice(["n", "1, n + 1", "n, 0, -1", "0, 2 * n, 2"])
    body = [statement(drawn) for _ in range(drawn.choice([1, 2, 3, 4]))]
    return [f"    for t in range({rounds}):", *body]


def ended(drawn):
    """The lines of a loop that conditions end."""
    body = [statement(drawn) for _ in range(drawn.choice([1, 2, 3, 4]))]
    a, b = drawn.choice("uvw"), drawn.choice("uvw")
    body.insert(drawn.randrange(len(body) + 1), f"        made = {a} * 0.5")
    made = body.index(f"        made = {a} * 0.5")
    body.insert(drawn.randrange(made + 1, len(body) + 1), f"        {b} = made + 0.1 * {b}")
    for _ in range(drawn.choice([0, 1, 2])):
        leaves = drawn.choice(["break", "break", "return u, v, w, s, t"])
        body.insert(drawn.randrange(len(body) + 1), end(drawn, leaves))
    if drawn.random() < 0.3:
        return ["    t, made = 0, None", "    for t in range(n):", *body]
    before = drawn.choice(["    t = 0", "    t, made = 0, None", f"    t, made = 0, {a} + 1"])
    test = drawn.choice(["t < n", f"t < n and {drawn.choice('uvw')}.max() < 4", "True"])
    last = ["        t += 1", "        if t >= n:\n            break"]
    return [before, f"    while {test}:", *body, *last]


def program(seed, lines=looped):
    """A function of three arrays, rows to read, and a number of rounds."""
    drawn = random.Random(seed)
    text = "\n".join([
        HELPERS, "def looped(u, v, w, S, n):", "    s, k = 0.5, 2", *lines(drawn),
        f"    {drawn.choice('uvw')}[0] = 7.0", "    return u, v, w, s, k",
    ])  # fmt: skip
    name, made = f"drawn_{lines.__name__}_{seed}.py", {"np": np}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), made)
    return made["looped"]


def outcome(function, *args):
    """What a call returns; nothing where a name has no value yet."""
    try:
        return function(*args)
    except UnboundLocalError:
        return ()


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("lines", [looped, ended])
@pytest.mark.parametrize("seed", range(16))
def test_a_loop_that_is_drawn_is_what_numpy_has(rolled, seed, lines):
    looped, values = program(seed, lines), np.random.default_rng(seed)
    fused = ow.fuse(looped)
    arrays = [values.random(12), values.random(12), values.random(12), values.random((40, 12))]
    for n in (9, 1, 4):
        own, numpys = [on_gpu(a) for a in arrays], [a.copy() for a in arrays]
        found, wanted = outcome(fused, *own, n), outcome(looped, *numpys, n)
        assert len(found) == len(wanted)
        for a, b in zip((*found, *own), (*wanted, *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-9)
