"""Bad input gets a typed error that says what, where, what was found and what to do."""

from fractions import Fraction

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

X = np.ones((4, 8), np.float32)
Y = np.ones((8, 4), np.float32)
SOURCE = "test_bad_input.py"

# function, arguments, error, pieces of its message
RING: list = []
RING.append(RING)
FUNCTIONS = [
    (lambda x, y: x * y, (X, Y), e.ShapeError, ["multiply", "(4, 8)", "(8, 4)", SOURCE]),
    (lambda x: x.sum(axis=2), (X,), e.ShapeError, ["sum", "axis 2", "2 dimensions", SOURCE]),
    (lambda x: ow.softmax(x, axis=5), (X,), e.ShapeError, ["softmax", "axis 5"]),
    (lambda x: x - x, (X > 0,), e.DTypeError, ["subtract", "bool", SOURCE]),
    (lambda x: x & 1, (X,), e.DTypeError, ["bitwise_and", SOURCE]),
    (lambda x: -x, (X > 0,), e.DTypeError, ["negative", "bool"]),
    (lambda x: x.astype(np.clongdouble), (X,), e.DTypeError, ["complex256", "expected one of"]),
    (lambda x: x + Fraction(1, 2), (X,), e.TraceError, ["add", "Fraction", SOURCE]),
    (lambda x: np.unique(x), (X,), e.UnsupportedError, ["np.unique", "outside", SOURCE]),
    (lambda x: np.sort(x, axis=2), (X,), e.UnsupportedError, ["sort", "axis 2", SOURCE]),
    (lambda x: np.fft.fft(x, n=0), (X,), e.UnsupportedError, ["fft", "Invalid number", SOURCE]),
    (lambda x: np.add(x, x, where=x > 0), (X,), e.UnsupportedError, ["where"]),
    (lambda x: x.sum(axis=(0, -2)), (X,), e.ShapeError, ["sum", "axis stands twice", SOURCE]),
    (lambda x: x.sum(axis=(0, 2)), (X,), e.ShapeError, ["sum", "axis 2 does not exist", SOURCE]),
    (lambda x: x.sum(axis=(0, 1.0)), (X,), e.IntegerError, ["axis", "an integer", SOURCE]),
    (lambda x: x.sum(axis=()), (X,), e.UnsupportedError, ["sum", "reduces nothing", SOURCE]),
    (lambda x: np.sum(x, out=x), (X,), e.ShapeError, ["np.sum", "out", SOURCE]),
    (lambda x: x.tolist(), (X,), e.UnsupportedError, ["tolist"]),
    (lambda x: x if x > 0 else -x, (X,), e.TraceError, ["truth value", "np.where", SOURCE]),
    (lambda x: float(x), (X,), e.TraceError, ["float()", SOURCE]),
    (lambda x: int(x), (X,), e.TraceError, ["int()", SOURCE]),
    (lambda x: np.asarray_chkfinite(x) * 2, (X,), e.TraceError, ["np.asarray()", SOURCE]),
    (lambda x: x[x > 0], (X,), e.UnsupportedError, ["indexing", "np.where", SOURCE]),
    (lambda x: 1.0 in x, (X,), e.TraceError, ["any()"]),
    (lambda x: np.full(3, x), (X,), e.ShapeError, ["does not broadcast to (3,)", SOURCE]),
    (lambda x: np.full_like(x, x), (X,), e.UnsupportedError, ["expected a number to fill with"]),
    (lambda x: np.zeros((x.shape[0], -1)), (X,), e.ShapeError, ["cannot be negative", "-1"]),
    (lambda x: x + Y, (X,), e.ShapeError, ["add", "(4, 8)", "(8, 4)", SOURCE]),
    (lambda x: x + object(), (X,), e.TraceError, ["add", "found object", SOURCE]),
    (lambda x: x @ x, (X,), e.ShapeError, ["matmul", "do not multiply", "against", SOURCE]),
    (lambda x: f"{x:.2f}", (X,), e.TraceError, ["formatting", SOURCE]),
    (lambda x: x.meen(), (X,), AttributeError, ["'meen'"]),
    (lambda x: {"a": [x, object()]}, (X,), e.TraceError, ["the output['a'][1]", "object"]),
    (lambda x: x.nonsense, (X,), AttributeError, ["nonsense"]),
    (lambda x: x.max(axis=1), (np.ones((3, 0), np.float32),), e.ShapeError, ["max", "zero"]),
    (lambda x: x + 300, (np.ones(3, np.uint8),), e.DTypeError, ["300", "uint8"]),
    (lambda x: x, ({1, 2},), e.TraceError, ["set", "pass what it holds"]),
    (lambda x: x, ([[X, {"k": bytearray(1)}]],), e.ArgumentError, ["argument x[0][1]['k']", "frombuffer"]),
    (lambda x: x, ([1.0] * 1025,), e.ArgumentError, ["argument x", "1024", "np.asarray"]),
    (lambda x: x, (RING,), e.ArgumentError, ["argument x[0]", "holds itself"]),
    (lambda x, *rest: x, (), e.ArgumentError, ["missing a required argument: 'x'"]),
    (lambda x: x + 1, (np.ones(3, np.clongdouble),), e.DTypeError, ["argument x", "complex256"]),
    (lambda x: x + 1, (np.ones(3, ">f4"),), e.DTypeError, ["argument x", ">f4"]),
    (lambda x: x + 1, (np.array(["a"]),), e.DTypeError, ["argument x"]),
    (lambda x: x + 1, (np.ma.masked_array([1.0]),), e.SubclassError, ["MaskedArray"]),
    (lambda x: x + 1, (X, X), e.ArgumentError, ["takes 1 arguments", "found 2"]),
    (lambda x, y: x + y, (X,), e.ArgumentError, ["'y' is missing"]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "error", "pieces"), FUNCTIONS)
def test_a_mistake_in_a_function_is_found_at_trace_time(function, arguments, error, pieces):
    with pytest.raises(error) as caught:
        ow.fuse(function, fullgraph=True)(*arguments)

    for piece in pieces:
        assert piece in str(caught.value)


BYTES, WHOLE = np.arange(1, 4, dtype=np.uint8), np.arange(1, 4)


@pytest.mark.host
@pytest.mark.parametrize(("function", "x"), [
    (lambda x: x.sum(axis=2), X), (lambda x: x.cumsum(axis=2), X), (lambda x: np.roll(x, 1, 2), X),
    (lambda x: np.expand_dims(x, 5), X), (lambda x: np.moveaxis(x, 0, 4), X),
    (lambda x: np.stack([x, x], axis=4), X), (lambda x: np.rollaxis(x, 0, 4), X),
    (lambda x: np.split(x, 2, axis=4), X), (lambda x: np.stack([x.min(), x.max()], axis=1), X),
    (lambda x: x[0, 0, 0], X), (lambda x: x[9], X), (lambda x: x[1:, None, 9], X),
    (lambda x: x * 300, BYTES), (lambda x: np.full_like(x, 300), BYTES), (lambda x: x**-1, WHOLE),
    (lambda x: np.diff(x, -1), X), (lambda x: x.reshape(7), X), (lambda x: x[:0].max(), X),
    (lambda x: np.select([x, x > 1], [x, x]), X), (lambda x: np.select([[1] * 8], [x]), X),
    (lambda x: np.add(1, 2.5, out=x * 1), WHOLE), (lambda x: x + np.ones(7), X),
])  # fmt: skip
@pytest.mark.parametrize("before", [lambda x: x, np.sort])
def test_an_error_is_of_the_classes_that_numpys_is(function, x, before):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        function(before(x))
    with pytest.raises(expected.type.__mro__[1 if "UFunc" in expected.typename else 0]) as found:
        ow.fuse(lambda x: function(before(x)))(x)

    assert str(found.value)


def in_place_argument(x):
    np.diagonal(x)[...] += 1
    return x


def in_place_dtype(x):
    y = x.astype(np.int32)
    y += 0.5
    return y


@pytest.mark.parametrize(("function", "error", "piece"), [
    (in_place_argument, e.UnsupportedError, "writes into an argument"),
    (in_place_dtype, e.DTypeError, "cannot store f64 into i32"),
])  # fmt: skip
def test_in_place_operators_that_numpy_would_not_allow_here_are_refused(function, error, piece):
    with pytest.raises(error, match=piece):
        ow.fuse(function, fullgraph=True)(X)


HOSTILE = ["x; }", "a b", "", "1x", "x\n#include", 'x"', "x??/", "int", "naïve", "x" * 65, "a-b"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_refused_before_anything_is_rendered(name):
    for make in (
        lambda: ow.operator(name, "x + 1", "same", lambda x: x + 1),
        lambda: ow.load(name),
        lambda: ow.store(name),
        lambda: ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store()], name=name),
        lambda: ow.opcodes.add(1).named(name),
    ):
        with pytest.raises(e.NameRefusedError, match="refused"):
            make()


FRAGMENTS = [
    ("#define x 3", "preprocessor"),
    ('asm("trap;")', "assembly"),
    ("x + (y", "unclosed"),
    ("x + y)", "unbalanced"),
    ("", "empty"),
    ("int z = x;", "must return"),
    ("x @ y", "may not stand"),
    ("x {% y", "template text"),
]


@pytest.mark.parametrize(("fragment", "message"), FRAGMENTS)
def test_a_fragment_that_breaks_the_rules_is_refused(fragment, message):
    with pytest.raises(e.FragmentError, match=message):
        ow.operator("broken", fragment, "same", lambda x, y: x)


@pytest.mark.parametrize(("rule", "numpy", "error"), [
    ("nonsense", lambda x: x, e.DTypeError),
    ("same", lambda: 1, e.FragmentError),
    ("same", dict, e.FragmentError),
])  # fmt: skip
def test_a_row_that_is_not_whole_is_refused(rule, numpy, error):
    with pytest.raises(error):
        ow.operator("incomplete", "x", rule, numpy)


def test_a_built_in_name_is_taken():
    with pytest.raises(e.NameRefusedError, match="taken"):
        ow.operator("exp", "x", "same", lambda x: x)


@pytest.mark.host
def test_a_fragment_that_does_not_compile_names_its_op_code_line_source_and_log():
    operator = ow.operator("no_such", "undefined_thing(x)", "float", lambda x: x, replace=True)
    fused = ow.fuse(lambda x: operator(x) + 1)

    with pytest.raises(e.CompileError) as caught:
        fused(X)
    assert caught.value.opcode == "no_such"
    assert "undefined_thing" in caught.value.log
    assert "   1 //" in caught.value.source
    assert SOURCE in str(caught.value)


@pytest.mark.nvrtc
def test_nvrtc_errors_name_the_op_code_too():
    operator = ow.operator("no_such", "undefined_thing(x)", "float", lambda x: x, replace=True)

    with pytest.raises(e.CompileError) as caught:
        ow.fuse(lambda x: operator(x) + 1).lower(X, target="sm_80").compile()
    assert caught.value.opcode == "no_such"


TOGGLES = [
    ({"USE_NOTHING": 1}, "unknown toggle"),
    ({"USE_VECTOR_IO": 2}, "expected 0 or 1"),
    ({"BLOCK": 100}, "power of two"),
    ({"BLOCK": 2048}, "up to 1024"),
    ({"LANES": 0}, "power of two"),
    ({"VECTOR": "4"}, "power of two"),
]


@pytest.mark.parametrize(("toggles", "message"), TOGGLES)
def test_an_unknown_toggle_or_value_is_refused_at_once(toggles, message):
    with pytest.raises(e.ToggleError, match=message):
        ow.fuse(lambda x: x + 1).with_toggles(**toggles)


ODD = np.ones((4, 1001), np.float32)
LONG = np.zeros((1000, 40000), np.float32)
IMPOSSIBLE = [
    (lambda x: x.sum(axis=1), ODD, {"USE_VECTOR_IO": 1}, "sm_80", "16-byte boundary"),
    (lambda x: x - x.max(axis=1, keepdims=True), LONG, {"USE_REGISTER_ROW": 1}, "sm_80", "chunks"),
    (lambda x: x + 1, X, {"BLOCK": 256}, "host", "at most 1 threads"),
    (lambda x: x.sum(axis=1), X, {"THREADS_PER_ROW": 32}, "host", "one thread does a row"),
    (lambda x: x.sum(axis=1), X, {"ROWS_PER_BLOCK": 512}, "sm_80", "at most 1024"),
    (lambda x: x.sum(axis=1), X, {"ROWS_PER_BLOCK": 1}, "sm_80", "whole warps"),
]


@pytest.mark.parametrize(("function", "x", "toggles", "target", "message"), IMPOSSIBLE)
def test_an_impossible_combination_is_refused_before_compilation(
    function, x, toggles, target, message
):
    with pytest.raises(e.ToggleError, match=message):
        ow.fuse(function).with_toggles(**toggles).lower(x, target=target)


def test_a_toggle_of_another_template_is_ignored_and_named():
    fused = ow.fuse(lambda x: x + 1).with_toggles(USE_WARP_SHUFFLE=0)

    assert "not in this template: USE_WARP_SHUFFLE" in fused.explain(X, target="sm_80").text


def test_an_unknown_target_is_refused():
    with pytest.raises(e.ToggleError, match="sm_13.*expected one of"):
        ow.fuse(lambda x: x + 1).lower(X, target="sm_13")


OUTS = [
    (np.empty((4, 4), np.float32), "expected float32\\[4, 8\\], found float32\\[4, 4\\]"),
    (np.empty((4, 8), np.float64), "found float64"),
    ((np.empty((4, 8), np.float32),) * 2, "expected 1 arrays, found 2"),
    ([1, 2], "expected 1 arrays"),
    (3, "found int"),
]


@pytest.mark.host
@pytest.mark.parametrize(("out", "message"), OUTS)
def test_an_out_that_does_not_fit_is_refused(out, message):
    with pytest.raises(e.ArgumentError, match=message):
        ow.fuse(lambda x: x + 1)(X, out=out)


@pytest.mark.host
def test_a_read_only_out_is_refused():
    out = np.empty((4, 8), np.float32)
    out.flags.writeable = False

    with pytest.raises(e.ArgumentError, match="read-only"):
        ow.fuse(lambda x: x + 1)(X, out=out)


def test_no_compiler_says_what_to_install(monkeypatch):
    from opweave.runtime.binaries import hostcc

    hostcc.host_compiler.cache_clear()
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(hostcc.importlib.util, "find_spec", lambda name: None)
    try:
        with pytest.raises(e.NoCompilerError, match=r"pip install 'opweave\[host\]'"):
            hostcc.host_compiler()
    finally:
        hostcc.host_compiler.cache_clear()


def test_no_gpu_says_what_to_install():
    from opweave.runtime.cuda.executor import cupy

    try:
        import cupy as found

        if found.cuda.runtime.getDeviceCount():
            pytest.skip("there is a GPU")
    except Exception:
        pass
    with ow.config(device="cuda"), pytest.raises(e.NoDeviceError):
        ow.fuse(lambda x: x + 1)(X)
    with pytest.raises(e.NoDeviceError):
        cupy()


@pytest.mark.parametrize("name", ["OPWEAVE_CACHE_SIZE", "OPWEAVE_DEVICE"])
def test_a_bad_environment_variable_is_refused(monkeypatch, name):
    from opweave.runtime.process import environment

    monkeypatch.setenv(name, "many")
    with pytest.raises(e.ArgumentError, match=name):
        environment.cache_bytes(1) if name.endswith("SIZE") else environment.device()


def test_an_unknown_setting_is_refused():
    with pytest.raises(e.ArgumentError, match="unknown setting"):
        ow.config.devise = "cuda"
    with pytest.raises(e.ArgumentError, match="expected 'host' or 'cuda'"):
        ow.config.device = "gpu"
