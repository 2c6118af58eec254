"""Blocks that wait for each other, under schedules that run them side by side."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
SCHEDULES = range(8)


@functools.cache
def lowered():
    """The scan of two rows, of 129 parts each, in five groups; and its argument."""
    x = np.random.default_rng(5).standard_normal((2, 33_001)).astype(np.float32)
    groups = {"THREADS_PER_ROW": 32, "LANES": 8, "PARTS": 256}
    fused = ow.fuse(lambda x: np.cumsum(x, axis=1)).with_toggles(**groups)
    return fused.lower(x, target="sm_90a"), x


def found(program, schedule):
    """The bytes of the result, or what stopped the kernel; totals of other numbers lie there before."""
    x = lowered()[1]
    try:
        program.verify(5 - x, executor="ptx", schedule=schedule)
        return program.verify(x, executor="ptx", schedule=schedule).tobytes()
    except errors.LaunchError as error:
        return type(error).__name__


def test_no_schedule_changes_what_groups_of_parts_add_up_to():
    program, x = lowered()

    assert {found(program, n) for n in SCHEDULES} == {program.verify(x).tobytes()}


# What the checker's blocks, which run one after the other, do not show: a text and what it becomes.
CHANGES = {
    "a group's total before all of its parts are there":
        ("lane == 0 && place == GROUP - 1", "lane == 0"),
    "a part does not wait": ("while (((volatile unsigned*)ready)[near] == 0)", "if (false)"),
    "a part does not wait for groups":
        ("while (((volatile unsigned*)ready)[PARTS + p] == 0)", "if (false)"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_schedules_show_what_comes_too_early(change):
    program, x = lowered()
    source = program.source.replace(*CHANGES[change])
    assert source != program.source
    changed = program.edited(replace(program.lowered, sources=(source,)))

    assert any(found(changed, n) != program.verify(x).tobytes() for n in SCHEDULES)
