"""Parts of arrays that are written and read again: no kernel for each write."""

import numpy as np
import pytest

import opweave as ow
from tests.support.written import agree

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)
F = RNG.standard_normal((9, 20, 30))  # more planes than are stored one by one
FEW = RNG.standard_normal((3, 40))


def streamed(f):
    for i in range(9):
        f[i] = np.roll(f[i], i + 1, axis=0)


def collided(f):
    total = f.sum(axis=0)
    for i in range(9):
        f[i] += 0.3 * (total * total * (i + 1) - np.sqrt(np.abs(f[i])))


def both(f):
    streamed(f)
    collided(f)


def some_planes(f):
    f[1] = np.sin(f[0]) * f[1] + np.cos(f[3])
    f[3] = np.tanh(f[1]) - f[4]
    f[1] += f[3]


def swapped(f):
    f[0], f[1] = f[1] * 2, f[0] * 3
    f[2] = f[0] + f[1]


def from_the_end(f):
    f[-1] = f[0] + 1
    f[-2] = f[-1] * 2
    f[0] = f[-1] + f[-2]
    f[-1] = f[0]


def perhaps_the_same(f):
    f[0] = f[-1] + 1
    f[-1] = f[0] * 2
    f[0] += f[-1]


def columns(f):
    f[:, 0] = f[:, 1] * 2
    f[:, 1] = f[:, 0] + f[:, 2]
    f[:, 0] = f[:, 1]


def rows_and_columns(f):
    f[0] = f[1] * 2
    f[:, 0] = f[:, 1] + 1
    f[0] = f[0] + f[1]
    f[1] = f[0]


def elements(f):
    f[0, 1] = f[1, 0] + 1
    f[0] = f[0] * 2
    f[0, 2] = f[0, 1]
    f[1] = f[0]


def numbers(f):
    for i in range(3):
        f[i] = i + 1
    f[1] = f[0] + f[2]


def broadcast(f):
    f[0] = f[1, :1]
    f[1] = f[0] * 2
    f[2] = f[0]


def through_a_view(f):
    first = f[0]
    f[0] = f[1] + 1
    first *= 2
    f[1] = first + f[0]


def masked(f, m):
    held = f[[2, 1, 0]][:, m]
    for i in range(3):
        f[i] = np.exp(f[i]) + f[(i + 1) % 3]
    f[:, m] = held


def reduced(f):
    for i in range(3):
        f[i] = f[i] * f[i] + i
    f[0] = f.sum(axis=0) + f.max(axis=0)


SMALL = (streamed, collided, both, some_planes)
LARGE = (
    swapped, from_the_end, perhaps_the_same, columns, rows_and_columns, elements, numbers,
    broadcast, through_a_view, reduced,
)  # fmt: skip
CASES = {f.__name__: (f, (F,)) for f in SMALL} | {f.__name__: (f, (FEW,)) for f in LARGE}
CASES["masked"] = (masked, (FEW, FEW[0] > 0))


@pytest.mark.parametrize("name", CASES)
def test_arguments_hold_what_numpy_leaves_there(name):
    function, args = CASES[name]
    agree(function, ow.fuse(function, fullgraph=True), lambda: [np.copy(a) for a in args])


@pytest.mark.parametrize("name", CASES)
def test_fused_kernels_and_single_ones_leave_the_same_bits(name):
    function, args = CASES[name]
    fused, alone = [np.copy(a) for a in args], [np.copy(a) for a in args]
    made = ow.fuse(function, fullgraph=True)
    made(*fused)
    made.unfused()(*alone)

    assert [a.tobytes() for a in fused] == [a.tobytes() for a in alone]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("function", [from_the_end, perhaps_the_same])
def test_places_that_may_be_the_same_one_are_told_apart_by_nobody(function, count):
    def make():
        return [np.arange(1.0, 1 + 4 * count).reshape(count, 4)]

    if count == 1 and function is from_the_end:
        return  # it has no last but one
    agree(function, ow.fuse(function), make)


def held(x):
    t = x * 2
    t[0] = x[1]
    return t, t[0]


def shared(x):
    t = x * 2
    t[0] = x[1]
    row = t[0]
    t[1] = row + 1
    return t, row, row + t[1]


def only_a_part(x):
    t = x * 2
    t[0] = x[1]
    return t[0]


@pytest.mark.parametrize("function", [held, shared, only_a_part])
def test_a_part_that_is_returned_lies_where_numpy_has_it(function):
    agree(function, ow.fuse(function, fullgraph=True), lambda: [FEW.copy()])


# Each plane is computed once and stored; then the array is made of all of them.
@pytest.mark.parametrize(
    ("function", "kernels"), [(streamed, 10), (collided, 3), (numbers, 2), (swapped, 1)]
)
def test_a_loop_over_planes_is_no_kernel_for_each_state_of_the_array(function, kernels):
    args = CASES[function.__name__][1]
    program = ow.fuse(function, fullgraph=True).lower(*args, target="host")

    assert len(program.kernels) <= kernels
    assert program.check(*map(np.copy, args)).ok


def test_a_row_loads_the_operand_that_it_chooses():
    program = ow.fuse(streamed, fullgraph=True).lower(F, target="host")
    last = program.kernels[-1].source

    assert last.count("load_chunk(") == 1
    assert last.count("row == ") == 9


def test_planes_of_an_array_that_is_kept_otherwise_are_chosen_from_memory_too():
    program = ow.fuse(some_planes, fullgraph=True).lower(F, target="host")

    assert all("select_bits" not in kernel.source for kernel in program.kernels)


def test_costly_parts_are_not_computed_for_each_row():
    def replaced(f):
        made = f * 2
        for i in range(2):
            made[i] = np.polyval(np.arange(1.0, 20), f[i])
        return made

    program = ow.fuse(replaced, fullgraph=True).lower(F, target="host")
    reason = "each row would compute what it does not choose: that is stored first"

    assert any(d.reason == reason for d in program.lowered.schedule.decisions)
    assert len(program.kernels) == 3
    np.testing.assert_allclose(program(F), replaced(F), rtol=1e-12)


def test_cheap_parts_of_a_stack_stay_in_one_kernel():
    fused = ow.fuse(lambda x: np.stack([x + 1, x * 2]), fullgraph=True)

    assert len(fused.lower(F[0], target="host").kernels) == 1


def test_a_last_column_is_put_into_what_was_stored_before_it_was_read():
    def edges(u):
        u[1:-1] += 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1])
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]

    made = str(ow.fuse(edges, fullgraph=True).explain(FEW.copy()))

    assert "u is written in place, by edges_1_map_f64" in made
    agree(edges, ow.fuse(edges, fullgraph=True), lambda: [FEW.copy()])
