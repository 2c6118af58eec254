"""Products as lists: over other operations than + and *, by the same kernels."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

TARGETS = ("host", "sm_80")
RNG = np.random.default_rng(0)
LOW = {"f": "acc = -infinity<T>()", "iu": "acc = lowest<T>()"}
# A list, its meaning, and types that it is for.
LISTS = {
    "maxplus": (
        [LOW, {"f": "max_nan(acc, x + y)", "iu": "max(acc, (T)(x + y))"}], (np.add, np.maximum),
        ("float16", "int16")),
    "common": (["acc = 0", {"iu": "acc | (x & y)"}], (np.bitwise_and, np.bitwise_or), ("uint8",)),
    "squares": (
        ["acc = 0", {"f": "acc + x * x * y"}], (lambda x, y: x * x * y, np.add), ("float32",)),
}  # fmt: skip


def own(name):
    codes, meaning, _ = LISTS[name]
    return ow.product(f"own_{name}", codes, "same", meaning, ulp=2, replace=True)


def values(dtype, *shape):
    return (RNG.standard_normal(shape) * 4).astype(dtype)


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_a_product(name, target):
    multiplied = own(name)
    for dtype in LISTS[name][2]:
        x, y = values(dtype, 37, 53), values(dtype, 53, 29)
        fused = ow.fuse(lambda x, y: multiplied(x, y) + y[0])
        program = fused.lower(x, y, target=target)
        result = program(x, y)

        assert program.check(x, y).ok
        assert result.tobytes() == fused.unfused().lower(x, y, target=target)(x, y).tobytes()
        tol = 4e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(result, fused.reference(x, y), rtol=tol, atol=tol)


A, B = values("float32", 37, 53), values("float32", 53, 29)
FORMS = {
    "rows of the result": (lambda f, x, y: f(x, y) - f(x, y).max(axis=1, keepdims=True), A, B),
    "a batch": (lambda f, x, y: f(x, y), values("float32", 3, 20, 30), values("float32", 30, 9)),
    "one column": (lambda f, x, y: f(x, y), A, B[:, :1].copy()),
    "transposed": (lambda f, x, y: f(y.T, x.T) * 2, A, B),
    "large": (lambda f, x, y: f(x, y), values("float32", 64, 70), values("float32", 70, 65)),
    "no depth": (lambda f, x, y: f(x, y), np.zeros((3, 0), "f4"), np.zeros((0, 4), "f4")),
}


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_max_plus_is_exact_but_for_the_sum_in_every_form(form, target):
    function, x, y = FORMS[form]
    program = ow.fuse(lambda x, y: function(own("maxplus"), x, y)).lower(x, y, target=target)

    def plainly(x, y):
        terms = x[..., :, :, None] + y[..., None, :, :]
        return np.max(terms, axis=-2, initial=-np.inf)

    np.testing.assert_array_equal(program(x, y), function(plainly, x, y))
    assert "cblas" not in program.source


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
def test_the_product_can_be_edited(target):
    rounded = ow.opcodes.matmul.with_opcodes({"f": "acc + x * y"})
    again = ow.opcodes.matmul.with_opcodes(list(ow.opcodes.matmul.opcodes))
    fused = ow.fuse(lambda x, y: (rounded(x, y), again(x, y))).lower(A, B, target=target)
    expected = ow.fuse(np.matmul).lower(A[:20], B, target=target)(A[:20], B)
    apart = np.zeros((37, 29), np.float32)
    for k in range(53):
        apart = apart + A[:, k : k + 1] * B[k]

    assert "acc[i][q][l] + left[i] * right[q][l];" in fused.source
    assert fused.check(A, B).ok  # it still means np.matmul
    np.testing.assert_array_equal(fused(A, B)[0], apart)
    np.testing.assert_allclose(fused(A, B)[1][:20], expected, rtol=1e-5, atol=1e-5)


def test_an_operator_of_arrays_has_its_meaning():
    x, y = values("int16", 2, 3, 4), values("int16", 4, 5)
    meant = np.max(x[..., None] + y, axis=-2)

    found = own("maxplus")(x, y)
    np.testing.assert_array_equal(found, meant)
    assert found.dtype == meant.dtype


def test_a_list_of_a_product_prints():
    assert str(own("common")).split("\n") == [
        "contract own_common(x, y)",
        "load       load_tile                          "
        "(templates/tile_macros.cu.j2: load_tile, of x and of y)",
        "accumulate own_common     int/uint            acc | (x & y)  (begins with 0)",
        "reduce     own_common     int/uint            acc",
    ]


SUM = (np.multiply, np.add)
# What is refused: the list, its meaning, pieces of the text.
BAD = {
    "no beginning": ("acc + x * y", SUM, "expected 'acc = 0' and"),
    "out of order": (["acc + x * y", "acc = 0"], SUM, "put what it begins with before"),
    "an unbound name": (["acc = 0", "acc + x * z"], SUM, "'z'.*operands acc, x, y"),
    "y is not read": (["acc = 0", "acc + x"], SUM, "an expression that reads acc, x and y"),
    "statements": (["acc = 0", "return acc + x * y;"], SUM, "an expression; found statements"),
    "op-codes of a sum": (ow.opcodes.sum.opcodes, SUM, "load_tile, accumulate and reduce"),
    "no pair": (["acc = 0", "acc + x * y"], np.matmul, r"\(combine, join\).*np.maximum"),
    "a wrong beginning": (["acc = 1", "acc + x * y"], SUM, "begins with 1 and so changes"),
    "what fills tiles up": (
        [LOW, {"f": "max_nan(acc, x * y)", "iu": "max(acc, (T)(x * y))"}],
        (np.multiply, np.maximum),
        r"tiles are filled up with 0 in x .*f\(-infinity<T>\(\), a\) = nan"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_list_that_breaks_a_rule_is_refused(what):
    codes, meaning, piece = BAD[what]

    with pytest.raises(e.FragmentError, match=piece) as caught:
        ow.product("broken", codes, "same", meaning, replace=True)
    assert str(caught.value).startswith("broken")
    assert "broken" not in ow.OPERATORS


def test_what_a_dtype_has_no_row_for_is_refused_where_it_is_traced():
    for name in ("float32", "complex64"):
        x = np.ones((2, 2), name)
        with pytest.raises(e.DTypeError, match=f"no op-code.* for {name}"):
            ow.fuse(lambda x: own("common")(x, x), fullgraph=True).lower(x)
    with pytest.raises(e.ArgumentError, match="like='mean'"):
        ow.product("broken", ["acc = 0", "acc + x * y"], "same", SUM, like="mean")
    with pytest.raises(e.DTypeError, match="unknown type rule 'sum'"):
        ow.product("broken", ["acc = 0", "acc + x * y"], "sum", SUM)
