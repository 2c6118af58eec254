"""Writing: what was recorded before reads the old elements, and nobody else's memory changes."""

import threading

import numpy as np
import pytest

import opweave.xp as xp
from opweave.xp import programs


@pytest.fixture(params=[pytest.param("kept", marks=pytest.mark.host), "at_once"], autouse=True)
def ways(request):
    """Kernels run arrays of any length, or NumPy does."""
    return request.getfixturevalue(request.param)


def start():
    return xp.asarray(np.arange(6.0))


def reader(x):
    y = x + 1.0
    x[0] = 50.0
    return y, np.arange(6.0) + 1


def reader_of_a_reader(x):
    y = (x + 1.0) * 2.0
    x[...] = 0.0
    return y, (np.arange(6.0) + 1) * 2


def view(x):
    y = x[2:]
    x[3] = 50.0
    return y, np.arange(2.0, 6.0)


def reader_of_a_view(x):
    y = x[::2] * 3.0
    x[...] = 0.0
    return y, np.arange(0.0, 6.0, 2) * 3


def writing_to_a_view(x):
    y = xp.reshape(x, (2, 3))
    y[0, :] = 0.0
    return x, np.arange(6.0)


def views_that_are_computed_with_their_array(x):
    x = x * 2.0
    y, z = xp.reshape(x, (2, 3)), x[2:]
    x[3] = 50.0
    y[0, 2] = 60.0
    return z, np.arange(2.0, 6.0) * 2


def writing_to_a_view_of_what_waits(x):
    x = x + 0.0
    y = xp.reshape(x, (2, 3))
    y[0, :] = 0.0
    return x, np.arange(6.0)


def written_element(x):
    x[2] = 50.0
    return x, np.array([0, 1, 50.0, 3, 4, 5])


def written_while_it_waits(x):
    x = x * 2.0
    x[1:3] = xp.asarray([7.0, 8.0])
    return x, np.array([0, 7, 8.0, 6, 8, 10])


def written_by_a_mask(x):
    x[x > 3.0] = -1.0
    return x, np.array([0, 1, 2, 3, -1.0, -1])


def written_by_places(x):
    x[xp.asarray([0, 5])] = xp.asarray([9.0, 8.0])
    return x, np.array([9.0, 1, 2, 3, 4, 8])


def written_from_itself(x):
    x[1:] = x[:-1]
    return x, np.array([0, 0, 1, 2, 3, 4.0])


def written_from_what_reads_it(x):
    x[1:] = x[:-1] * 2.0 + x[1:]
    return x, np.array([0, 1, 4, 7, 10, 13.0])


def two_names(x):
    y = x
    x[0] = 5.0
    return y, np.array([5.0, 1, 2, 3, 4, 5])


def in_place(x):
    y, z = x, x + 0.0
    x += 1.0
    return xp.stack([y, z]), np.stack([np.arange(6.0) + 1, np.arange(6.0)])


def in_place_many_times(x):
    for _ in range(5):
        x *= 2.0
        x -= x / 4.0
    return x, np.arange(6.0) * 1.5**5


def a_copy(x):
    y = xp.asarray(x, copy=True)
    x[0] = 50.0
    return y, np.arange(6.0)


def one_array_of_several(x):
    parts = xp.unstack(x)
    x[0] = 50.0
    return parts[0], np.array(0.0)


def broadcast(x):
    y = xp.broadcast_to(x, (2, 6))
    y[0, 0] = 50.0
    return y, np.array([[50.0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]])


CASES = [reader, reader_of_a_reader, view, reader_of_a_view, writing_to_a_view,
         views_that_are_computed_with_their_array, writing_to_a_view_of_what_waits, written_element, written_while_it_waits,
         written_by_a_mask, written_by_places, written_from_itself, written_from_what_reads_it,
         two_names, in_place, in_place_many_times, a_copy, one_array_of_several, broadcast]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_an_array_holds_what_it_held_when_it_was_recorded(case):
    found, expected = case(start())

    assert np.array_equal(np.asarray(found), expected)


def test_the_array_that_an_array_was_made_of_is_another():
    a = np.arange(3.0)
    x = xp.asarray(a)
    y = x + 1.0
    a[0] = 50.0
    x[1] = 60.0

    assert np.array_equal(np.asarray(y), [1, 2, 3])
    assert np.array_equal(a, [50, 1, 2])


def test_shared_memory_is_shared():
    a = np.arange(3.0)
    x = xp.asarray(a, copy=False)
    y = x + 1.0
    x[0] = 50.0
    x += 1.0

    assert np.array_equal(np.asarray(y), [1, 2, 3])
    assert np.array_equal(a, [51, 2, 3])
    a[2] = 7.0
    assert float(x[2]) == 7.0


def test_views_of_shared_memory_are_values():
    a = np.arange(3.0)
    x = xp.asarray(a, copy=False)
    y, z = x[1:], xp.reshape(x, (3, 1)) + 0.0
    y[0] = 50.0
    z[0] = 60.0
    assert np.array_equal(a, [0, 1, 2])
    x[2] = 70.0

    assert np.array_equal(a, [0, 1, 70])
    assert np.array_equal(np.asarray(y), [50, 2])


def test_read_only_memory_is_not_written():
    a = np.arange(3.0)
    a.flags.writeable = False
    x = xp.asarray(a, copy=False)
    x[0] = 50.0

    assert (float(x[0]), a[0]) == (50.0, 0.0)


def test_what_numpy_was_given_stays_and_is_read_only():
    x = start()
    a = np.asarray(x)
    x[0] = 50.0

    assert np.array_equal(a, np.arange(6.0))
    assert float(x[0]) == 50.0
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1.0


def test_whoever_takes_the_memory_by_dlpack_changes_no_slice_of_it():
    for taken, kept in ((0, 1), (1, 0)):
        x = xp.asarray([1.0, 2.0, 3.0])
        arrays = [x, x[:2]]
        later = arrays[kept] * 10
        given = np.from_dlpack(arrays[taken])
        if given.flags.writeable:
            given[...] = 100
        assert float(arrays[kept][0]) == 1
        assert float(later[0]) == 10


def test_a_write_changes_nothing_that_another_thread_computes(monkeypatch):
    begun, written, main = threading.Event(), threading.Event(), threading.current_thread()
    x = xp.asarray(np.ones(1000))
    made = xp.sin(x * 3)
    run = programs.LazyProgram.__call__

    def slowly(*args):
        if threading.current_thread() is not main:
            begun.set()
            assert written.wait(60)
        return run(*args)

    monkeypatch.setattr(programs.LazyProgram, "__call__", slowly)
    thread = threading.Thread(target=xp.compute, args=(made,))
    thread.start()
    assert begun.wait(60)
    x[...] = 7
    written.set()
    thread.join()
    np.testing.assert_allclose(np.asarray(made), np.sin(3.0), 1e-12)
    assert float(x[0]) == 7


def test_whoever_takes_the_memory_by_dlpack_changes_no_array_that_was_recorded_before():
    x = start()
    y = x + 1.0
    taken = np.from_dlpack(x)
    if taken.flags.writeable:
        taken[0] = 50.0

    assert float(y[0]) == 1.0


LOST = [
    ("int64", 1.5, TypeError), ("int64", xp.asarray(1.5), TypeError), ("int8", 300, OverflowError),
    ("float32", 1j, TypeError), ("float32", xp.asarray(1j), TypeError), ("bool", 1, TypeError),
    ("int64", True, TypeError), ("bool", xp.asarray([1, 2]), TypeError),
    ("float64", xp.asarray([1.0, 2.0, 3.0]), ValueError), ("float64", "1", TypeError),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value", "kind"), LOST, ids=str)
def test_nothing_is_lost_in_what_is_written(dtype, value, kind):
    x = xp.zeros((2,), dtype=getattr(xp, dtype))
    with pytest.raises(kind) as caught:
        x[...] = value

    assert "test_writing.py" in str(caught.value)
    assert not bool(xp.any(xp.astype(x, xp.bool)))


@pytest.mark.parametrize("change", [
    lambda x: x.__iadd__(1.5), lambda x: x.__iadd__(xp.asarray([[1], [2]])),
    lambda x: x.__imul__(xp.asarray([1.5, 2.0])), lambda x: x.__iadd__(xp.ones((3,), dtype=xp.int64)),
])  # fmt: skip
def test_a_change_in_place_that_does_not_fit_leaves_the_array(change):
    x = xp.asarray([1, 2])
    with pytest.raises((TypeError, ValueError)):
        change(x)

    assert np.array_equal(np.asarray(x), [1, 2])
