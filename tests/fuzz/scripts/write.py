"""Write a failing script as a test that needs nothing of the fuzzer."""

from __future__ import annotations

from ..oracles import Failure
from ..program import Array, Number
from ..write import argument_text
from .script import Arguments, Script, indented

TEMPLATE = '''"""{oracle}: {summary}

Found by python -m tests.fuzz --seed {seed} --only {number}.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host

SOURCE = """
{source}"""


def function(fuse):
    scope = {{"np": np, "ow": ow, "fuse": fuse}}
    exec(SOURCE, scope)
    return scope["f"]


{calls}

def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [x for v in value for x in leaves(v)] if isinstance(value, list | tuple) else [value]


def outcome(f, call):
    names, values = call()
    try:
        with np.errstate(all="ignore"):
            found = leaves(f({binding}))
    except Exception as error:
        return error
    return [*found, *values]


@pytest.mark.filterwarnings("ignore")
def test_the_fused_function_is_numpys():
    plain, fused = function(lambda f: f), {mode}(function(ow.fuse))

    for call in ({names}):
        want, got = outcome(plain, call), outcome(fused, call)
        if isinstance(want, Exception):
            assert isinstance(got, type(want))
            continue
        for x, y in zip(want, got, strict=True):
            assert type(x) is type(y)
            if x is not None:
                assert np.asarray(x).dtype == np.asarray(y).dtype
                np.testing.assert_allclose(y, x, rtol=1e-3, atol=1e-3, strict=True)
        pairs = [(n, k) for n in range(len(want)) for k in range(n)]
        for n, k in pairs:
            ours, theirs = np.shares_memory(got[n], got[k]), np.shares_memory(want[n], want[k])
            assert ours == theirs
'''
BINDINGS = {
    "positions": "*values", "keywords": "**dict(zip(names, values))", "defaults": "*values",
    "dict": "dict(zip(names, values))", "tuple": "tuple(values)", "stars": "*values",
    "object": "SimpleNamespace(**dict(zip(names, values)))",
}  # fmt: skip
FUSED = {"fuse": "ow.fuse", "replay": "ow.fuse(replay=True)", "repeat": "ow.fuse"}


def text(script: Script, failure: Failure, seed: int, number: int) -> str:
    """The test, as Python."""
    calls = [call_text(f"call_{n}", call) for n, call in enumerate(script.calls)]
    return TEMPLATE.format(
        oracle=failure.oracle,
        summary=failure.message.splitlines()[0][:90].replace("\\", "").replace('"', "'"),
        seed=seed,
        number=number,
        source=script.source,
        calls="\n\n".join(calls),
        binding=BINDINGS[script.packing],
        mode=FUSED[script.mode],
        names=", ".join(f"call_{n}" for n in range(len(calls))) + ",",
    )


def call_text(name: str, call: Arguments) -> str:
    """A function that makes the arguments of a call: their names and values."""
    made = [f"{a.name} = {value_text(a)}" for a in call]
    names = "".join(f"{a.name}, " for a in call)
    texts = "".join(f'"{a.name}", ' for a in call)
    body = indented("\n".join([*made, f"return ({texts.rstrip()}), [{names[:-2]}]"]))
    return f"def {name}():\n{body}\n"


def value_text(argument: Array | Number) -> str:
    """Python for an argument; NumPy's numbers keep their type."""
    if isinstance(argument, Number) and hasattr(argument.value, "dtype"):
        return f"np.{argument.value.dtype}({argument.value})"
    return argument_text(argument)
