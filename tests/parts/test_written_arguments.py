"""Functions that write to their arguments are whole, and leave behind what NumPy leaves behind."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.pipeline import specialise
from opweave.opcodes import errors as e
from tests.support.written import LAYOUTS, agree, laid_in_rows

RNG = np.random.default_rng(20261124)
U, V = RNG.standard_normal((2, 5, 6))


def scaled(u, v):
    u *= 2


def added(u, v):
    u += v
    return u


def into_itself(u, v):
    return np.multiply(u, v, out=u)


def filled(u, v):
    u.fill(3)
    return u


def copied(u, v):
    np.copyto(u, v)


def whole(u, v):
    u[...] = v * 2
    u[:] += 1


def by_mask(u, v):
    u[u > v] += 1
    v[u > 1] = 0


def where(u, v):
    np.add(u, v, out=u, where=u > 0)


def clipped(u, v):
    np.clip(v, -0.5, 0.5, out=u)
    return u.sum()


def accumulated(u, v):
    np.cumsum(v, axis=0, out=u)


def stencil(u, v):
    u[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] - v[1:-1, 2:]
    return u[1:]


def steps(u, v):
    for _ in range(3):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        u[0], u[-1] = 0, v[0]


def rolled(u, v):
    u[...] = np.roll(u, 1, axis=0)


def strided(u, v):
    u[:, ::2] = v[:, ::2]
    u[::-1, 1] = v[:, 1]


def swapped(u, v):
    kept = u.copy()
    u[...] = v
    v[...] = kept
    return kept


def in_turn(u, v):
    u += v
    v -= u
    return v, u


def centred(u, v):
    u -= u.mean(axis=0)
    v[...] = v @ v.T @ u


def one_value(u, v):
    y = v * 2
    u[...] = y
    v[...] = y
    return y


def elements(u, v):
    before = u[0, 0]
    u[0, 0] = v[0, 1]
    u *= 2
    return before, u[0, 0], float(3)


def parts(u, v):
    inner = u[1:]
    row = inner[1]
    row += v[0]
    inner[:, 1:] *= 2
    u[2] -= 1
    return inner, row


def aliased(u, v):
    w = u
    w += v
    return {"w": w, "rows": [w[0], w[1]], "again": w}


def before_and_behind(u, v):
    old = u.copy()
    total = u.sum()
    u += 1
    return old, total, u * 2, u[..., 0]


def by_extent(u, v):
    if u.shape[0] > 2:
        u[0] = 0
    else:
        u[0] = 1
    return u.shape[0]


def of_other_type(u, v):
    u[...] = np.arange(6)
    v[1:3] = (u[1:3] > 0).astype(np.int32)


FUNCTIONS = [
    scaled, added, into_itself, filled, copied, whole, by_mask, where, clipped, accumulated,
    stencil, steps, rolled, strided, swapped, in_turn, centred, one_value, elements, parts,
    aliased, before_and_behind, by_extent, of_other_type,
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_written_as_by_numpy(function, layout):
    agree(function, ow.fuse(function, fullgraph=True), lambda: (layout(U), laid_in_rows(V)))


@pytest.mark.host
@pytest.mark.parametrize("function", [scaled, whole, by_mask, stencil, parts, centred])
def test_arrays_without_elements_are_left_alone(function):
    agree(function, ow.fuse(function), lambda: (np.zeros((0, 6)), np.zeros((0, 6))))


def one(x, n):
    x += n
    y = x[()]
    x[...] = 2 * x
    return x, y


@pytest.mark.host
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.complex128])
def test_an_array_without_dimensions(kind):
    agree(one, ow.fuse(one, fullgraph=True), lambda: (np.array(3, kind), 4))


@pytest.mark.host
def test_arguments_that_overlap():
    def make():
        memory = np.arange(40.0)
        return memory[1:31].reshape(5, 6), memory[:30].reshape(5, 6)

    for function in (added, swapped, stencil):
        agree(function, ow.fuse(function), make)
        with pytest.raises(e.UnsupportedError, match="u and v share memory"):
            ow.fuse(function, fullgraph=True)(*make())


@pytest.mark.host
def test_the_same_array_twice():
    for function in (added, swapped, in_turn):
        agree(function, ow.fuse(function), lambda: (U.copy(),) * 2)


@pytest.mark.host
def test_two_arrays_between_each_other():
    def make():
        memory = np.arange(60.0).reshape(5, 12)
        return memory[:, ::2], memory[:, 1::2]

    agree(added, ow.fuse(added, fullgraph=True), make)


@pytest.mark.host
def test_the_same_arrays_moved_to_overlap():
    fused = ow.fuse(added)
    memory = np.arange(100.0)
    far, near = memory[60:90], memory[1:31]
    agree(added, fused, lambda: (far.copy(), near.copy()))
    given = memory.copy()
    wanted = memory.copy()
    fused(given[60:90], given[:30]), added(wanted[60:90], wanted[:30])
    fused(given[1:31], given[:30]), added(wanted[1:31], wanted[:30])
    np.testing.assert_array_equal(given, wanted)


@pytest.mark.host
def test_explain_says_why_kernels_do_not_run_these_arrays():
    fused, memory = ow.fuse(added), np.arange(100.0)
    why = "kernels do not run with these arrays: "

    assert fused.explain(memory[:30], memory[30:60]).notes == ()
    told = fused.explain(memory[1:31], memory[:30])
    assert told.notes == (f"{why}arguments u and v share memory",)
    assert fused.explain(frozen(np.ones(3)), np.ones(3)).notes == (
        f"{why}argument u is read-only",
    )


@pytest.mark.host
def test_nothing_is_kept_of_an_argument():
    fused, u = ow.fuse(added, fullgraph=True), np.ones(4)
    fused(u, np.ones(4))
    u.resize(8)  # NumPy refuses it where there is as much as a weak reference
    fused(u, np.ones(8))

    np.testing.assert_array_equal(u, [3, 3, 3, 3, 1, 1, 1, 1])


def frozen(x):
    x.flags.writeable = False
    return x


@pytest.mark.host
def test_arrays_that_cannot_be_written_to():
    for function in (added, stencil, filled, copied):
        fused = ow.fuse(function)
        agree(function, fused, lambda: (frozen(U.copy()), V.copy()))
        agree(function, fused, lambda: (U.copy(), V.copy()))
        agree(function, fused, lambda: (np.broadcast_to(U[0].copy(), U.shape), V.copy()))


@pytest.mark.host
def test_elements_that_share_memory():
    def make():
        windows = np.lib.stride_tricks.sliding_window_view(np.arange(10.0), 6, writeable=True)
        return windows, V.copy()

    agree(added, ow.fuse(added), make)


def out_of_bounds(u, i):
    u *= 2
    found = u[0, i]
    u += found[0]
    return found


def caught_later(u, i):
    u *= 2
    u[0, 9] = 1


def does_not_fit(u, i):
    u *= 2
    return u + i


def raises(u, i):
    u *= 2
    raise KeyError("u")


def of_nothing(u, i):
    u *= 2
    return u[:, :0].max()


@pytest.mark.host
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize(
    "function", [out_of_bounds, caught_later, does_not_fit, raises, of_nothing]
)
def test_what_is_written_before_an_error_stays(function, fullgraph):
    fused = ow.fuse(function, fullgraph=fullgraph)
    for places in (np.array([1, 9]), np.array([1, 2]), np.array([-7, 2])):
        agree(function, fused, lambda places=places: (U.copy(), places))


@pytest.mark.host
def test_a_number_that_is_an_error_is_found_before_anything_is_written():
    def function(u, n):
        u *= 2
        return 1 / n

    fused = ow.fuse(function)
    for n in (2, 0, 4):
        agree(function, fused, lambda n=n: (U.copy(), n))


class State:
    def __init__(self):
        self.x, self.count = U.copy(), 3


def of_an_object(state, weights):
    state.x[:] = state.x * 2
    state.x += weights["w"]
    weights["w"] -= 0.1 * state.x
    return state.x


@pytest.mark.host
def test_arrays_of_objects_and_containers():
    fused = ow.fuse(of_an_object, fullgraph=True)
    for _ in range(2):
        state, weights = State(), {"w": V.copy()}
        other, likes = State(), {"w": V.copy()}
        x, w = state.x, weights["w"]
        assert fused(state, weights) is x
        of_an_object(other, likes)
        assert state.x is x
        assert weights["w"] is w
        np.testing.assert_allclose(x, other.x)
        np.testing.assert_allclose(w, likes["w"])


TOTAL = np.zeros(4)


def counts(x):
    TOTAL[:] += x
    return TOTAL


@pytest.mark.host
def test_a_global_array():
    fused = ow.fuse(counts, fullgraph=True)
    TOTAL[:] = 0
    for _ in range(3):
        assert fused(np.ones(4)) is TOTAL
    np.testing.assert_array_equal(TOTAL, 3.0)


@pytest.mark.host
def test_out_and_written_arguments():
    def function(u, v):
        u += v
        return u * 2

    fused, out = ow.fuse(function, fullgraph=True), np.zeros(U.shape)
    u = U.copy()
    assert fused(u, V, out=out) is out
    np.testing.assert_allclose(u, U + V)
    np.testing.assert_allclose(out, 2 * (U + V))
    assert fused(u, V, out=u) is u
    np.testing.assert_allclose(u, 2 * (U + V + V))
    kept = u.copy()
    for other in (np.zeros(3), out.astype(np.float32), (out, out), frozen(out.copy())):
        with pytest.raises(e.ArgumentError, match="out="):
            fused(u, V, out=other)
    np.testing.assert_array_equal(u, kept)


@pytest.mark.host
def test_errors_as_numpy_tells_of_them():
    def function(u, v):
        u /= v
        return u

    fused = ow.fuse(function)
    with ow.config(errors="numpy"):
        for v in (V, np.zeros(V.shape)):
            for state in ("ignore", "raise"):
                with np.errstate(all=state, under="ignore"):
                    agree(function, fused, lambda v=v: (U.copy(), v.copy()))


@pytest.mark.host
def test_tools_leave_arguments_alone():
    fused, u, v = ow.fuse(stencil, fullgraph=True), U.copy(), V.copy()
    wanted = stencil(other := U.copy(), V)
    program, verified = fused.lower(u, v), fused.lower(u, v, target="sm_90a")
    for found in (program(u, v), fused.reference(u, v), verified.verify(u, v), verified(u, v)):
        np.testing.assert_allclose(found, wanted)
        np.testing.assert_allclose(found.base, other)
    assert fused.check(u, v).ok
    assert fused.bisect(u, v).ok
    assert [row.name for row in fused.check(u, v).rows] == ["u"]
    assert [bound.name for bound in program.bounds(u, v)] == ["u"]
    fused.explain(u, v)
    ow.regime(ow.fuse(added), u, v)
    np.testing.assert_array_equal(u, U)
    np.testing.assert_array_equal(v, V)


@pytest.mark.host
@pytest.mark.parametrize(("function", "text"), [
    (scaled, "u is written in place, by scaled_map_f64"),
    (copied, "u is written in place, by copied_map_f64"),
    (by_mask, "v is written in place, by by_mask_map_f64"),
    (stencil, "u is computed apart and copied: stencil_map_f64 reads what other threads write"),
    (out_of_bounds, "u is computed apart and copied: an index may have no element"),
])  # fmt: skip
def test_explain_says_how(function, text):
    second = np.array([1, 2]) if function is out_of_bounds else V

    assert text in str(ow.fuse(function).explain(U.copy(), second))


@pytest.mark.host
def test_in_place_means_in_place():
    fused = ow.fuse(scaled, fullgraph=True)
    u = np.zeros((512, 512))
    fused(u, V)
    (ready,) = fused.prepared_calls._known.popitem()[1]

    assert ready.prepared.plan.straight


def long_loop(u, n):
    for _ in range(n):
        u[...] = np.cumsum(u[::-1])


@pytest.mark.host
@pytest.mark.parametrize(("module", "name"), [
    (specialise, "MOST_WRITES"),
])  # fmt: skip
def test_a_loop_of_many_writes_runs_in_parts(monkeypatch, module, name):
    monkeypatch.setattr(module, name, 2)
    for n, options, is_whole in ((1, {}, True), (3, {}, False), (3, {"fullgraph": True}, True)):
        fused = ow.fuse(long_loop, **options)
        agree(long_loop, fused, lambda n=n: (np.arange(1.0, 7.0), n))
        assert fused.prepared_calls.is_known == is_whole


class Own(np.ndarray):
    """A class with a meaning of its own."""


def test_a_subclass_is_written_to_by_the_plain_function():
    u = U.copy().view(Own)
    with pytest.warns(ow.OpweaveWarning, match="runs by NumPy") as caught:
        assert ow.fuse(added)(u, V) is u

    assert caught[0].filename == __file__
    np.testing.assert_array_equal(u.view(np.ndarray), U + V)


@pytest.mark.host
def test_a_step_that_is_repeated_writes_to_no_argument():
    said = r"writes into an argument, which neither a step of ow.repeat .*; return the new value"
    with pytest.raises(e.UnsupportedError, match=said):
        ow.repeat(added, 3)(U, V)


@pytest.mark.parametrize(("function", "promised"), [
    (lambda u, v: np.multiply(u, v, out=u), ["v"]),
    (lambda u, v: np.copyto(u, v * 2), ["v", "out"]),
], ids=["read", "not read"])  # fmt: skip
def test_pointers_to_one_memory_do_not_promise_that_they_are_apart(function, promised):
    """Behind the promise a compiler may load again what was stored, or by ld.global.nc."""
    x = np.ones(8, np.float32)
    source = ow.fuse(function).lower(x, x.copy(), target="sm_80").source

    assert re.findall(r"\* __restrict__ (\w+)", source) == promised
