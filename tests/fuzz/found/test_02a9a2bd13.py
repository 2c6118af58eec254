"""crash: UndefinedError: 'opweave.compiler.codegen.kernel.Kernel object' has no attribute 'index'

Found by python -m tests.fuzz --seed 17 --only 302 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op0 = ow.operator('op0', '(T)1 * y', 'same', lambda y, x: 1 * y, replace=True)
k0 = ow.kernel([ow.load('z'), op0('z'), ow.store('y'), op0('z', True), ow.store('z')], name='k0')
k1 = k0.insert(ow.opcodes.sqrt('z'), after='load')
k2 = ow.kernel([ow.load('x'), op0('x'), ow.opcodes.negative('x'), op0('x'), op0('x', 'x'), op0('x').named('k'), ow.opcodes.square, ow.store('out', 'x')], name='k2')
k3 = ow.kernel([ow.load('y'), op0('y'), ow.store('z', 'y')], name='k3')


def f(a0):
    v2, v3 = k1(a0)
    v4 = k2(v3)
    v5 = k3(v2)
    return v5, v4


def written_out(a0):
    v2_0 = np.sqrt(a0)
    v2_1 = op0(v2_0, a0)
    v2_2 = op0(a0, True)
    v4_3 = op0(v2_2, v2_2)
    v4_4 = np.negative(v2_2)
    v4_5 = op0(v4_4, v2_2)
    v4_6 = op0(v2_2, v2_2)
    v4_7 = op0(v4_6, v2_2)
    v4_8 = np.square(v4_7)
    v5_9 = op0(v2_1, v2_1)
    return v2_1, v2_2

def arguments():
    a0 = np.array([13], np.uint16).reshape(())
    return a0,


def bits(results):
    found = results if isinstance(results, tuple | list) else (results,)
    return [(np.asarray(r).dtype, np.shape(r), np.asarray(r).tobytes()) for r in found]


def test_lists_are_what_their_op_codes_are():
    given = arguments()
    fused = ow.fuse(f)

    assert fused.check(*given).ok
    with np.errstate(all="ignore"):
        assert bits(fused(*given)) == bits(written_out(*given))
    assert bits(fused(*given)) == bits(fused.unfused()(*given))
    assert bits(fused(*given)) == bits(ow.fuse(written_out)(*given))
