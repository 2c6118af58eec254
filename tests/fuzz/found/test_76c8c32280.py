"""crash: FragmentError: op0: op-code 2 of 3, out: expected a result that a later op-code reads, fou

Found by python -m tests.fuzz --seed 31 --only 218 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op0 = ow.operator('op0', ['out = (T)3', 'y != y'], 'bool', lambda y, x: y != y, replace=True)
k2 = ow.kernel([ow.load('p'), ow.store('f'), op0(1)], name='k2')
k4 = ow.kernel([ow.load('u'), ow.opcodes.add(1), ow.store('z')], name='k4')


def f(a0):
    v2 = k2(a0)
    v5 = k4(v2)
    return v5,


def written_out(a0):
    v2_0 = op0(a0, 1)
    v5_1 = np.add(a0, 1)
    return v5_1,

def arguments():
    a0 = np.array([1.0], np.float32).reshape(())
    return a0,


def bits(results):
    found = results if isinstance(results, tuple | list) else (results,)
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in found]


def test_lists_are_what_their_op_codes_are():
    given = arguments()
    fused = ow.fuse(f)

    with np.errstate(all="ignore"):
        assert bits(fused(*given)) == bits(written_out(*given))
    assert bits(fused(*given)) == bits(fused.unfused()(*given))
    assert bits(fused(*given)) == bits(ow.fuse(written_out)(*given))
