"""The standing table: rows for described devices, held to what they were."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import run
from bench.experiments.model import by_hand, table
from bench.experiments.model.page import section
from bench.experiments.model.workloads import QUICK, WORKLOADS, columns, eight
from opweave.runtime.model.device import described

RESULTS = Path(run.__file__).parent / "results"
pytest.importorskip("elftools")
pytestmark = pytest.mark.nvrtc


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "DEVICES", ("H200",))
        assert run.main(["model", "--quick", "--results", str(made)]) == 0
    return made


def stored(folder, name):
    return json.loads((folder / "model" / "quick" / name / "table.json").read_text())


def test_each_workload_has_a_row_with_its_fraction_of_the_roof(folder):
    rows = stored(folder, "h200")["rows"]

    assert [row["work"] for row in rows] == [work.name for work in QUICK]
    for row in rows:
        assert 0 < row["fraction"] <= 1
        assert row["us"] >= row["roof_us"] > 1
        for kernel in row["kernels"]:
            assert kernel["spilled"] == 0
            assert kernel["moved_over_least"] >= 1
            assert kernel["why"]
            assert kernel["next"]


def test_the_page_says_that_nothing_was_measured(folder):
    text = (folder / "model" / "quick" / "README.md").read_text()

    assert "nothing here was measured" in text
    assert text.count("softmax of 1024 columns, f32") == 1
    assert (folder / "model" / "quick" / "fractions.svg").read_text().startswith("<?xml")


def test_kernels_are_no_worse_than_those_of_the_stored_table(folder):
    before = stored(RESULTS, "h200")
    found = stored(folder, "h200")
    if before["made_by"]["nvrtc"] != found["made_by"]["nvrtc"]:
        pytest.skip(f"the table is of NVRTC {before['made_by']['nvrtc']}")

    assert "\n".join(table.worse(before, found)) == ""


def test_what_is_as_it_was_is_held(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "QUICK", QUICK[:2])
    arguments = ["model", "--quick", "--results", str(tmp_path)]

    assert run.main(arguments) == 0
    assert run.main([*arguments, "--hold"]) == 0
    assert "got worse" not in capsys.readouterr().out
    path = tmp_path / "model" / "quick" / "a100" / "table.json"
    kept = json.loads(path.read_text())
    kept["rows"][0]["us"] /= 1.03
    path.write_text(json.dumps(kept))
    assert run.main([*arguments, "--hold"]) == 1
    assert "A100: map of 8 operators, f32 got worse (us)" in capsys.readouterr().out


@pytest.mark.parametrize("name", table.HELD)
def test_what_got_worse_fails_with_both_listings(folder, name):
    found = stored(folder, "h200")
    before = json.loads(json.dumps(found))
    before["rows"][4][name] /= 1.03
    (text,) = table.worse(before, found)

    assert f"softmax of 1024 columns, f32 got worse ({name})" in text
    assert text.count('"kernels"') == 2
    before["rows"][4][name] *= 1.02
    assert not list(table.worse(before, found))


def test_a_row_that_is_refused_got_worse(folder):
    found = stored(folder, "h200")
    first, *others = found["rows"]
    broken = found | {"rows": [first | {"refused": "TypeError: no"}, *others]}

    assert len(list(table.worse(found, broken))) == 1
    assert "refused: TypeError: no" in section(broken)


def test_a_row_that_is_gone_got_worse(folder):
    found = stored(folder, "h200")

    (text,) = table.worse(found, found | {"rows": found["rows"][1:]})
    assert "it is gone" in text


@pytest.mark.parametrize(
    ("nvrtc", "says"),
    [
        ("12.0", "made by NVRTC 12.0"),
        (None, "No such file or directory"),
    ],
)
def test_there_must_be_a_table_of_this_compiler_to_hold_to(folder, tmp_path, capsys, nvrtc, says):
    for name in table.DEVICES if nvrtc else ():
        found = stored(folder, "h200") | {"made_by": {"nvrtc": nvrtc}, "device": name}
        path = table.path_of(tmp_path / "model" / "quick", name)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(found))

    with pytest.raises(SystemExit):
        run.main(["model", "--quick", "--hold", "--results", str(tmp_path)])
    assert says in capsys.readouterr().err


def test_the_roof_is_a_launch_and_bytes_or_operations():
    h200 = described()["H200"]
    work = next(w for w in WORKLOADS if w.name == "linear 4096^3" and w.dtype == "f16")

    assert table.roof_us(work, 1, 1, h200) == pytest.approx(1.85 + 2 * 4096**3 / 790e6)
    small = next(w for w in WORKLOADS if w.function is eight and w.dtype == "f32")
    assert table.roof_us(small, 2**29, 2**28, h200) == pytest.approx(
        1.85 + 2**29 / 4300e3 + 2**28 / 4650e3
    )


@pytest.mark.parametrize("work", WORKLOADS, ids=table.key_of)
def test_a_workload_is_what_a_user_of_numpy_writes(work):
    small = [np.ones([min(n, 64) for n in a.shape], a.dtype) for a in work.arguments()]
    found = work.function(*small)

    assert work.dtype == "bf16" or found.dtype == small[0].dtype  # ml_dtypes multiplies to float32
    assert work.function is not columns or found.shape == (64,)


def test_estimates_by_hand_are_of_rows_and_differences_have_reasons():
    rows = [table.key_of(work) for work in WORKLOADS]
    found = {"device": "H200", "rows": [row | {"fraction": 0.5} for row in rows]}
    text = by_hand.section(found)

    assert by_hand.ESTIMATES.keys() <= {table.titled(row) for row in rows}
    assert text.count("\n| ") == len(by_hand.ESTIMATES) + 1
    assert "| linear 4096^3, f16 | 0.06 | 0.50 | open: the model" in text
    assert "| softmax of 65536 columns, f32 | 0.5 | 0.50 |  |" in text
    assert by_hand.section(found | {"device": "A100"}) == ""
