"""Random loops over complex numbers do in C what they do in Python: seeds that run there."""

from __future__ import annotations

import pytest

from tests.rolled.random_complex import HAS_THESE_RULES, differs

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore"),
    HAS_THESE_RULES,
]

# The first four once had a number of NumPy in the place of Python's, or the bits of fused sums.
SEEDS = (36, 62, 3408, 3917, 1, 3, 5, 6, 10, 12, 13, 15, 18, 19)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_loop_does_in_c_what_it_does_in_python(seed):
    text, in_c = differs(seed)
    assert not text, text
    assert in_c
