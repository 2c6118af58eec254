"""ow.bounds: bounds derived without running, arrays judged by them, figures with their source."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.bounds.bounds import _Bounds
from opweave.compiler.bounds.error_propagation import Bounded, carried_errors
from opweave.opcodes import OPERATORS, dtypes
from tests.support.data import maps

X = np.random.default_rng(0).standard_normal(200).astype(np.float32)
# 3x - x - x - x is zero but for roundings
S = np.array([0.1, 0.3, 1e-3, 2.0, 7.0], np.float32)


def bound(function, *args, **kwargs):
    (found,) = ow.bounds.derive(ow.fuse(function), *args, **kwargs)
    return found


# Deriving


def test_a_bound_has_a_wide_value_and_an_error_per_element(monkeypatch):
    monkeypatch.setattr(
        "opweave.runtime.binaries.build.BinaryBuilder.build", None
    )  # nothing is compiled
    first, second = ow.bounds.derive(ow.fuse(lambda x: (x * 3, x > 0)), X)

    assert (first.name, first.dtype, first.shape) == ("out0", np.float32, X.shape)
    assert first.value.dtype == np.float64
    np.testing.assert_array_equal(X.astype(np.float64) * 3, first.value)
    np.testing.assert_array_equal(0.5, first.ulp)
    assert (second.dtype, second.error.max()) == (np.bool_, 0)
    assert str(first) == "out0: float32[200], 0.5 ULP allowed at most"


@pytest.mark.parametrize(("dtype", "executor", "ulp"), [
    (np.float32, "cuda", 2.5), (np.float32, "host", 1),
    (np.float64, "cuda", 1.5), (np.float64, "host", 1),
])  # fmt: skip
def test_figures_are_those_of_the_executor_and_the_dtype(dtype, executor, ulp):
    found = bound(lambda x: np.exp(x), X.astype(dtype), executor=executor)

    np.testing.assert_allclose(found.ulp.astype(float), ulp, rtol=1e-12)


def test_an_order_of_summation_is_the_targets():
    x = np.ones((4, 3000), np.float32)
    by_target = {
        target: float(bound(lambda x: x.sum(axis=1), x, target=target).error[0])
        for target in ("host", "sm_80")
    }

    for target, error in by_target.items():
        node = ow.fuse(lambda x: x.sum(axis=1)).lower(x, target=target).graph.nodes[0]
        assert error == pytest.approx(3000 * ow.bounds.gamma(node.plan.depth(3000), "float32"))
    assert by_target["host"] != by_target["sm_80"]


def test_what_can_be_derived_from():
    fused = ow.fuse(lambda x: np.exp(x))
    kernel = ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store()])
    program = fused.lower(X, target="sm_80")

    for given in (fused, kernel, program, program.kernels[0]):
        (found,) = ow.bounds.derive(given, X)
        assert float(found.ulp.max()) == pytest.approx(1)


def test_numbers_have_no_error():
    found = ow.bounds.derive(ow.fuse(lambda x, n: (x + n, n * 2)), X, 3)

    assert (found[1].value, found[1].dtype) == (6, None)
    assert ow.bounds.judge(found[1], 6).ok
    assert not ow.bounds.judge(found[1], 7).ok


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ow.bounds.derive(ow.fuse(lambda x: x + 1), X, executor="gpu"), "executor 'gpu'"),
    (lambda: ow.bounds.derive(lambda x: x + 1, X), "wrap it in opweave.fuse"),
    (lambda: ow.bounds.judge(bound(lambda x: x + 1, X), X[:3]), r"expected shape \[200\]"),
    (lambda: ow.bounds.gamma(-1, np.float32), "depth"),
    (lambda: ow.bounds.spacing(1, np.int32), "found int32"),
])  # fmt: skip
def test_mistakes_are_named(call, message):
    with pytest.raises(ow.errors.ArgumentError, match=message):
        call()


# Judging


def test_an_array_outside_its_bound_is_found_with_its_worst_element():
    found = bound(lambda x: x + 1, X)
    array = X + np.float32(1)
    assert ow.bounds.judge(found, array).ok
    array[77] += 2 * np.spacing(array[77])
    judged = ow.bounds.judge(found, array)

    assert not judged.ok
    assert (judged.worst, judged.wrong) == ((77,), 1)
    assert 3 <= judged.bounds <= 5
    assert 1.5 <= judged.ulp <= 2.5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
def test_a_special_value_where_a_number_belongs_is_wrong(bad):
    found = bound(lambda x: x * x + 1, X)
    array = X * X + np.float32(1)
    array[5] = bad

    assert ow.bounds.judge(found, array).worst == (5,)
    assert not ow.bounds.judge(found, array).ok


def test_integers_are_judged_in_whole_steps():
    found = bound(lambda x: x * 3, np.arange(5))
    judged = ow.bounds.judge(found, np.array([0, 3, 6, 9, 14]))

    assert (judged.wrong, judged.worst, judged.ulp) == (1, (4,), 2)
    assert ow.bounds.judge(found, np.array([0, 3, 6, 9, np.nan])).worst == (4,)


# Where a bound decides nothing, and where it used to decide wrongly


@pytest.mark.parametrize("function", [
    lambda x: 1 / (x * 3 - x - x - x),
    lambda x: (x * 0.1) * 3 == x * 0.3,
    lambda x: (x * 0.1) * 3 != x * 0.3,
    lambda x: np.logical_not(x * 3 - x - x - x),
    lambda x: (x * 3 - x - x - x).astype(bool),
    lambda x: (x * 3 - x - x - x) ** -1.5,
    lambda x: np.log(x * 3 - x - x - x),
    lambda x: np.tan(x * 0.1 * 1e9 + 1e9),
    # infinite at both ends of what is possible, and not between them
    lambda x: np.cosh((x * 3 - x - x - x + 1e-11) * 1e17),
    lambda x: ((x * 3 - x - x - x + 1e-11) * 1e17) ** 400.0,
])  # fmt: skip
def test_nothing_decides_what_an_error_may_turn_over(function):
    assert bound(function, S).undecided == S.size


@pytest.mark.parametrize("function", [
    lambda x: np.cbrt(x) ** np.nan,  # 1 to NaN is 1
    lambda x: (x * np.nan) ** (np.cbrt(x) - 1),  # NaN to 0 is 1
])  # fmt: skip
def test_a_power_that_no_nan_changes_is_undecided_where_it_may_be_one(function):
    x = np.array([1.001, 1.5], np.float16)  # the root of the first rounds to 1

    assert np.isinf(bound(function, x).error).tolist() == [True, False]


def test_a_pole_to_an_integer_that_a_float_does_not_hold_is_undecided():
    x, n = np.array([-0.0, 0.0, -0.0, 2.0]), np.array([-(2**62) - 1, -3, -3, 3])
    found = bound(lambda x, n: x**n, x, n)

    assert np.isinf(found.error).tolist() == [True, False, False, False]


Z = np.array([[0.0, -0.0], [-0.0, -0.0], [0.0, 1.0]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(("function", "undecided"), [
    (lambda x: 1 / np.maximum(x, 0.0), [0, 1, 1, 1, 0, 0]),
    (lambda x: 1 / np.minimum(x, -0.0), [1, 0, 0, 0, 1, 0]),
    (lambda x: 1 / np.clip(x, 0.0, 1.0), [0, 1, 1, 1, 0, 0]),
    (lambda x: ow.opcodes.rsqrt(ow.opcodes.relu(x)), [0, 1, 1, 1, 0, 0]),
    (lambda x: 1 / -np.maximum(x, 0.0), [0, 1, 1, 1, 0, 0]),
    (lambda x: 1 / x.max(axis=1), [1, 0, 0]),
    (lambda x: 1 / x.min(axis=1), [1, 0, 0]),
    (lambda x: 2 + np.maximum(x, 0.0), [0] * 6),
])  # fmt: skip
def test_the_sign_of_a_zero_that_is_picked_is_open(function, undecided, dtype):
    found = bound(function, Z.astype(dtype))

    assert np.isinf(found.error).ravel().tolist() == undecided


@pytest.mark.host
@pytest.mark.parametrize(("function", "x"), [
    (lambda x: (x * 0.1) * 3 == x * 0.3, S),
    (lambda x: (x * 3 - x - x - x) * (x * 1.1 - x - x * 0.1), S),
    (lambda x: (x * 1.1) % (x * 0.11), S),
    (lambda x: x.sum(), np.array([3e38, 3e38, -3e38, -3e38], np.float32)),
    (lambda x: x.prod(), np.array([1e-30, 1e-30, 1e30, 1e30], np.float32)),
    (lambda x: x.prod(), np.array([1e30, 1e30, 1e-30, 1e-30], np.float32)),
    (lambda x: x * 0.5, np.array([5e-324, 1.5e-323, 1e-310])),
    (lambda x: np.exp(x), np.array([-745.1, -744.0, -709.0])),
], ids=["equal", "cancelled", "remainder", "partial sum", "small product", "large product",
        "subnormal", "exp to subnormal"])  # fmt: skip
def test_a_right_result_is_not_called_wrong(function, x):
    assert ow.fuse(function).check(x).ok


def test_a_sum_of_what_holds_a_nan_is_decided():
    x = np.array([1, np.nan, np.inf], np.float32)

    assert bound(lambda x: x.sum(), x).undecided == 0


@pytest.mark.parametrize("function", [
    lambda x: x.sum(), lambda x: x.prod(), lambda x: x.max(), lambda x: x @ x,
    lambda x: ow.opcodes.var(x),
], ids=["sum", "prod", "max", "product", "var"])  # fmt: skip
@pytest.mark.parametrize("lost", [
    lambda x: np.log(-abs(x * 3 - x - x - x)), lambda x: x / (x - x) * 0.0,
], ids=["log", "divide"])  # fmt: skip
def test_a_nan_that_is_not_certain_makes_nothing_certain(function, lost):
    assert bound(lambda x: function(lost(x)), S).undecided == 1


@pytest.mark.parametrize("reduce", [lambda x: x.sum(axis=1), lambda x: x @ np.ones((3, 1), x.dtype)],
                         ids=["sum", "product"])  # fmt: skip
def test_a_result_is_rounded_where_its_error_takes_it(reduce):
    """Values cancel, so that what is computed is far larger than what is meant."""
    x = np.array([[1.0, 1.0 + 2**-7, -2.0]], dtypes.BF16.numpy)
    found = bound(lambda x: reduce(x * 1.004), x)
    inner = bound(lambda x: x * 1.004, x)
    carried = float(inner.error.sum())

    assert abs(found.value).max() + carried > 2 * abs(found.value).max()
    reach = np.float32(abs(found.value).max() + carried)
    assert found.error.max() >= carried + 2.0 ** (np.floor(np.log2(reach)) - 8)


def points_inside(values, errors, rng):
    """Random operands within their errors; half of them zero, or equal, where they can be."""
    points = []
    for value, error in zip(values, errors, strict=True):
        point = value + rng.uniform(-1, 1, value.size) * error
        wish = points[0] if points and rng.random() < 0.5 else 0.0
        snapped = np.clip(wish, value - error, value + error)
        points.append(np.where(rng.random(value.size) < 0.5, snapped, point))
    return points


@pytest.mark.parametrize("arity", [1, 2])
def test_no_operand_within_its_error_moves_a_result_further_than_the_bound(arity):
    """Every operator at random places, with errors small and large, and random points inside."""
    rng = np.random.default_rng(arity)
    size = 400
    values = [rng.choice([-2.5, -1, -0.5, 0, 0.25, 1, 1.5, 3, 7], size) for _ in range(arity)]
    values = [v + rng.choice([0, 1e-3], size) for v in values]
    errors = [rng.choice([0, 1e-6, 1e-2, 0.6], size) for _ in range(arity)]
    given = [Bounded(v, e) for v, e in zip(values, errors, strict=True)]
    inside = [points_inside(values, errors, rng) for _ in range(60)]
    # of a complex result each part has a bound: tests/opcodes/test_complex_bounds.py
    for row in (r for r in maps(arity, *["float64"] * arity) if r.name != "join"):
        function = (lambda x: row(x)) if arity == 1 else (lambda x, y: row(x, y))  # noqa: B023
        graph = ow.fuse(function).lower(*values, target="host").graph
        node = next(n for n in graph.nodes if n.operator is row)
        engine = _Bounds(graph, dict(zip([i.value.id for i in graph.inputs], values, strict=True)),
                         {}, {"n0": size}, "host")  # fmt: skip
        with np.errstate(all="ignore"):
            centre = engine._apply(node, values)
            allowed = carried_errors(node, given, centre, lambda m: engine._apply(node, m))  # noqa: B023
            for point in inside:
                for a, b, most in zip(engine._apply(node, point), centre, allowed, strict=True):
                    far = np.where((a == b) | ((a != a) & (b != b)), 0, np.abs(a * 1.0 - b * 1.0))
                    wrong = np.flatnonzero(~(far <= most * (1 + 1e-12)) & np.isfinite(most))
                    assert not wrong.size, (
                        row.name,
                        [(v[wrong[0]], e[wrong[0]]) for v, e in zip(values, errors, strict=True)],
                    )


# Results over half of the bound


@pytest.mark.host
def test_a_result_over_half_of_the_bound_is_flagged_and_no_fault():
    report = ow.fuse(lambda x: (np.exp(x * 3), x + 1)).check(X)

    assert report.ok
    assert [row.name for row in report.tight] == ["out0"]
    assert "over half of the bound: " in str(report)
    assert "elements of out0" in str(report)


@pytest.mark.host
def test_the_nearest_number_is_never_flagged():
    report = ow.fuse(lambda x: x * 1.1).check(X)

    assert report.max_bounds > 0.9
    assert report.tight == ()
    assert "over half" not in str(report)


# Figures and documents


@pytest.mark.host
def test_the_document_runs_and_prints_what_it_says(capsys):
    text = (Path(__file__).parents[2] / "docs" / "bounds.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "bounds.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()

    assert f"print(bound)  # {printed[0]}" in text
    assert "agrees" in printed[1]


def test_the_documents_figures_are_the_tables():
    text = (Path(__file__).parents[2] / "docs" / "bounds.md").read_text()
    ulp = {(r.function, r.dtype, r.executor): f"{r.ulp:g}" for r in ow.bounds.table()}
    rows = re.findall(
        r"^\| (\w+) \| ([\d.]+), ([\d.]+) \| ([\d.]+), ([\d.]+) \|", text, re.MULTILINE
    )

    assert len(rows) == 20
    for name, *figures in rows:
        keys = [(name, d, e) for e in ("cuda", "host") for d in ("float32", "float64")]
        assert figures == [ulp[key] for key in keys], name


def test_import_opweave_does_no_work_for_bounds():
    code = "import sys, opweave; assert 'opweave.bounds' not in sys.modules; opweave.bounds.gamma"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_operator_that_rounds_has_a_row_for_each_dtype_and_executor():
    rows = {(r.function, r.dtype, r.executor): r for r in ow.bounds.table()}
    rounding = {name for name, _, _ in rows}

    assert len(rows) == len(rounding) * 4 * 2
    assert {"add", "exp", "tan", "power", "rsqrt", "cast", "sum", "matmul", "grey"} <= rounding
    assert not {"floor", "maximum", "where", "equal", "max", "softmax", "view"} & rounding
    assert all(r.ulp >= 0.5 and r.source for r in rows.values())
    assert rows["expm1", "float32", "cuda"].ulp == 1.5
    assert "Programming Guide" in rows["expm1", "float32", "cuda"].source
    assert "test_host_math" in rows["tanh", "float64", "host"].source
    assert rows["exp", "float16", "cuda"].ulp == 0.5 + 2.5 * 2**-13
    assert str(rows["add", "float32", "host"]).split()[:4] == ["add", "float32", "host", "0.5"]


def test_a_users_operator_states_its_own_figure():
    ow.operator("twice_bad", "x + x", "same", lambda x: x + x, ulp=3)
    rows = [r for r in ow.bounds.table() if r.function == "twice_bad"]

    assert {r.ulp for r in rows if r.dtype == "float32"} == {3}
    assert all("stated" in r.source for r in rows)


def test_no_stated_figure_is_below_a_correct_rounding():
    for row in OPERATORS.values():
        for executor in ("cuda", "host"):
            for dtype in dtypes.FLOATS:
                assert row.ulp.on(executor).of(dtype) >= 0.5


def test_gamma_is_highams():
    u = 2.0**-24

    assert ow.bounds.gamma(100, np.float32) == 100 * u / (1 - 100 * u)
    assert ow.bounds.gamma(0, "float64") == 0
    assert ow.bounds.gamma(2**8, "bfloat16") == np.inf


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_spacing_is_numpys(dtype):
    info = np.finfo(dtype)
    x = np.array([0, 1, -1.5, 1e-3, 6.0, info.max / 2, info.tiny, info.smallest_subnormal], dtype)

    np.testing.assert_array_equal(np.abs(np.spacing(np.abs(x))), ow.bounds.spacing(x, dtype))
    np.testing.assert_array_equal(0, ow.bounds.spacing([np.inf, np.nan], dtype))


def test_nothing_is_decided_where_the_source_states_no_figure():
    x = np.linspace(-12, 4, 64, dtype=np.float32)
    cuda, host = (bound(lambda x: ow.lgamma(x), x, executor=e) for e in ("cuda", "host"))

    open_ = (x > -11.0001) & (x < -2.2637)
    assert np.isinf(cuda.error[open_]).all()
    assert np.isfinite(cuda.error[(x > -2.2) & (x != np.floor(x))]).all()
    assert np.isfinite(host.error[open_ & (x != np.floor(x))]).all()


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "outside", "inside"), [
    ("arcsin", 1.5, 0.5), ("arccos", -1.5, 0.5), ("arctanh", 1.5, 0.5),
])  # fmt: skip
def test_a_value_whose_error_reaches_over_the_whole_domain_is_undecided(name, outside, inside):
    large = np.array([1e19, 1e19])  # whose cosine may be anything
    function = getattr(np, name)
    x = np.array([outside, inside])
    (found,) = ow.bounds.derive(
        ow.fuse(lambda x, y: function(x + 1e3 * np.sin(y + 0.1))), x, large
    )

    assert np.isinf(found.error).all()


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_sign_of_what_is_rounded_to_zero_is_open():
    x = np.array([1e-9, 0.75], np.float32)
    (found,) = ow.bounds.derive(ow.fuse(lambda x: 1 / np.rint(np.log1p(x) - x)), x)

    assert np.isinf(found.error).tolist() == [True, False]  # the other is -0.0 for sure


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_where_does_not_choose_decides_nothing():
    x = np.array([1e30, 2.0], np.float32)
    (found,) = ow.bounds.derive(ow.fuse(lambda x: np.where(x > 9, 1 / x, x * x)), x)

    assert np.all(found.ulp < 1)  # the square of the first overflows


def test_a_signalling_nan_of_an_argument_is_taken_for_a_quiet_one():
    signalling = np.full(4, 0x7C01, np.uint16).view(np.float16)
    (bound,) = ow.bounds.derive(ow.fuse(np.hypot), signalling, np.inf)
    assert (bound.value == np.inf).all()  # as of every processor that converts it
