"""Ladders of published kernels: how the model is held to times that others measured."""

import pytest

from bench.tools import ladder
from bench.tools.ladders import HERE, LADDERS, PRODUCTS, SUMS, TRANSPOSES
from opweave.runtime.model.device import read, sources_of

ORDERS = [
    ([100, 50, 20], [10, 5, 2], (0, 3)),
    ([100, 50, 20], [10, 5, 7], (1, 3)),
    ([100, 95, 20], [1, 9, 9], (2, 2)),  # the first two are not apart
    ([1], [1], (0, 0)),
]


@pytest.mark.parametrize(("measured", "model", "found"), ORDERS)
def test_only_steps_that_are_apart_are_in_an_order(measured, model, found):
    assert ladder.misordered(measured, model) == found


CARDS = {"a6000": ("A6000", 38.7), "rtx3090": ("RTX 3090", 35.6)}


@pytest.mark.parametrize("file", CARDS)
def test_a_card_is_described_as_others_are(file):
    device, sources = read(HERE / f"{file}.toml")
    name, tflops = CARDS[file]

    assert (device.name, device.arch) == (name, "sm_86")
    assert sources.keys() == sources_of("H200").keys()
    assert device.single_tflops == pytest.approx(tflops, rel=0.01)


# The first and the last step of each: microseconds, and blocks of the grid of the first launch.
ENDS = [
    (PRODUCTS, 444_786, (128, 128), 7954.3, (16, 32)),
    (TRANSPOSES, 18_064.5, (1024, 1024), 2921.3, (512, 512)),
    (SUMS, 13_557.3, (131_072,), 156.2, (262_144,)),
]


@pytest.mark.parametrize(("of", "first", "grid", "last", "last_grid"), ENDS)
def test_times_and_launches_are_those_that_were_published(of, first, grid, last, last_grid):
    begins, ends = of.rungs[0], of.rungs[-1]

    assert begins.us == pytest.approx(first, rel=1e-3)
    assert ends.us == pytest.approx(last, rel=1e-3)
    assert (begins.launches[0].grid, ends.launches[0].grid) == (grid, last_grid)


# Steps of each that are far apart, and that the model has in their order.
FAR_APART = [
    pytest.param(of, steps, id=of.title, marks=pytest.mark.skipif(
        not of.folder.is_dir(), reason=f"needs {of.fetch}"
    ))
    for of, steps in ((PRODUCTS, (0, 1, 2, 3)), (TRANSPOSES, (1, 2, 3)), (SUMS, (1, 2, 4)))
]  # fmt: skip


@pytest.mark.nvrtc
@pytest.mark.parametrize(("of", "steps"), FAR_APART)
def test_steps_that_are_far_apart_are_in_their_order(of, steps):
    device = of.card()
    found = [ladder.profiled(of, of.rungs[step], device).us for step in steps]

    assert found == sorted(found, reverse=True)


def test_each_ladder_says_whence_its_sources_come():
    for of in LADDERS:
        assert of.commit in of.fetch
        assert of.url in of.fetch
