"""split: result 0 of in one function, and line by line: float64(), int64()

Found by python -m tests.fuzz --seed 41 --only 40 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op3 = ow.operator('op3', 'x', 'float', lambda y, x: x, replace=True)
k0 = ow.kernel([ow.load('u'), ow.opcodes.less(1, 'u'), ow.store('z')], name='k0')


def f(a0):
    v0 = k0(a0)
    v3 = op3(v0, 1)
    return v3,


def written_out(a0):
    v0_0 = np.less(1, a0)
    v3 = op3(v0_0, 1)
    return v3,

def arguments():
    a0 = np.array([1.0], np.float32).reshape(())
    return a0,


def bits(results):
    found = results if isinstance(results, tuple | list) else (results,)
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in found]


def test_lists_are_what_their_op_codes_are():
    given = arguments()
    fused = ow.fuse(f)

    assert fused.check(*given).ok
    assert bits(fused(*given)) == bits(fused.unfused()(*given))
    assert bits(fused(*given)) == bits(ow.fuse(written_out)(*given))
