"""Every built-in operator is a list of op-codes, which prints, and of which kernels are made."""

import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.codes import ORDER, Fragment, OpCode, Phase
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import FragmentError, NameRefusedError
from opweave.opcodes.operators.registry import BUILT_IN
from opweave.templates import TEMPLATES

X = np.linspace(0.5, 2, 600, dtype=np.float32).reshape(20, 30)
PICTURE = np.ones((4, 6, 3), np.float32)
BUILT = {name: ow.OPERATORS[name] for name in sorted(BUILT_IN)}
COMPOSITES = [name for name, row in BUILT.items() if row.kind is Kind.COMPOSITE]
# The phases of each kind's list.
PHASES = {
    Kind.REDUCE: [Phase.ACCUMULATE, Phase.REDUCE],
    Kind.SCAN: [Phase.ACCUMULATE, Phase.REDUCE],
    Kind.CONTRACT: [Phase.LOAD, Phase.ACCUMULATE, Phase.REDUCE],
    Kind.MOVE: [Phase.INDEX],
}


@pytest.mark.parametrize("name", BUILT)
def test_an_operator_prints_as_its_list(name):
    row = BUILT[name]
    head, *lines = str(row).split("\n")

    assert head.startswith(f"{row.kind.value} {name}(")
    assert all(part in head for part in row.parts)
    assert row.opcodes
    assert ("no fragment but an index map: " in lines[0]) is (row.kind is Kind.MOVE)
    text = " ".join(" ".join(lines).split())
    for code in row.opcodes:
        assert f"{code.phase.value} {code.name} " in text
        for each in code.rows:
            assert " ".join(each.text.split()) in text
            assert f"(begins with {each.start})" in text or not each.start
        assert f"({code.supplied})" in text or code.rows


def test_a_list_says_which_types_running_values_have():
    narrow = "(float16, bfloat16: in float32, converted at the end)"

    for name in ("sum", "cumprod", "matmul"):
        assert str(BUILT[name]).endswith(narrow)
    assert str(BUILT["any"]).endswith("(bool: in int32, converted at the end)")


@pytest.mark.parametrize("name", [name for name in BUILT if name not in COMPOSITES])
def test_a_list_is_in_the_order_of_the_phases(name):
    row = BUILT[name]
    phases = [code.phase for code in row.opcodes]

    assert phases == PHASES.get(row.kind, phases)
    assert phases == sorted(phases, key=ORDER.__getitem__)
    assert row.opcodes[-1].name == name
    # each kind of dtype has one row, and running values begin with something
    for code in row.opcodes:
        kinds = "".join(each.kinds for each in code.rows)
        assert len(set(kinds)) == len(kinds)
        begins = code.phase is Phase.ACCUMULATE
        assert all(bool(each.start) is begins for each in code.rows)


ARGUMENTS = {
    "linear": (X, X.T.copy(), X[:, 0].copy()),
    "hue": (PICTURE, 0.3),
    "from_uint8": (X.astype(np.uint8),),
    "logaddexp": (X, X + 1),
    "logaddexp2": (X, X + 1),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_composite_s_list_is_that_of_its_parts(name):
    row = BUILT[name]
    numbers = (0.3,) * (row.arity - 1)
    attrs = {"keepdims": True} if name == "logsumexp" else {}
    program = ow.fuse(lambda *a: row(*a, **attrs)).lower(*ARGUMENTS.get(name, (X, *numbers)))

    assert row.parts == tuple(n.operator.name for n in program.lowered.schedule.graph.nodes)
    assert row.opcodes == tuple(c for part in row.parts for c in BUILT[part].opcodes)


@pytest.mark.parametrize("name", BUILT)
def test_what_is_not_a_fragment_says_which_template_has_it(name):
    for code in BUILT[name].opcodes:
        if code.supplied:
            assert not code.rows
            for file, macro in re.findall(r"templates/(\S+): (\w+)", code.supplied):
                assert f"macro {macro}(" in (TEMPLATES / file).read_text()


def edited(name, phase, kind, text, **start):
    """An operator with another text in one row of one op-code."""
    row = BUILT[name]
    codes = [
        replace(code, rows=tuple(
            r._replace(text=text, **start) if kind in r.kinds else r for r in code.rows
        )) if code.phase is phase else code
        for code in row.opcodes
    ]  # fmt: skip
    return replace(row, opcodes=tuple(codes))


# An operator, the phase and kind of a row, what it says then, what the kernel says then.
EDITS = [
    ("add", Phase.EPILOGUE, "x - y - x", "x_v[c][l] - y_v[c][l] - x_v[c][l]"),
    ("sum", Phase.ACCUMULATE, "x + acc + x", "x_v[l] + sum0_acc[l] + x_v[l]"),
    ("sum", Phase.REDUCE, "x + acc + acc", "return y + x + x;"),
    ("cumsum", Phase.REDUCE, "x + acc + acc", "return y + x + x;"),
    ("matmul", Phase.ACCUMULATE, "acc + y - x", "acc[i][q][l] + right[q][l] - left[i];"),
    ("matmul", Phase.REDUCE, "acc + acc", "const float v0 = acc[i][q][l] + acc[i][q][l];"),
    ("saturation", Phase.EPILOGUE, "r0 = r1 = r2 = red;", "r0 = r1 = r2 = red;"),
]


@pytest.mark.parametrize(("name", "phase", "text", "expected"), EDITS)
def test_kernels_are_made_of_the_list(name, phase, text, expected):
    own = edited(name, phase, "f", text)
    call = {
        "sum": lambda x: own(x, axis=1),
        "cumsum": lambda x: own(x, axis=1),
        "matmul": lambda x: own(x, x.T),
        "saturation": lambda x: own(x, 0.5),
        "add": lambda x, y: own(x, y),
    }[name]
    operands = {"saturation": (PICTURE,), "add": (X, X)}.get(name, (X,))

    assert expected in ow.fuse(call).lower(*operands, target="sm_80").source


def test_what_running_values_begin_with_is_on_the_list():
    own = edited("sum", Phase.ACCUMULATE, "f", "acc + x", start="(T)7")

    assert "= (float)7;" in ow.fuse(lambda x: own(x, axis=1)).lower(X, target="sm_80").source


BAD = {
    "two rows of a kind": (
        {"rows": (Fragment("x", "f"), Fragment("-x", "fi"))}, FragmentError, "each in one row"),
    "an unknown kind": ({"rows": (Fragment("x", "q"),)}, FragmentError, "kinds 'q' of a row"),
    "neither text nor template": ({"rows": ()}, FragmentError, "found neither"),
    "both": ({"supplied": "templates/map.cu.j2"}, FragmentError, "found both"),
    "a name": ({"name": "a b"}, NameRefusedError, "op-code name 'a b'"),
    "a start": ({"rows": (Fragment("x", "f", "asm(1)"),)}, FragmentError, "inline assembly"),
    "an expression of two results": ({"results": 2}, FragmentError, "assign r0 to r1"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_an_op_code_that_breaks_a_rule_is_refused(what):
    change, error, piece = BAD[what]
    good = OpCode("good", Phase.EPILOGUE, ("x",), (Fragment("x", "f"),))

    with pytest.raises(error, match=piece):
        replace(good, **change)


def test_a_list_out_of_order_is_refused():
    row = BUILT["sum"]

    with pytest.raises(
        FragmentError, match=r"sum: op-code 2 of 2, sum: .*accumulate after reduce"
    ):
        replace(row, opcodes=row.opcodes[::-1])
