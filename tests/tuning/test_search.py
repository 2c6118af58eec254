"""Which programs a search measures, and which it takes: by times that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave._tuning.trials import LEFT_ALONE, ROUNDS, Candidate, Search, values_in_turn

X = np.ones((300, 300))
MAP = ow.fuse(lambda x: x * 1.5 + 1)
TABLE = ow.fuse(lambda x: x.sum(axis=0))


def search(function=MAP, seconds=lambda toggles: 1.0, bits=lambda toggles: 0, most=8, pinned=()):
    def make(toggles):
        lowered = function.with_toggles(**toggles).lower(X, target="host").lowered
        return Candidate(lowered, lambda: bits(toggles), lambda: seconds(toggles))

    return Search(make, pinned, most)


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
    found = search(seconds=of_vector({32: 0.1}), bits=lambda toggles: "VECTOR" in toggles)
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


def test_the_given_function_is_measured_with_others():
    asked = []

    def seconds(toggles):
        asked.append(toggles)
        return 1.0 if len(asked) > 1 else 9.0  # of the first call memory is new

    found = search(seconds=seconds, most=2)
    assert found.run().seconds == 1
    assert found.tried[0].seconds == 1


def test_what_is_pinned_stays():
    found = search(seconds=of_vector({32: 0.5}), pinned=("VECTOR",))
    assert not found.run().toggles
    assert all("VECTOR" not in trial.toggles for trial in found.tried)


def test_toggles_that_round_otherwise_are_left_alone():
    toggles = [ow.toggle("ONE_WAY", 0, 1), ow.toggle("ANOTHER", 0, 1, same_bits=False)]
    texts = [f"#if {toggle.name}\ns = x * x;\n#else\ns = x * x;\n#endif" for toggle in toggles]
    one, another = (
        ow.operator(f"squared_{n}", [toggle, text.replace(";", ""), "s + 1"], "float", np.square)
        for n, (toggle, text) in enumerate(zip(toggles, texts, strict=True))
    )
    lowered = ow.fuse(lambda x: one(x) + another(x)).lower(X, target="host").lowered
    names = {name for name, _ in values_in_turn(lowered)}
    assert "ONE_WAY" in names
    assert "ANOTHER" not in names


def test_values_go_away_from_the_chosen_one():
    kernel = MAP.lower(X, target="host").lowered.kernels[0]
    found = values_in_turn(SimpleNamespace(kernels=[kernel]))
    vectors = [values for name, values in found if name == "VECTOR"]
    assert vectors == [[32, 16, 8, 4, 2, 1], [128, 256, 512, 1024]]
