"""Kernels share their blocks where calls have shown that this is quicker."""

from __future__ import annotations

import ctypes

import pytest

import opweave as ow
from opweave.runtime.binaries.build import builder
from opweave.runtime.host.launcher import HostLaunch, Run, load_library

pytestmark = pytest.mark.host
# Four blocks, each of which sleeps: so long on the thread that launches, so long on another.
KERNEL = """
struct Triple { unsigned x, y, z; };
extern "C" {
int usleep(unsigned);
int getpid();
long syscall(long, ...);
long own = 0, others = 0;
long slow_here = 1000, slow_there = 1000;
void ow_blocks(const char*, const Triple*, long long first, long long last) {
    for (; first < last; ++first) {
        const bool here = syscall(NUMBER) == getpid();
        __atomic_fetch_add(here ? &own : &others, 1, __ATOMIC_RELAXED);
        usleep(here ? slow_here : slow_there);
    }
}
}
"""
BLOCKS, CALLS = 4, 60


@pytest.fixture
def library():
    numbers = "#ifdef __x86_64__\n#define NUMBER 186\n#else\n#define NUMBER 178\n#endif\n"
    before = ow.config.threads
    ow.config.threads = 2
    yield load_library(builder().build_plain(numbers + KERNEL).payload)
    ow.config.threads = before


def launch_of(library, alone):
    blocks = ctypes.cast(library.ow_blocks, ctypes.c_void_p).value
    run = Run(blocks=blocks, share=1, alone=alone, grid=(ctypes.c_uint * 3)(BLOCKS, 1, 1))
    return HostLaunch(run)


def shared_by(library, launch, there):
    """The blocks of many launches that another thread took, where each takes it so long (us)."""
    others = ctypes.c_long.in_dll(library, "others")
    ctypes.c_long.in_dll(library, "slow_there").value = there
    for _ in range(CALLS // 2):  # until it is known
        launch(b"", ())
    others.value = 0
    for _ in range(CALLS):
        launch(b"", ())
    return others.value


@pytest.mark.parametrize("guessed", [100_000, 4_000_000, 100_000_000])
def test_blocks_are_shared_where_that_is_quicker(library, guessed):
    assert shared_by(library, launch_of(library, guessed), 1000) > BLOCKS * CALLS / 4


@pytest.mark.parametrize("guessed", [100_000, 4_000_000, 100_000_000])
def test_they_stay_on_one_thread_where_that_is_quicker(library, guessed):
    assert shared_by(library, launch_of(library, guessed), 30000) < CALLS / 6


@pytest.mark.parametrize("disturbed", [0, 1, 2, 5])
def test_one_disturbed_launch_decides_nothing(library, disturbed):
    launch, here = launch_of(library, 4_000_000), ctypes.c_long.in_dll(library, "slow_here")
    ctypes.c_long.in_dll(library, "slow_there").value = 1000
    for n in range(6):
        here.value = 200_000 if n == disturbed else 1000
        launch(b"", ())
    shared_by(library, launch, 1000)
    assert shared_by(library, launch, 1000) > BLOCKS * CALLS / 4


def test_what_was_slower_is_tried_again(library):
    launch = launch_of(library, 4_000_000)
    shared_by(library, launch, 8000)
    assert shared_by(library, launch, 1000) + shared_by(library, launch, 1000) > BLOCKS * CALLS / 4
