"""The gallery: programs as a NumPy user writes them, held to NumPy's answers and their kernels."""

import sys
from pathlib import Path

import numpy as np
import pytest

import opweave as ow

ROOT = Path(__file__).parents[2]
AS_FOR_USERS = True
sys.path.insert(0, str(ROOT / "examples"))
import gallery  # noqa: E402  (examples are scripts, and no package)

PAGES = ROOT / "docs" / "gallery"

pytestmark = pytest.mark.host
WHOLE = [name for name, program in gallery.PROGRAMS.items() if not program.eager]


@pytest.mark.parametrize("name", gallery.PROGRAMS)
def test_a_program_gives_numpys_answer_in_as_many_kernels(name):
    program = gallery.PROGRAMS[name]
    fused, args = ow.fuse(program.function), program.arguments(gallery.SIZE)
    made = gallery.made_of(name)

    assert gallery.agrees(fused(*args), program.function(*args))
    assert (made.kernels, made.eager) == (program.kernels, program.eager)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_program_keeps_its_bound(name, target):
    program = gallery.PROGRAMS[name]
    args = program.arguments(600)

    assert ow.fuse(program.function).check(*args, target=target).ok


@pytest.fixture(scope="module")
def pages():
    return gallery.pages()


def test_there_is_a_page_for_each_program_and_an_index():
    assert len(gallery.PROGRAMS) >= 25
    assert {p.name for p in PAGES.iterdir()} == {
        "README.md",
        *(f"{n}.md" for n in gallery.PROGRAMS),
    }
    index = (PAGES / "README.md").read_text()
    for name, program in gallery.PROGRAMS.items():
        assert f"| [{name}]({name}.md) | {program.kernels}" in index


@pytest.mark.parametrize("name", ["README", *WHOLE])
def test_a_page_is_what_the_writer_writes(pages, name):
    found = (PAGES / f"{name}.md").read_text()

    assert found == pages[f"{name}.md"], "run python examples/gallery.py --write docs/gallery"


def test_an_answer_that_differs_is_noticed():
    x = np.ones(3)
    assert gallery.agrees(x, x)
    assert not gallery.agrees(x, x + 0.01)
    assert not gallery.agrees(x, x.astype(np.float32))
    assert not gallery.agrees((x, x), (x, x[:2]))
