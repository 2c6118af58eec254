"""Composites of which a user edits some parts: everywhere, and nowhere else."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import EditError

X = np.linspace(-3, 3, 40).reshape(4, 10).astype(np.float32)


def with_part(name, part, text, **more):
    """A composite with another text in place of all op-codes of a part that has one."""
    row = OPERATORS[name]
    codes = [text if code == OPERATORS[part].opcodes[0] else code for code in row.opcodes]
    return row.with_opcodes(codes, **more)


# a composite, its part, the new text, and what it computes then
EDITS = {
    "softmax": ("exp", "exp2(x)", lambda x: (e := np.exp2(x - x.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)),
    "sigmoid": ("exp", "exp2(x)", lambda x: 1 / (1 + np.exp2(-x))),
    "gelu": ("tanh", "x", lambda x: 0.5 * x * (1 + 0.7978845608028654 * (x + 0.044715 * x * x * x))),
    "std": ("sqrt", "x + 1", lambda x: x.var() + 1),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", EDITS)
def test_a_part_that_is_edited_is_another_wherever_the_definition_has_it(name):
    part, text, expected = EDITS[name]
    own = with_part(name, part, text)
    fused = ow.fuse(lambda x: own(x))

    assert np.allclose(fused(X), expected(X), rtol=1e-5, atol=1e-6)
    assert np.array_equal(fused(X), fused.unfused()(X))
    assert f" {part}_" in fused.lower(X, target="sm_80").source


def test_the_definition_itself_and_other_operators_stay_as_they_were():
    own = with_part("softmax", "exp", "exp2(x)")
    program = ow.fuse(lambda x: (own(x), np.exp(x), OPERATORS["softmax"](x))).lower(X)
    names = [node.operator.name for node in program.lowered.graph.nodes]

    assert names.count("exp") == 2
    assert sum(name.startswith("exp_") for name in names) == 1


def test_an_edited_list_can_be_read_edited_again_and_undone():
    own = with_part("softmax", "exp", "exp2(x)")
    twice = own.with_opcodes({"divide": OPERATORS["divide"].with_opcodes("x / y * (T)2")})

    assert "exp2(x)" in str(own.opcodes)
    assert own.with_opcodes(own.opcodes) is own
    assert own.with_opcodes(OPERATORS["softmax"].opcodes) is OPERATORS["softmax"]
    assert OPERATORS["softmax"].with_opcodes(OPERATORS["softmax"].opcodes) is OPERATORS["softmax"]
    assert {name for name, own in zip(twice.parts, twice.made_of, strict=True)
            if own.name != name} == {"exp", "divide"}  # fmt: skip
    assert twice.name.count("_") == own.name.count("_") == 1


def test_a_part_keeps_the_error_that_was_stated_for_it():
    exp = OPERATORS["exp"].with_opcodes("exp2(x * (T)1.4426950408889634)", ulp=77)
    own = OPERATORS["softmax"].with_opcodes({"exp": exp})

    assert own.made_of[own.parts.index("exp")].ulp == exp.ulp != OPERATORS["exp"].ulp
    assert ow.fuse(lambda x: own(x)).check(X).ok
    assert exp.name != OPERATORS["exp"].with_opcodes(exp.opcodes[0].rows[0].text, ulp=3).name


def test_an_edited_composite_has_the_laws_of_the_one_that_it_was():
    own = with_part("logaddexp", "log1p", "log(1 + x)")
    assert own.law == "logaddexp"
    assert ow.fuse(lambda x: own(x, x)).check(X).ok


def test_an_edit_that_means_something_else_is_found_by_check():
    own = with_part("softmax", "exp", "exp2(x)")
    with pytest.raises(ow.OpweaveError, match="outside its derived bound"):
        ow.fuse(lambda x: own(x)).check(X)


@pytest.mark.host
def test_a_part_that_was_edited_before_it_became_one_is_edited_like_others():
    square = OPERATORS["square"].with_opcodes("x * x * (T)2")
    norm = ow.reduction("norm", [square, "acc = 0", "acc + x", OPERATORS["sqrt"]], "float",
                        lambda acc, x: acc + x)  # fmt: skip
    own = norm.with_opcodes([*norm.opcodes[:-1], "x + 1"])

    assert np.allclose(ow.fuse(lambda x: own(x))(X), (2 * X * X).sum() + 1, rtol=1e-5)


REFUSED = {
    "another number of op-codes": (
        lambda: OPERATORS["softmax"].with_opcodes(["exp2(x)"]),
        r"softmax: expected a list of the \d op-codes of its parts \(.*exp.*\), found 1",
    ),
    "a text": (
        lambda: OPERATORS["sigmoid"].with_opcodes("exp2(x)"),
        "sigmoid: expected a list of the 4 op-codes",
    ),
    "one part in two ways": (
        lambda: OPERATORS["gelu"].with_opcodes(["x + y", *OPERATORS["gelu"].opcodes[1:]]),
        "gelu: multiply is there 6 times, and edited in two ways; edit all alike",
    ),
    "a bound of the whole": (
        lambda: with_part("softmax", "exp", "exp2(x)", ulp=3),
        "softmax: ulp= is that of one part",
    ),
    "a part that there is not": (
        lambda: OPERATORS["softmax"].with_opcodes({"sin": OPERATORS["sin"]}),
        r"softmax: expected the name of a part \(max, subtract, exp, sum, divide\), found 'sin'",
    ),
    "another operator for a part": (
        lambda: OPERATORS["softmax"].with_opcodes({"exp": OPERATORS["exp2"]}),
        r"exp: expected ow\.opcodes\.exp\.with_opcodes\(\.\.\.\), found exp2",
    ),
    "a part that can only be read": (
        lambda: OPERATORS["neighbour"].with_opcodes(["x"] * 5),
        "coordinate: expected an elementwise operator",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_edit_of_a_composite_is_refused_with_the_remedy(what):
    make, says = REFUSED[what]
    with pytest.raises(EditError, match=says):
        make()
