"""Op-code lists joined, shown to the scheduler, and refused in words."""

import functools
import pickle
import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import Fragment, OpCode, core, rules
from opweave.opcodes import errors as e
from tests.support.listed import (
    HERE,
    X,
    Y,
    bits,
    columns,
    listed,
    norm,
    o,
    pair,
    scale,
    shift,
    swap,
)

host = pytest.mark.host


# Joining

JOINED = {
    "by name": (lambda: scale + norm.renamed(z="y"), "scale_norm(x)", lambda x: norm(scale(x))),
    "by position": (lambda: scale + norm, "scale_norm(x)", lambda x: norm(scale(x))),
    "itself": (lambda: scale + scale + scale, "scale(x)", lambda x: scale(scale(scale(x)))),
    "an argument is left": (lambda: scale + shift, "scale_shift(x, b)", lambda x, b: shift(scale(x), b)),
    "a result is left": (lambda: pair.then(scale, x="p"), "pair_scale(u)",
                         lambda u: (pair(u)[1], scale(pair(u)[0]))),
    "two by position": (lambda: pair + swap, "pair_swap(u)", lambda u: swap(*pair(u))),
    "what is said": (lambda: pair.then(swap, a="q", b="p"), "pair_swap(u)",
                     lambda u: swap(*pair(u)[::-1])),
    "one result twice": (lambda: pair.then(swap, a="p", b="p"), "pair_swap(u)",
                         lambda u: (pair(u)[1], *swap(pair(u)[0], pair(u)[0]))),
    "an argument again": (lambda: scale.then(shift, b="x"), "scale_shift(x)", lambda x: shift(scale(x), x)),
    "an argument passed on": (lambda: listed("same", ow.load("v"), ow.store("w"), o.exp, ow.store()).then(scale, x="w"),
                              "same_scale(v)", lambda v: (np.exp(v), v * 2.0)),
    "a named result": (lambda: swap.then(norm, z="g"), "swap_norm(a, b)",
                       lambda a, b: (swap(a, b)[0], norm(swap(a, b)[1]))),
    "in place": (lambda: listed("i", ow.load("x"), o.exp, ow.store("x")) + scale, "i_scale(x)",
                 lambda x: np.exp(x) * 2.0),
    "joined again": (lambda: (scale + shift) + norm, "scale_shift_norm(x, b)",
                     lambda x, b: norm(shift(scale(x), b))),
    "in the other order": (lambda: scale + (shift + norm), "scale_shift_norm(x, b)",
                           lambda x, b: norm(shift(scale(x), b))),
    "with lists in them": (lambda: listed("n", ow.load("x"), pair.named("m", "k"), o.add("m", "k"), ow.store("y"))
                           + shift, "n_shift(x, b)", lambda x, b: (np.exp(x) + -np.exp(x)) + b),
    "edited": (lambda: (scale + norm).insert(o.exp, before="sum"), "scale_norm(x)",
               lambda x: x * 2.0 / np.exp(x * 2.0).sum(-1, keepdims=True)),
    "renamed": (lambda: shift.renamed(y="left", b="right", z="sum"), "shift(left, right)", lambda x, b: x + b),
}  # fmt: skip


@host
@pytest.mark.parametrize(("make", "head", "plain"), JOINED.values(), ids=list(JOINED))
def test_joined_lists_are_a_list_as_any_other(make, head, plain):
    k = make()
    args = (X, Y)[: len(k.arguments)]

    assert repr(k).startswith(f"<op-code kernel {head}>")
    assert bits(ow.fuse(k)(*args)) == bits(ow.fuse(plain)(*args))
    assert str(pickle.loads(pickle.dumps(k))) == str(k)


def test_a_joined_list_reads_as_if_written_by_hand():
    assert str(scale + norm).split("\n") == [
        "  0 load x",
        "  1 multiply       (2.0) -> y  // x * y",
        "  2 sum            (axis=-1, keepdims=True) -> s  // acc + x",
        "  3 divide         (y, s)  // x / y",
        "  4 store out",
    ]


def test_a_name_that_no_kernel_may_have_is_not_made():
    long = functools.reduce(lambda a, b: a + b, [scale, norm, *[scale] * 3])
    many = listed("a" * 60, ow.load("x"), o.exp, ow.store("x")) + listed("b" * 60, ow.load("x"), o.exp, ow.store("x"))  # fmt: skip

    assert long.name == "scale_norm_scale_scale_scale"
    assert many.name == "a" * 60


weight = listed("weight", ow.load("x"), ow.load("w"), o.multiply("x", "w"), ow.store("y"))
bias = listed("bias", ow.load("y"), ow.load("w"), o.add("y", "w"), ow.store("z"))
back = listed("back", ow.load("y"), o.exp, ow.store("x"))
# lists, what is said
NOT_JOINED = {
    "two candidates": (lambda: pair + scale, r"two|stores p, q and scale loads x"),
    "too few results": (lambda: scale + swap, r"counts differ; say what feeds what: scale\.then\(swap, a='y'\)"),
    "an argument that means two things": (lambda: weight + bias, r"'w' would be two arguments; .* bias\.renamed\(w=\"w_2\"\)"),
    "a result twice": (lambda: pair.then(scale.renamed(y="q"), x="p"), "'q' would be two results"),
    "a named result in both": (lambda: norm + norm, "'s' would be two results that are named"),
    "a named result and an argument": (lambda: norm.then(bias.renamed(w="s", z="o"), y="out"), "'s' would be a result and an argument"),
    "an argument and a named result": (lambda: scale + norm.renamed(s="x"), "'x' would be an argument and a result"),
    "a cycle": (lambda: scale + back, r"a cycle: scale loads 'x', which back stores"),
    "the wrong order": (lambda: shift + scale, r"a cycle: shift loads 'y', which scale stores"),
    "no such argument": (lambda: scale.then(shift, nothing="y"), "shift loads no 'nothing'"),
    "no such result": (lambda: scale.then(shift, b="nothing"), "scale has no result or argument 'nothing'"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), NOT_JOINED.values(), ids=list(NOT_JOINED))
def test_what_is_not_certain_is_refused_and_names_both_lists(make, message):
    with pytest.raises(e.EditError, match=message) as found:
        make()

    assert re.search(rf"\njoining \w+ {HERE} and \w+ {HERE}$", str(found.value))


def test_what_a_message_says_helps():
    assert (weight + bias.renamed(w="w_2")).arguments == ("x", "w", "w_2")
    assert weight.then(bias, w="w").arguments == ("x", "w")
    assert (scale + back.renamed(x="x_2")).results == ("x_2",)


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: scale.then(np.exp), e.EditError, "expected another op-code list"),
    (lambda: scale + 1, TypeError, "unsupported operand"),
    (lambda: scale.renamed(q="r"), e.EditError, "no 'q' to rename; it has x, y"),
    (lambda: scale.renamed(x="y"), e.EditError, "'y' is there already"),
    (lambda: scale.renamed(x="1"), e.NameRefusedError, "refused"),
    (lambda: scale.bind(X), e.ArgumentError, "numbers and names"),
    (lambda: scale.bind("x", "y"), e.ArgumentError, "too many"),
    (lambda: scale("x", "y"), e.ArgumentError, "too many"),
        (lambda: scale(X, X), e.ArgumentError, "takes 1"),
    (lambda: shift.bind(y="x"), e.ArgumentError, "all but the first"),
    (lambda: shift.bind(c="x"), e.ArgumentError, "unexpected"),
    (lambda: pair.named("a"), e.EditError, r"a name for each result \(p, q\), found 1"),
])  # fmt: skip
def test_wrong_kinds_are_typed_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


# What is wrong in a list, before anything is compiled: op-codes, what is said

BAD = {
    "a name that no one binds": ([ow.load("x"), o.add("nobody"), ow.store()],
                                 r"op-code 1, add: operand 'nobody' is neither"),
    "a stored name that no one binds": ([ow.load("x"), o.exp, ow.store("y", "nobody")],
                                        r"op-code 2, store y: operand 'nobody'"),
    "two stores of one name": ([ow.load("x"), ow.store("y"), o.exp, ow.store("y")],
                               r"op-code 3, store y: two stores have one name, op-code 1"),
    "a load after its use": ([ow.load("x"), o.add("w"), ow.load("w"), ow.store()],
                             r"op-code 1, add: operand 'w' is bound later, by op-code 2"),
    "a result before it is there": ([ow.load("x"), o.add("t"), o.exp().named("t"), ow.store()],
                                    r"op-code 1, add: operand 't' is bound later, by op-code 2"),
    "its own result": ([ow.load("x"), o.add("t").named("t"), ow.store()], "'t' is its own result"),
    "a store before a value": ([ow.store("y"), ow.load("x"), ow.store()],
                               r"op-code 0, store y: there is no value yet"),
    "an operator before a value": ([o.exp, ow.load("x"), ow.store()],
                                   r"op-code 0, exp: takes 1 operands, 0 given; there is no running"),
    "a name of two results": ([ow.load("x"), o.exp().named("t"), o.exp().named("t"), ow.store()],
                              r"op-code 2, exp: 't' names two values, op-code 1"),
    "a name of an argument": ([ow.load("x"), o.exp().named("x"), ow.store()],
                              r"op-code 1, exp: 'x' names two values, an argument"),
    "too few operands": ([ow.load("x"), o.where(1), ow.store()], "op-code 1, where: takes 3 operands, 1"),
    "too many operands": ([ow.load("x"), core.BoundOperator(ow.OPERATORS["exp"], ("x", 1)), ow.store()],
                          "op-code 1, exp: takes 1 operands, 2 given"),
    "too few operands of a list": ([ow.load("x"), shift, ow.store()],
                                   r"op-code 1, shift: takes 2 operands \(y, b\), 0 given"),
    "no running value for a list": ([ow.load("x"), pair.named("m", "n"), scale, ow.store()],
                                    r"op-code 2, scale: takes 1 operands \(x\), 0 given; there is no running"),
    "no running value to store": ([ow.load("x"), pair.named("m", "n"), ow.store()],
                                  r"op-code 2, store out: there is no value"),
    "results without names": ([ow.load("x"), pair, ow.store()],
                              r"op-code 1, pair: has 2 results \(p, q\); name each: pair\.named\('p', 'q'\)"),
    "nothing loaded": ([o.exp, ow.store()], "loads nothing"),
    "nothing stored": ([ow.load("x"), o.exp], "stores nothing"),
}  # fmt: skip


@pytest.mark.parametrize(("codes", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_list_is_refused_with_op_code_list_and_line(codes, message):
    with pytest.raises(e.EditError, match=message) as found:
        ow.kernel(codes, name="bad")

    assert str(found.value).startswith("bad: ")
    assert re.search(f"{HERE}$", str(found.value))


half = core.Operator(
    "half_of_floats", core.Kind.MAP,
    (OpCode("half", core.Phase.EPILOGUE, ("x",), (Fragment("x * 0.5f", "f"),)),),
    lambda x: x * np.float32(0.5), rules.BY_NAME["same"],
)  # fmt: skip
masked = listed("masked", ow.load("x"), o.bitwise_and(3), ow.store())
halved = listed("halved", ow.load("x"), o.absolute, half, ow.store())
FLOATS, INTEGERS = X, np.arange(6)
TYPES = {
    "no meaning": (masked, FLOATS, e.DTypeError, "op-code 1, bitwise_and, of masked"),
    "no row": (halved, INTEGERS, e.DTypeError, "op-code 2, half_of_floats, of halved"),
    "shapes": (shift, (X, X[:, :5]), e.ShapeError, "op-code 2, add, of shift"),
    "an axis": (columns, X[0], e.AxisError, "op-code 1, sum, of columns"),
}  # fmt: skip
WAYS = {
    "called": lambda k: k,
    "lowered": lambda k: lambda *a: k.lower(*a, target="sm_80"),
    "fused": lambda k: ow.fuse(lambda *a: k(*a), fullgraph=True),
    "scheduled": lambda k: lambda *a: ow.schedule([k], *a, target="sm_80"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize(("k", "given", "kind", "message"), TYPES.values(), ids=list(TYPES))
def test_a_dtype_or_shape_that_does_not_fit_names_op_code_list_and_line(
    k, given, kind, message, way
):
    args = given if isinstance(given, tuple) else (given,)

    with pytest.raises(kind, match=rf"{message} {HERE}"):
        way(k)(*args)


# The scheduler


def test_the_schedule_of_lists_names_kernels_op_codes_and_reasons():
    found = ow.schedule([scale, shift, norm], X, Y, target="sm_90a")

    assert found.kernels == ("scale_shift_norm_row_f32",)
    assert found.members == (("scale:1 multiply", "shift:2 add", "norm:1 sum", "norm:2 divide"),)
    assert any(re.match(r"add -> sum: fused, prologue: .* \(norm:1\)", d) for d in found.decisions)
    assert str(found).startswith("scale + shift + norm for sm_90a: 1 kernel(s)\nkernels:\n")
    assert "prologue" in str(found)
    assert "scale_shift_norm_row_f32" in found.source


def test_op_codes_of_a_list_in_a_list_have_their_own_place():
    inner = listed("inner", ow.load("x"), o.exp, scale, ow.store())

    assert ow.schedule([inner], X).members == (("inner:1 exp", "scale:1 multiply"),)


def test_the_schedule_of_lists_that_do_not_fuse_says_why():
    found = ow.schedule(
        [scale, shift, columns], ((4, 6), "float32"), ((6,), np.float32), target="host"
    )

    assert len(found.kernels) == 2
    assert "not fused:\n  reductions go over different spaces: sum -> max (columns:2)" in str(
        found
    )


def test_the_schedule_is_that_of_the_fused_function():
    found = ow.schedule([scale, scale, norm], X, target="sm_80")
    program = ow.fuse(lambda x: norm(scale(scale(x)))).lower(X, target="sm_80")

    assert found.members[0][:2] == ("scale#0:1 multiply", "scale#1:1 multiply")
    assert [d.split(":")[0] for d in found.decisions] == [
        str(d).split(":")[0] for d in program.lowered.schedule.decisions
    ]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: ow.schedule([]), e.EditError, "expected op-code lists"),
    (lambda: ow.schedule(scale, X), e.EditError, "expected op-code lists"),
    (lambda: ow.schedule([scale, np.exp], X), e.EditError, "found ufunc"),
    (lambda: ow.schedule([scale, back], X), e.EditError, "a cycle"),
    (lambda: ow.schedule([scale]), e.ArgumentError, "'x' is missing"),
    (lambda: ow.schedule([scale], X, target="sm_1"), e.ToggleError, "unknown target"),
])  # fmt: skip
def test_a_schedule_of_something_else_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_what_is_taken_out_of_a_joined_list_is_taken_out_of_its_part():
    """A load that only counts once an op-code is gone stays in the list."""
    codes = ow.opcodes
    first = ow.kernel([ow.load("y"), codes.remainder("y", 0.5), ow.store("q")], name="first")
    second = ow.kernel(
        [ow.load("q"), ow.load("z"), codes.logical_and(3), ow.load("q"), codes.trunc("z"),
         ow.store("h")], name="second",
    )  # fmt: skip
    edited, joined = (first + second).remove("trunc"), first + second.remove("trunc")

    assert str(edited) == str(joined)
    assert "load q" in str(first + second)


def test_what_is_put_into_a_joined_list_is_put_into_its_part():
    codes = ow.opcodes
    first = ow.kernel([ow.load("z"), codes.negative("z"), ow.store("y")], name="first")
    second = ow.kernel(
        [ow.load("y"), ow.load("v"), codes.sqrt().named("n"), ow.load("n"), ow.store("g")],
        name="second",
    )
    wanted = first + second.insert(codes.add("n"), after="sqrt")

    assert str((first + second).insert(codes.add("n"), after="sqrt")) == str(wanted)
