"""PyTorch's tensors as arguments: in place of NumPy's arrays, on their own memory."""

import gc
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.foreign.tables import IN_PLACE, ROW, SCALED, SEVERAL, address, scaled

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.host


def tensor(values=ROW, dtype=None):
    return torch.tensor(np.asarray(values), dtype=dtype)


LARGE = 1 << 24
WHOLE = {
    "float32": tensor(),
    "strided": tensor(ROW.reshape(2, 3)).T,
    "every second": tensor()[::2],
    "0-d": torch.tensor(2.0),
    "empty": torch.ones(0, 3),
    "expanded": torch.ones(1, 3).expand(4, 3),
    "a parameter": torch.nn.Parameter(tensor(), requires_grad=False),
    **{str(d).partition(".")[2]: tensor(dtype=d) for d in (
        torch.float64, torch.float16, torch.int8, torch.int64, torch.uint8, torch.uint16,
        torch.uint64, torch.bool, torch.complex64, torch.complex128)},
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("times", [1, 2])
def test_the_result_is_numpys_as_a_tensor(name, times):
    given = WHOLE[name]
    expected = np.asarray(scaled(given.numpy()))
    found = [SCALED(given) for _ in range(times)][-1]
    assert type(found) is torch.Tensor
    assert found.numpy().dtype == expected.dtype
    assert found.shape == expected.shape
    assert (found.numpy() == expected).all()


def test_bfloat16_stays_bfloat16_with_numpys_bits():
    bits = [np.asarray(SCALED(v)) for v in (tensor(), tensor().numpy())]
    for _ in range(2):
        found = SCALED(tensor(dtype=torch.bfloat16))
        assert found.dtype == torch.bfloat16
        assert (found.float().numpy() == bits[0]).all()
        assert (bits[0] == bits[1]).all()
    assert SCALED(torch.tensor(2, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_results_in_containers_are_tensors_and_an_argument_is_itself():
    given = tensor()
    for _ in range(2):
        found = SEVERAL(given)
        assert found["x"] is given
        assert found["sum"].shape == ()
        assert found["sum"] == ROW.sum()
        assert (found["all"][1][0] == given * 2).all()
        assert type(found["all"][0]) is torch.Tensor
        assert [found[name] for name in ("name", "none", "n")] == ["n", None, 3]


def test_tensors_may_lie_in_containers():
    fused = ow.fuse(lambda p, x: (x @ p["layers"][0] + p["bias"], x.shape[0]))
    params = {"layers": [torch.eye(3)], "bias": torch.ones(3)}
    found = fused(params, torch.ones(2, 3))
    assert (found[0] == 2).all()
    assert found[1] == 2


def test_what_a_function_changes_in_a_container_is_changed_in_the_callers():
    def changed(p):
        p["w"] = p["w"] * 2
        p["rest"].append(p["w"])
        del p["old"]
        return p

    params = {"w": tensor(), "rest": [], "old": tensor()}
    rest = params["rest"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ow.fuse(changed)(params) is params
    assert sorted(params) == ["rest", "w"]
    assert (params["w"] == tensor() * 2).all()
    assert params["rest"] is rest
    assert rest[0] is params["w"]


@dataclass(slots=True)
class Slotted:
    w: Any
    half: Any = None


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_what_a_function_changes_in_slots_is_changed_in_the_callers():
    def changed(p):
        p.w = p.w * 2
        p.half = p.w / 2
        return p.w

    params = Slotted(tensor())
    assert ow.fuse(changed)(params) is params.w
    assert (params.w == tensor() * 2).all()
    assert (params.half == tensor()).all()


# Memory


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nothing_of_16_mi_elements_is_copied(dtype):
    from opweave._interchange.torch_tensors import tensors

    view, give = tensors().view, tensors().give
    given, out = torch.ones(LARGE, dtype=dtype), torch.empty(LARGE, dtype=dtype)
    at = given.data_ptr()
    assert address(view(given)) == at
    made = SCALED(view(given))
    assert give(made, given).data_ptr() == address(made)
    assert ow.fuse(lambda x: x[1:])(given).data_ptr() == at + given.itemsize
    assert SCALED(given, out=out) is out
    assert out[-1] == 3
    assert IN_PLACE(given) is given
    assert given.data_ptr() == at
    assert given[-1] == 2


def test_a_write_reaches_the_tensor_and_all_that_share_its_memory():
    base = torch.ones(3, 4)
    column = base[:, 1]
    for times in (1, 2):
        assert IN_PLACE(column) is column
        assert (base[:, 1] == 2**times).all()
        assert (base[:, 0] == 1).all()


def test_a_result_keeps_memory_that_only_it_holds():
    def parts():
        given = torch.arange(1 << 16, dtype=torch.float32)
        return ow.fuse(lambda x: x[4:8])(given), SCALED(given)

    view, made = parts()
    gc.collect()
    junk = [torch.full((1 << 16,), -1.0) for _ in range(8)]
    assert view.tolist() == [4, 5, 6, 7]
    assert made[:3].tolist() == [1, 3, 5]
    assert len(junk) == 8


def test_a_tensor_that_was_passed_cannot_be_resized_under_its_results():
    given = tensor()
    SCALED(given)
    with pytest.raises(RuntimeError, match="not resizable"):
        given.resize_(100)


def test_calls_of_other_sizes_follow_one_another():
    for count in (6, 3, 6, 0, 7):
        assert SCALED(torch.ones(count)).tolist() == [3.0] * count


RESULTS = {
    "negative strides": (lambda x: x[::-1], [5, 4, 3, 2, 1, 0]),
    "read-only": (lambda x: np.broadcast_to(x, (2, 6))[0], [0, 1, 2, 3, 4, 5]),
    "fresh": (lambda x: x + 0, [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_torch_cannot_hold_is_copied(name):
    function, expected = RESULTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ow.fuse(function)(tensor())
    found += 0
    assert found.tolist() == expected


def test_the_same_tensor_twice_is_one_array():
    fused = ow.fuse(lambda x, y: (x is y, x + y))
    given = tensor()
    assert fused(given, given)[0] is True
    assert fused(given, tensor())[0] is False


# Gradients


def test_a_tensor_that_requires_grad_is_taken_where_no_gradient_is_recorded():
    given = torch.ones(3, requires_grad=True)
    with pytest.raises(
        e.InterchangeError, match=r"pass x.detach\(\), or call under torch.no_grad"
    ):
        SCALED(given)
    with torch.no_grad():
        for dtype in (torch.float32, torch.bfloat16):
            found = SCALED(torch.ones(3, dtype=dtype, requires_grad=True))
            assert not found.requires_grad
        assert IN_PLACE(given) is given
    assert given.tolist() == [2, 2, 2]


QUANTISED = "ignore:.*quantize:UserWarning"
REFUSED = {
    "requires grad": (lambda: torch.ones(3, requires_grad=True), "x.detach()"),
    "parameter": (lambda: torch.nn.Parameter(torch.ones(3)), "x.detach()"),
    "bfloat16 that requires grad": (
        lambda: torch.ones(3, dtype=torch.bfloat16, requires_grad=True), "x.detach()"),
    "sparse": (lambda: torch.eye(3).to_sparse(), "x.to_dense()"),
    "compressed": (lambda: torch.eye(3).to_sparse_csr(), "x.to_dense()"),
    "quantised": (
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "x.dequantize()"),
    "conjugate": (lambda: torch.ones(3, dtype=torch.complex64).conj(), "x.resolve_conj()"),
    "negative": (lambda: torch.ones(3, dtype=torch.complex64).conj().imag, "x.resolve_neg()"),
    "halves": (lambda: torch.ones(3, dtype=torch.complex32), "x.to(torch.complex64)"),
    "meta": (lambda: torch.ones(3, device="meta"), "torch.empty_like(x, device='cpu')"),
    "bfloat16 meta": (lambda: torch.ones(3, device="meta", dtype=torch.bfloat16), "torch.empty"),
    "subclass": (
        lambda: torch.ones(3).as_subclass(type("Metres", (torch.Tensor,), {})),
        "x.as_subclass(torch.Tensor)"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("known", [False, True])
def test_what_has_no_plain_memory_is_refused_with_what_to_pass(name, known):
    make, do = REFUSED[name]
    fused = ow.fuse(scaled)
    if known:
        fused(tensor())
    with pytest.raises(e.InterchangeError) as caught:
        fused(make())
    text = str(caught.value)
    assert text.startswith("scaled: argument x: expected ")
    assert f"; pass {do}" in text


def test_under_vmap_a_tensor_is_refused():
    with pytest.raises(e.InterchangeError, match="maps over"):
        torch.func.vmap(SCALED)(torch.ones(2, 3))


def test_what_torch_cannot_have_as_a_result_is_refused():
    with pytest.raises(e.InterchangeError, match="the result: .* found a result of float128"):
        ow.fuse(lambda x: x.astype(np.longdouble))(tensor())


def test_an_overlapping_tensor_is_not_written_to():
    for _ in range(2):
        with pytest.raises(e.ReadOnlyError, match="write to a copy"):
            IN_PLACE(torch.ones(1).expand(4))


# All methods


def test_every_method_takes_tensors():
    given = tensor()
    expected = scaled(given)
    program = SCALED.lower(given)
    assert (program(given) == expected).all()
    assert (program.reference(given) == expected).all()
    assert (SCALED.reference(given) == expected).all()
    assert (SCALED.unfused()(given) == expected).all()
    assert SCALED.check(given).ok
    assert program.check(given).ok
    assert SCALED.bisect(given).ok
    assert "kernel" in str(SCALED.explain(given))
    (bound,) = ow.bounds.derive(SCALED, given)
    assert ow.bounds.judge(bound, SCALED(given)).ok
    assert (SCALED.lower(given, target="sm_90a").verify(given) == expected).all()
    assert type(program(given)) is torch.Tensor
    assert ow.regime(SCALED, given, measure=False)
    assert ow.sanitize(SCALED, given, schedules=2).ok


@pytest.mark.parametrize("errors", ["ignore", "numpy"])
def test_lists_and_repeated_steps_take_tensors(errors):
    doubled = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.store("y")])
    with ow.config(errors=errors):
        for _ in range(2):
            assert (doubled(tensor()) == tensor() * 2).all()
            assert (ow.repeat(lambda x: x * 2, 3)(tensor()) == tensor() * 8).all()
            assert type(SCALED(tensor())) is torch.Tensor


def test_a_function_in_parts_and_one_of_numpys_take_tensors():
    for function in (lambda x: np.sort(x)[::-1] * 2, lambda x: np.unique(x * 0 + 1) * 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = ow.fuse(function)(tensor()), function(ROW)
        assert type(found) is torch.Tensor
        assert (found.numpy() == expected).all()


def test_a_warning_points_to_the_line_that_calls():
    def asks(x):
        return x * 2 if float(x.sum()) > 3 else x

    fused = ow.fuse(asks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fused(tensor())
    assert {w.filename for w in caught} <= {__file__}


SEVERAL_RESULTS = {
    "two": lambda a, b: (a * 2, b + a),
    "one twice": lambda a, b: (lambda r: (r, r))(a + b),
    "an argument": lambda a, b: (a, a + b),
    "a view of a result": lambda a, b: (lambda r: (r, r[1:]))(a + b),
    "a number": lambda a, b: (a + b, 3),
    "a sum": lambda a, b: (a + b, a.sum()),
    "a list": lambda a, b: [a + b, a],
    "nested": lambda a, b: (a + b, (a, b)),
    "none": lambda a, b: (),
}


@pytest.mark.host
@pytest.mark.parametrize("what", SEVERAL_RESULTS)
def test_several_results_are_the_same_at_each_call(what):
    function, fused = SEVERAL_RESULTS[what], ow.fuse(SEVERAL_RESULTS[what])
    a, b = torch.arange(6.0), torch.ones(6)
    expected = function(a, b)
    for _ in range(3):
        found = fused(a, b)
        assert type(found) is type(expected)
        assert len({*map(id, found)}) == len({*map(id, expected)})
        for x, y in zip(found, expected, strict=True):
            assert type(x) is type(y)
            assert (x is a) is (y is a)
            assert str(x) == str(y)


def test_a_loaded_program_takes_tensors(tmp_path):
    ow.fuse(lambda x, y: x * y + 1).lower(np.ones((2, 3)), 2.0).save(tmp_path / "saved")
    loaded = ow.load_program(tmp_path / "saved")
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)

    assert torch.equal(loaded(x, 2.0), x * 2 + 1)
    with pytest.raises(e.ArgumentError, match=r"saved for f64\[2, 3\], found"):
        loaded(x.float(), 2.0)
    with pytest.raises(e.InterchangeError, match=r"argument x: .*requires grad.*pass x.detach"):
        loaded(x.requires_grad_(), 2.0)


def test_a_field_of_records_is_copied():
    records = np.zeros(4, [("a", np.float64), ("b", np.int16)])
    records["a"] = np.arange(4.0)
    found = ow.fuse(lambda x: (x, records["a"]))(torch.ones(4))[1]
    assert found.tolist() == [0, 1, 2, 3]
