"""The model: descriptions of devices, and times that follow from counts."""

from dataclasses import fields, replace

import pytest

import opweave as ow
from opweave.runtime.model.device import FOLDER, DeviceModel, described, read, sources_of
from opweave.runtime.model.facts import LaunchFacts
from opweave.runtime.model.times import LIMITS, model_time

H200 = described()["H200"]
FACTS = LaunchFacts(
    threads=256, grid_blocks=132 * 8 * 4, elements=1 << 26, issued={"fma": 1e6, "alu": 1e6},
    moved_bytes=4.3e8, loaded_bytes=4.3e8, least_bytes=4.3e8, wavefronts=(0.0, 0.0), sectors=(1.3e7, 1.3e7),
    loads_in_flight=8, bytes_in_flight=128, warp_cycles=2000.0, resident_blocks=8, limiter="warps",
    heaviest={"alu": (14, 9e5), "fma": (15, 9e5)},
)  # fmt: skip


@pytest.mark.parametrize("name", ["T4", "A100", "RTX 4090", "H100", "H200", "B200", "RTX 5090"])
def test_every_figure_of_a_device_has_a_source(name):
    sources = sources_of(name)

    assert {*sources} == {f.name for f in fields(DeviceModel)} - {"name", "arch"}
    assert all(text.startswith(("NVIDIA", "CUDA", "assumption", "measured", "flash-vla", "cudaDeviceProp"))
               for text in sources.values())  # fmt: skip


TEXT = (FOLDER / "h200.toml").read_text()
WRONG = [
    (TEXT.replace("[sms]", "[smz]"), "no field is called smz"),
    (
        TEXT.replace('[sms]\nvalue = 132\nsource = "NVIDIA data sheet of the H200"\n', ""),
        "sms is missing",
    ),
    (TEXT.replace("value = 132", 'value = "many"'), "sms is no number"),
    (TEXT.replace("value = 132", "value = 0"), "sms is no number"),
    (TEXT.replace("value = 132", "value = nan"), "sms is no number"),
    (TEXT.replace('source = "NVIDIA data sheet of the H200"', 'source = ""'), "sms has no source"),
    (TEXT.replace('name = "H200"', "name = 3"), "name is no text"),
    ("not toml", "cannot be read"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[says for _, says in WRONG])
def test_a_description_with_a_mistake_is_refused(tmp_path, text, says):
    path = tmp_path / "mine.toml"
    path.write_text(text)

    with pytest.raises(ow.errors.FileError, match=f"mine.toml.*{says}"):
        read(path)


def bound(**changes):
    return model_time(replace(FACTS, **changes), H200)


# What binds a launch, by what there is too much or too little of.
BINDS = [
    ({}, "memory"),
    ({"bytes_in_flight": 4, "loads_in_flight": 1}, "memory latency"),
    ({"issued": {"fma": 1e6, "alu": 1e8}}, "integer pipe (alu)"),
    ({"issued": {"xu": 1e8}}, "special functions (xu)"),
    ({"issued": dict.fromkeys(("fma", "alu", "uniform", "branch"), 50000000.0)}, "issue slots"),
    ({"wavefronts": (1e8, 1e7)}, "shared memory"),
    ({"sectors": (4e8, 1.3e7)}, "sectors"),
    ({"warp_cycles": 1e6}, "latency"),
    ({"issued": {"tensor": 1e9}}, "tensor cores (tensor)"),
]


@pytest.mark.parametrize(("changes", "name"), BINDS, ids=[name for _, name in BINDS])
def test_the_largest_limit_binds_and_says_why(changes, name):
    found = bound(**changes)

    assert found.binds.name == name
    assert found.us >= found.binds.us + H200.launch_us
    assert found.binds.sentence
    assert found.binds.mend


@pytest.mark.parametrize(
    ("loaded", "us"),
    [(4.3e8, 4.3e8 / 4650e3), (2.15e8, 100), (1e8, 100), (3.225e8, 50 + 2.15e8 / 4650e3)],
)
def test_the_rate_is_that_of_a_copy_and_beyond_of_reading(loaded, us):
    found = bound(loaded_bytes=loaded)

    assert found.binds.us == pytest.approx(us)
    assert found.waves == 4
    assert found.us == pytest.approx(found.binds.us + H200.launch_us)


def test_tensor_cores_reach_the_rate_of_products():
    # 8192^3, by products of 16 x 8 x 16
    found = bound(issued={"tensor": 8192**3 / (16 * 8 * 16)})

    assert found.binds.us == pytest.approx(2 * 8192**3 / 790e6)
    assert H200.single_tflops == pytest.approx(59.3, rel=0.01)


def test_littles_law():
    found = bound(bytes_in_flight=4, loads_in_flight=1)

    # 132 x 8 x 256 threads with 4 bytes each, every 650 ns
    assert found.binds.us == pytest.approx(4.3e8 / (132 * 8 * 256 * 4 / 0.65))


def test_what_the_last_block_joins_comes_behind():
    found = bound(joining_cycles=3510.0)

    assert found.joining_us == pytest.approx(2)
    assert found.us == pytest.approx(bound().us + 2)


def test_stores_are_not_waited_for():
    half = bound(bytes_in_flight=4, loads_in_flight=1, loaded_bytes=2.15e8)

    assert half.binds.us == pytest.approx(2.15e8 / (132 * 8 * 256 * 4 / 0.65))
    assert bound(bytes_in_flight=4, loads_in_flight=1, loaded_bytes=0.0).binds.name == "memory"


def test_a_last_turn_that_is_not_full_stretches_the_launch():
    whole, more = bound(), bound(grid_blocks=132 * 8 * 4 + 1)

    assert more.us - H200.launch_us == pytest.approx((whole.us - H200.launch_us) * 5 / 4, rel=1e-3)


def test_the_sentence_names_the_line():
    found = bound(issued={"fma": 1e6, "alu": 1e8})

    assert "of 48.2 instructions an element" in found.binds.sentence
    assert "line 14" in found.binds.mend


@pytest.mark.parametrize("name", ["moved_bytes", "warp_cycles"])
def test_more_of_anything_is_never_faster(name):
    assert bound(**{name: 3 * getattr(FACTS, name)}).us >= bound().us
    assert len(LIMITS) == 6
