"""The ladder of published kernels: how the model is held to times that others measured."""

import pytest

from bench.tools import ladder
from opweave.runtime.model.device import read, sources_of

HERE = pytest.mark.skipif(not ladder.SOURCES.is_dir(), reason=f"needs {ladder.FETCH}")

ORDERS = [
    ([100, 50, 20], [10, 5, 2], (0, 3)),
    ([100, 50, 20], [10, 5, 7], (1, 3)),
    ([100, 95, 20], [1, 9, 9], (2, 2)),  # the first two are not apart
    ([1], [1], (0, 0)),
]


@pytest.mark.parametrize(("measured", "model", "found"), ORDERS)
def test_only_steps_that_are_apart_are_in_an_order(measured, model, found):
    assert ladder.misordered(measured, model) == found


def test_the_card_is_described_as_others_are():
    device, sources = read(ladder.DEVICE)

    assert (device.name, device.arch) == ("A6000", "sm_86")
    assert sources.keys() == sources_of("H200").keys()
    assert device.single_tflops == pytest.approx(38.7, rel=0.01)


def test_times_and_launches_are_those_that_were_published():
    times = {step.file[:2].rstrip("_"): step.us for step in ladder.LADDER}

    assert times["1"] == pytest.approx(444_786, rel=1e-4)
    assert times["10"] == pytest.approx(6310.6, rel=1e-4)
    assert {step.grid for step in ladder.LADDER[:3]} == {(128, 128)}
    assert ladder.LADDER[-1].grid == (16, 32)


@HERE
@pytest.mark.nvrtc
def test_steps_that_are_far_apart_are_in_their_order():
    device, _ = read(ladder.DEVICE)
    found = [ladder.profiled(step, device).us for step in ladder.LADDER[:4]]

    assert found == sorted(found, reverse=True)
