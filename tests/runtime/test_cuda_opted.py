"""A launch opts in to more shared memory than a kernel may declare."""

import pytest

import opweave as ow
from tests.kernels.test_opted_shared_memory import CASES
from tests.runtime.conftest import Array


@pytest.mark.nvrtc
def test_the_executor_asks_for_it_at_each_launch(launches, opted):
    for name in ("product", "transpose"):
        function, args, toggles, *_ = CASES[name]
        ow.fuse(function).with_toggles(**toggles)(*map(Array, args))

    assert launches == [((1, 1, 1), (256, 1, 1), 67584), ((1, 1, 1), (256, 1, 1), 66048)]
    assert opted == [(5, 8, 67584), (5, 8, 66048)]
