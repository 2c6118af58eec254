"""Without a GPU the tests of one run by a stand-in, but for those that are named with a reason."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.gpu import standing_in
from tests.support.slow import SLOW

FOLDER = standing_in.FOLDER


def item(name, path=FOLDER / "test_gpu.py"):
    return SimpleNamespace(nodeid=f"tests/gpu/{path.name}::{name}", path=path)


@pytest.mark.parametrize("name", standing_in.UNSERVED)
def test_what_the_stand_in_cannot_serve_is_there(name):
    module, _, function = name.partition("::")
    tree = ast.parse((FOLDER / module).read_text())

    assert function in {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}
    assert f"gpu/{name}" not in SLOW


def test_all_others_run():
    assert standing_in.why_skipped(item("test_out_may_overlap")) == ""
    assert "times" in standing_in.why_skipped(item("test_a_regime_is_measured"))
    assert "order" in standing_in.why_skipped(
        item("test_long_scans_of_many_blocks_give_the_same_bits_at_every_run[(40000,)]")
    )
    assert standing_in.why_skipped(item("test_x", Path(__file__))) == "needs gpu"


def test_a_gpu_runs_all_by_default(monkeypatch):
    for there in (True, False):
        monkeypatch.setattr(standing_in, "has_gpu", lambda there=there: there)
        rows = standing_in.table_for([item("test_out_may_overlap")], SLOW)

        assert any(name.startswith("gpu/") for name in rows) is not there
        assert standing_in.table_for([item("test_x", Path(__file__))], SLOW) is SLOW
