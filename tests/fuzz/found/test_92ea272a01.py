"""crash: UndefinedError: 'opweave.compiler.codegen.kernel.Kernel object' has no attribute 'index'

Found by python -m tests.fuzz --seed 17 --only 301 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op0 = ow.operator('op0', ['out = (T)2 | (T)1', 'out == img'], 'bool', lambda img, n0: (2 | 1) == img, replace=True)
k1 = ow.kernel([ow.load('y'), ow.load('u'), op0('u').named('m'), ow.store('p')], name='k1')
k2 = ow.kernel([ow.load('z'), op0('z', 'z').named('t'), ow.opcodes.floor_divide(3), k1('z'), ow.opcodes.logical_and(np.inf, 't').named('s'), ow.store('out')], name='k2')


def f(a0):
    v2 = k2(a0)
    return v2,


def written_out(a0):
    v2_0 = op0(a0, a0)
    v2_1 = np.floor_divide(v2_0, 3)
    v2_2_2 = op0(a0, a0)
    v2_3 = np.logical_and(np.inf, v2_0)
    return v2_3,

def arguments():
    a0 = np.array([3, -9223372036854775808, 1, 63, 3, 64, -1, 64, 1, 2, 7, 64, -2], np.int64)[..., ::-1].copy()[..., ::-1]
    return a0,


def bits(results):
    found = results if isinstance(results, tuple | list) else (results,)
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in found]


def test_lists_are_what_their_op_codes_are():
    given = arguments()
    fused = ow.fuse(f)

    assert bits(fused(*given)) == bits(fused.unfused()(*given))
    assert bits(fused(*given)) == bits(ow.fuse(written_out)(*given))
