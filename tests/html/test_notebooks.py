"""The notebooks of docs/: they run, and print what is stored in them."""

import json
from importlib.util import find_spec

import pytest

from tests.html.markup import Read
from tests.html.notebooks import FOLDER, executed, outputs

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Of these the version of NVRTC decides what is counted.
COUNTED = ("count",)
HERE = all(map(find_spec, ("nbformat", "nbclient", "ipykernel")))


def stored(path):
    """A notebook as it is, without nbformat, texts in one piece."""

    def joined(item):
        if isinstance(item, dict):
            return {k: joined(v) for k, v in item.items()}
        if isinstance(item, list):
            return (
                "".join(item)
                if item and all(type(t) is str for t in item)
                else [*map(joined, item)]
            )
        return item

    class Cell(dict):
        """As nbformat's."""

    found = joined(json.loads(path.read_text()))
    return type("Notebook", (), {"cells": [Cell(cell) for cell in found["cells"]]})


def test_there_are_some():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_stored_is_html_that_is_well_formed(path):
    shown = [
        output["data"]["text/html"]
        for cell in stored(path).cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]

    assert shown
    assert [Read(text).faults for text in shown] == [[]] * len(shown)
    assert not [text for text in shown if "cannot be shown" in text]
    assert path.stat().st_size < 400_000


@pytest.mark.host
@pytest.mark.nvrtc
@pytest.mark.skipif(not HERE, reason="nbclient and ipykernel are not installed")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    found, known = outputs(executed(path)), outputs(stored(path))
    if path.stem in COUNTED:
        found, known = ([row[:2] for row in rows] for rows in (found, known))

    assert found == known, "run python -m tests.html.notebooks"
