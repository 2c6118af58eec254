"""Memory of large results on the host: kept when nobody holds it, and owned as NumPy's own."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import opweave as ow
from opweave.opcodes.errors import ArgumentError, CheckError
from opweave.runtime.host import pool

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host
LARGE = pool.FROM_BYTES // 4 + 5  # elements of float32


@pytest.fixture
def double():
    """A function of large arrays, and a pool that holds nothing."""
    with ow.config(kept_bytes=0):
        pool.counts()
    fused = ow.fuse(lambda x: x * 2)
    fused(large(0))
    gc.collect()
    return fused


def large(value, n=LARGE):
    return np.full(n, value, np.float32)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_that_nobody_holds_serves_the_next_result(double):
    x = large(3)
    first = double(x)
    at = address(first)
    del first

    second = double(x)

    assert at == address(second)
    assert (second == 6).all()


def test_a_view_keeps_the_memory_of_its_result(double):
    part = double(large(1))[5:7]

    other = double(large(2))

    assert not np.may_share_memory(part, other)
    assert part.tolist() == [2, 2]


def test_a_buffer_keeps_the_memory_of_its_result(double):
    held = memoryview(double(large(1)))

    double(large(5))

    assert held[0] == 2.0


def test_a_large_result_owns_its_memory_and_can_be_resized(double):
    y = double(large(4))

    assert y.flags.owndata
    assert y.base is None
    y.resize(2 * LARGE)
    assert (y[:LARGE] == 8).all()
    assert not y[LARGE:].any()
    y.resize(3)
    assert y.tolist() == [8, 8, 8]


def test_arrays_of_others_have_their_own_allocator(double):
    y = double(large(1))

    assert get_handler_name(y) == "opweave"
    assert get_handler_name(np.empty(LARGE, np.float32)) == "default_allocator"


def test_small_results_are_numpys_own():
    assert get_handler_name(ow.fuse(lambda x: x + 1)(np.ones(10))) == "default_allocator"


def test_no_more_is_kept_than_the_limit_says(double):
    with ow.config(kept_bytes=3 * 4 * LARGE):
        for extra in range(40):
            double(large(1, LARGE + 70_000 * extra))

        assert 0 < pool.counts().idle_bytes <= 3 * 4 * LARGE


def test_a_limit_of_zero_keeps_nothing(double):
    double(large(1))
    with ow.config(kept_bytes=0):
        y = double(large(1))

        assert pool.counts().idle_bytes == 0
        assert get_handler_name(y) == "default_allocator"
    assert get_handler_name(double(large(1))) == "opweave"


@pytest.mark.parametrize("value", [-1, 1.5, None, True, 2**63])
def test_a_limit_that_is_no_number_of_bytes_is_refused(value):
    with pytest.raises(ArgumentError, match="kept_bytes=.*expected bytes"):
        ow.config.kept_bytes = value


def test_blocks_that_are_far_too_large_are_left(double):
    huge = double(large(1, 8 * LARGE))
    at = address(huge)
    del huge

    assert at != address(double(large(1)))


def test_temporaries_between_kernels_come_from_kept_memory():
    rolled = ow.fuse(lambda x: np.sort(np.roll(x * 2, 1)) + 1)
    x = large(1)
    rolled(x)
    before = pool.counts()

    rolled(x)

    assert pool.counts().served > before.served
    assert pool.counts().mapped == before.mapped


def test_temporaries_are_kept_where_no_result_is_large():
    code = """
import resource, numpy as np, opweave as ow
rolled = ow.fuse(lambda x: np.roll(np.cumsum(x), 1) + np.cumsum(x[::-1]))
x = np.ones(10_000)
def faults(calls):
    for _ in range(calls):
        rolled(x)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = faults(20)
assert faults(100) < before + 100
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_that_take_and_give_get_their_own_results(double):
    wrong = []

    def work(value):
        for _ in range(25):
            y = double(large(value))
            if not (y == 2 * value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(v,)) for v in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert not wrong


def test_a_finalizer_may_make_results_while_memory_is_taken(double):
    make = pool.allocator((LARGE,), np.dtype("f4"))

    nested = pool._contexts().context.run(make)  # a context cannot be entered twice

    assert nested.shape == (LARGE,)


def test_a_result_can_outlive_its_function():
    fused = ow.fuse(lambda x: x + 1)
    y = fused(large(1))
    gone = weakref.ref(fused)
    del fused
    gc.collect()

    assert gone() is None
    assert (y == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_memory_that_the_parent_kept():
    code = f"""
import os, numpy as np, opweave as ow
f = ow.fuse(lambda x: x * 2)
x = np.ones({LARGE}, np.float32)
f(x); y = f(x)
child = os.fork()
if child == 0:
    os._exit(0 if (f(x) == 2).all() and (y == 2).all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert (f(x) == 2).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_kept_is_given_back_before_an_allocation_fails():
    code = f"""
import resource, numpy as np, opweave as ow
from opweave.runtime.host import pool
ow.config.kept_bytes = 1 << 40
f = ow.fuse(lambda x: x * 2)
small, large = (np.broadcast_to(np.float32(1), (n,)) for n in ({40 << 20}, {60 << 20}))
f(small), f(large)
assert pool.counts().idle_bytes > {300 << 20}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {64 << 20}, used + {64 << 20}))
other = np.broadcast_to(np.float32(1), ({90 << 20},))
assert (f(other)[::1000003] == 2).all()
try:
    f(np.broadcast_to(np.float32(1), ({900 << 20},)))
except MemoryError:
    pass
else:
    raise SystemExit("no MemoryError")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@dataclass
class Layer:
    w: np.ndarray


# How a function is called, and what it does: as one kernel, in containers, in parts.
CALLS = {
    "one kernel": (lambda x: x * 2 + 1, lambda x: x),
    "a dictionary": (lambda d: {"y": d["x"] * 2}, lambda x: {"x": x}),
    "a dataclass": (lambda layer: layer.w * 2, Layer),
    "a sort": (lambda x: np.sort(x * 2) + 1, lambda x: x),
    "a branch": (lambda x: x * 2 if x.sum() > 3 else x + 1, lambda x: x),
    "a selection": (lambda x: (x * 2)[x > 0] + 1, lambda x: x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_holds_neither_its_arguments_nor_its_results(name):
    function, packed = CALLS[name]
    fused = ow.fuse(function)
    fused(packed(large(1, 10)))
    fused(packed(large(1, 10)))
    gc.collect()
    gc.disable()  # what waits for the collector may wait long
    try:
        x = large(1, 10)
        y = fused(packed(x))
        there = [weakref.ref(x), weakref.ref(y["y"] if isinstance(y, dict) else y)]
        del x, y

        assert [ref() for ref in there] == [None, None]
    finally:
        gc.enable()


def test_a_refusal_that_is_kept_holds_no_arrays():
    fused = ow.fuse(lambda x: np.sort(x * 2))
    x = large(1, 10)
    there = weakref.ref(x)
    fused(x)
    del x
    gc.collect()

    assert there() is None


def test_a_kernel_that_leaves_elements_out_is_found_where_an_earlier_result_lay():
    fused = ow.fuse(lambda x: x + 1)
    x = large(1)
    program = fused.lower(x)
    text = program.source.replace("out_v[c], cols - j0", "out_v[c], cols - 1 - j0")
    edited = program.compile(source=text)
    program(x)

    assert text != program.source
    with pytest.raises(CheckError):
        edited.check(x)
