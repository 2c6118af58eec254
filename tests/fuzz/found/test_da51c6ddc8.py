"""crash: UndefinedError: 'opweave.compiler.codegen.kernel.Kernel object' has no attribute 'index'

Found by python -m tests.fuzz --seed 17 --only 305 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op0 = ow.operator('op0', 'fabs(img)', 'float', lambda img, n0: np.abs(img), replace=True)
k1 = ow.kernel([ow.load('y'), ow.opcodes.square().named('m'), ow.store('out'), op0(0.5), ow.store('p', 'y')], name='k1')


def f(a0):
    v1, v2 = k1(a0)
    return v1,


def written_out(a0):
    v1_0 = np.square(a0)
    v1_1 = op0(v1_0, 0.5)
    return v1_0,

def arguments():
    a0 = np.array([-1.0341796875, 1.2861328125, -2.525390625, 5.06640625, -3.21484375, -0.40576171875, 3.15234375, 3.55859375, -0.57763671875, 4.47265625, -5.41015625, -4.56640625, 4.17578125, 0.022247314453125, -2.900390625, -2.916015625, 0.296875, -3.58984375, -3.3984375, -2.888671875, -0.82763671875, -3.201171875, -0.341796875, 1.3505859375, -2.955078125, -0.70703125, 5.0625, 0.94482421875, 1.4697265625, 1.1376953125, -2.669921875, 5.09375, -2.953125, -3.48046875, 4.95703125, -1.0751953125, -0.4716796875, 2.650390625, 4.4375, -3.92578125, -4.59765625, 1.16015625, 3.70703125, -4.24609375, 2.451171875, 0.320068359375, 3.849609375, -3.390625, 1.9931640625, 2.037109375, 0.7939453125, 6.09375, 1.5029296875, 5.3359375, 2.314453125, 0.8271484375, 2.0625, 1.0849609375, 4.04296875, -1.693359375, -1.978515625, -0.96337890625, -6.90625, 3.91015625, 5.59375, 3.751953125, -1.9208984375, 2.26953125], np.float16).reshape((4, 17))
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
