"""The fuzzer's op-code lists: what is drawn, and that faults that were put in are found."""

from dataclasses import replace
from itertools import islice

import pytest

import opweave._lists.checks as checks
import opweave._lists.joining as joining
import opweave._lists.oplist as oplist
import opweave._lists.pickled as pickled
import opweave.compiler.pipeline.driver as driver
from opweave.opcodes import OPERATORS, errors
from opweave.opcodes.operators import composites
from tests.fuzz import kinds
from tests.fuzz.lists import operators, structure
from tests.fuzz.lists.codes import Code, Made
from tests.fuzz.lists.draw import draw
from tests.fuzz.lists.fold_rows import FOLDS
from tests.fuzz.lists.folds import Fold
from tests.fuzz.lists.forms import TABLES
from tests.fuzz.lists.operators import Own
from tests.fuzz.lists.program import Lists, unregistered
from tests.fuzz.lists.structure import restructured
from tests.fuzz.lists.write import text
from tests.fuzz.oracles import Plan
from tests.fuzz.program import Array, Step
from tests.trust.test_fuzz import fused_differences_turned

pytestmark = pytest.mark.host
ON_HOST = Plan(True, "", (0,))


def test_random_lists_are_what_their_op_codes_are():
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


def test_the_program_that_faults_are_put_into_has_none():
    assert kinds.judge(replace(LISTS), ON_HOST).failures == []


def in_turn(first, second, given):
    """What is joined by position, in the wrong order."""
    return dict(zip(second.arguments, reversed(first.results), strict=False))


FAULTS = [
    ("joined in another order", joining, "feeds_of", lambda f: in_turn, "crash"),
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
    monkeypatch, owner, name, fault, oracle
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


X = Array("a0", "int32", (140,), "C", "whole", 5)  # of two chunks of a host
WAYS = Own("op0", ("x",), (("", ("{0} + {1}", "x", "x")),), toggle="USE_OTHER")
ROUNDED = replace(WAYS, fragments=(("", ("{0} + {1}", "x", ("{0} * {1}", "x", "x"))),))
XOR = Fold("op0", ("x",), how="reduction", of="xor_all")
COMMON = Fold("op0", ("x", "y"), how="product", of="common")
TIMES = Code("operator", "op0")
LEFT = Code("operator", "ow.opcodes.neighbour", attrs=(("step", -1), ("bounds", "clamp")))
AHEAD = "first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR + 1"
BACK = f"{AHEAD} - 1 - (blockIdx.x + threadIdx.x > 0) * VECTOR"


def listed(code, own=(), structure=("", "", ""), shape=(140,)):
    """A program of one list, of one op-code."""
    codes = (load("x"), code, store("y"))
    arguments = (replace(X, shape=shape),)
    steps = (Step(("v0",), "k0", "k0({0})", ("a0",)),)
    made = (Made("k0", codes=codes),)
    return Lists(arguments, steps, ("v0",), (), tuple(own), made, structure=structure)


def by(phase, text):
    """A structure with one op-code."""
    found = f"ow.structural({phase!r}, {text!r})"
    return tuple(
        found * (p in (phase, *("index",) * (phase == "guard")))
        for p in ("index", "load", "store")
    )


LOOP = "ow.structural('index', 'for (index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR + (blockIdx.x + threadIdx.x < 1); first < cols; first += (index_t)gridDim.x * (CHUNKS * BLOCK * VECTOR))')"
LOST = "ow.structural('store', 'add_to(p, *p == 3 ? 0 : x)')"
WRONG = {
    "a toggle whose other value computes another result": (
        listed(TIMES, [WAYS]), (operators, "other_text", lambda e: "x * (T)3"), "bound"),
    "a toggle whose other value computes another result, where no bound is known": (
        listed(TIMES, [ROUNDED]), (operators, "other_text", lambda e: "x * (T)3"), "toggle"),
    "an index that leaves the first element out": (
        listed(op("add", 1), structure=by("index", AHEAD)), None, "structural"),
    "an index by which two threads have an element": (
        listed(op("add", 1), structure=by("index", BACK)), None, "structural"),
    "a guard that ends too early": (
        listed(op("add", 1), structure=by("guard", "end = cols - 1")), None, "structural"),
    "a load of the element beside": (
        listed(op("add", 1), structure=by("load", "*(p - 1)")), None, "structural"),
    "a store that rounds": (
        listed(op("add", 1), structure=by("store", "store(p, x / 2 * 2)")), None, "structural"),
    "a store that loses an update": (
        listed(op("add", 1), structure=by("store", "add_to(p, *p == 3 ? 0 : x)")), None, "structural"),
    "a policy that clamps at the other end": (
        listed(LEFT), (composites, "BOUNDS", composites.BOUNDS | {"clamp": "wrap"}), "graph"),
    "a policy that clamps one further": (
        listed(LEFT), (composites, "BOUNDS", composites.BOUNDS | {"clamp": "reflect"}), "graph"),
    "a reduction of another step than it means": (
        listed(TIMES, [XOR]), (FOLDS, "xor_all", FOLDS["or_all"].codes), "numpy"),
    "a product of another step than it means": (
        listed(Code("operator", "op0", ("x", "x")), [COMMON], shape=(7, 7)),
        (FOLDS, "common", FOLDS["odd"].codes), "numpy"),
}  # fmt: skip


def planted(monkeypatch, fault):
    owner, name, value = fault
    if isinstance(owner, dict):
        monkeypatch.setitem(owner, name, owner[name]._replace(codes=value))
    else:
        monkeypatch.setattr(owner, name, value, raising=False)


@pytest.mark.parametrize(("program", "fault", "oracle"), WRONG.values(), ids=WRONG)
def test_a_fault_of_an_op_code_is_found(monkeypatch, program, fault, oracle):
    program = replace(program, bad=("", ""))  # whose lists are not made yet
    if fault is not None:
        planted(monkeypatch, fault)

    failures = kinds.judge(program, ON_HOST).failures

    assert [f.oracle for f in failures] == [oracle]
    if oracle != "graph":  # where what is written down takes the fault along
        assert_fails(text(program, failures[0], 1, 2, ON_HOST, "list"))


def assert_fails(test):
    """A test that was written fails, and not before its asserts."""
    scope = {"__name__": "written"}
    exec(compile(test, "<written>", "exec"), scope)
    with unregistered(), pytest.raises((AssertionError, errors.CheckError)):
        scope["test_lists_are_what_their_op_codes_are"]()


# What is put in, and which programs have it: each must be found in one of the first few of these.
DRAWN = {
    "a toggle whose other value computes another result": (
        (operators, "other_text", lambda e: "x * (T)0 + (T)5"), lambda p: any(o.toggle for o in p.own)),
    "a grid-stride loop that leaves its first element out": (
        (structure, "restructured", lambda f, *a: restructured(f, *a).replace("ow.opcodes.grid_stride", LOOP)),
        lambda p: p.structure[0] == "ow.opcodes.grid_stride"),
    "a store that loses an update": (
        (structure, "restructured", lambda f, *a: restructured(f, *a).replace("ow.opcodes.accumulate", LOST)),
        lambda p: p.structure[2] == "ow.opcodes.accumulate" and p.arguments[0].dtype[-2:] in ("32", "64")),
    "a policy that clamps at the other end": (
        (composites, "BOUNDS", composites.BOUNDS | {"clamp": "wrap"}), lambda p: "clamp" in str(p)),
    "a reduction of another step than it means": (
        (FOLDS, "xor_all", FOLDS["or_all"].codes), lambda p: any(o.of == "xor_all" for o in p.own)),
}  # fmt: skip
MOST_JUDGED = 12


@pytest.mark.parametrize(("fault", "has_it"), DRAWN.values(), ids=DRAWN)
def test_a_fault_is_found_in_one_of_a_few_programs(monkeypatch, fault, has_it):
    planted(monkeypatch, fault)
    programs = (p for p in (draw(11, n) for n in range(3000)) if has_it(p))

    judged = (
        kinds.judge(p, replace(ON_HOST, other=n)).failures
        for n, p in enumerate(islice(programs, MOST_JUDGED))
    )

    assert any(judged)
