"""``ow.repeat``: the results of a step become its arguments, many times, without Python."""

import os
import subprocess
import sys

import numpy as np
import pytest

import opweave as ow
from opweave._rounds.looping import MOST_WRITTEN
from opweave.compiler.ir.values import TURNS
from opweave.opcodes.errors import ArgumentError, TraceError
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.native import NativeSteps
from opweave.runtime.simt.executors import VerifyExecutor

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
X = (RNG.uniform(-1, 1, (33, 20)) / 2).astype(np.float32)
W = (RNG.standard_normal((40, 40)) / 7).astype(np.float32)
V = RNG.standard_normal((40, 40)).astype(np.float32)
ROWS = RNG.standard_normal((7, 300)).astype(np.float32)
GAIN = 0.75


def logistic(x, a):
    return x * x * a + np.float32(0.1)


def heat(x):
    inner = x[1:-1, 1:-1]
    around = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
    y = x.copy()
    y[1:-1, 1:-1] = inner + GAIN / 4 * (around - 4 * inner)
    return y


def waves(u, v, dt):
    v = v - u * dt
    return u + v * dt, v


# name, step, arguments
STEPS = [
    ("a map", logistic, (X, 0.5)),
    ("an integer map", lambda n: np.where(n % 2 == 0, n // 2, 3 * n + 1), (np.arange(1, 50),)),
    ("two states", waves, (X, X * 0, 0.01)),
    ("reductions", lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + 0.1, (X,)),
    ("rows", lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + np.float32(0.1), (ROWS,)),
    ("rows of two states", lambda u, v: (u - v.mean(axis=-1, keepdims=True), v + u), (ROWS, ROWS * 2)),
    ("softmax", lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / x.sum(axis=1, keepdims=True), (ROWS,)),
    ("names of the loop", lambda x, x_turn, turn, turns: x / x.sum(axis=1, keepdims=True) + x_turn * turn + turns,
     (ROWS, ROWS[0], ROWS[1], 0.5)),
    ("neighbours", heat, (X,)),
    ("small products", lambda x, w: np.tanh(x @ w), (X[:5, :7].copy(), W[:7, :7].copy())),
    ("products by a library", lambda x, w: np.tanh(x @ w), (V, W)),
    ("the state twice", lambda x, y: x * 0.5 + y, (X, X)),
    ("strided", logistic, (X[::2, ::-1], 0.5)),
    ("places", lambda x, p: x[p] * 0.5 + 1, (X, RNG.integers(0, 33, 33))),
    ("no dimensions", lambda x: x * 0.5 + 1, (np.array(3.0),)),
    ("no dimensions, moved", lambda x: np.roll(x, 1) * 0.5 + x, (np.array(3.0),)),
    ("no elements", logistic, (X[:0], 0.5)),
    ("a state of each row", lambda u, v: (u * 0.5, v + u), (X[:, :1].copy(), X)),
    ("one state is not read", lambda u, v: (v * 0.5, v - 1), (X, X)),
    ("backwards", lambda x: x[::-1] * 0.5, (X,)),
    ("itself and backwards", lambda x: x + x[::-1] * 0.5, (X,)),
    ("places of its own", lambda p: p[p] + p, (np.array([1, 0, 2, 2]) * 0,)),
    ("coordinates", lambda x: x * 0.5 + np.arange(20, dtype=np.float32), (X,)),
    ("across", lambda x, w: x * 0.5 + w.T, (V, V)),
    ("they change places", lambda x, y: (y, x), (X, X + 1)),
    ("a view", lambda x: x.T, (V,)),
    ("half precision", lambda x: x * np.float16(0.99), (X.astype(np.float16),)),
    ("pixels", lambda x: ow.pixels.saturation(x, 0.9) if hasattr(ow.pixels, "saturation") else x,
     (RNG.random((8, 9, 3)).astype(np.float32),)),
]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 3, MOST_WRITTEN + 5])
@pytest.mark.parametrize(("step", "args"), [s[1:] for s in STEPS], ids=[s[0] for s in STEPS])
def test_it_is_the_step_so_many_times(step, args, n):
    before = [np.array(a) for a in args]
    found = ow.repeat(step, n)(*args)
    fused, state = ow.fuse(step), list(args)
    count = len(found) if isinstance(found, tuple) else 1
    for _ in range(n):
        made = fused(*state)
        state[:count] = map(np.asarray, made if isinstance(made, tuple) else [made])

    found = found if isinstance(found, tuple) else (found,)
    for a, b, given in zip(found, state, args, strict=False):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        assert not np.shares_memory(a, given)
    for a, b in zip(before, args, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("step", "args", "kernels"), [
    (logistic, (X, 0.5), [(1, 1)]), (waves, (X, X, 0.1), [(1, 1)]), (heat, (X,), [(1, 20)]),
    (lambda x: x @ x, (V,), [(1, 20)]), (lambda u, v: (v, u), (X, X), []),
])  # fmt: skip
def test_a_step_of_one_kernel_becomes_several_steps_of_one_kernel(step, args, kernels):
    repeated = ow.repeat(step, 20)
    repeated(*args)
    (plan,) = repeated._repetitions.values()

    assert [(len(call.plan.steps), many) for call, _, many in plan.segments] == kernels


def unit(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + np.float32(0.1)


def halves(x):
    return x / x.sum(axis=1, keepdims=True)


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# step, arguments, operands that stay in registers from turn to turn of a kernel's own loop
CARRIED = [
    (logistic, (X, 0.5), 1),
    (logistic, (X[::2, ::-1].copy(order="F"), 0.5), 1),
    (lambda x, w: x * w, (X, X[:1]), 1),
    (waves, (X, X, 0.1), 2),
    (lambda u, v: (v * 0.5, v - 1), (X, X), 1),  # nobody reads u
    (lambda x: x.astype(np.float32) * 2, (X,), 1),
    (lambda p, x: p + (x[p] > 0), (np.zeros(5, np.int64), X[:, 0].copy()), 1),
    (lambda x: x[::-1] * 0.5, (X,), 0),  # what another thread has computed
    (lambda x: x + x[::-1], (X,), 0),
    (lambda x: x + x.T, (V,), 0),
    (lambda p: p[p] + p, (np.zeros(5, np.int64),), 0),
    (lambda u, v: (u * 0.5, v + u), (X[:, :1].copy(), X), 0),  # others read it too
    (lambda u, v: (v, u + v), (X, X), 0),  # no kernel writes the first
    (lambda x: x @ x, (V[:8, :8].copy(),), 0),
    (lambda x, w: np.tanh(x @ w), (X[:, :9].copy(), W[:9, :9].copy()), 1),
    (
        lambda x, w: np.tanh(x @ w),
        (X[:7, :9].copy(order="F"), W[:9, :9].T),
        0,
    ),  # results lie otherwise
    (
        lambda x, w: x + np.tanh(x @ w),
        (X[:, :9].copy(), W[:9, :9].copy()),
        1,
    ),  # also element by element
    (lambda x, w: x.T + np.tanh(x @ w), (W[:9, :9].copy(), V[:9, :9].copy()), 0),  # and across
    (lambda x, w: w @ x, (X[:9, :9].copy(), W[:9, :9].copy()), 0),  # columns, which blocks share
    (lambda x, w: x.T @ w, (W[:9, :9].copy(), V[:9, :9].copy()), 0),
    (lambda x, w: (x @ w, w * 0.5), (W[:9, :9].copy(), V[:9, :9].copy()), 0),  # all read the other
    (lambda h, x, w: h * 0.5 + x @ w, (X[:, :9].copy(), X[:, :9].copy(), W[:9, :9].copy()), 1),
    (
        lambda h, c, w: (np.tanh(h @ w + c), c * 0.5),
        (X[:, :9].copy(), X[:, :9] * 2, W[:9, :9].copy()),
        2,
    ),
    (lambda x, w: softmax(x @ w), (X[:, :9].copy(), W[:9, :9].copy()), 1),
    (lambda x, w: x + softmax(x @ w), (X[:, :9].copy(), W[:9, :9].copy()), 1),
    (
        lambda x, w: (x @ w).sum(axis=1, keepdims=True) + 0 * x,
        (X[:, :1].copy(), W[:1, :1].copy()),
        0,
    ),
    (lambda x, w: x @ w, (V, W), {"host": 0, "sm_90a": 1}),  # a library's
    (
        lambda x, w: x @ w,
        (RNG.random((3, 130), "f4"), RNG.random((130, 130), "f4")),
        0,
    ),  # long rows
    (
        lambda x, w: softmax(x @ w),
        (RNG.random((3, 130), "f4"), RNG.random((130, 130), "f4")),
        {"host": 0, "sm_90a": 1},
    ),
    (heat, (X,), 0),
    (unit, (ROWS,), 1),
    (lambda x: x / x.sum(), (X,), 1),
    (lambda x, w: (x - x.max(axis=1, keepdims=True)) * w, (ROWS, ROWS[0]), 1),
    (lambda u, v: (u - v.mean(axis=-1, keepdims=True), v + u), (ROWS, ROWS), 2),
    (lambda u, v: (u - v, v / v.sum(axis=1, keepdims=True)), (ROWS, ROWS), 2),
    (lambda u, v: (v / v.sum(axis=1, keepdims=True), v + u), (ROWS, ROWS), 0),  # v is read again
    (unit, (X,), {"host": 0, "sm_90a": 1}),  # bands of columns
    (lambda x: x[::-1] / x.sum(axis=1, keepdims=True), (ROWS,), 0),
    (lambda x, p: x[p] / x.sum(axis=1, keepdims=True), (ROWS, np.arange(7)), 0),
    (lambda x, s: (x - s, x.sum(axis=1, keepdims=True)), (ROWS, ROWS[:, :1].copy()), 0),
    (lambda x: x.T / x.T.sum(axis=1, keepdims=True), (V,), 0),
]


@pytest.mark.parametrize(("step", "args", "count"), CARRIED)
def test_operands_that_a_loop_carries(step, args, count):
    repeated = ow.repeat(step, 3)
    for target in ("host", "sm_90a"):
        here = count[target] if isinstance(count, dict) else count
        kernels = repeated.step.lower(*args, target=target).lowered.kernels
        assert [len(k.carried) for k in kernels] == [here] * len(kernels)
        listed = [line.phase.value for kernel in kernels for line in kernel.opcodes]
        assert listed.count("repeat") == here
        assert all(("turns" in [p.name for p in k.params]) == (here > 0) for k in kernels)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize(("step", "args"), [
    (logistic, (X, 0.5)), (waves, (X, X * 0, 0.01)), (lambda x: x * np.float16(0.9) + 1, (X.astype(np.float16),)),
    (lambda n: np.where(n % 2 == 0, n // 2, 3 * n + 1), (np.arange(1, 50, dtype=np.int16),)),
    (lambda x, w: x * w + 1, (X[:, ::2], X[:1, ::2])),
    (lambda p, x: p + (x[p] > 0), (np.zeros(5, np.int64), X[:, 0].copy())),
    (unit, (X,)), (halves, (np.float16(X[:, :7]),)), (lambda x: x / (x * x).sum(), (X,)),
    (lambda u, v: (u - v.mean(axis=-1, keepdims=True), v + u), (X, X[::-1].copy())),
    (lambda x, w: x + np.tanh(x @ w), (X[:11, :9].copy(), W[:9, :9].copy())),
    (lambda x, w: x @ w, (X + 1j * X, W[:20, :20] * (1 + 1j))),
    (lambda x, w: np.tanh(x @ w), (V, W[::-1])),  # read in another order, and in more than a tile
    (lambda x, w: np.tanh(x @ w), (np.float16(X[:9]), np.float16(W[:20, :20]))),
    (lambda x, w: x @ w % 19, (np.arange(60, dtype=np.int8).reshape(12, 5), np.eye(5, k=1, dtype=np.int8) * 3)),
    (lambda h, c, w: (np.tanh(h @ w + c), c * 0.5), (X[:, :9].copy(), X[:, 9:18].copy(), W[:9, :9].copy())),
    (lambda h, x, w: h * np.float32(0.5) + x @ w, (X[:, :9].copy(), X[:, 9:18].copy(), W[:9, :9].copy())),
    (lambda x, w: np.tanh(x @ w), (V[:30].reshape(2, 15, 40), V[:, ::-1] / 8)),
    (lambda x, w: np.tanh(x @ w), (X[:12].reshape(3, 4, 20), RNG.random((3, 20, 20), "f4"))),
    (lambda x, w: softmax(x @ w), (X, V[:20, :20].copy())), (lambda x, w: x + softmax(x @ w), (V, W)),
    (lambda x, w: np.tanh(x @ w), (RNG.random((6, 100), "f4"), RNG.standard_normal((100, 100), "f4") / 8)),
    (unit, (RNG.standard_normal((2, 1500)),)), (unit, (RNG.standard_normal((5, 300)).astype("f4"),)),
])  # fmt: skip
@pytest.mark.parametrize(
    "toggles",
    [
        {},
        {"USE_REGISTER_ROW": 0},
        {"USE_WARP_SHUFFLE": 0},
        {"USE_SHARED_MEMORY": 0},
        {"BLOCK_K": 8},
    ],
    ids=str,
)
def test_turns_of_a_kernel_are_steps(step, args, target, toggles):
    repeated = ow.repeat(step, 1).step.with_toggles(**toggles)
    program = repeated.lower(*args, target=target)
    call = program.arguments(args, {})
    for schedule in (0, 1, 7):
        run = Prepared(
            program.lowered, VerifyExecutor(schedule), call.extents, [*call.arrays.values()]
        )
        found = run(list(call.arrays.values()), {**call.env, TURNS: 9})
        state = args
        for _ in range(9):
            made = repeated.lower(*state, target=target).verify(*state, schedule=schedule)
            made = made if isinstance(made, tuple) else (made,)
            state = (*made, *state[len(made) :])
        for a, b in zip(found, state, strict=False):
            assert a.tobytes() == b.tobytes()
    state = args
    for _ in range(9):
        made = step(*state)
        made = made if isinstance(made, tuple) else (made,)
        state = (*made, *state[len(made) :])
    for a, b in zip(found, state, strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-2 if a.itemsize == 2 else 1e-4, atol=1e-5)


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
@pytest.mark.parametrize("columns", [300, 20000])
def test_turns_read_what_the_last_one_wrote(columns, target):
    x = np.ones((4, columns), np.float32)
    repeated = ow.repeat(unit, 1).step.with_toggles(USE_REGISTER_ROW=0)
    (kernel,) = repeated.lower(x, target=target).kernels

    assert "ld.global.nc" not in kernel.ptx  # a cache that no store changes
    assert "ld.global.nc" in ow.fuse(unit).lower(x, target=target).kernels[0].ptx


@pytest.mark.parametrize(
    "step", [lambda x, w: x + np.tanh(x @ w), lambda x, w: x + softmax(x @ w)]
)
def test_no_pointer_of_a_products_loop_is_said_to_be_alone(step):
    source = ow.repeat(step, 3).lower(V, W, target="sm_90a").source

    assert "const float* x," in source  # not __restrict__, of which NVRTC makes ld.global.nc
    assert "float* out," in source
    assert "const float* __restrict__ w," in source


@pytest.mark.parametrize(
    "toggles", [{"USE_SHARED_MEMORY": 1}, {"USE_SHARED_MEMORY": 1, "BLOCK_K": 4}], ids=str
)
def test_a_products_loop_through_tiles_on_the_host(toggles):
    step = ow.fuse(lambda x, w: np.tanh(x @ w))
    x, w = X[:, :9].copy(), W[:9, :9].copy()

    assert (
        ow.repeat(step.with_toggles(**toggles), 5)(x, w).tobytes()
        == ow.repeat(step, 5)(x, w).tobytes()
    )


def carries(repeated, *args):
    (kernel,) = repeated.lower(*args, target="sm_80").lowered.kernels
    return len(kernel.carried), kernel.toggles["BLOCK_M"]


def test_a_step_that_was_refused_leaves_no_mark_on_the_next():
    repeated = ow.repeat(lambda x, w: x @ w, 3)
    with pytest.raises(ArgumentError):
        repeated(X[:2, :3].copy(), W[:3, :4].copy())

    assert carries(repeated, X[:2, :3].copy(), W[:3, :3].copy()) == (1, 8)
    x, w = X[:2, :3].copy(), W[:3, :3].copy()
    np.testing.assert_allclose(repeated(x, w), x @ w @ w @ w, rtol=1e-4, atol=1e-6)
    with pytest.raises(ArgumentError):
        repeated(X[:2, :3].copy(), W[:3, :4].copy())


def test_only_a_step_that_loops_takes_tiles_for_it():
    usual = ow.repeat(lambda x, w: w @ x, 3)

    assert carries(ow.repeat(lambda x, w: x.T + x @ w, 3), V, W) == carries(usual, V, W)
    assert carries(usual, V, W)[0] == 0


def test_a_long_loop_is_some_launches():
    repeated = ow.repeat(logistic, 64 * 150 + 5)
    repeated(X, 0.5)
    (plan,) = repeated._repetitions.values()

    assert [(turns, many) for _, turns, many in plan.segments] == [(64, 2), (22, 1), (1, 1)]


def test_the_loop_is_not_pythons(monkeypatch):
    calls = []
    run = NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    ow.repeat(lambda x: x[::-1] / (x * x).sum(), 1000)(X)

    assert calls == [1000]


def of_another_shape(x):
    return x[1:]


WRONG = [
    (
        of_another_shape,
        (X,),
        r"result 0 of of_another_shape is float32\[32, 20\], and argument 'x'",
    ),
    (lambda x: x.astype(np.float64), (X,), r"float64\[33, 20\], and argument 'x'.* float32\[33"),
    (lambda x: x.sum(), (X,), r"float32\[\], and"),
    (lambda x, y: (x, x.shape[0]), (X, X), "result 1 .* is a number, and argument 'y'"),
    (lambda n, x: x * n, (3, X), "argument 'n', which it becomes, int"),
    (lambda x: (x, x, x), (X,), "3 results and 1 arguments"),
    (lambda x: {"x": x * 2}, (X,), "returns neither an array nor a tuple"),
]


@pytest.mark.parametrize(("step", "args", "message"), WRONG)
def test_a_result_that_does_not_fit_is_refused(step, args, message):
    with pytest.raises(ArgumentError, match=message):
        ow.repeat(step, 3)(*args)


@pytest.mark.parametrize(("step", "n"), [
    (logistic, -1), (logistic, 2**70), (logistic, 1.5), (logistic, True), (logistic, "3"), ("step", 3),
])  # fmt: skip
def test_what_is_no_number_or_no_function_is_refused(step, n):
    with pytest.raises(ArgumentError, match="repeat: "):
        ow.repeat(step, n)


def test_what_needs_python_in_between_is_refused():
    with pytest.raises((TraceError, ow.errors.UnsupportedError)):
        ow.repeat(lambda x: np.sort(x) if x.sum() > 0 else x, 3)(X)


def test_an_index_outside_is_found_in_a_loop():
    with pytest.raises(IndexError, match="out of bounds"):
        ow.repeat(lambda x, p: x[p], 3)(X, np.full(33, 40))


def test_what_a_fused_step_was_given_stays():
    plain = ow.fuse(lambda x, kinds: x * len(kinds), static_argnames="kinds", fast=True)
    step = plain.with_toggles(USE_VECTOR_IO=0)
    repeated = ow.repeat(step, 3)

    assert repeated.step.options.toggles == step.options.toggles
    assert repeated.step.options.fast
    np.testing.assert_array_equal(repeated(X, frozenset("ab")), X * 8)


def test_it_may_stand_in_a_fused_function_and_in_another_step():
    halves = ow.repeat(lambda x: x * np.float32(0.5), 3)
    fused = ow.fuse(lambda x: halves(x) + 1, fullgraph=True)

    np.testing.assert_array_equal(fused(X), X / 8 + 1)
    np.testing.assert_array_equal(ow.repeat(halves, 2)(X), X / 64)


def test_loops_are_not_kept_for_ever():
    repeated = ow.repeat(lambda x: x / x.sum(), 3)
    for count in range(1, 80):
        repeated(np.ones(count, np.float32))

    assert len(repeated._repetitions) <= 64


def test_a_fused_step_and_a_numpy_integer():
    found = ow.repeat(ow.fuse(logistic), np.int64(2))(X, 0.5)

    np.testing.assert_array_equal(found, ow.repeat(logistic, 2)(X, 0.5))


def test_a_step_that_names_its_columns_names_those_of_each_chunk():
    def step(x):
        return x * 0.5 + np.arange(x.shape[0], dtype=np.float32)

    x = np.linspace(0, 1, 1000, dtype=np.float32)
    repeated = ow.repeat(ow.fuse(step).with_toggles(CHUNKS=2, BLOCK=32), 3)
    program = repeated.lower(x, target="sm_80")  # verify takes one step

    assert "const index_t j0 = first + c" in program.source
    np.testing.assert_array_equal(program.verify(x), step(x))


def test_ctrl_c_stops_a_long_loop():
    code = """
import os, signal, threading, time
import numpy as np, opweave as ow
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.ones((64, 64), np.float32)
run = ow.repeat(lambda x: x / x.sum(axis=0), 10**9)
ow.repeat(lambda x: x / x.sum(axis=0), 10)(x)
begin = time.perf_counter()
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    run(x)
except KeyboardInterrupt:
    print(time.perf_counter() - begin < 5)
"""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False,
        timeout=100,
    )  # fmt: skip

    assert ran.stdout == "True\n", ran.stderr
