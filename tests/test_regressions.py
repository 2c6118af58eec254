"""Faults that were found once, each with the smallest program that shows it."""

import math

import numpy as np
import pytest
from data import dtype_of, hold, wide

import opweave as ow
from opweave.compiler.ir.names import template_names
from opweave.opcodes import dtypes
from opweave.opcodes import errors as e

X = np.arange(6, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)
host = pytest.mark.host

# Names of the templates, of helpers, and what the compiler derives from names.
NAMES = ["c", "l", "j", "j0", "row", "lane", "width", "chunks", "active", "first", "last", "part",
         "mine", "other", "load", "store", "load_chunk", "max_nan", "WARP_SHARE", "BLOCK", "x_v",
         "out_v", "x_s0", "sum0_acc", "sum0", "v0", "s0", "n0", "out", "cols", "rows", "T",
         "ROW_CHUNKS", "USE_FAST_MATH", "exp", "partials", "x_row", "x_kept", "n0_n1",
         "tile", "tiles", "carry", "cumsum0", "cumsum0_carry", "row0", "before", "start"]  # fmt: skip


def named(template, name):
    scope = {"np": np}
    exec(f"def f(x, {name}):\n    return {template.format(n=name)}", scope)
    return scope["f"]


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("name", NAMES)
def test_an_argument_may_have_any_name(name, target):
    for template in ("x * {n} + 1", "(np.exp(x) * {n}).sum(axis=-1) + x.max()",
                     "(x * {n}).cumsum(axis=-1) + x"):  # fmt: skip
        function = named(template, name)
        for second in (2.5, M + 1):
            program = ow.fuse(function).lower(M, second, target=target)
            assert program.check(M, second).ok
            hold(program, (M, second), function(*wide(M, second)), program(M, second))


def test_every_name_of_the_templates_is_known():
    assert {"c", "l", "j0", "load_chunk", "max_nan", "width", "FULL_WARP"} <= template_names()


@host
def test_static_values_that_compare_equal_are_told_apart():
    fused = ow.fuse(lambda x, n: x * n, static_argnames="n")
    x = np.arange(3)

    assert [fused(x, n).dtype for n in (1, 1.0, 1)] == [np.int64, np.float64, np.int64]
    nested = ow.fuse(lambda x, n: x * n[0], static_argnames="n")
    assert [nested(x, n).dtype for n in ((2,), (2.0,))] == [np.int64, np.float64]
    signed = ow.fuse(lambda x, s: x * math.copysign(1, s))
    np.testing.assert_array_equal([X, -X], [signed(X, 0.0), signed(X, -0.0)])


@host
def test_dtype_names_are_numpys():
    x = np.arange(300).astype("u1")

    assert ow.fuse(lambda x: x.astype("u8"))(x).dtype == np.uint64
    assert ow.fuse(lambda x: x.sum(dtype="u8"))(x) == x.sum(dtype="u8")


@host
def test_an_edit_keeps_the_shape_class_of_its_program():
    fused = ow.fuse(lambda x: x - np.max(x, axis=-1, keepdims=True))
    fused.lower(np.ones((5, 8), np.float32), target="sm_80")
    big = np.random.default_rng(0).random((5, 1000)).astype(np.float32)
    program = fused.lower(big, target="sm_80")
    kernel = program.kernels[0].insert(ow.opcodes.multiply(2.0), before="store")

    assert kernel.toggles == program.kernels[0].toggles
    assert kernel.check(big).ok


def test_an_edit_keeps_64_bit_offsets():
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (3,), (2**30,))
    program = ow.fuse(lambda a: a + 1).lower(x)
    kernel = program.kernels[0].insert(ow.opcodes.add(1), before="store")

    assert program.kernels[0].toggles["USE_64BIT_INDEX"] == 1
    assert kernel.toggles["USE_64BIT_INDEX"] == 1


REDUCES = [
    (lambda x: np.maximum.reduce(x, where=x > 3), e.UnsupportedError),
    (lambda x: np.add.reduce(x, axis=0, out=x * 1), e.ShapeError),
    (lambda x: np.add.reduce(x, axis=()), e.UnsupportedError),
]


@host
@pytest.mark.parametrize("function", [
    lambda x: np.add.reduce(x, axis=0, initial=100),
    lambda x: np.maximum.reduce(x, initial=100.0, axis=None),
    lambda x: np.add.reduce(x, where=x > 3),
])  # fmt: skip
def test_reduce_takes_what_the_reductions_take(function):
    np.testing.assert_allclose(ow.fuse(function, fullgraph=True)(M), function(M))


@pytest.mark.parametrize(("function", "error"), REDUCES)
def test_what_reduce_does_not_know_is_refused(function, error):
    with pytest.raises(error):
        ow.fuse(function, fullgraph=True)(M)


@host
def test_reduce_goes_over_the_first_axis():
    np.testing.assert_array_equal(np.add.reduce(M), ow.fuse(lambda x: np.add.reduce(x))(M))


def grows(x):
    y = x.sum(axis=0)
    y += x
    return y


def grows_into(x):
    y = x.sum(axis=0)
    np.add(x, 1, out=y)
    return y


@pytest.mark.parametrize("function", [grows, grows_into])
def test_in_place_results_keep_their_shape(function):
    with pytest.raises(e.ShapeError, match="in place"):
        ow.fuse(function)(M)


@host
@pytest.mark.parametrize("function", [
    lambda x: (x + 1, x + 1), lambda x: (x * 2, +(x * 2)), lambda x: (+x, x.astype(x.dtype)),
    lambda x: (np.exp(x), np.exp(x) * 1),
])  # fmt: skip
def test_outputs_are_arrays_of_their_own(function):
    a, b = ow.fuse(function)(X)

    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, X)


@host
def test_rounding_integers_copies():
    x = np.arange(3)

    assert not np.shares_memory(ow.fuse(lambda x: np.round(x))(x), x)


def test_negative_powers_of_integers_are_refused():
    with pytest.raises(e.DTypeError, match="negative integer power"):
        ow.fuse(lambda x: x**-1, fullgraph=True)(np.arange(3))


@host
def test_isinstance_sees_the_type_of_a_scalar():
    fused = ow.fuse(lambda x, s: x * 2 if isinstance(s, float) else x)

    np.testing.assert_array_equal(X * 2, fused(X, 5.0))
    np.testing.assert_array_equal(X, fused(X, 5))


@host
def test_python_operators_on_scalars():
    fused = ow.fuse(lambda x, n: x + (n & 6) + (n << 1) + divmod(n, 4)[1] + {5: 10}[n])

    np.testing.assert_array_equal(X + (5 & 6) + (5 << 1) + 1 + 10, fused(X, 5))


@host
def test_a_misaligned_array_runs_in_parts_whatever_came_before():
    fused, whole = (ow.fuse(lambda x: x * 2 + 1, fullgraph=full) for full in (False, True))
    raw = np.arange(4 * 6 + 1, dtype=np.uint8)
    misaligned = np.ndarray((6,), np.float32, raw, 1)
    for _ in range(2):
        np.testing.assert_array_equal(fused(misaligned), misaligned * 2 + 1, strict=True)
        np.testing.assert_array_equal(fused(raw[:24].view(np.float32)), whole(raw[:24].view("f4")))

    assert "not aligned" in fused.explain(misaligned).text
    assert len(fused.lower(raw[:24].view(np.float32)).kernels) == 1
    with pytest.raises(e.AlignmentError, match="not aligned"):
        whole(misaligned)


@host
@pytest.mark.filterwarnings("error")
def test_fields_of_records_are_read_and_written():
    def step(x, y):
        y += x
        y[1:] *= 2
        return np.sqrt(y) + x.sum()

    made = np.zeros(7, np.dtype([("kind", "u1"), ("x", "f4"), ("y", "f8")]))
    made["x"], made["y"] = np.arange(7), 0.5
    expected, found = made.copy(), made.copy()
    result = step(expected["x"], expected["y"])

    np.testing.assert_array_equal(ow.fuse(step)(found["x"], found["y"]), result, strict=True)
    assert found.tolist() == expected.tolist()


@host
def test_two_outs_may_not_overlap():
    out = np.empty(6, np.float32)

    with pytest.raises(e.ArgumentError, match="overlap"):
        ow.fuse(lambda x: (x + 1, x + 2))(X, out=(out, out))


EDITS = [
    (lambda k: k.insert(ow.opcodes.exp, before=""), "no such op-code"),
    (lambda k: k.remove("  "), "no such op-code"),
    (lambda k: k.insert(ow.opcodes.softmax, before="store out0"), "only an elementwise"),
    (lambda k: k.insert(ow.opcodes.divmod(2.0), before="store out0"), "one result"),
    (lambda k: k.replace("exp", ow.opcodes.divmod), "one result"),
]


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_edits_that_do_not_fit_are_refused(edit, message):
    kernel = (
        ow.fuse(lambda a, b: (np.exp(a), np.sin(b), a * 2 + b.sum() * 0))
        .lower(X, X[:5].copy())
        .kernels
    )
    kernel = next(k for k in kernel if "exp" in str(k))

    with pytest.raises(e.EditError, match=message):
        edit(kernel)


@host
def test_an_edit_that_needs_two_extents_to_agree_is_refused():
    kernel = ow.fuse(lambda a, b: (a + 1, b.sum() * 1)).lower(X, X.copy()).kernels[0]

    with pytest.raises(e.EditError, match="need not at other calls"):
        kernel.insert(ow.opcodes.multiply("b"), before="store")


def test_numpy_scalars_are_operands_too():
    k = ow.kernel([ow.load("x"), ow.opcodes.multiply(np.float32(2)), ow.store()])
    clipped = (
        ow.fuse(lambda x: x + 1)
        .lower(X)
        .kernels[0]
        .insert(ow.opcodes.clip(np.float32(0), 2), before="store")
    )

    np.testing.assert_array_equal(X * 2, k(X))
    np.testing.assert_array_equal(np.clip(X + 1, 0, 2), clipped(X))


@host
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_integers_compare_by_value_with_any_python_integer(dtype):
    x = np.array([0, 1, 200], dtype)
    for n in (300, -1, -2, 1, 2**40):
        made = ow.fuse(lambda x, n: (x > n, x == n, n >= x))(x, n)
        for want, got in zip((x > n, x == n, n >= x), made, strict=True):
            np.testing.assert_array_equal(want, got)


def test_a_target_must_be_a_name_or_a_description():
    with pytest.raises(e.ToggleError, match="unknown target"):
        ow.fuse(lambda x: x + 1).lower(X, target=["sm_80"])


def test_two_stores_of_one_name_are_refused():
    with pytest.raises(e.EditError, match="two stores"):
        ow.kernel([ow.load("x"), ow.store("y"), ow.opcodes.exp, ow.store("y")])


def test_a_list_without_op_codes_says_so():
    with pytest.raises(e.EditError, match="0 kernels"):
        ow.kernel([ow.load("x"), ow.store("y")])(X)


def test_a_scalar_of_the_wrong_kind_is_a_typed_error():
    with pytest.raises(e.OpweaveError, match="clongdouble|complex256|longdouble"):
        ow.fuse(lambda x, s: x * s**0.5, fullgraph=True)(X, np.clongdouble(-2.0))


CONSTANTS = [
    lambda x: x % 7, lambda x: x // 7, lambda x: 7 // (x | 1), lambda x: x << 1, lambda x: x >> 2,
    lambda x: x**3, lambda x: np.clip(x, 10, 200), lambda x: np.floor_divide(x, np.uint8(2)),
    lambda x: np.maximum(x, 7), lambda x: np.where(x > 7, x, 7), lambda x: divmod(x, 5)[0],
]  # fmt: skip


@host
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("function", CONSTANTS)
def test_integer_arrays_meet_integer_constants(function, dtype):
    x = np.array([0, 1, 5, 100, 127], dtype)
    made = ow.fuse(function)(x)

    assert made.dtype == function(x).dtype
    np.testing.assert_array_equal(function(x), made)


def test_too_many_elements_for_a_thread_are_refused():
    with pytest.raises(e.ToggleError, match="at most 128 elements"):
        ow.fuse(lambda x: x * 2).with_toggles(VECTOR=64, CHUNKS=16).lower(M, target="sm_80")


@host
def test_all_axes_by_name_and_fused_functions_inside_another():
    inner = ow.fuse(lambda x: np.exp(x) + 1)
    outer = ow.fuse(lambda x: inner(x).sum(axis=(0, 1)) * 2)

    hold(outer, (M,), (np.exp(wide(M)) + 1).sum() * 2, outer(M))
    assert len(outer.lower(M, target="sm_80").kernels) == 1


def test_a_source_without_the_kernel_is_refused():
    program = ow.fuse(lambda x: x * 2).lower(M)

    with pytest.raises(e.ArgumentError, match="defines no extern"):
        program.compile(source="")


def test_repr_names_what_was_changed():
    fused = ow.fuse(lambda x: x * 2)

    assert "USE_VECTOR_IO=0" in repr(fused.with_toggles(USE_VECTOR_IO=0))
    assert "unfused" in repr(fused.unfused())
    assert repr(ow.opcodes.clip(0, 1)) == "<op-code clip(0, 1)>"


@host
def test_a_forked_child_has_its_own_threads():
    import os
    import signal

    fused = ow.fuse(lambda x: np.exp(x) * 2 + 1)
    x = np.random.default_rng(0).random(1 << 20, dtype=np.float32)
    expected = fused(x)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if (fused(x) == expected).all() else 3)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(expected, fused(x))


@pytest.mark.host
def test_kernels_of_one_name_have_shared_memory_of_their_own():
    """Static variables of an inline function were one for all libraries, in the first one's size."""
    from opweave.runtime.host.launcher import load_library

    def scores(x, w):
        return ow.softmax(x @ w)

    x, w = np.ones((5, 4), np.float32), np.ones((4, 200), np.float32)
    kernel = ow.fuse(scores).lower(x, w).kernels[0]
    library = load_library(kernel.binary.payload)

    assert kernel.name == "scores_product_rows_f32"
    assert not hasattr(library, "_ZZ23scores_product_rows_f32E12product_tile")
    assert hasattr(library, "ow_blocks")


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("function", [
    lambda x, w: ow.softmax(x @ w), lambda x, w: ow.log_softmax(x @ w),
    lambda x, w: (x @ w) - (x @ w).mean(-1, keepdims=True),
])  # fmt: skip
def test_a_product_of_one_column_with_a_row_operator(function, target):
    x, w = np.ones((3, 4), np.float32), np.ones((4, 1), np.float32)

    assert ow.fuse(function).lower(x, w, target=target).check(x, w).ok


CUDA_NAMES = {
    "fabsf(x)": np.abs, "sqrtf(fabsf(x))": lambda x: np.sqrt(np.abs(x)), "tanhf(x)": np.tanh,
    "fmaxf(x, 0.0f)": lambda x: np.fmax(x, 0), "max(x, 0.5f)": lambda x: np.maximum(x, 0.5),
    "abs(x)": np.abs, "log2(fabs(x) + 1.0f)": lambda x: np.log2(np.abs(x) + 1),
    "erff(x)": lambda x: np.vectorize(__import__("math").erf)(x).astype(x.dtype),
    "atan2f(x, 2.0f)": lambda x: np.arctan2(x, x.dtype.type(2)), "expf(x)": np.exp,
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("fragment", CUDA_NAMES)
def test_a_fragment_may_call_what_cuda_c_has(fragment):
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    meaning = CUDA_NAMES[fragment]
    row = ow.operator("mine", fragment, "float", lambda x: meaning(x), ulp=16)

    fused = ow.fuse(lambda x: row(x))

    hold(fused, (x,), meaning(wide(x)), fused(x))


@pytest.mark.host
def test_a_ufunc_may_be_the_meaning_of_an_operator():
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    absolute = ow.operator("mine", "fabs(x)", "float", np.abs)
    summed = ow.operator("sums", "x + y", "float", np.add)

    np.testing.assert_array_equal(np.abs(x), ow.fuse(lambda x: absolute(x))(x))
    np.testing.assert_array_equal(x + x, ow.fuse(lambda x: summed(x, x))(x))


@pytest.mark.parametrize("fragment", ["x + 1", "z + nosuch(y)", "z * blockIdx"])
def test_a_name_that_is_no_operand_is_refused_with_the_fragment(fragment):
    with pytest.raises(ow.errors.FragmentError, match="none of its operands z"):
        ow.operator("mine", fragment, "float", lambda z: z)


@pytest.mark.host
def test_an_edited_source_cannot_ask_for_another_launch():
    x = np.ones((20, 90), np.float32)
    program = ow.fuse(lambda x: x / (1 + x)).lower(x, target="sm_90a")
    with pytest.raises(ow.errors.ArgumentError, match=r"with_toggles\(BLOCK=128\)"):
        program.compile(
            source=program.source.replace("BLOCK             256", "BLOCK             128")
        )


@pytest.mark.parametrize(("function", "piece"), [
    (lambda x: x.sum(()), "test_regressions.py:"),
    (lambda x: x.astype(np.clongdouble), "test_regressions.py:"),
    (lambda x: np.gradient(x, edge_order=2), "test_regressions.py:"),
    (lambda x: x @ None, "NoneType"),
])  # fmt: skip
def test_what_a_handler_refuses_names_the_line(function, piece):
    with pytest.raises(ow.OpweaveError, match=piece):
        ow.fuse(function, fullgraph=True)(np.ones((3, 3, 3), np.float32))


def test_wrong_kinds_of_arguments_are_typed_errors():
    x = np.ones((4, 4), np.float32)
    with pytest.raises(ow.errors.ArgumentError, match="schedule='x'"):
        ow.fuse(lambda x: x + 1).lower(x, target="sm_80").verify(x, schedule="x")
    with pytest.raises(ow.errors.EditError, match="a list of op-codes"):
        ow.kernel(ow.load("x"))


@pytest.mark.host
def test_temporaries_are_dropped_after_their_last_use(monkeypatch):
    import weakref

    from opweave.runtime.host.executor import HostExecutor

    alive, most = [], [0]
    plain = HostExecutor.allocator

    class Tracked(np.ndarray):
        pass

    def allocator(self, shape, dtype):
        make = plain(self, shape, dtype)

        def tracked():
            made = make().view(Tracked)
            alive.append(weakref.ref(made))
            most[0] = max(most[0], sum(ref() is not None for ref in alive))
            return made

        return tracked

    monkeypatch.setattr(HostExecutor, "allocator", allocator)
    monkeypatch.setattr(HostExecutor, "plan", lambda *args: None)  # arrays, as on a GPU
    x = np.ones(1000, np.float32)

    def function(x):
        for _ in range(10):
            x = x * 1.5 + 0.5
        return x

    hold(ow.fuse(function), (x,), function(wide(x)), ow.fuse(function).unfused()(x))
    assert len(alive) == 20
    assert most[0] <= 3


@host
@pytest.mark.parametrize("ddof", [1, np.int64(1), np.True_, 1.0])
def test_the_type_of_ddof_widens_no_result(ddof):
    fused = ow.fuse(lambda x: x.var(axis=1, ddof=ddof))

    assert fused(M).dtype == np.float32
    np.testing.assert_allclose(M.var(axis=1, ddof=1), fused(M), rtol=1e-6)


def test_a_number_that_meets_a_text_becomes_static():
    fused = ow.fuse(lambda x, s: x * 2 if s == "a\n#include" else x * 3)
    source = fused.lower(X, 2.0, target="sm_80").source

    assert "3.0f" in source
    assert "include" not in source.replace('#include "opweave.cuh"', "")


TOP = np.finfo(np.float32).max
ON_THE_WAY = [
    ("running sum", lambda x: x.sum(), [TOP, TOP, -TOP, -TOP]),
    ("running sum beside an infinity", lambda x: x.sum(), [np.inf, -TOP, -TOP]),
    ("running product", lambda x: x.prod(), [TOP, 1e-30, TOP, 1e-30]),
    ("running product that underflows", lambda x: x.prod(), [1e-30, 1e-30, 1e30, 1e30]),
    ("running product that underflows beside an infinity", lambda x: x.prod(), [1e-30, 1e-30, np.inf]),
    ("product", lambda x: x @ (x * 0 + np.float32(2)), [TOP, -TOP]),
]  # fmt: skip


@host
@pytest.mark.parametrize(
    ("function", "values"), [c[1:] for c in ON_THE_WAY], ids=[c[0] for c in ON_THE_WAY]
)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_what_overflows_on_the_way_is_undecided(function, values, target):
    x = np.array(values, np.float32)

    assert ow.fuse(function).lower(x, target=target).check(x).ok


@host
def test_a_check_of_signalling_nans_warns_of_nothing(recwarn):
    x = np.array([0x7F800001], np.uint32).view(np.float32)

    assert ow.fuse(lambda x: x + 1).check(x).ok
    assert not recwarn.list


@host
def test_sums_and_products_of_bool_are_or_and_and():
    x = np.array([[True, False], [False, False], [True, True]])
    reduced = ow.fuse(lambda x: (x.sum(axis=1, dtype=bool), x.prod(axis=1, dtype=bool)))

    np.testing.assert_array_equal([x.any(axis=1), x.all(axis=1)], reduced(x))


@host
@pytest.mark.parametrize("low", [True, False])
def test_a_truth_of_a_row_is_clipped_as_a_boolean(low):
    x, bound = np.array([[1, 0], [0, 0]], np.float32), np.array([low])
    clipped = ow.fuse(lambda x, b: (np.clip(x.any(-1), b, ~b & b), np.clip(b, x.any(-1), x.all())))

    for found, expected in zip(clipped(x, bound), clipped.__wrapped__(x, bound), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


@host
@pytest.mark.parametrize("function", [
    lambda x: x.copy(), lambda x: (x + 1).copy(), lambda x: np.copy(x + 1),
    lambda x: x.sum().copy(),
])  # fmt: skip
def test_a_copy_of_no_dimensions_is_a_scalar_or_an_array_as_numpys(function):
    x = np.array(2.5, np.float32)

    assert type(function(x)) is type(ow.fuse(function)(x))


MIXED = [(ow.opcodes.white_balance, (2.0, 1, 255)), (ow.opcodes.saturation, (2.0,))]


@host
@pytest.mark.parametrize(("operator", "amounts"), MIXED, ids=lambda v: getattr(v, "name", ""))
@pytest.mark.parametrize("bad", [np.nan, np.inf, np.finfo(np.float32).max])
def test_a_channel_that_is_not_finite_leaves_the_bound_of_the_others(operator, amounts, bad):
    x = np.array([[0.3, bad, -0.7], [0.1, 0.2, 0.3]], np.float32)

    assert ow.fuse(lambda x: operator(x, *amounts)).check(x).ok


@host
def test_a_negative_number_to_an_exponent_that_may_be_whole_is_undecided():
    x, y = np.array([-0.97], np.float32), np.array([1.0], np.float32)

    assert ow.fuse(lambda x, y: x ** ((y - 0.5) * 2.0**40 + 0.5)).check(x, y).ok


@host
@pytest.mark.parametrize(("dtype", "decimals"), [
    (bool, 0), (np.uint8, 0), (np.uint8, 2), (np.int64, 1), (np.float16, 0), (np.float16, 2),
    (np.float32, 1),
])  # fmt: skip
def test_rounding_gives_numpys_dtype(dtype, decimals):
    x = np.array([0, 1, 1, 0, 3]).astype(dtype)
    expected, made = np.round(x, decimals), ow.fuse(lambda x: np.round(x, decimals))(x)

    assert expected.dtype == made.dtype
    np.testing.assert_array_equal(expected, made)


def test_bool_is_rounded_to_whole_numbers_only_as_by_numpy():
    with pytest.raises(e.DTypeError, match="round"):
        ow.fuse(lambda x: np.round(x, 1)).lower(np.array([True]))


@host
def test_an_undecided_channel_leaves_one_grey_undecided():
    x = np.array([[6e4, 1, 2], [0.1, 0.2, 0.3]], np.float16)
    report = ow.fuse(lambda x: ow.opcodes.grey(ow.opcodes.saturation(x, 100))).check(x)

    assert report.ok


@host
def test_the_sign_of_a_computed_nan_is_undecided():
    x = np.array([0.5, 1.5, np.inf], np.float16)

    assert ow.fuse(lambda x: np.signbit(np.arccos(x) * np.float16(3))).check(x).ok
    assert ow.fuse(lambda x: np.signbit(np.arccos(x))).check(x).ok


@host
def test_a_cast_of_bfloat16_to_float16_may_underflow():
    x = np.array([1.2e-38, 3e-8, 1.0]).astype(dtypes.BF16.numpy)

    assert ow.fuse(lambda x: x.astype(np.float16)).check(x).ok


@host
def test_to_uint8_of_no_dimensions_is_an_array_as_by_numpy():
    x = np.array(0.4, np.float32)
    made = ow.fuse(lambda x: ow.opcodes.to_uint8(x))(x)

    assert type(made) is type(ow.opcodes.to_uint8(x))


@host
@pytest.mark.parametrize("exponent", [2.0, 1.0, 0.5, 2, np.float64(2)])
@pytest.mark.parametrize("function", [lambda x, e: x**e, lambda x, e: np.max(x) ** e])
def test_an_integer_to_a_float_power_is_a_float(function, exponent):
    x = np.arange(1, 6)
    found = ow.fuse(lambda x: function(x, exponent))(x)

    assert np.asarray(found).dtype == np.asarray(function(x, exponent)).dtype
    np.testing.assert_allclose(function(x, exponent), found)


@host
def test_what_no_bound_decides_stays_so_behind_a_view_of_integers():
    x = np.array([[6, 1, 0], [6, 1, 2**63]], np.uint64)
    fused = ow.fuse(lambda x: np.multiply.reduce((x == np.tan(x)).mT, axis=-1))

    assert fused.check(x).ok
    assert min(np.asarray(b.error).min() for b in fused.lower(x, target="host").bounds(x)) >= 0


@host
def test_a_unit_is_that_of_the_binade_that_a_value_rounds_into():
    """tan of 1.0 - 1.9921875 + ..., whose exact value lies just below a power of two."""
    x = (np.arange(1, 1249) / 640).astype(dtype_of("bfloat16"))

    assert ow.fuse(lambda x: np.tan(x - -1.0)).check(x).ok


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_an_extent_that_is_a_parameter_meets_no_name_of_the_template(target):
    """Batches that do not fall together bring their extents along, n0 among them."""
    x = np.ones((3, 1, 64, 7), np.float16)
    y = np.ones((1, 11), np.float16)
    fused = ow.fuse(lambda x, y: np.transpose(x, (2, 0, 3, 1)) @ y)

    found = fused.lower(x, y, target=target)(x, y)
    np.testing.assert_array_equal(np.transpose(x, (2, 0, 3, 1)) @ y, found)


@host
def test_an_infinite_amount_of_a_difference_that_rounds_is_undecided():
    x = np.array([[0.1, 0.1, 0.1], [0.2, 0.7, 0.4], [0.0, 0.0, 0.0]])
    fused = ow.fuse(lambda x, amount: ow.pixels.saturation(x, amount))

    assert fused.check(x, -np.inf).ok
    assert ow.bounds.derive(fused, x, -np.inf)[0].undecided == 6
    assert ow.bounds.derive(fused, x, np.nan)[0].undecided == 0


@host
@pytest.mark.parametrize("gains", [(np.nan, 1.0, 100.0), (-np.inf, np.nan, 100.0)])
def test_a_gain_of_nan_leaves_other_channels_their_bound(gains):
    x = np.random.default_rng(0).random((7, 5, 3))

    assert ow.fuse(lambda x, r, g, b: ow.pixels.white_balance(x, r, g, b)).check(x, *gains).ok


@host
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize(("low", "high"), [
    (-(2**31), 2**40), (-5, 3), (2, 2**70), (-(2**70), 2**70), (None, 2**70), (-(2**70), None),
])  # fmt: skip
def test_a_bound_of_clip_beyond_the_type_bounds_nothing(dtype, low, high):
    x = np.arange(7).astype(dtype)
    fused = ow.fuse(lambda x, low, high: np.clip(x, low, high))
    constant = ow.fuse(lambda x: np.clip(x, low, high))

    np.testing.assert_array_equal(np.clip(x, low, high), fused(x, low, high), strict=True)
    np.testing.assert_array_equal(np.clip(x, low, high), constant(x), strict=True)


@host
@pytest.mark.parametrize(("low", "high"), [(300, 400), (-9, -5), (300, 2)])
def test_a_bound_of_clip_that_no_number_meets_is_refused_as_by_numpy(low, high):
    x = np.arange(5, dtype=np.uint8)
    with pytest.raises(OverflowError):
        np.clip(x, low, high)
    for fused in (lambda x, a, b: np.clip(x, a, b), lambda x, a, b: np.clip(x, low, high)):
        with pytest.raises(e.DTypeError, match="out of bounds for uint8"):
            ow.fuse(fused)(x, low, high)


@host
@pytest.mark.filterwarnings("error")
def test_a_product_of_nan_warns_of_nothing_whoever_computes_it():
    x = np.full((40, 50), np.inf, np.float32)
    found = ow.fuse(lambda x, w: x @ w)(x, np.zeros((50, 60), np.float32))

    assert np.isnan(found).all()


def test_a_copy_is_contiguous_in_the_reference_as_by_numpy():
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    made = ow.fuse(lambda x: x.copy()).lower(x, target="sm_80").reference(x)

    assert made.flags.c_contiguous == x.copy().flags.c_contiguous


def test_a_product_has_the_error_of_all_its_roundings_and_not_of_the_depth_of_its_tree():
    x = np.full((4096,), 1.001, np.float32)
    (found,) = ow.bounds.derive(ow.fuse(lambda x: x.prod()), x)

    assert found.error / abs(found.value) >= 4095 * 2.0**-24


@host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_power_of_one_half_is_the_root_where_numpy_takes_it(dtype):
    x = np.array([-np.inf, -0.0, 4.0, 2.0, np.inf], dtype)
    half = np.array(0.5, dtype)
    if dtype != "float16":
        made = ow.fuse(lambda x: np.power(x, 0.5))(x)
        assert made.tobytes() == np.power(x, 0.5).tobytes()
    for exponents in (half, np.full(5, half), np.full((5, 1), half)):
        assert ow.fuse(lambda x, y: np.power(x, y)).check(x, exponents).ok
    (found,) = ow.bounds.derive(ow.fuse(lambda x, y: np.power(x, y)), x, half)
    assert np.isinf(found.error).tolist() == [True, True, False, False, False]


@host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("whole", ["int32", "int64"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_cast_to_integers_and_back_is_no_truncation(name, whole):
    x = np.array([-0.4, 0.4, -0.0, 0.0, -1.6, 1.6, 7.0] * 9, name)
    fused = ow.fuse(lambda x: 1 / x.astype(whole).astype(x.dtype))
    for one in (fused, fused.unfused(), ow.fuse(lambda x: 1 / x.astype(whole).astype(x.dtype))):
        assert one(x).tobytes() == (1 / x.astype(whole).astype(name)).tobytes()
    assert fused.lower(x, target="sm_80")(x).tobytes() == fused(x).tobytes()
    assert ow.sanitize(fused, x, target="sm_80", schedules=1).ok


@host
@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_a_quotient_of_integers_that_is_zero_has_no_sign(name):
    x = np.array([-5, 5, -1, 1, -100, 100, 3] * 19, name)
    for function in (np.reciprocal, lambda x: np.fmod(x, x[::-1]), lambda x: -x // x[::-1]):
        clipped = ow.fuse(lambda x: np.clip(function(x).astype(np.float64), 0, 1))  # noqa: B023
        assert clipped(x).tobytes() == clipped.__wrapped__(x).tobytes()


@host
@pytest.mark.parametrize(("target", "toggles"), [("host", {}), ("sm_75", {"THREADS_PER_ROW": 32})])
def test_a_row_without_elements_divides_by_no_extent(target, toggles):
    x = np.zeros((11, 0, 13), np.uint32)
    fused = ow.fuse(lambda x: np.roll(x, -6, 0).sum(keepdims=True) + np.uint64(3))
    program = fused.with_toggles(**toggles).lower(x, target=target)

    assert program(x).tolist() == [[[3]]]


@host
@pytest.mark.filterwarnings("error")
def test_the_largest_number_is_written_without_a_warning():
    x = np.array([0.5, np.inf], np.float32)
    limit = np.finfo(np.float32).max

    np.testing.assert_array_equal(ow.fuse(lambda x: np.minimum(x, limit))(x), [0.5, limit])
