"""crash: UndefinedError: 'opweave.compiler.codegen.kernel.Kernel object' has no attribute 'index'

Found by python -m tests.fuzz --seed 17 --only 304 --kind list.
"""

import pickle

import numpy as np
import pytest

import opweave as ow

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("error")]

op2 = ow.operator('op2', 'x + x', 'float', lambda y, x: x + x, replace=True)
op3 = ow.opcodes.greater.with_opcodes(['y < x'])
k0 = ow.kernel([ow.load('y'), ow.load('u'), ow.load('z'), ow.opcodes.logical_not, op2('u', 'y'), ow.store('p')], name='k0')


def f(a0, a1):
    v0 = op3(a0, a0)
    v1 = op2(v0, v0)
    v2 = k0(a0, a1, v1)
    return v2, v0


def written_out(a0, a1):
    v0 = op3(a0, a0)
    v1 = op2(v0, v0)
    v2_2 = np.logical_not(v1)
    v2_3 = op2(a1, a0)
    return v2_3, v0

def arguments():
    a0 = np.array([13, 15, 19, 9, 14, 2, 7], np.uint8)
    a1 = np.array([0.283935546875, -2.4765625, 2.671875, 2.19140625, 1.3984375, 3.505859375, -4.0625], np.float16)
    return a0, a1,


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
