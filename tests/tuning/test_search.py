"""Which programs a search measures, and which it takes: by times that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave._tuning.trials import LEFT_ALONE, ROUNDS, Search, values_in_turn

X = np.ones((300, 300))
MAP = ow.fuse(lambda x: x * 1.5 + 1)
TABLE = ow.fuse(lambda x: x.sum(axis=0))


def toggles_of(function):
    return dict(function.options.toggles)


def search(function=MAP, seconds=lambda toggles: 1.0, same=lambda toggles: True, most=8):
    return Search(
        function,
        lambda made: made.lower(X, target="host").lowered,
        lambda made: seconds(toggles_of(made)),
        lambda made: same(toggles_of(made)),
        most,
    )


def of_vector(times):
    return lambda toggles: times.get(toggles.get("VECTOR", 64), 1.0)


@pytest.mark.parametrize(("times", "taken"), [
    ({}, {}),
    ({32: 0.98}, {}),  # less than measurements of one program differ by
    ({32: 0.9}, {"VECTOR": 32}),
    ({32: 0.9, 16: 0.8}, {"VECTOR": 16}),
    ({32: 0.9, 16: 0.89}, {"VECTOR": 32}),
    ({16: 0.5}, {}),  # not in the direction of what pays
    ({128: 0.7}, {"VECTOR": 128}),
    ({32: 0.9, 128: 0.7}, {"VECTOR": 128}),
])  # fmt: skip
def test_what_is_faster_is_taken(times, taken):
    best = search(seconds=of_vector(times)).run()
    assert dict(best.toggles) == taken
    assert best.ratio == min(1.0, times.get(taken.get("VECTOR"), 1.0))


def test_changes_add_up():
    def seconds(toggles):
        return (0.8 if toggles.get("VECTOR") == 32 else 1) * (0.5 if "CHUNKS" in toggles else 1)

    best = search(seconds=seconds).run()
    assert dict(best.toggles) == {"VECTOR": 32, "CHUNKS": 2}
    assert best.ratio == pytest.approx(0.4)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_so_many_programs_are_measured(most):
    found = search(most=most)
    found.run()
    assert len(found.tried) == most


def test_a_program_is_measured_once():
    found = search(TABLE)
    found.run()
    tried = [tuple(sorted(trial.toggles.items())) for trial in found.tried]
    assert len(set(tried)) == len(tried)


def test_other_bits_are_not_taken():
    found = search(seconds=of_vector({32: 0.1}), same=lambda toggles: "VECTOR" not in toggles)
    assert not found.run().toggles
    assert all("VECTOR" not in trial.toggles for trial in found.tried)


def test_what_does_not_last_is_not_taken():
    """The last comparison is with the compiler's choice."""
    asked = []

    def seconds(toggles):
        asked.append(toggles)
        return 0.5 if "VECTOR" in toggles and len(asked) <= 1 + 2 * ROUNDS else 1.0

    found = search(seconds=seconds, most=2)
    assert not found.run().toggles
    assert found.tried[1].ratio == 0.5


@pytest.mark.parametrize("target", ["host", "sm_80", "sm_90a"])
def test_what_changes_numbers_is_left_alone(target):
    functions = [MAP, TABLE, ow.fuse(lambda x: ow.softmax(x @ x)), ow.fuse(lambda x: x.T + x)]
    names = {
        name
        for function in functions
        for name, _ in values_in_turn(function.lower(X, target=target).lowered)
    }
    assert names
    assert not names & LEFT_ALONE
    assert {"LANES", "PARTS", "THREADS_PER_ROW", "USE_RUNS", "USE_FAST_MATH"} <= LEFT_ALONE


def test_values_go_away_from_the_chosen_one():
    kernel = MAP.lower(X, target="host").lowered.kernels[0]
    found = values_in_turn(SimpleNamespace(kernels=[kernel]))
    vectors = [values for name, values in found if name == "VECTOR"]
    assert vectors == [[32, 16, 8, 4, 2, 1], [128, 256, 512, 1024]]
