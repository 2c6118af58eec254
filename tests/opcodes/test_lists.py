"""Operators of several op-codes: each named result is that of an operator of its own."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import Fragment
from opweave.opcodes import errors as e

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
COMPLEX = ("complex64", "complex128")
TARGETS = ("host", "sm_80")


def sigmoid_times(x):
    return x / (1 + np.exp(-x))


# A list, its type rule, its meaning, and the types that it is for.
LISTS = {
    "swish": (["s = 1 / (1 + exp(-x))", "x * s"], "float", sigmoid_times, FLOATS),
    "cubic": (
        ["d = x - y", "q = d * d", "q * x + d"], "same",
        lambda x, y: (x - y) * (x - y) * x + (x - y), (*FLOATS, *INTEGERS, *COMPLEX),
    ),
    "above": (
        ["d = x * y", "d > x"], "bool", lambda x, y: x * y > x, (*FLOATS, *INTEGERS),
    ),
    "larger": (
        ["d = x * y", "if (d > x) return d; return x;"], "same",
        lambda x, y: np.maximum(x * y, x), (*FLOATS, *INTEGERS),
    ),
    "constant": (
        ["third = (T)1 / (T)3", "x * third + y"], "float", lambda x, y: x / 3 + y, FLOATS,
    ),
}  # fmt: skip


def values(name, seed):
    made = np.random.default_rng(seed).standard_normal((37, 41)) * 3
    if name in COMPLEX:
        made = made + 1j * made[::-1]
    return made.astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def taking(names, function=lambda *operands: operands[0]):
    """A function with these parameters, for an operator of a chain."""
    scope = {"f": function}
    return eval(f"lambda {', '.join(names)}: f({', '.join(names)})", scope)


def chain(name):
    """The list as operators of their own, one for each op-code; a function of the operands."""
    fragments, rule, meaning, _ = LISTS[name]
    params = meaning.__code__.co_varnames[: meaning.__code__.co_argcount]
    steps = []
    for number, text in enumerate(fragments):
        is_last = number == len(fragments) - 1
        bound, text = ("", text) if is_last else (s.strip() for s in text.split("=", 1))
        reads = [n for n in (*params, *(s[0] for s in steps)) if n in text.replace("exp", "")]
        reads = reads or [params[0]]  # a constant
        inner = "same" if rule == "bool" and not is_last else rule
        own = ow.operator(f"{name}_{number}", text, inner, taking(reads), replace=True)
        steps.append((bound, own, reads))

    def applied(*operands):
        known = dict(zip(params, operands, strict=True))
        for bound, own, reads in steps:
            known[bound] = own(*(known[n] for n in reads))
        return known[""]

    return applied


def operands_of(name, dtype):
    meaning = LISTS[name][2]
    return [values(dtype, seed) for seed in range(meaning.__code__.co_argcount)]


def one(name):
    fragments, rule, meaning, _ = LISTS[name]
    return ow.operator(name, fragments, rule, meaning, ulp=8, replace=True)


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX])
def test_a_list_has_the_bits_of_its_op_codes_as_operators(dtype, target):
    names = [name for name, row in LISTS.items() if dtype in row[3]]
    x, y = values(dtype, 0), values(dtype, 1)

    def all_of(operators):
        """One function of all operators, with a neighbour that they fuse with."""
        arities = {name: len(operands_of(name, dtype)) for name in operators}
        return lambda x, y: tuple(f(*(x * y, x)[: arities[n]]) for n, f in operators.items())

    lists = ow.fuse(all_of({name: one(name) for name in names}))
    chains = ow.fuse(all_of({name: chain(name) for name in names}))
    expected = chains.lower(x, y, target=target)(x, y)

    for fused in (lists, lists.unfused()):
        for theirs, ours in zip(expected, fused.lower(x, y, target=target)(x, y), strict=True):
            assert (theirs.dtype, theirs.tobytes()) == (ours.dtype, ours.tobytes())


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_one_node_of_a_line_for_each_op_code(name):
    fragments = LISTS[name][0]
    own = one(name)
    operands = operands_of(name, "float32")
    call = taking(["x", "y"][: len(operands)], own)
    program = ow.fuse(call).unfused().lower(*operands, target="sm_80")

    assert len(program.kernels) == 1
    codes = [line for line in program.kernels[0].opcodes if line.opcode is not None]
    *named, last = codes
    assert last.name == name
    assert [n.name for n in named] == [f"{name}.{text.split(' =')[0]}" for text in fragments[:-1]]
    for line in codes:
        assert (
            f"// {line.name}: {'b1' if (name, line) == ('above', last) else 'f32'}[" in line.source
        )
        assert line.source in program.source


def swish():
    return one("swish")


ROWS = np.linspace(-4, 4, 6000).reshape(60, 100).astype(np.float16)
WEIGHTS = np.linspace(-1, 1, 1600).reshape(100, 16).astype(np.float16)
PICTURE = np.linspace(0, 1, 3600).reshape(30, 40, 3).astype(np.float16)
# Every form of kernel that a list may stand in: as a prologue, as an epilogue, on row values.
FORMS = {
    "before a reduction": (lambda x: swish()(x).sum(axis=1), ROWS),
    "after a reduction": (lambda x: swish()(x.sum(axis=1)) * 2, ROWS),
    "on a row's value": (lambda x: x * swish()(x.max(axis=1, keepdims=True)), ROWS),
    "along columns": (lambda x: x * swish()(x.max(axis=0)), ROWS),
    "in a scan": (lambda x: np.cumsum(swish()(x), axis=1) + swish()(x), ROWS),
    "behind a product": (lambda x: swish()(x @ WEIGHTS), ROWS),
    "behind a product, by rows": (
        lambda x: swish()(x @ WEIGHTS) / swish()(x @ WEIGHTS).max(axis=1, keepdims=True), ROWS),
    "on pixels": (lambda x: swish()(ow.opcodes.saturation(x, 0.5)), PICTURE),
    "of a transpose": (lambda x: swish()(x.T) + 1, ROWS),
    "of one value": (lambda x: x * swish()(x.max()), ROWS),
    "twice": (lambda x: swish()(swish()(x)), ROWS),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_a_list_has_the_same_bits_wherever_it_stands(form, target):
    function, x = FORMS[form]
    fused = ow.fuse(function, fullgraph=True)
    program = fused.lower(x, target=target)

    assert program.check(x).ok
    assert program(x).tobytes() == fused.unfused().lower(x, target=target)(x).tobytes()


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_named_results_are_rounded_unless_it_is_fast(dtype):
    x = values(dtype, 0)
    apart = swish()
    whole = ow.operator(
        "swish_whole", "x * (1 / (1 + exp(-x)))", "float", sigmoid_times, replace=True
    )

    strict = ow.fuse(lambda x: apart(x))(x)
    assert strict.tobytes() != ow.fuse(lambda x: whole(x))(x).tobytes()
    fast = [ow.fuse(lambda x, f=f: f(x), fast=True)(x) for f in (apart, whole)]
    assert fast[0].tobytes() == fast[1].tobytes()


@pytest.mark.host
def test_a_name_of_a_list_is_no_name_of_the_users():
    twice = ow.operator(
        "twice_of", ["BLOCK = x + x", "j0 = BLOCK", "if (j0 > 0) return j0; return BLOCK;"], "same",
        lambda x: x + x, replace=True,
    )  # fmt: skip
    fused = ow.fuse(lambda v0_BLOCK, j0: twice(v0_BLOCK) + twice(j0))
    x = np.linspace(-1, 1, 50, dtype=np.float32)

    for target in TARGETS:
        np.testing.assert_array_equal(4 * x, fused.lower(x, x, target=target)(x, x))


@pytest.mark.host
def test_lists_stand_in_the_middle_of_a_function():
    def function(x):
        return ow.cuda(["s = x * x", "s + x"], x, numpy=lambda x: x * x + x, ulp=2) * 2

    x = np.linspace(1, 2, 50, dtype=np.float32)
    fused = ow.fuse(function, fullgraph=True)
    other = ow.fuse(
        lambda x: ow.cuda(["s = x * x", "s + x * s"], x, numpy=lambda x: x * x + x * (x * x))
    )

    np.testing.assert_array_equal(function(x), fused(x))
    assert fused.check(x).ok
    name = next(line.name for line in other.lower(x).kernels[0].opcodes if line.opcode)
    assert name not in fused.lower(x).source


# What is refused: the list, the error, pieces of its text.
BAD = {
    "nothing": ([], e.FragmentError, "expected a fragment, or a list of them; found none"),
    "no name": (["x * x", "x"], e.FragmentError, "op-code 1 of 2: expected 'name = expression'"),
    "statements in the middle": (
        ["s = x;", "s"], e.FragmentError, "op-code 1 of 2: expected 'name = expression'"),
    "a comparison": (["a == x", "x"], e.FragmentError, "expected 'name = expression'"),
    "no text": ([3, "x"], e.FragmentError, "expected 'name = expression'.*found 3"),
    "no text at the end": (["a = x", 3], e.FragmentError, "op-code 2 of 2.*found int"),
    "a named result": (["a = x", "b = a"], e.FragmentError, "op-code 2 of 2.*leave out 'b ='"),
    "one named result": ("b = x", e.FragmentError, "leave out 'b ='"),
    "unknown": (["a = q", "a"], e.FragmentError, "op-code 1 of 2, a: 'q'.*operands x, y;"),
    "bound later": (["t = s", "s = x", "t * s"], e.FragmentError, "'s', which op-code 2 binds"),
    "read by itself": (["s = s + x", "s"], e.FragmentError, "'s', which itself binds"),
    "not read": (["s = x", "x"], e.FragmentError, "op-code 1 of 2, s.*use it, or take"),
    "an operand's name": (["x = y", "x"], e.NameRefusedError, "name 'x' refused: an operand"),
    "twice": (["s = x", "s = s * s", "s"], e.NameRefusedError, "op-code 2 of 3.*an earlier result"),
    "a keyword": (["int = x", "x"], e.NameRefusedError, "op-code 1 of 2.*keyword"),
    "a slot": (["T = x", "T"], e.NameRefusedError, "'T' refused: it means something else"),
    "reserved": (["__s = x", "__s"], e.NameRefusedError, "op-code 1 of 2.*reserves"),
    "a function": (["exp = x", "exp(exp)"], e.NameRefusedError, "calls a function of that name"),
    "unbalanced": (["a = (x", "a"], e.FragmentError, "op-code 1 of 2, a: unclosed"),
    "a reduction's": (ow.opcodes.sum.opcodes, e.FragmentError, "expected an elementwise op-code"),
    "a product's": (ow.opcodes.matmul.opcodes, e.FragmentError, "expected an elementwise op-code"),
    "another arity": (
        ow.opcodes.where.opcodes, e.FragmentError, "operands among x, y, found 'condition'"),
    "two results": (ow.opcodes.divmod.opcodes, e.FragmentError, "expected 1 results, found 2"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_list_that_breaks_a_rule_is_refused(what):
    fragments, error, piece = BAD[what]

    with pytest.raises(error, match=piece) as caught:
        ow.operator("broken", fragments, "float", lambda x, y: x, replace=True)
    assert str(caught.value).startswith("broken: ")
    with pytest.raises(error, match=piece):
        ow.cuda(fragments, 1.0, 2.0, numpy=lambda x, y: x)
    assert "broken" not in ow.OPERATORS


@pytest.mark.host
def test_a_compiler_s_complaint_names_the_op_code_of_the_list():
    own = ow.operator(
        "seeded_list", ["s = no_such(x)", "x * s"], "float", lambda x: x, replace=True
    )

    with pytest.raises(e.CompileError) as caught:
        ow.fuse(lambda x: own(x) + 1)(ROWS)
    assert caught.value.opcode == "seeded_list.s"


def with_opcodes(name, codes, **more):
    return ow.OPERATORS[name].with_opcodes(codes, **more)


def made(codes, numpy):
    return ow.operator("made", codes, "float", numpy, ulp=8, replace=True)


H = np.hypot
# How lists are edited: the operator, what its kernel says then, and what it means.
EDITS = {
    "another list": (
        lambda: with_opcodes("hypot", ["s = x * x + y * y", "sqrt(s)"], ulp=2), "sqrt(v0_s)", H),
    "a row by dtype": (
        lambda: with_opcodes("maximum", [
            replace(ow.opcodes.maximum.opcodes[0], rows=(Fragment("x < y ? y : x", "f"),))]),
        "x_v[c][l] < y_v[c][l] ? y_v[c][l] : x_v[c][l]", np.maximum),
    "another op-code behind": (
        lambda: made([ow.opcodes.hypot.opcodes[0].named("h"), "log(h)"],
                     lambda x, y: np.log(np.hypot(x, y))),
        "log(v0_h)", lambda x, y: np.log(np.hypot(x, y))),
    "an op-code that reads a named one": (
        lambda: made(["x_ = x + y", replace(ow.opcodes.log.opcodes[0], params=("x_",),
                                            rows=(Fragment("log(x_)", "f"),))],
                     lambda x, y: np.log(x + y)),
        "log(v0_x_)", lambda x, y: np.log(x + y)),
    "the same list": (
        lambda: made(list(ow.opcodes.hypot.opcodes), H), "hypot(x_v[c][l], y_v[c][l])", H),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("what", EDITS)
def test_a_list_can_be_edited_and_built(what):
    edit, text, meaning = EDITS[what]
    own = edit()
    x = np.linspace(0.5, 2, 100, dtype=np.float32)
    fused = ow.fuse(lambda x, y: own(x, y) + x)

    assert text in fused.lower(x, 2 * x, target="sm_80").source
    assert fused.check(x, 2 * x).ok
    np.testing.assert_allclose(fused(x, 2 * x), meaning(x, 2 * x) + x, rtol=1e-5)


@pytest.mark.host
def test_an_edited_operator_stands_beside_the_old_one():
    wrong = with_opcodes("exp", "x + 1")
    x = np.linspace(0, 2, 100, dtype=np.float32)
    fused = ow.fuse(lambda x: (np.exp(x), wrong(x)))

    exp, other = fused(x)
    np.testing.assert_array_equal(x + 1, other)
    np.testing.assert_allclose(np.exp(x), exp, rtol=1e-5)
    assert ow.opcodes.exp.opcodes[0].rows[0].text == "exp(x)"
    with pytest.raises(e.CheckError, match="out1"):  # its meaning stays
        fused.check(x)
    kernel = ow.fuse(lambda x: np.exp(x) + x).lower(x).kernels[0].replace("exp", wrong)
    np.testing.assert_array_equal((x + 1) + x, kernel(x))


@pytest.mark.host
def test_statements_of_several_results_can_be_edited():
    own = with_opcodes("divmod", "r0 = floor_div(x, y); r1 = x - r0 * y;")
    x = np.linspace(0.5, 9, 100, dtype=np.float32)

    for theirs, ours in zip(np.divmod(x, 2), ow.fuse(lambda x: own(x, 2))(x), strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-6)


REFUSED = {
    "of a product": ("matmul", "x", e.FragmentError, "an expression that reads acc, x and y"),
    "of a composite": ("softmax", "x", e.EditError, "a list of the 7 op-codes of its parts"),
    "of a view": ("reshape", "x", e.EditError, "kind move: it has no fragment but an index map"),
    "of a gather": ("gather_1d", "x", e.EditError, "elementwise"),
    "of channels": ("grey", ["a = red", "a"], e.EditError, "one op-code over channels, found 2"),
    "too few results": ("divmod", ow.opcodes.add.opcodes, e.FragmentError, "2 results, found 1"),
    "no results": ("divmod", "x", e.FragmentError, "assign r0 to r1, found the expression 'x'"),
    "an unknown operand": ("exp", "x + y", e.FragmentError, "'y' in fragment"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_edit_that_does_not_fit_is_refused(what):
    name, codes, error, piece = REFUSED[what]

    with pytest.raises(error, match=piece) as caught:
        with_opcodes(name, codes)
    assert str(caught.value).startswith(f"{name}: ")


def test_a_dtype_without_a_row_is_refused_where_it_is_traced():
    row = replace(ow.opcodes.maximum.opcodes[0], rows=(Fragment("x < y ? y : x", "f"),))
    own = with_opcodes("maximum", [row.named("m"), "m + x"])

    for name in ("int32", "complex64"):
        with pytest.raises(e.DTypeError, match=f"no op-code m for {name}"):
            ow.fuse(lambda x: own(x, x), fullgraph=True).lower(np.ones(5, name))


def test_a_list_prints_in_one_line_in_a_list_of_kernels():
    kernel = ow.kernel([ow.load("x"), swish(), ow.opcodes.sum(), ow.store()])

    assert "// s = 1 / (1 + exp(-x)); x * s" in str(kernel)
    assert "// acc + x" in str(kernel)


def test_a_list_prints():
    assert str(swish()).split("\n") == [
        "map swish(x)",
        "epilogue   s              any                 1 / (1 + exp(-x))",
        "epilogue   swish          any                 x * s",
    ]
