"""Figures and pages come from the file alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import run
from bench.experiments import EXPERIMENTS, load
from bench.report import crossing, page, plots
from bench.report import document as documents
from tests.support.benched import row

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.host
def test_figures_are_drawn_from_the_file_alone(small, tmp_path):
    pytest.importorskip("matplotlib")
    run.main(["fusion", "--quick", "--device", "host", "--results", str(tmp_path)])
    folder = tmp_path / "host-quick"
    drawn = {p.name for p in folder.iterdir()} - {"fusion.json"}

    assert drawn == {"fusion-time.svg", "fusion-bandwidth.svg", "roofline.svg"}

    before = {p: p.read_bytes() for p in folder.glob("fusion-*.svg")}
    for path in before:
        path.unlink()
    # without opweave, and without the experiments
    program = (
        "import sys; sys.modules |= dict.fromkeys(['opweave', 'bench.experiments.kernels.fusion']); "
        f"sys.path.insert(0, {str(BENCH.parent)!r}); from bench import run; "
        f"sys.exit(run.main(['--draw', '--results', {str(tmp_path)!r}]))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {p: p.read_bytes() for p in before} == before


def test_a_figure_follows_the_readers_theme(tmp_path):
    from xml.etree import ElementTree

    plots.save(lambda: plots.grid_of(1, "curves", 0)[0], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    ElementTree.fromstring(text)  # is XML
    sheet = text[text.index("<style") : text.index("</style>")]

    assert "@media (prefers-color-scheme: dark)" in sheet
    for light, dark in plots.DARK.items():
        assert f"fill: {light}" in text.replace(sheet, "")
        assert f'[style*="fill: {light}"] {{fill: {dark} !important}}' in sheet


@pytest.mark.host
def test_the_page_has_a_section_for_each_file_and_names_what_is_missing(small, tmp_path):
    options = ["--quick", "--device", "host", "--no-figures", "--results", str(tmp_path / "r")]
    run.main(["traffic", *options])
    path = tmp_path / "r" / "host-quick" / "traffic.json"
    found = documents.read(path)
    found["options"]["quick"] = False
    found["notes"].append("a note")
    documents.write(tmp_path / "r" / "host" / "traffic.json", found)
    made = page.page(tmp_path / "r", tmp_path / "docs" / "benchmarks.md", EXPERIMENTS, load)

    assert "## host\n" in made
    assert "## host-quick" not in made
    assert f"### {load('traffic').TITLE}" in made
    assert "One kernel takes" in made
    assert "- a note" in made
    assert "Not measured on host: products" in made
    assert "Not measured: `bench/gpu.sh all FOLDER`" in made
    assert "numba, torch.compile, JAX (compiles for seconds" in made


@pytest.mark.parametrize(("card", "said"), [
    ({}, "has not been measured: no result of a GPU is stored."),
    ({4: 90.0, 32: 85.0, 64: 86.0}, "Measured, h200 is ahead of the host from n = 64 on."),
    ({4: 90.0, 32: 85.0}, "Measured, h200 is ahead of the host at no size up to 32."),
    ({512: 90.0}, "Measured, h200 is compared with the host at no size"),
])  # fmt: skip
def test_the_page_says_where_host_and_gpu_meet(card, said):
    def graphs(taken):
        return {"rows": [
            {"runner": runner, "role": "ours", "median_us": more + t,
             "parameters": {"size": n, "rule": "program"}}
            for n, t in taken.items() for more, runner in enumerate(crossing.MODES)
        ]}  # fmt: skip

    host = {4: 20.0, 32: 76.0, 64: 400.0}
    results = {"host": graphs(host), **({"h200": graphs(card)} if card else {})}
    made = crossing.crossing(results, load("graphs").DEPTH)

    assert "up to n = 32 (76 us): there it is quicker than any GPU" in made
    assert said in made
    assert crossing.crossing({"h200": graphs(host)}, load("graphs").DEPTH) == ""


def test_no_page_of_nothing_is_written(tmp_path, capsys):
    assert run.main(["--page", "--results", str(tmp_path)]) == 1
    assert "holds no results" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_rate_has_its_quartiles_the_right_way_round():
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    of = row("opweave", "ours", 10.0, quartiles_us=[5.0, 11.0])
    plots.bars(axis, {}, {"y": "bandwidth", "x": "", "ylog": False}, [of],
               plots.styles_of(["opweave"]))  # fmt: skip
    (segment,) = axis.collections[0].get_segments()

    assert segment[:, 0].tolist() == pytest.approx([10_000 / 11e3, 10_000 / 5e3])
