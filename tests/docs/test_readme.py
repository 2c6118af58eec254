"""The README's code runs, and the extract of the kernel that it shows is of the real one."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = """\
python3 -m venv .venv && .venv/bin/pip install -q '.[demo,host]' && .venv/bin/opweave demo --out demo-out
python3 -m venv .venv && .venv/bin/pip install -q '.[test,nvrtc,host]' && .venv/bin/python -m pytest -q -n 2
"""
GAP = "// ..."
AS_FOR_USERS = True


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def source(tmp_path, capsys):
    """The kernel that the README's example prints."""
    path = tmp_path / "readme.py"
    path.write_text(blocks("python")[0])
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert capsys.readouterr().out.strip() == scope["program"].source.strip()
    return scope["program"].source


def holds(extract, source):
    """Whether the parts of an extract stand in a source as they are, one behind the other."""
    rest = source
    for part in extract.split(f"{GAP}\n"):
        _, found, rest = rest.partition(part)
        if not found:
            return False
    return True


@pytest.mark.host
def test_the_example_runs_and_the_extract_is_of_its_kernel(source):
    (code,), (extract,) = blocks("python"), blocks("cuda")
    lines = [line for line in extract.splitlines() if line != GAP]

    assert holds(extract, source)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    assert len(lines) <= 10
    assert not holds(extract.replace("v0 / v1", "v1 / v0"), source)
    assert not holds("\n".join(reversed(extract.splitlines())), source)


def test_the_first_sh_block_is_the_demo_and_the_tests():
    assert blocks("sh")[0] == COMMANDS


def test_it_is_short_and_in_order():
    places = [README.index(text) for text in (
        "# opweave", "docs/images/demo.jpg", "```python", "```cuda", "```sh", "## Install",
        "## When to use it", "## Beside others", "## Figures", "## Read on",
    )]  # fmt: skip
    figures = README[places[8] : places[9]]

    assert places == sorted(places)
    assert len(README.split()) <= 900
    assert figures.count("\n| ") == 1 + 6
    assert max(len(line) for line in README.splitlines() if line[:1] not in "|p") <= 100


def test_figures_are_those_of_the_page_of_figures():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "performance.md").read_text() + (docs / "benchmarks.md").read_text()
    shown = README[README.index("## Figures") : README.index("## Read on")]
    for row in re.findall(r"^\| [^|]+ \| ([\d.; us]+) \|$", shown, re.MULTILINE):
        for figure in re.findall(r"[\d.]+", row):
            assert figure in page or figure == "0.12", figure  # 1 / 8.58
    assert "| 8.58 |" in page


@pytest.mark.host
def test_recompiles_are_logged_when_asked(monkeypatch, capsys):
    import numpy as np

    import opweave as ow

    monkeypatch.setenv("OPWEAVE_LOGS", "recompiles")
    fused = ow.fuse(lambda x: x + 1)
    for x in (np.ones(3), np.ones(4), np.ones((2, 2))):
        fused(x)

    logged = capsys.readouterr().err
    assert logged.count("traced for") == 2
    assert "x is f64[n, n], and was f64[n]" in logged
