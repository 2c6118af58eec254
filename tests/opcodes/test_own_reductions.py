"""Reductions and scans as lists: what they begin with, and how two values are joined."""

from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from opweave.opcodes.codes import Fragment, Phase

o = ow.opcodes
TARGETS = ("host", "sm_80")
RNG = np.random.default_rng(0)


def most(acc):
    return np.iinfo(acc.dtype).max


def saturated(acc, x):
    return np.where(acc > most(acc) - x, most(acc), acc + x)


SATURATED = {"u": "acc > highest<T>() - x ? highest<T>() : (T)(acc + x)"}
# A list, its type rule, the meaning of a step, types that it is for.
LISTS = {
    "xor_all": (["acc = 0", {"iu": "acc ^ x"}], "same", np.bitwise_xor, ("int8",)),
    "and_all": (
        [{"i": "acc = -1", "u": "acc = highest<T>()", "b": "acc = true"}, "acc & x"], "same",
        np.bitwise_and, ("bool", "uint8"),
    ),
    "saturated_sum": (["acc = 0", SATURATED], "same", saturated, ("uint8",)),
    "length": (
        [o.absolute, {"f": "acc = 0"}, "hypot(acc, x)"], "float", np.hypot, ("float16", "int16")),
    "root_of_squares": (
        [o.square, "acc = 0", "acc + x", o.multiply(0.5), o.sqrt], "float", np.add,
        ("float16",),
    ),
    "largest": (list(o.max.opcodes), "same", np.maximum, ("int16",)),
}  # fmt: skip


def values(name, shape=(37, 70)):
    made = RNG.standard_normal(shape) * 20
    return np.abs(made).astype(name) if name[0] == "u" else made.astype(name)


def own(name, kind="reduction"):
    codes, rule, meaning, _ = LISTS[name]
    return getattr(ow, kind)(f"{name}_{kind}", codes, rule, meaning, ulp=2, replace=True)


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_a_reduction(name, target):
    reduced = own(name)
    for dtype in LISTS[name][3]:
        x = values(dtype)
        fused = ow.fuse(lambda x: (reduced(x + x, axis=1), reduced(x, axis=0), reduced(x)))
        program = fused.lower(x, target=target)
        results = program(x)

        assert program.check(x).ok
        for one, other in zip(results, fused.unfused().lower(x, target=target)(x), strict=True):
            assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
        for one, meant in zip(results, fused.reference(x), strict=True):
            assert one.dtype == meant.dtype
            np.testing.assert_allclose(one, meant, rtol=2e-3 if dtype == "float16" else 1e-5)


SCANS = {
    "xor_all": ["acc = 0", {"iu": "acc ^ x"}],
    "saturated_sum": ["acc = 0", SATURATED],
    "own_cumsum": [{"f": "acc = -0.0f", "iu": "acc = 0"}, {"f": "acc + x", "iu": "acc + x"}],
}


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SCANS)
def test_a_list_is_a_scan(name, target):
    meaning = LISTS[name][2] if name in LISTS else np.add
    scanned = ow.scan(f"{name}_scan", SCANS[name], "same", meaning, replace=True)
    x = values("float16" if name == "own_cumsum" else "uint8")
    fused = ow.fuse(lambda x: (scanned(x + x), scanned(x, axis=0)))
    program = fused.lower(x, target=target)

    assert program.check(x).ok
    for one, other in zip(program(x), fused.unfused().lower(x, target=target)(x), strict=True):
        assert one.tobytes() == other.tobytes()


ROWS = values("float16", (60, 100)) / 20
WEIGHTS = values("float16", (100, 16)) / 20
LONG = values("float16", (2, 70_000)) / 2000
# Forms of kernels that take a reduction, besides rows and columns.
FORMS = {
    "several blocks": (lambda f, x: f(x * x, axis=1), LONG),
    "behind a product": (lambda f, x: f(x @ WEIGHTS, axis=1), ROWS),
    "of pixels": (lambda f, x: f(o.saturation(x[:, :99].reshape(60, 33, 3), 0.5), axis=2), ROWS),
    "twice": (lambda f, x: f(x - f(x, axis=1, keepdims=True), axis=1), ROWS),
    "at chosen places": (lambda f, x: f(np.where(x > 0, x, x.dtype.type(0)).T, axis=1), ROWS),
}


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_the_list_of_sum_has_the_bits_of_sum_in_every_form(form, target):
    function, x = FORMS[form]
    listed = ow.reduction("own_sum", ["acc = 0", "acc + x"], "same", np.add, replace=True)
    fused = ow.fuse(lambda x: function(listed, x), fullgraph=True)
    expected = ow.fuse(lambda x: function(np.sum, x)).lower(x, target=target)(x)

    assert fused.lower(x, target=target)(x).tobytes() == expected.tobytes()


@pytest.mark.host
def test_a_reduction_can_be_edited():
    x = values("float32", (30, 50)) ** 2
    capped = o.sum.with_opcodes("min_nan(acc + x, (T)1)")
    for axis in (0, 1):
        fused = ow.fuse(lambda x, axis=axis: capped(x * 2, axis=axis) + 1)

        np.testing.assert_array_equal(fused(x), np.full(x.shape[1 - axis], 2, x.dtype))
        assert fused.check(x / 2**30).ok
        with pytest.raises(e.CheckError):  # its meaning stays
            fused.check(x)
    code = "min_nan(sum_"
    assert code in ow.fuse(lambda x: capped(x, axis=1)).lower(x, target="sm_80").source


@pytest.mark.host
@pytest.mark.parametrize("name", ["sum", "prod", "max", "cumsum", "cummin"])
def test_an_edit_that_says_the_same_has_the_same_bits(name):
    row = ow.OPERATORS[name]
    x = values("float32", (20, 30)) / 8
    whole = ow.fuse(lambda x: row(x * x, axis=1)).lower(x)(x)
    accumulate = row.opcode(Phase.ACCUMULATE).row("f")
    again = (
        row.with_opcodes(list(row.opcodes)),
        row.with_opcodes([{"f": f"acc = {accumulate.start}"}, {"f": accumulate.text}]),
        row.with_opcodes({"f": accumulate.text}),
    )

    for edited in again:
        fused = ow.fuse(lambda x, f=edited: f(x * x, axis=1))
        assert fused(x).tobytes() == whole.tobytes()
        assert fused.check(x).ok
    assert again[1].opcodes[0].rows == again[2].opcodes[0].rows


def test_an_operator_of_arrays_has_its_meaning():
    xor, length = own("xor_all"), own("length")
    x, y = values("int8", (3, 4, 5)), values("float16", (4, 3000))

    for axis in (None, 0, -1, (0, 2)):
        for keepdims in (False, True):
            meant = np.bitwise_xor.reduce(x, axis=axis, keepdims=keepdims)
            found = xor(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(found, meant)
            assert (found.dtype, np.shape(found)) == (meant.dtype, np.shape(meant))
    assert xor(x[:0], axis=0).tolist() == np.zeros((4, 5)).tolist()
    exact = np.sqrt(np.sum(np.square(y, dtype=np.float64), axis=1))  # each step in float32
    np.testing.assert_allclose(length(y, axis=1), exact, rtol=1e-3)
    scanned = ow.scan("xors", ["acc = 0", "acc ^ x"], "same", np.bitwise_xor, replace=True)
    for axis in range(3):
        np.testing.assert_array_equal(scanned(x, axis=axis), np.bitwise_xor.accumulate(x, axis))


@pytest.mark.host
def test_own_reductions_stand_in_lists_of_kernels():
    kernel = ow.kernel([ow.load("x"), o.square, own("length")(axis=1), ow.store()])
    x = values("float32")

    np.testing.assert_allclose(kernel(x), own("length")(x * x, axis=1), rtol=1e-5)
    assert "// composite" in str(kernel)


def test_a_list_of_a_reduction_prints():
    assert str(own("saturated_sum")).split("\n") == [
        "reduce saturated_sum_reduction(x, axis=None, keepdims=False)",
        "accumulate saturated_sum_reduction uint                "
        "acc > highest<T>() - x ? highest<T>() : (T)(acc + x)  (begins with 0)",
        "reduce     saturated_sum_reduction uint                "
        "acc > highest<T>() - x ? highest<T>() : (T)(acc + x)",
    ]
    head = str(own("root_of_squares")).split("\n")[0]
    assert head.endswith(" = square, root_of_squares_reduction_acc, multiply, sqrt")


@pytest.mark.host
def test_nothing_reduced_is_what_the_list_begins_with():
    empty = np.zeros((0, 4), np.uint8)
    fused = ow.fuse(lambda x: own("and_all")(x, axis=0))

    np.testing.assert_array_equal(fused(empty), np.full(4, 255, np.uint8))
    unread = ow.reduction(
        "unread", [{"f": "acc = min(0.0f, 1.0f)"}, "acc + x"], "same", np.add, replace=True
    )  # fmt: skip
    for call in (unread, ow.fuse(lambda x, axis: unread(x, axis=axis), static_argnames="axis")):
        with pytest.raises(e.ShapeError, match="zero elements to reduce"):
            call(empty.astype(np.float32), axis=0)


ADD = o.sum.opcodes
NARROW = replace(ADD[1], rows=(Fragment("acc + x", "f"),))
# What is refused: the list, its meaning, pieces of the text.
BAD = {
    "nothing": ([], np.add, "expected how two values are joined.*found none"),
    "no beginning": ("acc + x", np.add, "expected 'acc = 0' and 'acc \\+ x'"),
    "no join": (["acc = 0"], np.add, "expected how two values are joined.*'acc = 0'"),
    "a phase out of order": (
        ["acc + x", "acc = 0"], np.add, "op-code 2 of 2: expected how .*put what it begins with"),
    "op-codes out of order": (ADD[::-1], np.add, "accumulate after reduce: put it before"),
    "one op-code": (ADD[:1], np.add, "an accumulate and a reduce op-code, found accumulate"),
    "an assignment": (["acc = 0", "acc = acc + x"], np.add, "leave out 'acc ='"),
    "two beginnings": (["acc = 0", "acc = 1", "acc + x"], np.add, "op-code 2 of 3"),
    "a map as text": (["x * x", "acc = 0", "acc + x"], np.add, "op-code 1 of 3.*found 'x \\* x'"),
    "an unbound name": (["acc = 0", "acc + q"], np.add, "'q'.*none of its operands acc, x"),
    "x is not read": (["acc = 0", "acc"], np.add, "that reads acc and x; found 'acc'"),
    "statements": (["acc = 0", "return acc + x;"], np.add, "an expression; found statements"),
    "not associative": (["acc = 0", "acc - x"], np.subtract, "associative"),
    "not associative to NumPy": (
        ["acc = 0", "min_nan(acc + x, (T)1)"], lambda acc, x: np.minimum(acc + x, 1),
        r"associative.*f\(f\(a, b\), c\) = .* for a = "),
    "not commutative": (["acc = 0", "acc + 0 * x"], lambda acc, x: acc + 0 * x, "commutative"),
    "it begins with a wrong number": (
        ["acc = 1", "acc + x"], np.add, r"begins with 1 and so changes no value.*f\(1, a\)"),
    "another number of rows": ((ADD[0], NARROW), np.add, "rows for the kinds bcfiu.*found f"),
    "an elementwise op-code": (o.add.opcodes, np.add, "accumulate and a reduce op-code"),
    "an operator in the middle": (["acc = 0", o.exp, "acc + x"], np.add, "op-code 2 of 3"),
    "a composite": ([o.softmax, "acc = 0", "acc + x"], np.add, "softmax, of kind composite"),
    "an operand too few": ([o.add, "acc = 0", "acc + x"], np.add, "add takes 2 operands"),
    "a meaning of one": (["acc = 0", "acc + x"], np.exp, "meaning of two values"),
    "a meaning that raises": (["acc = 0", "acc + x"], lambda acc, x: 1 // 0, "ZeroDivisionError"),
    "no text": ([3, "acc + x"], np.add, "expected texts.*found 3"),
    "an unknown kind": (["acc = 0", {"q": "acc + x"}], np.add, r"kinds of dtypes of fciub.*'q'"),
    "not nonnegative": (["acc = 0", "hypot(acc, x)"], np.hypot, "changes no value.*a = -3.0"),
}  # fmt: skip


IN_ORDER = "not commutative"  # as the elements of a scan stay


@pytest.mark.parametrize(
    ("what", "kind"),
    [(w, k) for w in BAD for k in ("reduction", "scan") if (w, k) != (IN_ORDER, "scan")],
)
def test_a_list_that_breaks_a_rule_is_refused(what, kind):
    codes, meaning, piece = BAD[what]

    with pytest.raises(e.FragmentError, match=piece) as caught:
        getattr(ow, kind)("broken", codes, "same", meaning, replace=True)
    assert str(caught.value).startswith("broken")
    assert "broken" not in ow.OPERATORS


def test_a_scan_begins_with_what_leaves_all_bits():
    with pytest.raises(e.FragmentError, match=r"-0\.0 loses its sign; begin with -0\.0f"):
        ow.scan("broken", ["acc = 0", "acc + x"], "same", np.add)


def test_a_wrong_argument_is_refused():
    codes = ["acc = 0", "acc + x"]

    with pytest.raises(e.DTypeError, match="unknown type rule 'any'"):
        ow.reduction("broken", codes, "any", np.add)
    with pytest.raises(e.ArgumentError, match="like='mean'"):
        ow.reduction("broken", codes, "same", np.add, like="mean")
    with pytest.raises(e.NameRefusedError, match="'sum' is taken"):
        ow.reduction("sum", codes, "same", np.add)


# What an accumulate op-code begins with, and types that do not hold it.
BEGUN = {
    "-1": ("uint8", "bool"),
    "300": ("int8",),
    "0.5": ("int32",),
    "1e300": ("float32",),
    "infinity<T>()": ("int64",),
    "lowest<T>()": ("float64",),
}


@pytest.mark.parametrize("text", BEGUN)
def test_what_a_dtype_does_not_hold_is_refused_where_it_is_traced(text):
    wrong = o.max.with_opcodes([f"acc = {text}", "acc > x ? acc : x"])

    for name in BEGUN[text]:
        with pytest.raises(e.DTypeError, match="it begins with") as caught:
            ow.fuse(lambda x: wrong(x), fullgraph=True).lower(np.ones(5, name))
        assert "test_own_reductions.py:" in str(caught.value)


def test_a_dtype_without_a_row_is_refused_where_it_is_traced():
    for name in ("float32", "complex64"):
        with pytest.raises(e.DTypeError, match=f"no op-code.* for {name}"):
            ow.fuse(lambda x: own("xor_all")(x), fullgraph=True).lower(np.ones(5, name))
    plain = ow.reduction("plain_xor", ["acc = 0", "acc ^ x"], "same", np.bitwise_xor, replace=True)
    with pytest.raises(e.DTypeError, match="no op-code for float32"):  # nor has NumPy a meaning
        ow.fuse(lambda x: plain(x), fullgraph=True).lower(np.ones(5, "float32"))
