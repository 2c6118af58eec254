"""Write a failing program of lists as a test that needs nothing of the fuzzer."""

from __future__ import annotations

from ..oracles import Failure, Plan
from ..write import argument_text
from . import structure
from .forms import BAD, TOGGLES
from .program import Lists

TEMPLATE = '''"""{oracle}: {summary}

Found by python -m tests.fuzz --seed {seed} --only {number}{kind}.
"""

{imports}import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

{preamble}

{source}

def written_out({parameters}):
{flat}

def arguments():
{arguments}
    return {names}


def results(found):
    return found if isinstance(found, tuple | list) else (found,)


def bits(found):
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in results(found)]


def test_lists_are_what_their_op_codes_are():
    given = arguments()
    fused = ow.fuse(f){toggles}

{asserts}
'''
ALWAYS = """    assert bits(fused(*given)) == bits(fused.unfused()(*given))
    assert bits(fused(*given)) == bits(ow.fuse(written_out)(*given))"""
CHECKED = "    assert fused.check(*given).ok\n"
EXACT = """    with np.errstate(all="ignore"):
        assert bits(fused(*given)) == bits(written_out(*given))
"""
VERIFIED = """
    program, other = (g.lower(*given, target={target!r}) for g in (fused, fused.unfused()))
    for schedule in {schedules}:
        assert bits(program.verify(*given, schedule=schedule)) == bits(other(*given))"""
LISTS = """
    for k in ({lists},):
        again = pickle.loads(pickle.dumps(k))
        assert (repr(again), again.where) == (repr(k), k.where)"""
TOGGLED = """
    for value in {values}:
        assert bits(fused.with_toggles({name}=value)(*given)) == bits(fused(*given))"""
STRUCTURAL = """
    {given}, = given
    other = {text}
    outs = [np.full_like(value, 3) for value in map(np.asarray, results({name}({operands})))]
    other({operands}, out=tuple(outs) if len(outs) > 1 else outs[0])
    assert bits(other({operands})) == bits({name}({operands}))
    for out, value, is_added in zip(outs, results({name}({operands})), {added}, strict=True):
        assert bits(out) == bits((3 * is_added + np.asarray(value)).astype(out.dtype))"""
REFUSED = """
    with pytest.raises(ow.errors.{error}):
        {text}"""


def text(
    program: Lists, failure: Failure, seed: int, number: int, plan: Plan, only: str = ""
) -> str:
    """The test, as Python."""
    names = [a.name for a in program.arguments]
    lines = [f"    {a.name} = {argument_text(a)}" for a in program.arguments]
    asserts = CHECKED * program.is_bounded + EXACT * program.is_exact + ALWAYS
    if failure.oracle.startswith("verify"):
        asserts += VERIFIED.format(target=plan.target, schedules=plan.schedules)
    if failure.oracle == "pickled":
        asserts += LISTS.format(lists=", ".join(m.name for m in program.made))
    if failure.oracle == "toggle":
        used = dict.fromkeys(o.toggle for o in program.own if o.toggle)
        asserts += "".join(TOGGLED.format(name=n, values=TOGGLES[n][0]) for n in used)
    if failure.oracle == "structural":
        asserts += "".join(
            STRUCTURAL.format(**row, given=", ".join(names)) for row in structure.rows(program)
        )
    if failure.oracle == "bad list" and program.bad[0]:
        form, name = program.bad
        asserts = REFUSED.format(error=BAD[form].__name__, text=form.format(k=name)).lstrip("\n")
    toggles = ", ".join(f"{n}={v}" for n, v in program.toggles)
    return TEMPLATE.format(
        oracle=failure.oracle,
        summary=failure.message.splitlines()[0][:90].replace("\\", "").replace('"', "'"),
        seed=seed,
        number=number,
        kind=f" --kind {only}" * bool(only),
        imports="import pickle\n\n" * ("pickle." in asserts),
        preamble=program.preamble,
        source=program.source,
        parameters=", ".join(names),
        flat="\n".join(program.flat.source.splitlines()[1:]),
        arguments="\n".join(lines),
        names=", ".join(names) + ",",
        toggles=f".with_toggles({toggles})" * bool(toggles),
        asserts=asserts,
    )
