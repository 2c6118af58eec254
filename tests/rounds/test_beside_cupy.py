"""NumPy arrays beside CuPy arrays, and programs that were lowered for the other kind."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.rounds.cupy_by_shim import ndarray, on_gpu

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.nvrtc
X = np.random.default_rng(5).standard_normal((9, 40)).astype(np.float32)
I = np.array([3, 1, -2, 0])
J = np.array([0, 39, 4, -40])
TABLE = np.linspace(1, 2, 5)
MASK = np.arange(9) % 2 == 0
ORDER = np.random.default_rng(7).permutation(40)


def written(x):
    y = x * 1
    y[I, 2] += 1
    y[[1, 2]] = 0
    return y


def masked(x):
    y = x * 1
    y[MASK] = 0
    y[~MASK] -= 2
    return y


# Lines that a kernel does not have all of.
IN_PARTS = {
    "a sort": lambda x: np.sort(x * 2, axis=1)[I[::-1]] + 1,
    "writes": written,
    "what a mask selects": lambda x: x[MASK] * 2,
    "numbers": lambda x: x * float(TABLE[1]) + int(I.sum()),
    "at": lambda x: added_at(x * 1),
}


def added_at(y):
    np.add.at(y, I, 1)
    return y


# What CuPy itself takes.
INDICES = {
    "one": lambda x: x[I] * 2,
    "two": lambda x: (x[I, J], x[I[:, None], J]),
    "computed by NumPy": lambda x: x[I * 2 + np.array([1, 0, 2, 1])] + 1,
    "of another array": lambda x: x[J[I] % 9] * 2,
    "backwards": lambda x: x[I[::-1]] * 2,
    "take": lambda x: np.take(x, I, axis=1) + x[:, :4],
    "a place": lambda x: x[I[1]] + x[I.max()],
    "a list": lambda x: x[[1, 2]] + np.take(x, [3, 4], axis=0),
    "a number of NumPy's": lambda x: x * TABLE[2] + TABLE.sum(),
    "one twice": lambda x: x[I] + x[I],
    "a mask": masked,
}
# What CuPy refuses, or what is NumPy's there.
VALUES = {
    "a product": lambda x: x * TABLE[:, None, None],
    "made inside": lambda x: x * np.ones(40),
    "chosen": lambda x: np.where(x > 0, TABLE[:, None, None], x),
    "chosen numbers": lambda x: np.where(MASK, 1, 2)[:, None] * x,
    "a mask beside a mask": lambda x: np.where((x > 0) & MASK[:, None], x, 0),
    "an index and a value": lambda x: x[I] * I[:, None],
    "a result": lambda x: (x[I], I + 1),
    "a number as a result": lambda x: (x[I], I.sum()),
    "written": lambda x: (
        np.add(x[0], x[1], out=x[2]) + np.broadcast_to(J[0] * TABLE, (8, 5)).ravel()
    ),
}


@pytest.mark.parametrize("name", INDICES)
def test_arrays_of_numpys_are_indices_of_those_of_cupys(gpu, name):
    fused = ow.fuse(INDICES[name], fullgraph=True)
    for _ in range(2):
        found, expected = fused(on_gpu(X)), INDICES[name](X)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for a, b in pairs:
            assert type(a) is ndarray
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.get(), b, rtol=1e-6)
    assert fused.check(on_gpu(X)).ok
    assert fused.lower(on_gpu(X)).check(X).ok


@pytest.mark.parametrize("name", VALUES)
def test_they_are_no_values(gpu, name):
    fused = ow.fuse(VALUES[name], fullgraph=True)
    for refused in (fused, fused.lower, fused.check, fused.explain):
        with pytest.raises(e.ArgumentError, match="NumPy and CuPy arrays are mixed"):
            refused(on_gpu(X))


def test_an_argument_is_an_index_as_it_is_now(gpu):
    places = np.array([0, 1])
    fused = ow.fuse(lambda x, i: x[i] * 2)
    for number in range(3):
        places[:] = number
        np.testing.assert_array_equal(fused(on_gpu(X), places).get(), X[places] * 2)
    assert len(gpu.launches) == 3
    np.testing.assert_array_equal(fused(on_gpu(X), places[::-1]).get(), X[places] * 2)
    with pytest.raises(e.ArgumentError, match="mixed"):
        ow.fuse(lambda x, i: x + i)(on_gpu(X), X)


@pytest.mark.parametrize("name", IN_PARTS)
def test_in_parts_cupy_takes_them(gpu, name):
    function = IN_PARTS[name]
    fused = ow.fuse(function)
    for _ in range(2):
        found = fused(on_gpu(X))
        assert type(found) is ndarray
        np.testing.assert_allclose(found.get(), function(X), rtol=1e-6)


def test_in_parts_they_are_no_values_either(gpu):
    with pytest.raises(e.ArgumentError, match="mixed"):
        ow.fuse(lambda x: np.sort(x * 2, axis=1) + np.arange(40) * TABLE[:1])(on_gpu(X))


def test_what_is_asked_to_run_on_the_gpu_takes_them_too(gpu, monkeypatch):
    with ow.config(device="cuda"):
        found = ow.fuse(lambda x: x[I] * 2)(on_gpu(X))
        with pytest.raises(e.ArgumentError, match="mixed"):
            ow.fuse(lambda x: x * TABLE[:1])(on_gpu(X))

    np.testing.assert_array_equal(found.get(), X[I] * 2)


def test_a_program_for_cupys_arrays_verifies_those_of_numpys(gpu):
    w = np.random.default_rng(6).standard_normal((40, 7)).astype(np.float32)
    program = ow.fuse(lambda x, w: np.maximum(x @ w, 0) * 2).lower(on_gpu(X), on_gpu(w))
    expected = program(on_gpu(X), on_gpu(w)).get()

    for found in (program.verify(X, w), program.verify(on_gpu(X), on_gpu(w)), program(X, w)):
        assert type(found) is np.ndarray
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(program.reference(X, w), expected, rtol=1e-4, atol=1e-5)
    assert program.check(X, w).ok
    assert program.check(on_gpu(X), on_gpu(w), schedule=1).ok
    assert program.bounds(X, w)[0].value.shape == (9, 7)
    with pytest.raises(e.ArgumentError, match="another guard or shape class"):
        program.verify(X.astype(np.float64), w)
    with pytest.raises(e.ArgumentError, match="mixed"):
        program(on_gpu(X), w)


def test_a_program_for_numpys_arrays_takes_those_of_cupys(gpu):
    fused = ow.fuse(lambda x: np.cumsum(x, 1))
    for target, kind in (("sm_90a", ndarray), ("host", np.ndarray)):
        found = fused.lower(X, target=target)(on_gpu(X))
        assert type(found) is kind
        np.testing.assert_allclose(np.asarray(found), np.cumsum(X, 1), rtol=1e-5, atol=1e-5)


def looped(u, n):
    for t in range(n):
        u = u * 0.5 + u[ORDER] * 0.25 + u[ORDER[t % 3]]
    return u


def test_loops_and_steps_read_by_them(rolled):
    u, fused = X[0].astype(float), ow.fuse(looped)
    for n in (11, 1, 14):
        np.testing.assert_allclose(fused(on_gpu(u), n).get(), looped(u, n), rtol=1e-10)

    found = ow.repeat(lambda u, i: u * 0.5 + u[i], 7)(on_gpu(u), ORDER)
    for _ in range(7):
        u = u * 0.5 + u[ORDER]
    np.testing.assert_allclose(found.get(), u, rtol=1e-10)


def test_calls_that_may_be_replayed_read_the_newest_indices(gpu):
    places, x = np.array([0, 1]), on_gpu(X)
    fused = ow.fuse(lambda x, i: x[i] * 2 + x[i], replay=True)
    for number in range(8):
        places[:] = number
        np.testing.assert_array_equal(fused(x, places).get(), X[places] * 2 + X[places])


def test_arrays_that_share_memory_run_in_parts_with_them(gpu):
    def function(x, y):
        y += x[I]

    memory, expected = on_gpu(X), X.copy()
    fused = ow.fuse(function)
    fused(memory, memory[2:6])
    function(expected, expected[2:6])
    np.testing.assert_array_equal(memory.get(), expected)
    with pytest.raises(e.ArgumentError, match="mixed"):
        ow.fuse(lambda x, y: np.multiply(x, 2, out=y))(memory[0], expected[0])
