"""On a GPU: arrays of other libraries as arguments, and PyTorch's graphs on CUDA."""

import pytest

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.gpu


@pytest.fixture
def torch(cp):
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    return found


def test_a_tensor_is_read_where_it_lies_and_the_result_is_one(torch):
    fused = ow.fuse(lambda x: (x * 2 + 1, x))
    x = torch.arange(1 << 16, dtype=torch.float32, device="cuda")
    for _ in range(3):
        found, same = fused(x)
        assert same is x
        assert found.device == x.device
        assert torch.equal(found, x * 2 + 1)


def test_an_argument_that_is_written_is_the_callers_tensor(torch):
    def doubled(x):
        x *= 2

    x = torch.ones(1000, device="cuda")
    ow.fuse(doubled)(x)
    assert torch.equal(x, torch.full_like(x, 2))


def test_kernels_wait_for_the_stream_of_the_tensor(torch):
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(1 << 24, device="cuda")
        for _ in range(50):
            x = x + 1
        found = ow.fuse(lambda x: x * 2)(x)
        total = (found - 100).abs().sum()
    torch.cuda.synchronize()
    assert total.item() == 0


def test_a_graph_of_torchs_runs_on_the_gpu(torch):
    def step(x, w):
        return torch.softmax(torch.tanh(x * 2) @ w, dim=-1)

    compiled = torch.compile(step, backend="opweave", fullgraph=True)
    x, w = torch.randn(64, 100, device="cuda"), torch.randn(100, 50, device="cuda")
    for _ in range(2):
        torch.testing.assert_close(compiled(x, w), step(x, w), rtol=1e-4, atol=1e-5)


def test_memory_by_the_cuda_array_interface(cp):
    class Held:
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    x = cp.arange(1000, dtype="float32")
    found = ow.fuse(lambda x: x + 1)(Held(x))
    assert (cp.asarray(found) == x + 1).all()


def test_blocks_of_cupys_are_refused(cp):
    blocks = pytest.importorskip("dask.array").from_array(cp.ones(8), chunks=4, asarray=False)
    with pytest.raises(e.InterchangeError, match=r"blocks of ndarray; map them first"):
        ow.fuse(lambda x: x + 1)(blocks)


def test_another_device_is_named(torch):
    with pytest.raises(e.OpweaveError, match="mixed|argument"):
        ow.fuse(lambda x, y: x + y)(torch.ones(3, device="cuda"), torch.ones(3))
