"""The gallery: programs as a NumPy user writes them, held to NumPy's answers and their kernels."""

import sys
from pathlib import Path

import numpy as np
import pytest

import opweave as ow

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))
import gallery  # noqa: E402  (examples are scripts, and no package)

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


def test_the_page_is_that_of_the_programs():
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert len(gallery.PROGRAMS) >= 25
    for name, program in gallery.PROGRAMS.items():
        assert f"| [{name}](#{name}) | {program.kernels}" in text


def test_an_answer_that_differs_is_noticed():
    x = np.ones(3)
    assert gallery.agrees(x, x)
    assert not gallery.agrees(x, x + 0.01)
    assert not gallery.agrees(x, x.astype(np.float32))
    assert not gallery.agrees((x, x), (x, x[:2]))
