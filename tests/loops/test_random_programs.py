"""Random programs do in C what they do in Python: seeds that run there, or once did something else."""

from __future__ import annotations

import pytest

from tests.loops.random_programs import difference, made, report

pytestmark = pytest.mark.host

SEEDS = (
    7, 8, 10, 11, 12, 13, 16, 18, 19, 21, 22, 27, 35, 40, 46, 54, 99, 104, 122, 154,
    158, 160, 173, 176, 180, 190, 206, 237, 255, 281, 314, 442, 527, 563, 803, 901,
    924, 1444, 1465, 1989, 2132,
)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_does_in_c_what_it_does_in_python(seed, tmp_path):
    program = made(seed)
    wrong = difference(program, tmp_path)
    assert not wrong, report(program, wrong)
