"""Loops over time on a GPU: a round is compiled once, and launched as often as Python says."""

import numpy as np
import pytest

import opweave as ow
from tests.rounds.cupy_by_shim import on_gpu
from tests.rounds.programs import OTHERS, PROGRAMS

pytestmark = pytest.mark.nvrtc
N = 11


def given(args):
    """Copies of arguments, on the GPU."""
    return [on_gpu(a) if isinstance(a, np.ndarray) else a for a in args]


def leaves(found):
    return found if isinstance(found, tuple) else (found,)


def bits(found):
    """Results or arguments as bytes, and their types."""
    return [(np.asarray(a).dtype, np.shape(a), np.asarray(a).tobytes()) for a in leaves(found)]


def copied(args):
    """Copies of arguments, as NumPy has them."""
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]


def loop_of(fused):
    """How calls of one kind run; None where they are wholes, or Python's."""
    return next(iter(fused.fallback.device_loops.known.values()), None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_is_rolled_bit_for_bit_as_it_would_be_written_out(rolled, name):
    function, args = PROGRAMS[name]
    fused, whole = ow.fuse(function), ow.fuse(function, fullgraph=True)
    for n in (N, 1, 2, N + 3):
        own, others, numpys = given(args), given(args), copied(args)
        found, wanted = fused(*own, n), whole(*others, n)

        assert bits(found) == bits(wanted), n
        assert bits(tuple(own)) == bits(tuple(others)), n
        for a, b in zip(leaves(found), leaves(function(*numpys, n)), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)
    loop = loop_of(fused)
    assert (loop.left, loop.rounds.why) == ("", "")
    assert loop.rounds.listed


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_mean_what_python_means(rolled, name):
    function, args = OTHERS[name]
    fused = ow.fuse(function)
    for n in (N, 1, N + 3):
        own, numpys = given(args), copied(args)
        found, wanted = fused(*own, n), function(*numpys, n)
        for a, b in zip((*leaves(found), *own), (*leaves(wanted), *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)


def test_a_loop_without_rounds_does_nothing(rolled):
    for name, (function, args) in PROGRAMS.items():
        own, numpys = given(args), copied(args)
        if name in ("backwards", "in_strides"):  # whose counter is read
            with pytest.raises(UnboundLocalError):
                ow.fuse(function)(*own, 0)
            continue
        found, wanted = ow.fuse(function)(*own, 0), function(*numpys, 0)
        for a, b in zip((*leaves(found), *own), (*leaves(wanted), *numpys), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-10)
