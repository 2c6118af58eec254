"""The pages of docs/ that show code run, block by block, and print what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("tutorial.md", "sanitize.md")


@pytest.mark.host
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_follows_it(tmp_path, page):
    blocks = re.findall(r"```(python|text)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    scope = {"__name__": "page"}
    path = tmp_path / "page.py"
    path.write_text("\n".join(code for kind, code in blocks if kind == "python"))
    for number, (kind, code) in enumerate(blocks):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), scope)
        following = blocks[number + 1 : number + 2]
        expected = following[0][1] if following and following[0][0] == "text" else ""

        assert expected == printed.getvalue(), code


def test_there_is_a_block_for_each_part():
    for title in ("The burger", "The pickle", "The toggle", "The check"):
        assert f"## {title}" in (DOCS / "tutorial.md").read_text()
