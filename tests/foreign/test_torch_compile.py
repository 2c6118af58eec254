"""``torch.compile(backend="opweave")``: what torch gives, whoever computes it."""

import subprocess
import sys
from contextlib import nullcontext

import pytest

from bench.experiments import load

torch = pytest.importorskip("torch")

from torch import nn
from torch._dynamo.utils import counters
from torch.nn import functional as F

import opweave as ow
from bench.experiments.tensors.table import PROGRAMS
from opweave._torch import shapes
from opweave._torch.table import TABLE

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("error::opweave.OpweaveWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
flat = load("torch").flat


@pytest.fixture(autouse=True)
def fresh():
    """Nothing compiled, nothing counted; the same random numbers."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)


def compiled(run, **options):
    return torch.compile(run, backend="opweave", fullgraph=True, **options)


def left():
    """Operators that stay torch's."""
    return {k.partition(": ")[2] for k in counters["opweave"] if k.startswith("left")}


def assert_like(found, expected, within=1e-5):
    for got, wanted in zip(flat(found), flat(expected), strict=True):
        assert (got.dtype, got.shape, got.stride()) == (
            wanted.dtype,
            wanted.shape,
            wanted.stride(),
        )
        torch.testing.assert_close(got, wanted, rtol=within, atol=within, equal_nan=True)


def test_the_backend_is_known_to_torch():
    assert "opweave" in torch._dynamo.list_backends()


def test_torch_is_imported_only_where_the_backend_is_asked_for():
    code = "import opweave, sys; opweave.fuse; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_without_a_compiler(name):
    program = PROGRAMS[name]
    run, args = program.made(program.tiny)
    step = compiled(run)
    with torch.no_grad():
        for _ in range(2):  # the second call is prepared
            assert_like(step(*args), run(*args), max(program.tolerance, 1e-5))
    # one operator alone is torch's
    assert (counters["opweave"]["kernels"] > 0) is (name != "layer_norm")


CASES = {
    "views": (lambda x: (x.t() + 1, x[1:], x.permute(1, 0)[::2], (x * 2).view(-1)[3:]), (4, 6)),
    "one result twice": (lambda x: (y := x.exp() * 2, y, y[0]), (4, 6)),
    "an argument as a result": (lambda x: (x, x.sin() + x), (4, 6)),
    "no dimensions": (lambda x: (x.sum() * 2, x.mean().exp(), x.amax() > 1), (4, 6)),
    "constants": (lambda x: (torch.arange(6) * 2 + x, torch.ones(3).cumsum(0) + 1, x * 1), (4, 6)),
    "empty": (lambda x: (x + 1, x.sum(0) * 2, x.sum() + 1), (0, 6)),
    "channels last": (
        lambda x: (x.to(memory_format=torch.channels_last) * 2).relu() + 1, (2, 3, 4, 5)),
    "a sort between": (lambda x: (x * 2 + 1).sort(-1).values.exp() - 1, (4, 6)),
    "a convolution between": (
        lambda x: F.conv1d((x.tanh() * 2)[:, None], torch.ones(1, 1, 3)).sigmoid() + 1, (4, 6)),
    "complex between": (lambda x: torch.fft.rfft(x * 2 + 1).abs().log1p() * 3, (4, 6)),
    "a causal mask": (
        lambda x: torch.where(torch.tril(torch.ones(6, 6)) > 0, x @ x.t(), -1e9).softmax(-1),
        (6, 6)),
    "one hot": (lambda x: F.one_hot(x.argmax(-1), 6).float() @ x.t() * 2, (4, 6)),
    "float64 beside": (lambda x: x * torch.tensor(2.5, dtype=torch.float64) + x.double() * 2, (4, 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_tensors_of_the_same_values_types_and_strides(name):
    run, shape = CASES[name]
    x = torch.randn(shape)
    step = compiled(run)
    for _ in range(2):
        assert_like(step(x), run(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_of_16_bits(dtype):
    def run(x):
        return (F.gelu(x) * 2 + 1, x.softmax(-1) + x, F.layer_norm(x, (6,)) * 2)

    x = torch.randn(4, 6).to(dtype)
    assert_like(compiled(run)(x), run(x), 3e-2)


# Operators with numbers, which PyTorch rounds to 16 bits before some of them, and before others not.
WITH_NUMBERS = {
    "times": lambda x, s: (x * s, s * x, x * torch.tensor(s), torch.tensor(s) * x),
    "over": lambda x, s: (x / s, x / torch.tensor(s), torch.div(x, s, rounding_mode="floor")),
    "plus": lambda x, s: (x + s, s - x, x + torch.tensor(s), torch.add(x, x, alpha=s)),
    "remainders": lambda x, s: (torch.fmod(x, s), torch.remainder(x, s)),
    "activations": lambda x, s: (F.leaky_relu(x, s), F.elu(x, s), F.hardtanh(x, -s, s)),
    "comparisons": lambda x, s: (x < s, x.clamp_min(s), torch.where(x > 0, x, s)),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("number", [1.1003, 0.0123, 300.7, 1e-8, 3])
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers_beside_16_bits_are_rounded_where_torch_rounds_them(name, number, dtype):
    x = (torch.rand(1000) * 8 - 4).to(dtype)
    found = compiled(lambda x: WITH_NUMBERS[name](x, number))(x)
    for got, wanted in zip(found, WITH_NUMBERS[name](x, number), strict=True):
        differ = (got != wanted) & ~(got.isnan() & wanted.isnan())
        assert differ.sum() <= (12 if name == "plus" else 0)  # alpha= is one fma, or two steps


OUT_OF_RANGE = {
    "int8": lambda x: ((x > 300) | (x == -200), x + 300),
    "uint8": lambda x: ((x > -1) & (x != 256), x * -2),
}


@pytest.mark.parametrize("dtype", OUT_OF_RANGE)
def test_integers_beyond_a_type_wrap_as_by_torch(dtype):
    x = torch.tensor([0, 44, 56, 100], dtype=getattr(torch, dtype))
    assert_like(compiled(OUT_OF_RANGE[dtype])(x), OUT_OF_RANGE[dtype](x))


ALONE = {
    "a row": lambda x: (x * 2 + 1, torch.arange(6) * 2 + 1),
    "rows": lambda x: (x * 2 + 1, torch.arange(6).reshape(2, 3) * 2 + 1),
    "ones": lambda x: (x * 2 + 1, torch.ones(4) + 1),
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_result_that_follows_from_integers_alone_is_new_at_each_call(name, dynamic):
    x, step = torch.ones(3), compiled(ALONE[name], dynamic=dynamic)
    step(x)[1].zero_()
    assert_like(step(x), ALONE[name](x))


OF_NO_AXES = {
    "any": lambda x: torch.any(x, dim=()).int() * 2 + 1,
    "all": lambda x: torch.all(x, dim=()).int() * 2 + 1,
    "any of all": lambda x: torch.any(x).int() * 2 + 1,
    "sum": lambda x: x.sum(dim=()) * 2 + 1,
}


@pytest.mark.parametrize("name", OF_NO_AXES)
def test_reductions_over_no_axes(name):
    x = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    assert_like(compiled(OF_NO_AXES[name])(x), OF_NO_AXES[name](x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_factors_of_a_product_in_16_bits_meet_it_in_float32(dtype):
    def run(bias, x):
        return torch.addmm(bias, x, x, alpha=0.01, beta=0.5) * 1

    bias, x = torch.ones(8, dtype=dtype), torch.full((8, 8), 120.0, dtype=dtype)
    assert_like(compiled(run)(bias, x), run(bias, x), 1e-2)


BACKWARDS = {
    "an argument": lambda x: (x + 1, x.flip(0)),
    "a sum": lambda x: ((x * 2).flip(0).cumsum(0).flip(0), x * 2),
    "integers": lambda x: (x.long() * 2, x.long().flip(0)),
}


@pytest.mark.parametrize("name", BACKWARDS)
@pytest.mark.parametrize("size", [1, 5])
def test_a_row_that_is_turned_round_is_a_result(name, size):
    x = torch.arange(float(size))
    assert_like(compiled(BACKWARDS[name])(x), BACKWARDS[name](x))


def test_what_is_unknown_stays_torchs_in_the_middle_of_the_graph():
    compiled(CASES["a convolution between"][0])(torch.randn(4, 6))
    assert "aten.convolution.default" in left()
    assert counters["opweave"]["partitions"] == 2


def test_one_compilation_serves_all_shapes():
    def run(x):
        return ((x * 2 + 1).reshape(-1, 2).sum(0) / x.shape[0], x.softmax(-1) + x.shape[1])

    step = compiled(run, dynamic=True)
    for rows, columns in ((4, 6), (8, 4), (4, 6), (3, 10)):
        x = torch.randn(rows, columns)
        assert_like(step(x), run(x))
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("name", ["mlp", "residual_mlp", "transformer_block", "gru"])
def test_gradients_are_those_of_torch(name):
    model, args = PROGRAMS[name].made(PROGRAMS[name].tiny)
    step = compiled(model)

    def gradients(run):
        model.zero_grad()
        given = [a.detach().requires_grad_() for a in args]
        run(*given).square().mean().backward()
        return [p.grad.clone() for p in model.parameters()] + [a.grad for a in given]

    for found, expected in zip(gradients(step), gradients(model), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert counters["opweave"]["kernels"] > 0


def test_training_changes_the_parameters_as_without_a_compiler():
    run, args = PROGRAMS["mlp"].made(8)
    beside = type(run)(8, 32)
    beside.load_state_dict(run.state_dict())
    for model, step in ((run, compiled(run)), (beside, beside)):
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            step(*args).square().mean().backward()
            optimiser.step()
    for found, expected in zip(run.parameters(), beside.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_parameters_are_read_at_each_call():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    step, x = compiled(model), torch.randn(3, 4)
    with torch.no_grad():
        for change in (lambda w: w.mul_(2), lambda w: w.add_(1), lambda w: w):
            change(model[0].weight)
            assert_like(step(x), model(x))
        model[0].weight.data = torch.randn(4, 4)
        assert_like(step(x), model(x))


def test_what_a_function_writes_is_written():
    def run(x, y):
        x.mul_(2).add_(1)
        y[1:] = x[1:] * 3
        return x + y

    ours, plain = ([torch.ones(3, 4), torch.zeros(3, 4)] for _ in "ab")
    assert_like([compiled(run)(*ours), *ours], [run(*plain), *plain])


def kept_in_place(p, g):
    before = p.clone()
    p.sub_(0.1 * g)
    return before, (p - before).abs().sum()


def set_in_slices(x):
    v = x.clone()
    v[::2] = 2
    return v, v[1:].clone()


APART = {
    "what was there before a write": kept_in_place,
    "a clone": lambda x, y: (x.clone(), (x * y).sum()),
    "a tensor of the graph's own": lambda x, y: (torch.tensor([1.0, 2.0]), x * 2 + y),
    "a result and its clone": lambda x, y: (v := x * y, v.clone(), v + 1),
    "a copy of the same type": lambda x, y: (x.to(x.dtype, copy=True), x[0].clone(), x + y),
    "parts": lambda x, y: [t.clone() for t in x.split(1)] + [x * y],
    "slices that are set": lambda x, y: (*set_in_slices(x), x * y),
    "of 16 bits": lambda x, y: (*set_in_slices(x.bfloat16()), x.bfloat16().flip(0)),
}


@pytest.mark.parametrize("shape", [(4,), (4, 3)])
@pytest.mark.parametrize("name", APART)
def test_what_torch_copies_shares_memory_with_nothing(name, shape):
    run = compiled(APART[name])
    for _ in range(3):
        ours, eagers = ([torch.full(shape, 3.0), torch.full(shape, 2.0)] for _ in range(2))
        found = [*flat(run(*ours)), *ours]
        assert_like(found, [*flat(APART[name](*eagers)), *eagers])
        for each in found:
            others = [other.clone() for other in found if other is not each]
            each.add_(5)
            assert_like([other for other in found if other is not each], others)


def test_results_of_two_calls_share_no_memory():
    step = compiled(lambda x: x.exp() * 2)
    first = step(torch.zeros(3))
    step(torch.ones(3))
    assert first.tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda: torch.eye(3).to_sparse(), lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
    lambda: torch.empty(3, 3, device="meta"), lambda: nn.Buffer(torch.eye(3)),
    lambda: torch.eye(3).to(torch.complex64), lambda: torch.eye(3).expand(2, 3, 3),
], ids=["sparse", "quantised", "another device", "a subclass", "complex", "expanded"])  # fmt: skip
def test_tensors_that_we_do_not_take_are_torchs(make):
    def run(x):
        return (x.dequantize() if x.is_quantized else x) * 2

    found, expected = torch.compile(run, backend="opweave")(make()), run(make())
    assert (type(found), found.layout, found.device) == (
        type(expected),
        expected.layout,
        expected.device,
    )
    if not expected.is_meta:
        assert (
            found.to_dense().equal(expected.to_dense())
            if expected.is_sparse
            else found.equal(expected)
        )


@pytest.mark.parametrize(("run", "args"), [
    (lambda x, i: x[i] * 2 + 1, (torch.ones(3, 4), torch.tensor([0, 3]))),
    (lambda x, i: F.embedding(i, x) * 2 + 1, (torch.ones(3, 4), torch.tensor([0, -1]))),
    (lambda x, i: x.gather(0, i) * 2 + 1, (torch.ones(3, 4), torch.tensor([[5]]))),
    (lambda x, i: (x // i + 1) * 2, (torch.ones(2, dtype=torch.int64), torch.tensor([1, 0]))),
], ids=["index", "embedding", "gather", "division"])  # fmt: skip
def test_an_error_is_torchs_own(run, args):
    step = compiled(run)
    for _ in range(2):
        with pytest.raises((IndexError, RuntimeError)) as ours:
            step(*args)
        with pytest.raises((IndexError, RuntimeError)) as plain:
            run(*args)
        assert type(ours.value) is type(plain.value)


def test_what_fails_to_compile_is_torchs_and_a_warning_names_it(monkeypatch):
    def broken(x, *_):
        raise ow.errors.UnsupportedError("not today")

    monkeypatch.setitem(
        TABLE, "aten.flip.default", TABLE["aten.flip.default"]._replace(compute=broken)
    )
    run, x = lambda x: x.flip(0) * 2, torch.arange(3.0)
    step = compiled(run)
    with pytest.warns(
        ow.OpweaveWarning, match=r"opweave_0 \(aten.flip.*PyTorch: Unsupp.* not today"
    ):
        assert_like(step(x), run(x))
    with nullcontext():  # once
        assert_like(step(x), run(x))


@pytest.mark.filterwarnings("default::opweave.OpweaveWarning")
def test_a_graph_that_torch_cannot_take_apart_is_left_to_it():
    given = torch.arange(4)
    run = compiled(lambda i: torch.addcmul(i, i, i, value=0.5) * 2)
    with pytest.warns(ow.OpweaveWarning, match="left to PyTorch, which cannot take it apart"):
        found = run(given)
    assert_like(found, torch.addcmul(given, given, given, value=0.5) * 2)


def test_a_padding_that_takes_away_is_torchs():
    run, x = lambda x: F.pad(x, (-1, 2)) * 2 + 1, torch.randn(3, 4)
    assert_like(compiled(run)(x), run(x))
    assert shapes.TABLE["aten.constant_pad_nd.default"].left is not None
    assert "aten.constant_pad_nd.default" in left()


def test_what_no_grad_mode_left_behind_does_not_reach_results():
    model, args = PROGRAMS["mlp"].made(8)
    step = compiled(model)
    with torch.inference_mode():
        assert_like(step(*args), model(*args))
    assert step(*args).requires_grad
