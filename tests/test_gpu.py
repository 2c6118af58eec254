"""On a GPU: every variant, layout and executor rule, against the bound and against the host."""

import numpy as np
import pytest
from variants import VARIANTS

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.gpu


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_the_variant_is_right_on_the_gpu(variant, cp):
    arguments = [cp.asarray(a) for a in variant.arguments()]

    assert ow.fuse(variant.function).check(*arguments).ok


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_fused_equals_unfused_bit_for_bit(variant, cp):
    arguments = [cp.asarray(a) for a in variant.arguments()]
    fused = ow.fuse(variant.function)
    a, b = fused(*arguments), fused.unfused()(*arguments)
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    for one, other in pairs:
        assert one.get().tobytes() == other.get().tobytes()


def test_a_hundred_runs_give_the_same_bits(cp):
    x = cp.asarray(np.random.default_rng(0).standard_normal((300, 5000)).astype(np.float32))
    fused = ow.fuse(lambda x: (x.sum(), (x * x).mean(axis=1), ow.softmax(x)))
    first = [r.get().tobytes() for r in fused(x)]

    for _ in range(100):
        assert first == [r.get().tobytes() for r in fused(x)]


def test_results_stay_on_the_gpu_and_keep_their_type(cp):
    made = ow.fuse(lambda x: (x + 1, x.sum()))(cp.ones(5, cp.float16))

    assert all(isinstance(r, cp.ndarray) for r in made)
    assert [r.dtype for r in made] == [cp.float16] * 2


def test_the_callers_stream_is_used(cp):
    stream = cp.cuda.Stream(non_blocking=True)
    fused = ow.fuse(lambda x: np.exp(x) * 2)
    with stream:
        x = cp.ones(1 << 20, cp.float32)
        y = fused(x)
    stream.synchronize()

    cp.testing.assert_allclose(y, cp.exp(x) * 2, rtol=1e-6)


def test_cupy_functions_inside_a_fused_function(cp):
    fused = ow.fuse(lambda x: cp.exp(x).sum())

    cp.testing.assert_allclose(fused(cp.ones(100)), cp.exp(cp.ones(100)).sum())


def test_numpy_arrays_run_on_the_gpu_when_asked():
    x = np.linspace(0, 1, 100, dtype=np.float32)
    with ow.config(device="cuda"):
        made = ow.fuse(lambda x: (x * 2, x.max()))(x)

    assert isinstance(made[0], np.ndarray)
    assert isinstance(made[1], np.float32)
    np.testing.assert_array_equal(x * 2, made[0])


def test_mixed_arrays_are_refused(cp):
    with pytest.raises(e.ArgumentError, match="mixed"):
        ow.fuse(lambda x, y: x + y)(cp.ones(3), np.ones(3))


def test_out_may_overlap(cp):
    memory = cp.arange(101, dtype=cp.float32)
    expected = memory[:100] * 2
    ow.fuse(lambda x: x * 2)(memory[:100], out=memory[1:])

    cp.testing.assert_array_equal(expected, memory[1:])


def test_an_empty_array_launches_nothing(cp):
    assert ow.fuse(lambda x: x + 1)(cp.empty((0, 3))).shape == (0, 3)


def test_more_than_2_to_the_31_elements(cp):
    if cp.cuda.runtime.memGetInfo()[0] < 6 << 30:
        pytest.skip("needs 6 GiB of memory on the GPU")
    x = cp.ones((1 << 31) + 5, cp.uint8)
    fused = ow.fuse(lambda x: x + 1)
    assert fused.lower(x).kernels[0].toggles["USE_64BIT_INDEX"] == 1

    assert int((fused(x) == 2).all()) == 1
