"""The fuzzer with ``--by-c`` finds what C does otherwise."""

from __future__ import annotations

import pytest

from opweave._functions import warm
from opweave._functions.fused import Fused
from opweave.compiler.captures import checks
from tests.fuzz import kinds
from tests.fuzz.oracles import Plan
from tests.fuzz.program import Array
from tests.fuzz.scripts.script import Line, Script
from tests.warm import by_c

TWO_RESULTS = Script(
    ((Array("a0", "float64", (4,), fill="whole", seed=5),),),
    tuple(Line(f"v{n} = a0 + {n}", f"v{n}", ()) for n in range(3)),
    "v0, v1 + v2",
)


@pytest.mark.host
def test_what_c_does_otherwise_is_found_and_shrunk(monkeypatch):
    given_back = warm._given_back

    def exchanged(*of):
        stores, shape, left = given_back(*of)
        return stores, shape._replace(values=shape.values[::-1]), left

    for module in (checks, warm):
        monkeypatch.setattr(module, "OFTEN", module.OFTEN)
    monkeypatch.setattr(Fused, "__call__", Fused.__call__)  # which the next line replaces
    by_c.watch()
    plan = Plan(True, "", (0,))
    assert kinds.judge(TWO_RESULTS, plan).failures == []
    monkeypatch.setattr(warm, "_given_back", exchanged)
    (failure,) = kinds.judge(TWO_RESULTS, plan).failures
    small = kinds.shrink(
        TWO_RESULTS,
        lambda s: any(kinds.alike(f, failure) for f in kinds.judge(s, plan).failures),
    )

    assert failure.oracle == "by C"
    assert small.calls[0][0].shape < TWO_RESULTS.calls[0][0].shape
