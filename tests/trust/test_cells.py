"""What the default tier lowers is kept by a whole run, and other runs are held to it."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import shares
from tests.support import cells

ROOT = Path(__file__).parents[2]
TEST = (
    "from tests.support.cells import CELLS\n\ndef test(): CELLS.add(({!r}, 'f', 'row', 'host'))\n"
)


def ran(folder, *options):
    """The status and the output of pytest in a project with our conftest."""
    command = [sys.executable, "-m", "pytest", "-q", *options]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_run_is_held_to_what_the_workers_of_a_whole_run_lowered(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = own\n")
    for name in ("exp", "log"):
        (own / f"test_{name}.py").write_text(TEST.format(name))
    assert ran(tmp_path, "-n", "2")[0] == 0
    (own / "test_sum.py").write_text(TEST.format("sum"))
    status, told = ran(tmp_path, "--hold-cells")

    assert status == 1
    assert "no test of the default tier lowers ('sum', 'f', 'row', 'host')" in told
    assert told.count("no test of") == 1


class Cache(dict):
    def set(self, key, value):
        self[key] = value


def config(**options):
    given = {"tier": "default", "keyword": "", "markexpr": "", "hold_cells": False} | options
    return SimpleNamespace(
        option=SimpleNamespace(**given), args=["tests"], getini=lambda _: ["tests"], cache=Cache()
    )


@pytest.mark.parametrize(("options", "status", "kept"), [
    ({}, 0, True),
    ({}, 1, True),  # some tests failed
    ({}, 2, False),  # interrupted
    ({"tier": "slow"}, 0, False),
    ({"keyword": "exp"}, 0, False),
    ({"markexpr": "host"}, 0, False),
    ({"hold_cells": True}, 0, False),
])  # fmt: skip
def test_a_whole_run_that_ended_keeps_its_cells_and_no_other(options, status, kept, monkeypatch):
    monkeypatch.setattr(cells, "CELLS", {("exp", "f", "row", "host")})
    found = config(**options)
    cells.keep(found, status)

    assert bool(found.cache) is kept


def test_without_a_whole_run_before_it_a_run_is_not_held_in_silence():
    assert "comes first" in cells.lacking(config(hold_cells=True))[0]


@pytest.mark.parametrize("name", shares.LONG)
def test_the_share_of_the_slow_tests_is_held_where_that_is_asked(name):
    assert shares.command(name, 3, True).endswith("--hold-cells") == (name == "slow")
    assert "--hold-cells" not in shares.command(name, 3, False)
