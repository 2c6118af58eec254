"""Kernels hold whatever an argument is called, whatever a fragment calls, whoever runs beside."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.names import template_names
from tests.support.data import hold, wide

M = np.arange(12, dtype=np.float32).reshape(3, 4)
host = pytest.mark.host

# Names of the templates, of helpers, and what the compiler derives from names.
NAMES = ["c", "l", "j", "j0", "row", "lane", "width", "chunks", "active", "first", "last", "part",
         "mine", "other", "load", "store", "load_chunk", "max_nan", "WARP_SHARE", "BLOCK", "x_v",
         "out_v", "x_s0", "x_s0x2", "sum0_acc", "sum0", "v0", "s0", "n0", "out", "cols", "rows", "T",
         "ROW_CHUNKS", "USE_FAST_MATH", "exp", "partials", "faults", "here", "x_row", "x_kept", "n0_n1",
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


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("name", ["faults", "here", "site", "index_of"])
def test_an_array_that_is_indexed_may_have_any_name(name, target):
    function = named("{n}[x] * 2", name)
    places, table = np.array([3, -1]), M[0]

    np.testing.assert_array_equal(
        function(places, table),
        ow.fuse(function).lower(places, table, target=target)(places, table),
    )


def test_every_name_of_the_templates_is_known():
    assert {"c", "l", "j0", "load_chunk", "max_nan", "width", "FULL_WARP"} <= template_names()


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
def test_temporaries_lie_where_others_have_had_their_last_use():
    x = np.ones(1000, np.float32)

    def function(x):
        for _ in range(10):
            x = x * 1.5 + 0.5
        return x

    unfused = ow.fuse(function).unfused()
    hold(ow.fuse(function), (x,), function(wide(x)), unfused(x))
    plan = unfused.bound((x,))[0].prepared.plan
    assert len(plan.steps) == 20
    assert len(plan.makes) == 1
    assert plan.memory.nbytes == 4096  # each is written over the one that it reads


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
