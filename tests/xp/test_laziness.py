"""Arrays wait until somebody looks; then all that is needed is one program."""

import copy
import gc
import math
import pickle
import threading
import weakref

import numpy as np
import pytest

import opweave.xp as xp
from opweave.xp import looks

X = np.linspace(0.1, 4.0, 12, dtype=np.float32).reshape(3, 4)


def chain(m, x):
    """Eight operators."""
    return m.sqrt(m.abs(m.sin(x * 2.0 + 1.0) * x - 0.5)) / 3.0


def waits(*arrays):
    return [array._node.memory is None for array in arrays]


# What looks

LOOKS = {
    "bool": lambda x: bool(x[0] > 0),
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "index": lambda x: [1, 2, 3][xp.astype(x[0] * 0, xp.int64)],
    "repr": repr,
    "iteration": list,
    "np.asarray": np.asarray,
    "DLPack": lambda x: np.from_dlpack(x),
    "pickle": pickle.dumps,
    "a mask": lambda x: x[x > 0.5],
    "nonzero": xp.nonzero,
    "unique_values": xp.unique_values,
    "sort": xp.sort,
    "compute": xp.compute,
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_computes(at_once, name):
    x = xp.asarray(X.reshape(-1)) + 1.0
    before = waits(x)
    LOOKS[name](x)

    assert (before, waits(x)) == ([True], [False])


def test_the_parts_of_an_array_cost_the_same_each_however_many_are_kept(at_once, monkeypatch):
    asked = []

    class Counted(weakref.ref):
        def __call__(self):
            asked.append(1)
            return super().__call__()

    monkeypatch.setattr("opweave.xp.nodes.ref", Counted)
    counts = []
    for length in (300, 1200):
        asked.clear()
        parts = list(xp.asarray(np.arange(float(length))))
        counts.append(len(asked))
    del parts

    assert counts[1] < 6 * counts[0]


def test_what_several_operations_read_is_not_counted_anew_at_each(at_once, monkeypatch):
    counted, ordered = [], looks.ordered
    monkeypatch.setattr(looks, "ordered", lambda nodes: counted.append(1) or ordered(nodes))
    x = xp.asarray(X)
    for _ in range(100):  # each doubles the sum of what waits for both operands
        x = x * 0.5 + x * 0.25

    assert len(counted) < 20
    assert np.allclose(np.asarray(x), X * 0.75**100, rtol=1e-4)


NO_LOOKS = {
    "shape": lambda x: (x.shape, x.dtype, x.ndim, x.size, x.device, len(x)),
    "operators": lambda x: -x + x * x / 2.0,
    "comparisons": lambda x: (x < 1) | (x == 2),
    "a slice": lambda x: x[1:, ::-1],
    "a sum": lambda x: xp.sum(x, axis=0),
    "a reshape": lambda x: xp.reshape(x, (-1,)).shape,
    "a transpose": lambda x: x.T @ x,
    "in place": lambda x: x.__iadd__(1.0),
    "a copy": copy.copy,
    "asarray": lambda x: xp.asarray(x, copy=True),
}


@pytest.mark.parametrize("name", NO_LOOKS)
def test_what_is_known_at_once_computes_nothing(at_once, name):
    x = xp.asarray(X) + 1.0
    NO_LOOKS[name](x)

    assert waits(x) == [True]
    assert at_once.made == 0


# One program


@pytest.mark.host
def test_a_chain_is_one_kernel_and_found_again_without_a_trace(kept):
    for number in range(5):
        found = chain(xp, xp.asarray(X + np.float32(number)))
        assert np.array_equal(
            np.asarray(found),
            kernels_of(kept).fused(X + np.float32(number), 2.0, 1.0, 0.5, 3.0)[0],
        )
        assert np.allclose(np.asarray(found), chain(np, X + np.float32(number)), rtol=1e-6)

    program = kernels_of(kept)
    assert program.fused.traces == ("the first call",)
    assert len(program.fused.lower(X, 2.0, 1.0, 0.5, 3.0).kernels) == 1


def kernels_of(kept):
    """The only program that was made."""
    (program,) = kept._known.values()
    assert program.compiles
    return program


@pytest.mark.host
def test_numbers_and_extents_may_differ_without_a_trace(kept):
    for number, extent in enumerate((4, 7, 9)):
        x = xp.ones((extent,))
        found = np.asarray(x * (number + 0.5) + 1.0)
        assert np.array_equal(found, np.full(extent, number + 1.5))

    assert kernels_of(kept).fused.traces == ("the first call",)


def test_a_loop_whose_slices_differ_does_not_compile_for_ever(at_once):
    for n in range(100):
        x = xp.ones((200,)) * 2.0
        assert float(xp.sum(x[n : n + 2])) == 4.0

    assert at_once.made == 100
    assert not [*at_once._known.values()][-1].compiles


def test_elements_at_places_make_one_program(at_once):
    x = xp.asarray(X.reshape(-1)) * 2.0
    total = 0.0
    for n in range(x.shape[0]):
        total += float(x[n] + 1.0)

    assert total == pytest.approx(float(np.sum(X * 2 + 1)))
    assert at_once.made == 2


def test_an_expression_that_grows_is_cut(at_once):
    x = xp.asarray(X)
    for _ in range(looks.MOST_PENDING * 3):
        x = x + 1.0

    assert x._node.pending <= looks.MOST_PENDING
    assert at_once.made == 1  # each cut is the same program
    assert np.allclose(np.asarray(x), X + looks.MOST_PENDING * 3)


def test_what_is_read_twice_counts_once(at_once):
    x = xp.asarray(np.ones(2))
    for _ in range(60):
        x = x + x

    assert waits(x) == [True]
    assert np.array_equal(np.asarray(x), np.full(2, 2.0**60))


# Sharing


def counting(monkeypatch, name):
    """How often the operation of this name is computed by NumPy."""
    from opweave.xp.maps import MAPS

    operation, runs = MAPS[name].operation, []
    plain = operation.compute
    monkeypatch.setattr(operation, "compute", lambda *args: (runs.append(1), plain(*args))[1])
    return runs


SHARED = {
    "a handle is held": lambda x: (x, [x + 1.0, x * 2.0, x - 1.0]),
    "only readers are": lambda x: (None, [x + 1.0, x * 2.0, x - 1.0]),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_others_need_is_computed_once(at_once, monkeypatch, name):
    runs = counting(monkeypatch, "exp")
    x = xp.exp(xp.asarray(X))
    _held, readers = SHARED[name](x)
    del x
    for reader in readers:
        float(xp.sum(reader))

    assert len(runs) == 1


def test_what_nobody_holds_is_no_result(at_once):
    found = chain(xp, xp.asarray(X))
    xp.compute(found)
    ((_, outputs),) = at_once._known

    assert len(outputs) == 1


def test_several_arrays_are_one_program(at_once):
    x = xp.asarray(X)
    several = [x + 1.0, x * 2.0, xp.sum(x)]
    xp.compute(*several)

    assert at_once.made == 1
    assert waits(*several) == [False] * 3


def test_memory_is_let_go(at_once):
    x = xp.asarray(X)
    y = x + 1.0
    node = y._node.args[0]
    xp.compute(y)

    assert node is x._node
    assert y._node.args == ()
    del x, node
    gc.collect()
    assert len(y._node.readers) == 0


# Threads


@pytest.mark.parametrize("share", [1, 50])
def test_threads_look_at_arrays_that_share_nodes(at_once, share):
    base = xp.exp(xp.asarray(X)) + 0.0
    for _ in range(share):
        base = base * 1.0
    arrays = [base * float(n) for n in range(16)]
    found, faults = [None] * 16, []
    start = threading.Barrier(16)

    def run(n):
        try:
            start.wait()
            for _ in range(5):
                found[n] = float(xp.sum(arrays[n] + base))
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert found == pytest.approx(
        [float(np.sum(np.exp(X) * (n + 1))) for n in range(16)], rel=1e-5
    )


# Conversions


def test_copies_and_pickles_are_arrays_of_their_own(at_once):
    x = xp.asarray(X) + 1.0
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        made[0, 0] = 9.0
        assert float(made[0, 0]) == 9.0
        assert float(x[0, 0]) == pytest.approx(1.1)


def test_an_array_prints_as_what_it_holds(at_once):
    x = xp.asarray([1.0, 2.0]) / 3.0

    assert (
        repr(xp.asarray([1, 2]) + 1) == f"{xp.asarray([1, 2]) + 1}" == "Array([2, 3], dtype=int64)"
    )
    assert f"{x[0]:.2f}" == "0.33"


def test_constants_are_pythons():
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (math.pi, math.e, math.inf, None)
    assert math.isnan(xp.nan)
