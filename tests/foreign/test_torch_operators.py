"""``ow.to_torch``: fused functions as operators of PyTorch's."""

from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.host


def pair(x, gain):
    return np.tanh(x * gain), x.sum(axis=0)


def tail(x):
    return x[1:]


def doubled(u):
    u *= 2
    return u + 1


ARGUMENTS = {
    "pair": (pair, (torch.ones(4, 3), 2.0)),
    "tail": (tail, (torch.ones(5),)),
    "bfloat16": (lambda x: x * 2, (torch.ones(5, dtype=torch.bfloat16),)),
    "total": (lambda x: x.sum(), (torch.ones(2, 3),)),
    "mask": (lambda x, n, k: (x > n) & k, (torch.ones(2, 3), 1, True)),
    "product": (lambda x, w: x @ w, (torch.ones(2, 3), torch.ones(3, 4))),
    "shape": (lambda x: np.concatenate((x, x.reshape(-1))), (torch.ones(6),)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_operator_keeps_torchs_rules_and_gives_what_the_function_gives(name):
    function, args = ARGUMENTS[name]
    fused = ow.fuse(function)
    operator = ow.to_torch(fused, *args, name=name)
    torch.library.opcheck(operator, args)
    given, expected = operator(*args), fused(*args)
    pairs = zip(given, expected, strict=True) if type(expected) is tuple else [(given, expected)]
    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in pairs)


@pytest.mark.filterwarnings("ignore")
def test_it_is_one_node_of_torch_compile_for_other_shapes_too():
    operator = ow.to_torch(ow.fuse(pair), torch.ones(2, 3), 1.0, name="compiled")
    seen = []

    def backend(graph, inputs):
        seen.append([n.target for n in graph.graph.nodes if n.op == "call_function"])
        return graph

    step = torch.compile(lambda x: operator(x, 2.0)[1] + 1, backend=backend, fullgraph=True)
    for rows in (2, 5, 7):
        assert step(torch.ones(rows, 3)).tolist() == [rows + 1] * 3
    assert all(torch.ops.opweave.compiled.default in targets for targets in seen)


def test_a_result_on_an_arguments_memory_is_copied():
    operator = ow.to_torch(ow.fuse(tail), torch.ones(3), name="tail_apart")
    given = torch.ones(3)
    operator(given)[0] = 5
    assert given.tolist() == [1, 1, 1]


TABLE = np.arange(4.0)


def twice(x):
    y = x + 1
    return y, y[::2]


def outside(x):
    return x + 1, TABLE, TABLE[1:]


HELD = SimpleNamespace(w=np.arange(4.0), all=[np.arange(4.0)])


def held(x, own=np.arange(4.0)):
    return x + 1, HELD.w, HELD.all[0][1:], own


@pytest.mark.parametrize("function", [twice, outside, held])
def test_results_share_memory_with_nothing(function):
    given = torch.ones(4, dtype=torch.float64)
    operator = ow.to_torch(ow.fuse(function), given)
    expected = [torch.tensor(np.array(each)) for each in function(given.numpy())]
    for _ in range(8):
        found = operator(given)
        for before, each in zip(expected, found, strict=True):
            assert torch.equal(each, before)
            each += 5


@pytest.mark.filterwarnings("ignore")
def test_results_are_in_the_order_that_inductor_was_told():
    given = torch.arange(6.0).reshape(2, 3)
    operator = ow.to_torch(ow.fuse(lambda x: (x.T * 2, x[:, ::2])), given, name="turned")
    step = torch.compile(lambda x: operator(x)[0] + 1, fullgraph=True)
    assert torch.equal(step(given), given.T * 2 + 1)
    assert all(each.is_contiguous() for each in operator(given))


def test_there_is_no_gradient():
    operator = ow.to_torch(ow.fuse(tail), torch.ones(3), name="no_gradient")
    with pytest.raises(RuntimeError, match="autograd"):
        operator(torch.ones(3, requires_grad=True)).sum().backward()


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: ow.to_torch(pair, torch.ones(2)), e.ArgumentError, "expected a fused function"),
    (lambda: ow.to_torch(ow.fuse(tail), "a"), e.ArgumentError, "found str"),
    (lambda: ow.to_torch(ow.fuse(abs), 2.0), e.ArgumentError, "found none"),
    (lambda: ow.to_torch(ow.fuse(doubled), torch.ones(2)), e.ArgumentError, "writes to"),
    (lambda: ow.to_torch(ow.fuse(lambda x: {"x": x}), torch.ones(2), name="d"), e.ArgumentError,
     "several in a tuple"),
    (lambda: ow.to_torch(ow.fuse(lambda x: (x + 1,)), torch.ones(2), name="one"), e.ArgumentError,
     "several in a tuple"),
    (lambda: ow.to_torch(ow.fuse(lambda x: ()), torch.ones(2), name="none"), e.ArgumentError,
     "several in a tuple"),
    (lambda: ow.to_torch(ow.fuse(tail), torch.ones(2), name="a b"), e.NameRefusedError, "'a b'"),
    (lambda: ow.to_torch(ow.fuse(lambda x: x if x.sum() > 1 else -x), torch.ones(2), name="p"),
     e.TraceError, "fuse|branch|where"),
], ids=["no function", "a text", "no tensor", "writes", "a dict", "a tuple of one", "nothing", "a name",
        "in parts"])  # fmt: skip
def test_what_cannot_be_an_operator_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()
