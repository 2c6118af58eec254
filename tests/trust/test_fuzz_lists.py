"""The fuzzer's op-code lists: what is drawn, and that faults that were put in are found."""

from dataclasses import replace

import pytest

import opweave._lists.checks as checks
import opweave._lists.joining as joining
import opweave._lists.oplist as oplist
import opweave._lists.pickled as pickled
import opweave.compiler.pipeline.driver as driver
from opweave.opcodes import OPERATORS
from tests.fuzz import kinds
from tests.fuzz.lists.codes import Code, Made
from tests.fuzz.lists.draw import draw
from tests.fuzz.lists.forms import TABLES
from tests.fuzz.lists.operators import Own
from tests.fuzz.lists.program import Lists
from tests.fuzz.lists.write import text
from tests.fuzz.oracles import Plan
from tests.fuzz.program import Array, Step
from tests.trust.test_fuzz import fused_differences_turned, shared  # noqa: F401

pytestmark = pytest.mark.host
ON_HOST = Plan(True, "", (0,))


def test_random_lists_are_what_their_op_codes_are(shared):  # noqa: F811
    found = {n: kinds.judge(*kinds.drawn(0, n, "list")).failures for n in range(4)}

    assert {n: (f, print(draw(0, n))) for n, f in found.items() if f} == {}


def test_a_program_of_lists_is_the_same_for_the_same_seed_and_number():
    before = set(OPERATORS)

    assert [str(draw(3, n)) for n in range(8)] == [str(draw(3, n)) for n in range(8)]
    assert set(OPERATORS) == before


def test_every_form_of_a_list_is_drawn():
    met = {form for n in range(600) for form in draw(7, n).forms}

    assert {(k, f) for k, table in TABLES.items() for f in table} - met == set()


def op(name, *operands, label=""):
    return Code("operator", f"ow.opcodes.{name}", operands, labels=(label,) * bool(label))


def load(name):
    return Code("load", name)


def store(name):
    return Code("store", name)


PAIR = Made(
    "pair", codes=(load("x"), op("add", 1, label="t"), store("p"), op("multiply", 2), store("q"))
)
APART = Made(
    "apart", codes=(load("a"), load("b"), op("subtract", "a", "b"), op("floor"), store("out"))
)
JOINED = Made("joined", "+", (), ("pair", "apart"))
EDITED = Made("edited", "insert", (op("multiply", "t"),), ("joined",), (("after", "t"),))
LISTS = Lists(
    (Array("a0", "float32", (3, 5), "Fortran", "whole", 5),),
    (
        Step(("v0",), "edited", "edited({0})", ("a0",)),
        Step(("v1",), "op0", "op0({0}, {1})", ("v0", "a0")),
    ),
    ("v1", "v0"),
    own=(Own("op0", ("x", "y"), (("s", ("{0} - {1}", "x", "y")), ("", ("{0} * {1}", "s", "y")))),),
    made=(PAIR, APART, JOINED, EDITED),
    bad=("ow.kernel([*{k}.codes, ow.store({k}.results[0], {k}.arguments[0])])", "pair"),
)  # fmt: skip


def test_the_program_that_faults_are_put_into_has_none(shared):  # noqa: F811
    assert kinds.judge(replace(LISTS), ON_HOST).failures == []


def in_turn(first, second, given):
    """What is joined by position, in the wrong order."""
    return dict(zip(second.arguments, reversed(first.results), strict=False))


FAULTS = [
    ("joined in another order", joining, "feeds_of", lambda f: in_turn, "graph"),
    ("an edit behind where it should be", oplist.OpcodeKernel, "_find",
     lambda f: lambda self, name: f(self, name) + 1, "graph"),
    ("a pickle without names", pickled, "_row",
     lambda f: lambda code: row._replace(label="") if hasattr(row := f(code), "_replace") else row, "pickled"),
    ("two stores of a name", checks, "check_names", lambda f: lambda found: None, "bad list"),
    ("fusion that changes bits", driver, "render",
     lambda f: lambda kernel: fused_differences_turned(f(kernel)), "fused"),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "name", "fault", "oracle"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])  # fmt: skip
def test_a_fault_in_lists_is_found_shrunk_and_written(
    shared, monkeypatch, owner, name, fault, oracle  # noqa: F811
):  # fmt: skip
    program = replace(LISTS)  # whose lists are not made yet
    monkeypatch.setattr(owner, name, fault(getattr(owner, name)))
    (failure, *_) = kinds.judge(program, ON_HOST).failures

    def fails(candidate):
        return any(kinds.alike(f, failure) for f in kinds.judge(candidate, ON_HOST).failures)

    small = kinds.shrink(program, fails)
    test = text(small, failure, 1, 2, ON_HOST, "list")
    compile(test, "<written>", "exec")

    assert failure.oracle == oracle
    assert len(small.steps) == len(small.outputs) == 1
    assert sum(len(made.codes) for made in small.made) <= 9
    assert "--seed 1 --only 2 --kind list" in test
