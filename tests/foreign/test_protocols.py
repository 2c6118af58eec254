"""Classes that hold memory by a protocol, of libraries that nobody knows; and kinds that mix."""

import re
import subprocess
import sys
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from opweave.runtime.cuda import executor
from tests.foreign.tables import IN_PLACE, ROW, SCALED, scaled

pytestmark = pytest.mark.host


class Holder:
    """Holds an array of NumPy's, of which the derived classes say where it lies."""

    def __init__(self, array=ROW):
        self.array = array


class Interface(Holder):
    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Struct(Holder):
    @property
    def __array_struct__(self):
        return self.array.__array_struct__


class Capsule(Holder):
    device = 1, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OldCapsule(Capsule):
    """From before DLPack could say what is read-only."""

    def __dlpack__(self, **options):
        return self.array.__dlpack__()


class Standard(Capsule):
    """An array as the array API standard has it."""

    def __array_namespace__(self, api_version=None):
        return SimpleNamespace(from_dlpack=lambda x: Standard(np.from_dlpack(x)))


class OnGpu(Capsule):
    device = 2, 0


class Elsewhere(Capsule):
    device = 7, 0


class Cuda(Holder):
    __cuda_array_interface__ = {}  # noqa: RUF012


class Units(Interface):
    __array_ufunc__ = None

    def __array_function__(self, *args):
        return NotImplemented


LAYOUTS = {
    "a row": ROW, "negative strides": ROW[::-1], "strided": ROW[::2], "0-d": np.float32(2),
    "empty": ROW[:0], "2-d": ROW.reshape(2, 3).T,
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cls", [Interface, Struct, Capsule, OldCapsule, Standard])
def test_memory_is_read_where_it_lies(cls, layout):
    array = np.asarray(LAYOUTS[layout])
    given = cls(array)
    for _ in range(2):
        found = SCALED(given)
        found = found.array if cls is Standard else found
        assert type(np.asarray(found)) is np.ndarray
        assert (found == scaled(array)).all()


@pytest.mark.parametrize(("cls", "writes"), [
    (Interface, True), (Struct, True), (Capsule, True), (OldCapsule, False),
])  # fmt: skip
def test_a_write_reaches_memory_that_says_it_may_be_written_to(cls, writes):
    for writeable in (True, False):
        array = ROW.copy()
        array.flags.writeable = writeable
        given = cls(array)
        if writes and writeable:
            assert IN_PLACE(given) is given
            assert (array == ROW * 2).all()
        else:
            with pytest.raises(e.OpweaveError, match="read-only|readonly"):
                IN_PLACE(given)
            assert (array == ROW).all()


def test_out_may_be_such_an_array():
    out = Interface(np.empty_like(ROW))
    assert SCALED(Interface(), out=out) is out
    assert (out.array == scaled(ROW)).all()


@pytest.mark.parametrize(("cls", "found", "do"), [
    (Elsewhere, "DLPack's device 7", "a copy of it on a CPU"),
    (OnGpu, "needs CuPy|no CUDA device", "a copy of it on a CPU"),
    (Cuda, "needs CuPy|no CUDA device", "a copy of it on a CPU"),
])  # fmt: skip
def test_memory_that_is_out_of_reach_is_refused(cls, found, do, monkeypatch):
    def absent():
        raise e.NoDeviceError("running on a GPU needs CuPy")

    monkeypatch.setattr(executor, "cupy", absent)
    with pytest.raises(e.InterchangeError, match=f"argument x: .*(?:{found}).*; pass {do}"):
        SCALED(cls())


@pytest.mark.parametrize(("cls", "called"), [(OnGpu, "from_dlpack"), (Cuda, "asarray")])
def test_cupy_itself_takes_what_lies_on_a_gpu(cls, called, monkeypatch):
    """CuPy's functions pass its stream on; no GPU runs here."""
    taken = []
    module = SimpleNamespace(
        **{called: lambda value: taken.append(value) or value.array.copy()}, ndarray=Cuda
    )
    monkeypatch.setattr(executor, "cupy", lambda: module)
    given = cls()
    assert (SCALED(given) == scaled(ROW)).all()
    assert taken == [given]


def test_a_class_with_a_meaning_of_its_own_is_not_taken():
    with pytest.raises(e.ArgumentError, match=r"found tests.Units; pass np.asarray\(x\)"):
        SCALED(Units())


# Kinds that mix


def kinds():
    """A maker of arrays for each kind that results can have, of the libraries that are there."""
    found = {"tests.Standard": lambda: Standard(ROW.copy())}
    for module, name, make in (
        ("torch", "torch.Tensor", lambda m: m.from_numpy(ROW.copy())),
        ("jax", "jax.Array", lambda m: m.numpy.asarray(ROW)),
        ("pyarrow", "pyarrow.Array", lambda m: m.array(ROW)),
    ):
        if module in sys.modules or __import__("importlib").util.find_spec(module):
            found[name] = lambda make=make, module=module: make(pytest.importorskip(module))
    return found


KINDS = kinds()
PAIRS = [(a, b) for a in KINDS for b in KINDS if a != b]


@pytest.mark.parametrize("name", KINDS)
def test_an_array_of_numpys_beside_another_kind_is_refused(name):
    fused = ow.fuse(scaled)
    for known in (False, True):
        if known:
            fused(KINDS[name](), 2.0)
        with pytest.raises(e.InterchangeError) as caught:
            fused(KINDS[name](), ROW)
        text = f"scaled: argument y: expected {name} as argument x is, found a NumPy array; pass "
        assert str(caught.value).startswith(text)
        with pytest.raises(e.InterchangeError, match=f"argument x: expected {name} as argument y"):
            fused(ROW, KINDS[name]())


@pytest.mark.parametrize("name", KINDS)
def test_numbers_of_numpys_may_stand_beside_another_kind(name):
    for number in (np.float32(2), np.array(2, np.float32), 2, True):
        found = SCALED(KINDS[name](), number)
        assert type(found) is type(KINDS[name]())


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_kinds_in_a_call_are_refused(first, second):
    text = f"argument p['w']: expected {first} as argument x is, found {second}; pass "
    with pytest.raises(e.InterchangeError) as caught:
        ow.fuse(lambda x, p: x + p["w"])(KINDS[first](), {"w": KINDS[second]()})
    assert text in str(caught.value)


def test_arrays_without_a_kind_of_their_own_mix():
    assert (SCALED(Interface(), ROW) == scaled(ROW, ROW)).all()
    assert (SCALED(ROW, Capsule()) == scaled(ROW, ROW)).all()


def test_the_place_of_an_argument_is_named_as_a_user_writes_it():
    fused = ow.fuse(lambda x, *rest, last=None: x)
    for args, kwargs, place in (
        ((Elsewhere(),), {}, "x"), ((ROW, ROW, Elsewhere()), {}, r"rest\[1\]"),
        ((ROW,), {"last": Elsewhere()}, "last"), ((ROW, [Elsewhere()]), {}, r"rest\[0\]\[0\]"),
    ):  # fmt: skip
        with pytest.raises(e.InterchangeError, match=f"argument {place}: "):
            fused(*args, **kwargs)


# Mistakes inside of the function


METHODS = {
    "torch.Tensor": ("relu", lambda x: x.relu() + 1),
    "jax.Array": ("at", lambda x: x.at[0] + 1),
    "pyarrow.Array": ("to_pylist", lambda x: x.to_pylist()),
}


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("name", [name for name in KINDS if name in METHODS])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_method_of_the_librarys_is_refused_in_numpys_place(name, fullgraph):
    method, function = METHODS[name]
    fused = ow.fuse(function, fullgraph=fullgraph)
    for _ in range(2):
        with pytest.raises(e.TraceError, match=f"found .{method}, which .* has: inside of") as met:
            fused(KINDS[name]())
        cause = traceback.extract_tb(met.value.__cause__.__traceback__)
        assert cause[-1].lineno == function.__code__.co_firstlineno


OF_ONE_NAME = {
    "size": lambda torch, x: x * x.size(0),
    "sum": lambda torch, x: x.sum(dim=0),
    "view": lambda torch, x: x.view(-1),
    "astype": lambda torch, x: x.astype(torch.float64),
}


@pytest.mark.parametrize("name", OF_ONE_NAME)
def test_a_method_that_numpy_has_otherwise_is_told_of(name):
    torch = pytest.importorskip("torch")
    fused = ow.fuse(lambda x: OF_ONE_NAME[name](torch, x))
    with pytest.raises(TypeError) as caught:
        fused(torch.ones(2, 3))
    assert "inside of a fused function arrays are NumPy's" in "".join(caught.value.__notes__)


def test_memory_that_may_change_is_refused_with_what_to_pass():
    with pytest.raises(e.ArgumentError, match=r"found memoryview; pass np.asarray\(x\)"):
        SCALED(memoryview(bytearray(8)))


BESIDE_NUMPY = {
    "times": lambda torch, x: x * torch.ones(6),
    "plus": lambda torch, x: x + torch.ones(6),
    "bfloat16 first": lambda torch, x: torch.ones(6, dtype=torch.bfloat16) * x,
    "bfloat16 in numpy": lambda torch, x: np.add(x, torch.ones(6, dtype=torch.bfloat16)),
    "a function": lambda torch, x: torch.relu(x),
}


@pytest.mark.parametrize("name", BESIDE_NUMPY)
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_tensor_from_outside_is_refused_beside_numpys_arrays(name, kind):
    torch = pytest.importorskip("torch")
    fused = ow.fuse(lambda x: BESIDE_NUMPY[name](torch, x))
    given = torch.ones(6) if kind == "torch" else np.ones(6, np.float32)
    refused = (e.InterchangeError, e.TraceError, TypeError)  # the last is NumPy's, or torch's own
    with pytest.raises(refused) as caught:
        fused(given)
    if kind == "torch":
        assert re.search(
            "call functions of np or ow, and pass what it|found Tensor .*; pass x.det",
            str(caught.value),
        )


@pytest.mark.parametrize("error", [TypeError("a"), ValueError("b"), AttributeError("c")])
def test_an_error_of_the_users_own_stays_what_it_is(error):
    def fails(x):
        raise error

    with pytest.raises(type(error)) as caught:
        ow.fuse(fails)(Standard())
    assert caught.value is error


def test_no_library_is_imported_to_know_an_array():
    code = (
        "import sys, numpy as np, opweave as ow\n"
        "f = ow.fuse(lambda x: x * 2); f(np.ones(3)); f({'a': np.ones(3)}['a'])\n"
        "try: f(memoryview(b'ab'))\n"
        "except ow.OpweaveError: pass\n"
        "print(sorted({'torch', 'jax', 'pyarrow', 'cupy', 'pandas'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
