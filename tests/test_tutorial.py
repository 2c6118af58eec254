"""The tutorial runs, block by block, and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

TUTORIAL = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", TUTORIAL, re.DOTALL)


@pytest.mark.host
def test_every_block_runs_and_prints_what_follows_it(tmp_path):
    scope = {"__name__": "tutorial"}
    path = tmp_path / "tutorial.py"
    path.write_text("\n".join(code for kind, code in BLOCKS if kind == "python"))
    for number, (kind, code) in enumerate(BLOCKS):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), scope)
        following = BLOCKS[number + 1 : number + 2]
        expected = following[0][1] if following and following[0][0] == "text" else ""

        assert expected == printed.getvalue(), code


def test_there_is_a_block_for_each_part():
    for title in ("The burger", "The pickle", "The toggle", "The check"):
        assert f"## {title}" in TUTORIAL
