"""Write a failing program as a test that needs nothing of the fuzzer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays
from .oracles import Failure
from .program import Array, Number, Program, number_text

FOUND = Path(__file__).parent / "found"

# How a layout is made from C-ordered values, as text.
LAYOUT_TEXT = {
    "C": "{x}",
    "Fortran": "np.asfortranarray({x})",
    "steps": "np.repeat({x}, 2, axis=-1)[..., ::2]",
    "row steps": "np.repeat({x}, 2, axis=0)[::2]",
    "backward steps": "np.repeat({x}[..., ::-1], 2, axis=-1)[..., ::-1][..., ::2]",
    "negative": "{x}[..., ::-1].copy()[..., ::-1]",
    "all negative": "np.flip(np.flip({x}).copy())",
    "moved": "np.moveaxis(np.moveaxis({x}, 0, -1).copy(), -1, 0)",
    "window": "np.pad({x}, [(1, 2)] * {rank})[{window}]",
    "offset": "np.append(np.zeros(1, {x}.dtype), {x})[1:].reshape({shape})",
    "repeated": "np.broadcast_to({x}[..., :1].copy(), {shape})",
    "repeated rows": "np.broadcast_to({x}[:1], {shape})",
}
# More values than these are written as bytes.
MOST_WRITTEN = 200
ALIAS_TEXT = {"same": "{of}", "reversed": "{of}[::-1]", "transposed": "{of}.T"}

TEMPLATE = '''"""{oracle}: {summary}

Found by python -m tests.fuzz --seed {seed} --only {number}.
"""

import numpy as np
import pytest

import opweave as ow

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("error", "ignore:Degrees of freedom", "ignore:Mean of empty slice"),
    pytest.mark.filterwarnings("ignore:.*a kernel for each of many numbers"),
]


{source}

def arguments():
{arguments}
    return {names}


def bits(results):
    return [np.asarray(r).tobytes() for r in results]


def test_fused_and_unfused_agree_with_numpy():
    given = arguments()
    fused = ow.fuse(f){toggles}

{asserts}
'''
HOST_ASSERTS = """    assert fused.check(*given).ok
    assert bits(fused(*given)) == bits(fused.unfused()(*given))"""
VERIFY_ASSERTS = """    program = fused.lower(*given, target={target!r})
    other = fused.unfused().lower(*given, target={target!r})

    for schedule in {schedules}:
        assert program.check(*given, schedule=schedule).ok
        assert bits(program.verify(*given, schedule=schedule)) == bits(other(*given))"""
TYPE_ASSERTS = """
    with np.errstate(all="ignore"):
        expected = f(*arguments())
    for want, got in zip(expected, fused(*given), strict=True):
        assert (np.asarray(want).dtype, np.shape(want)) == (np.asarray(got).dtype, np.shape(got))"""


REFERENCE_ASSERTS = """
    with np.errstate(all="ignore"):
        assert bits(fused.reference(*given)) == bits(f(*given))"""
OUT_ASSERTS = """
    expected = fused(*given)
    outs = tuple(np.zeros((*np.shape(r), 2), np.asarray(r).dtype)[..., 0] for r in expected)
    assert bits(fused(*given, out=outs)) == bits(expected)"""
# What is asserted besides, by the oracle that failed.
MORE_ASSERTS = {
    "graph": REFERENCE_ASSERTS, "simplify": REFERENCE_ASSERTS, "types": TYPE_ASSERTS,
    "out": OUT_ASSERTS,
}  # fmt: skip


def write(program: Any, test: str) -> Path:
    """Write the test of a program; returns its file, which is named after the program."""
    name = hashlib.sha256(repr(program).encode()).hexdigest()[:10]
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"test_{name}.py"
    path.write_text(test)
    return path


def text(program: Program, failure: Failure, seed: int, number: int, plan: Any) -> str:
    lines = [f"    {a.name} = {argument_text(a)}" for a in program.arguments]
    toggles = ", ".join(f"{n}={v}" for n, v in program.toggles)
    asserts = HOST_ASSERTS
    if failure.oracle.startswith("verify"):
        asserts = VERIFY_ASSERTS.format(target=plan.target, schedules=plan.schedules)
    asserts += MORE_ASSERTS.get(failure.oracle, "")
    return TEMPLATE.format(
        oracle=failure.oracle,
        summary=failure.message.splitlines()[0][:90].replace("\\", ""),
        seed=seed,
        number=number,
        source=program.source,
        arguments="\n".join(lines),
        names=", ".join(a.name for a in program.arguments) + ",",
        toggles=f".with_toggles({toggles})" * bool(toggles),
        asserts=asserts,
    )


def argument_text(argument: Array | Number) -> str:
    """Python for an argument."""
    if isinstance(argument, Number):
        return number_text(argument.value)
    if argument.of:
        return ALIAS_TEXT[argument.layout].format(of=argument.of)
    values = values_text(arrays.logical(argument), argument.dtype)
    shape, rank = argument.shape, len(argument.shape)
    layout = LAYOUT_TEXT[argument.layout]
    if not rank or 0 in shape:
        layout = "{x}"  # nothing to lay out
    window = ", ".join(["1:-2"] * rank)
    return layout.format(x=values, window=window, shape=shape, rank=rank)


def values_text(values: Any, dtype: str) -> str:
    """Python for an array's values in C order; many as the text of their bytes."""
    flat, shape = values.reshape(-1), values.shape
    kind = "'bfloat16'" if dtype == "bfloat16" else f"np.{dtype.replace('bool', 'bool_')}"
    if flat.size > 1 and (flat == 1).all():
        return f"np.ones({shape}, {kind})"
    if flat.size > MOST_WRITTEN:
        made = f"np.frombuffer(bytes.fromhex({flat.tobytes().hex()!r}), {kind})"
    else:
        wide = flat.astype(np.float64) if flat.dtype.kind in "fV" else flat
        made = f"np.array([{', '.join(map(number_text, wide.tolist()))}], {kind})"
    return made if len(shape) == 1 else f"{made}.reshape({shape})"
