"""The memory plan: temporaries share an arena, and never one place at one time."""

import threading
from itertools import combinations

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import device_for
from opweave.compiler.ir.values import count
from opweave.compiler.pipeline.driver import Options, schedule_graph
from opweave.compiler.scheduling.memory import ALIGNMENT, memory_plan
from opweave.runtime.host import executor
from tests.compiler.test_pass_properties import traced
from tests.fuzz.generate import generate

pytestmark = pytest.mark.host


def equal_bits(found, expected):
    pairs = [r if isinstance(r, tuple) else (r,) for r in (found, expected)]
    for a, b in zip(*pairs, strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


RNG = np.random.default_rng(0)
X = RNG.standard_normal((64, 96)).astype(np.float32)
W = RNG.standard_normal((96, 96)).astype(np.float32) / 10
PLACES = RNG.integers(0, 64, 40)


def layers(depth):
    def network(x, w):
        for _ in range(depth):
            x = np.maximum(x @ w, 0)
        return x

    return network


def halves(x):
    for _ in range(6):
        x = x * 0.5 + 1
    return x


# name, function, arguments
CASES = [
    ("products", layers(5), (X, W)),
    ("small products", layers(4), (X[:5, :7], W[:7, :7])),
    ("maps", halves, (X,)),
    ("a fan", lambda x: np.sin(x.sum(axis=1)) + np.cumsum(np.cos(x), axis=1) @ x.T, (X,)),
    ("a transposed reader", lambda x: (np.exp(x[:, :64]).T @ x) + x, (X,)),
    ("a table of places", lambda x, p: np.sort(x, axis=0)[p] * 2, (X, PLACES)),
    ("read at places", lambda x, p: (x @ x.T)[p] + x[p, :64], (X, PLACES)),
    ("two results", lambda x: np.modf((x @ x.T) * 3), (X,)),
    ("large and small", lambda x: (x.max() - x).sum(axis=1) @ (x * 2), (X,)),
    ("other types", lambda x: (x.astype(np.float64) @ X.T).astype(np.float16).sum(axis=1), (X,)),
    ("a scan of long rows", lambda x: np.cumsum(x.reshape(-1)) / x.std(), (X,)),
    ("complex", lambda x: np.abs(np.fft.fft(x, axis=1)) + (x + 1j).real.sum(), (X,)),
    ("nothing", lambda x: (x[:0] @ x.T).sum() + x.sum(axis=1), (X,)),
]


WHOLE = [case for case in CASES if case[0] not in ("a table of places", "complex")]  # not in parts


@pytest.mark.parametrize("unfused", [False, True], ids=["fused", "unfused"])
@pytest.mark.parametrize(("function", "args"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_results_are_those_of_arrays_apart(function, args, unfused, monkeypatch):
    fused, other = (ow.fuse(function) for _ in range(2))
    if unfused:
        fused, other = fused.unfused(), other.unfused()
    found = [fused(*args) for _ in range(3)]  # the second and third in the arena of the first
    monkeypatch.setattr(executor, "held_at", lambda: 0)  # as of an unknown NumPy

    for one in found:
        equal_bits(one, other(*args))


def planned(function, *args):
    program = ow.fuse(function).unfused().lower(*args, target="host")
    schedule, extents = program.lowered.schedule, program.found.extents
    return memory_plan(schedule, extents), schedule, extents


def clashes(schedule, extents, plan):
    """Pairs of temporaries that share bytes while both are needed."""
    graph, lives = schedule.graph, {}
    for number, group in enumerate(schedule.groups):
        for value in group.outputs:
            lives[value.id] = [value, number, number]
        for value in map(graph.base, group.inputs):
            if value.id in lives:
                lives[value.id][2] = number
    there = [(*lives[v], at, count(lives[v][0].shape, extents)) for v, at in plan.places.items()]
    for (a, begin, end, at, size), (b, other, last, place, length) in combinations(there, 2):
        meet = begin <= last and other <= end
        apart = at + size * a.dtype.itemsize <= place or place + length * b.dtype.itemsize <= at
        if meet and not apart and not {(a.id, b.id), (b.id, a.id)} & set(plan.in_place):
            yield a, b


@pytest.mark.parametrize(("function", "args"), [c[1:] for c in WHOLE], ids=[c[0] for c in WHOLE])
def test_what_lives_at_one_time_lies_apart(function, args):
    plan, schedule, extents = planned(function, *args)

    assert not list(clashes(schedule, extents, plan))


@pytest.mark.parametrize("seed", range(60))
def test_what_lives_at_one_time_lies_apart_in_random_programs(seed):
    program = generate(seed, 7)
    graph, extents, _ = traced(program)
    for fused in (False, True):
        schedule = schedule_graph(graph, extents, device_for("host"), Options(fused=fused))

        assert not list(clashes(schedule, extents, memory_plan(schedule, extents)))


def test_a_deep_chain_needs_two_places():
    plan, *_ = planned(layers(64), X, W)
    one = -(-X.nbytes // ALIGNMENT) * ALIGNMENT

    assert plan.nbytes == 2 * one
    assert plan.naive == 127 * one


def test_maps_write_over_what_they_read():
    plan, schedule, _ = planned(halves, X)

    assert len(plan.in_place) == len(schedule.groups) - 2
    assert plan.nbytes == X.nbytes


# A map of a product y, which another product reads: may it be written over y?
MAPS = {
    "at its own places": (lambda y, x: np.sin(y) @ x, 1),
    "y is read later": (lambda y, x: np.sin(y) @ x + y, 0),
    "wider elements": (lambda y, x: np.sin(y.astype(np.float64)) @ x, 0),
    "read as a table": (lambda y, x: (np.take(y, [3, 1] * 32, axis=1) + y) @ x, 0),
    "read transposed": (lambda y, x: (y.T + y) @ x, 0),
    "a broadcast row": (lambda y, x: (y[0] + x) @ x, 0),
    "two results": (lambda y, x: [part @ x for part in np.modf(y)], 0),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_written_over_what_nobody_else_reads(name):
    function, count = MAPS[name]
    x = X[:, :64].copy()
    program = ow.fuse(lambda x: function(x @ x, x)).lower(x, target="host")
    plan = memory_plan(program.lowered.schedule, program.found.extents)

    assert len(plan.in_place) == count
    assert program.check(x).ok


def test_calls_at_once_have_an_arena_each():
    fused = ow.fuse(layers(6))
    given = [X * n for n in range(1, 9)]
    expected = [fused(x, W).copy() for x in given]
    wrong = []

    def call(number):
        for _ in range(40):
            if not np.array_equal(fused(given[number], W), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_index_outside_is_found_in_a_plan():
    fused = ow.fuse(lambda x, p: (x @ x.T)[p] @ x)
    fused(X, np.array([3]))

    with pytest.raises(IndexError, match="index 64 is out of bounds"):
        fused(X, np.array([64]))


def test_explain_says_what_temporaries_take():
    text = ow.fuse(layers(64), fullgraph=True).explain(X, W).text

    assert "temporaries: 48.0 KiB in an arena instead of 3.0 MiB" in text


def test_a_pointer_that_may_lead_to_what_is_written_makes_no_promise():
    fused = ow.fuse(lambda x: np.sqrt(np.exp(x) * 2)).unfused()
    first, second, _ = fused.lower(np.ones(8, np.float32), target="sm_80").kernels

    assert first.source.count("__restrict__") == 2
    assert "__restrict__" not in second.source
