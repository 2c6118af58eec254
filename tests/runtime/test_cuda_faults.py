"""Faults of a GPU: one more try, an end that is final, and children that cannot use it."""

import os
import sys

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.recording_cupy import Array, DriverError

pytestmark = pytest.mark.nvrtc


class OutOfMemory(MemoryError):
    """CuPy's error of its pool."""


NO_MEMORY = OutOfMemory("Out of memory allocating 4,096 bytes"), DriverError("no memory", 2)
ILLEGAL = DriverError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", 700)


def failing(monkeypatch, place, errors):
    """Let CuPy fail at a place, with each of the errors in turn; None for a call that works."""
    cupy, left = sys.modules["cupy"], list(errors)

    def fails_before(real):
        def call(*args):
            error = left.pop(0) if left else None
            if error is not None:
                raise error
            return real(*args)

        return call

    if place == "launch":
        module = cupy.cuda.function.Module
        real = module.get_function

        def get_function(self, name):
            return fails_before(real(self, name))

        monkeypatch.setattr(module, "get_function", get_function)
    else:
        owner, name = {
            "empty": (cupy, "empty"), "zeros": (cupy, "zeros"), "asarray": (cupy, "asarray"),
            "load": (cupy.cuda.function.Module, "load"), "get": (Array, "get"),
        }[place]  # fmt: skip
        monkeypatch.setattr(owner, name, fails_before(getattr(owner, name)))
    return left


# Where memory runs out: what is called, and what the error names.
MEMORY = {
    "empty": (lambda x: x + 1, r"an array f32\[300, 500\] of 600,000 bytes"),
    "zeros": (lambda x: (x * x).sum(), "the partial results of kernel_reduce_f32 of 1,028 bytes"),
    "launch": (lambda x: x + 1, "kernel_map_f32: launch of .* blocks"),
    "load": (lambda x: x + 1, "kernel_map_f32: loading the kernel"),
    "asarray": (lambda x: x + 1, r"a copy of an array float32\[300, 500\] of 600,000 bytes"),
}


@pytest.mark.parametrize("error", NO_MEMORY, ids=["pool", "driver"])
@pytest.mark.parametrize("place", MEMORY)
def test_out_of_memory_the_pool_is_emptied_and_one_more_try_made(
    place, error, launches, monkeypatch
):
    function, what = MEMORY[place]
    fused, emptied = ow.fuse(function), sys.modules["cupy"].emptied
    x = np.ones((300, 500), np.float32)
    with ow.config(device="cuda"):
        left = failing(monkeypatch, place, [error, None])
        fused(x)

        assert emptied == [1]
        assert left == []
        fused.clear_cache()
        sys.modules["opweave.runtime.cuda.executor"]._executors.clear()
        failing(monkeypatch, place, [error, error])
        with pytest.raises(e.OutOfMemoryError, match=what):
            fused(x)
        assert isinstance(e.OutOfMemoryError(""), MemoryError)
        fused(x)  # nothing else is lost


@pytest.mark.parametrize("place", ["launch", "empty", "load", "get"])
def test_after_a_fault_that_is_final_nothing_is_launched(place, launches, monkeypatch):
    before, fused = ow.fuse(lambda x: x * 2), ow.fuse(lambda x: x + 1)
    x = np.ones(8, np.float32)
    with ow.config(device="cuda"):
        before(x)
        failing(monkeypatch, place, [ILLEGAL])
        with pytest.raises(
            e.LaunchError, match=r"ILLEGAL_ADDRESS.*kernel_map_f32.*restart"
        ) as one:
            fused(x)
        done = len(launches)
        for function in (before, fused, ow.fuse(lambda x: x - 1)):
            with pytest.raises(e.LaunchError, match="device 0 cannot be used .*restart") as other:
                function(x)
        with pytest.raises(e.LaunchError, match="restart"):  # where no memory is asked for
            before(Array(x), out=Array(x.copy()))

    assert len(launches) == done
    assert "newest are kernel_map_f32" in str(one.value)
    assert "ILLEGAL_ADDRESS" in str(other.value)


def test_a_fault_of_one_device_is_not_that_of_another(launches, monkeypatch):
    fused = ow.fuse(lambda x: x + 1)
    ones = np.ones(8, np.float32)
    failing(monkeypatch, "launch", [ILLEGAL])
    with pytest.raises(e.LaunchError, match="restart"):
        fused(Array(ones))

    fused(Array(ones, device=1))
    assert len(launches) == 1


def test_an_error_that_is_not_final_may_be_tried_again(launches, monkeypatch):
    fused = ow.fuse(lambda x: x + 1)
    x = Array(np.ones(8, np.float32))
    failing(monkeypatch, "launch", [DriverError("too many resources", 701)])
    with pytest.raises(e.LaunchError, match="too many resources"):
        fused(x)
    fused(x)

    assert len(launches) == 1


def in_child(work):
    """What a forked child's work raises, as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return file.read()


def test_a_forked_child_is_told_to_be_spawned(launches):
    fused, x = ow.fuse(lambda x: x + 1), Array(np.ones(8, np.float32))
    fused(x)
    other = ow.fuse(lambda x: x * 3)

    for function in (fused, other):
        said = in_child(lambda function=function: function(x))
        assert said.startswith("NoDeviceError: a process that was forked")
        assert "multiprocessing.get_context('spawn')" in said
    fused(x)  # the parent goes on


def test_a_child_of_a_process_that_used_cupy_alone_is_told_too(launches, monkeypatch):
    def refuses():
        raise DriverError("cudaErrorInitializationError: initialization error", 3)

    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "getDeviceCount", refuses)
    with pytest.raises(e.NoDeviceError, match="spawn"):
        ow.fuse(lambda x: x + 1)(Array(np.ones(8, np.float32)))
