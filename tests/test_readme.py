"""The README's code runs, and the kernel that it shows is the one that it prints."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.host
@pytest.mark.nvrtc
def test_every_python_block_runs(tmp_path):
    scope = {}
    path = tmp_path / "readme.py"
    path.write_text(blocks("python")[0])
    exec(compile(path.read_text(), str(path), "exec"), scope)
    source = scope["program"].source

    assert blocks("cuda")[0].strip() == source.strip()
    for block in blocks("python")[1:]:
        exec(compile(block, "README.md", "exec"), scope)


def test_the_first_sh_block_is_the_demo_and_the_tests():
    demo, tests = blocks("sh")[0].strip().split("\n")

    assert "opweave demo" in demo
    assert "pytest" in tests


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
