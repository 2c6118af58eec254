"""Write a failing program of lists as a test that needs nothing of the fuzzer."""

from __future__ import annotations

from ..oracles import Failure, Plan
from ..write import argument_text
from .forms import BAD
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


def bits(results):
    found = results if isinstance(results, tuple | list) else (results,)
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in found]


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
REFUSED = """
    with pytest.raises(ow.errors.{error}):
        {text}"""


def text(
    program: Lists, failure: Failure, seed: int, number: int, plan: Plan, only: str = ""
) -> str:
    """The test, as Python."""
    lines = [f"    {a.name} = {argument_text(a)}" for a in program.arguments]
    asserts = CHECKED * program.is_bounded + EXACT * program.is_exact + ALWAYS
    if failure.oracle.startswith("verify"):
        asserts += VERIFIED.format(target=plan.target, schedules=plan.schedules)
    if failure.oracle == "pickled":
        asserts += LISTS.format(lists=", ".join(m.name for m in program.made))
    if failure.oracle == "bad list" and program.bad[0]:
        form, name = program.bad
        asserts = REFUSED.format(error=BAD[form].__name__, text=form.format(k=name)).lstrip("\n")
    toggles = ", ".join(f"{n}={v}" for n, v in program.toggles)
    names = [a.name for a in program.arguments]
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
