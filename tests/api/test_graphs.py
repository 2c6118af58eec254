"""``ow.Graph``: what is built, what is refused, and that every mode gives NumPy's results."""

import pickle
import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave._graphs.runner import MODES
from opweave.opcodes import dtypes
from opweave.opcodes.errors import ArgumentError, DTypeError, GraphError, NameRefusedError
from opweave.runtime.host.starts import NativeStart

pytestmark = pytest.mark.host
RNG = np.random.default_rng(0)


def values(shape, dtype=np.float32):
    return (RNG.standard_normal(shape) / 2).astype(dtype)


X, Y = values((9, 7)), values(7, np.float64)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layers(depth, size, batch=None):
    """Linear and ReLU in turn, a softmax over the whole tensor: the graph, inputs, the result."""
    g = ow.Graph("layers")
    h = g.host_to_device("x", (batch or size, size))
    arrays = {"x": values((batch or size, size))}
    expected = arrays["x"].astype(np.float64)
    for n in range(depth):
        w, b = g.host_to_device(f"w{n}", (size, size)), g.host_to_device(f"b{n}", (size,))
        arrays |= {f"w{n}": values((size, size)), f"b{n}": values(size)}
        h = g.relu(g.linear(h, w, b))
        expected = np.maximum(expected @ arrays[f"w{n}"] + arrays[f"b{n}"], 0)
    g.device_to_host(g.softmax(h, axis=None), name="y")
    return g, arrays, softmax(expected, None)


def fan():
    g = ow.Graph("fan")
    x, y = g.host_to_device("x", (9, 7)), g.host_to_device("y", 7, "float64")
    s = g.subtract(x, y)
    g.exp(s, name="nobody_reads_it")
    g.device_to_host(g.sum(s, axis=0), name="total")
    g.device_to_host(g.multiply(g.tanh(s), 0.5), name="half")
    arrays = {"x": values((9, 7)), "y": values(7, np.float64)}
    s = arrays["x"] - arrays["y"]
    return g, arrays, {"total": s.sum(0), "half": np.tanh(s) * 0.5}


def forward():
    """Nodes in any order, by name; numbers that Python writes in no plain way."""
    g = ow.Graph("forward")
    g.device_to_host("last", name="y")
    g.node("maximum", "middle", np.float32(-0.25), name="last")
    g.node("minimum", "x", float("inf"), name="middle")
    g.host_to_device("x", (5, 3))
    x = values((5, 3))
    return g, {"x": x}, np.maximum(x, np.float32(-0.25))


GRAPHS = {
    "deep and small": lambda: layers(6, 5),
    "by a library": lambda: layers(3, 40, 33),
    "a fan": fan,
    "forward references": forward,
}


def close(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            close(found[name], value)
    else:
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_mode_gives_numpys_result_each_time(name, mode, fused):
    graph, arrays, expected = GRAPHS[name]()
    run = graph.runner(mode, fused=fused)

    first = run(**arrays)
    close(first, expected)
    close(run(), expected)
    close(run(**{n: a.copy() for n, a in arrays.items()}), expected)
    close(first, expected)  # and nobody wrote over it


@pytest.mark.parametrize("mode", ["immediate", "graph"])
@pytest.mark.parametrize("name", GRAPHS)
def test_an_architecture_is_run_in_verify_mode(name, mode):
    graph, arrays, expected = GRAPHS[name]()

    close(graph.runner(mode, device="sm_80")(**arrays), expected)


@pytest.mark.parametrize("mode", MODES)
def test_cold_calls_compile_and_cached_ones_do_not(mode):
    from opweave.runtime.binaries.build import builder

    graph, arrays, expected = layers(1, 6)
    compiled = {}
    for cached in (True, False):
        run = graph.runner(mode, cached=cached)
        run(**arrays)
        before = builder().compiled
        close(run(**arrays), expected)
        compiled[cached] = builder().compiled - before

    assert compiled == {True: 0, False: 2}


def test_fused_and_plain_differ_in_launches_and_in_no_bit():
    graph, arrays, _ = layers(4, 12)
    kernels = {
        fused: len(graph.runner(fused=fused)._fused.lower(*arrays.values()).kernels)
        for fused in (True, False)
    }
    found = [graph.runner(m, fused=f)(**arrays).tobytes() for m in MODES for f in (True, False)]

    assert kernels[True] < kernels[False]
    assert len(set(found)) == 1


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_give_the_same_in_every_mode(seed):
    """A Linear at each step, a ReLU by a coin; fan-out and joins by another."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    g = ow.Graph("random_graph")
    known = [g.host_to_device("x", (size, size))]
    arrays = {"x": values((size, size))}
    for n in range(int(rng.integers(1, 9))):
        w = g.host_to_device(f"w{n}", (size, size))
        arrays[f"w{n}"] = values((size, size)) / size**0.5
        h = g.linear(known[int(rng.integers(len(known)))], w, known[-1])
        known.append(g.relu(h) if rng.random() < 0.5 else h)
        if rng.random() < 0.3:
            known.append(g.subtract(*(known[int(rng.integers(len(known)))] for _ in range(2))))
    g.device_to_host(g.softmax(known[-1]))
    if rng.random() < 0.5:
        g.device_to_host(known[int(rng.integers(len(known)))])
    reference = g.function()(*(arrays[n] for n in g.inputs))
    for mode in MODES:
        for fused in (True, False):
            found = g.runner(mode, fused=fused)(**{n: arrays[n] for n in g.inputs})
            found = list(found.values()) if isinstance(found, dict) else [found]
            for a, b in zip(found, reference, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_the_graph_is_the_compilers_own_without_dead_nodes():
    graph, *_ = fan()

    assert graph.dead == ["nobody_reads_it"]
    assert "exp" not in str(graph.compiled())
    assert [n.operator.name for n in graph.compiled().nodes][:2] == ["cast", "subtract"]
    assert "    subtract_0 = opcodes.subtract(x, y)\n" in graph.source
    assert str(graph.check()["total"]) == "float64[7]"


def begun():
    g = ow.Graph("g")
    return g, g.host_to_device("x", (4, 3)), g.host_to_device("w", (3, 5))


def no_input(g, x, w):
    g.entries.clear()
    g.node("exp", "x", name="y")
    g.device_to_host("y")


# what is done to a graph of x: [4, 3] and w: [3, 5], the error, and what it says
WRONG = {
    "no input": (no_input, GraphError, "no input"),
    "no output": (lambda g, x, w: g.exp(x), GraphError, "its result stays on the device"),
    "a cycle": (
        lambda g, x, w: (g.add("b", x, name="a"), g.exp("a", name="b"), g.device_to_host("b")),
        GraphError, "a cycle: .*a <- b|a cycle: .*b <- a"),
    "shapes in the middle": (
        lambda g, x, w: g.device_to_host(g.relu(g.add(g.matmul(x, w), x, name="bad"))),
        GraphError, r"bad = add\(matmul_0, x\) \(test_graphs.py:\d+\): .*could not be broadcast"),
    "an unknown value": (
        lambda g, x, w: g.device_to_host(g.exp("y")), GraphError, "there is no value 'y'"),
    "a value misspelt": (
        lambda g, x, w: (g.exp(x, name="hidden"), g.device_to_host("hiden")),
        GraphError, "did you mean 'hidden'"),
    "an unknown operator": (
        lambda g, x, w: g.node("softmx", x), GraphError, "did you mean 'softmax'"),
    "a name twice": (lambda g, x, w: g.exp(x, name="w"), GraphError, "'w' is taken by"),
    "an array": (lambda g, x, w: g.add(x, np.ones(3)), GraphError, "bring an array in with"),
    "no attribute of it": (
        lambda g, x, w: g.device_to_host(g.softmax(x, axes=1)), GraphError, "axes"),
    "two results": (
        lambda g, x, w: g.device_to_host(g.modf(x)), GraphError, "has 2 results"),
    "what has left": (
        lambda g, x, w: g.device_to_host(g.exp(g.device_to_host(x, name="gone"))),
        GraphError, "'gone' has left the device"),
    "the compiler's own": (
        lambda g, x, w: g.reshape(x, shape=(1000000,)), GraphError, "the compiler's own"),
    "places that nobody checks": (
        lambda g, x, w: g.gather_1d(x, w), GraphError, "the compiler's own"),
    "a number that leaves": (
        lambda g, x, w: g.device_to_host(3.0), GraphError, "expected a value of the graph"),
    "numbers alone": (
        lambda g, x, w: g.device_to_host(g.add(2.0, 3)), GraphError, "an array among the operands"),
    "another graph's": (
        lambda g, x, w: g.exp(ow.Graph("other").host_to_device("x", 3)), GraphError, "another graph"),
    "an attribute without a text": (
        lambda g, x, w: g.softmax(x, axis=np.ones(2)), GraphError, "axis=array"),
    "a negative extent": (
        lambda g, x, w: g.host_to_device("z", (3, -1)), GraphError, "expected a shape"),
    "no dtype": (lambda g, x, w: g.host_to_device("z", 3, "f7"), DTypeError, "is not a dtype"),
    "a name in C": (lambda g, x, w: g.host_to_device("int", 3), NameRefusedError, "keyword"),
    "a name in Python": (
        lambda g, x, w: g.host_to_device("lambda", 3), NameRefusedError, "'lambda' refused"),
}  # fmt: skip


NUMBERS = [
    np.bool_(False), True, -0.0, complex(-0.0, -0.0), complex(float("inf"), float("nan")), 2**40,
    np.float16(1.1), np.float32("inf"), np.int8(-3), np.complex64(1 - 2j),
    dtypes.BF16.numpy.type(1.5), float("nan"),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_number_reaches_the_kernel_as_it_is(number):
    g = ow.Graph("numbers")
    x = g.host_to_device("x", 4)
    g.device_to_host(g.multiply(x, number), name="y")
    g.device_to_host(g.cast(x, dtype=np.float64), name="wide")
    given = np.array([1, -2, 0, 3], np.float32)
    found = g.runner()(x=given)
    expected = ow.fuse(lambda x: x * number)(given)

    assert found["y"].dtype == expected.dtype == g.check()["y"].dtype
    assert found["y"].tobytes() == expected.tobytes()
    assert found["wide"].dtype == np.float64


def test_results_are_nobodys_inputs():
    g = ow.Graph("same")
    x = g.host_to_device("x", 4)
    doubled = g.multiply(x, 2.0)
    for name, value in (("a", x), ("b", x), ("c", doubled), ("d", doubled)):
        g.device_to_host(value, name=name)
    given = np.arange(9, dtype=np.float32)[1:5]
    for mode in MODES:
        run = g.runner(mode)
        found = run(x=given)
        arrays = [given, *found.values()]
        for n, one in enumerate(arrays):
            assert not any(np.shares_memory(one, other) for other in arrays[:n])
        for one in arrays[1:]:
            one += 100
        np.testing.assert_array_equal(run()["a"], given)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_that_only_look_different_fit(mode):
    g = ow.Graph("lines")
    g.device_to_host(g.exp(g.host_to_device("x", (1, 8))))
    run = g.runner(mode)
    line = np.ones((1, 8), np.float32)
    given = [line, np.ones((4, 8), np.float32)[::2][:1], pickle.loads(pickle.dumps(line)), line]
    for one in given:
        np.testing.assert_allclose(run(x=one), np.exp(one), rtol=1e-6)
        np.testing.assert_allclose(run(), np.exp(one), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrong", [
    {"x": X + 1, "y": Y[:2]}, {"x": X + 1, "z": Y}, {"x": np.ma.masked_array(X, X > 0)},
])  # fmt: skip
def test_a_call_that_is_refused_binds_nothing(mode, wrong):
    graph, arrays, expected = fan()
    run = graph.runner(mode)
    run(**arrays)
    with pytest.raises(ArgumentError):
        run(**wrong)

    close(run(), expected)


def test_a_call_within_a_replay_is_a_call_of_its_own(monkeypatch):
    """As a signal's handler makes one, at the worst moment: what is packed belongs to the other."""
    graph, arrays, expected = layers(3, 40)
    run = graph.runner("replay")
    run(**arrays)
    borrowed, start, inner = NativeStart.borrowed, NativeStart.run, {}

    def interrupted(name):
        if name not in inner:
            inner[name] = None
            inner[name] = run()

    def borrows(self):
        arena = borrowed(self)
        interrupted("it has an arena")
        return arena

    def starts(self, *packed):
        interrupted("all is packed")
        start(self, *packed)

    monkeypatch.setattr(NativeStart, "borrowed", borrows)
    monkeypatch.setattr(NativeStart, "run", starts)
    found = run()
    assert len(inner) == 2
    for one in (found, *inner.values()):
        close(one, expected)


def test_a_replay_may_be_called_by_a_signals_handler_in_the_midst_of_itself():
    graph, arrays, expected = layers(30, 40)
    run = graph.runner("replay")
    run(**arrays)
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(run()))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.002)
    try:
        for _ in range(200):
            close(run(), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    for found in seen:
        close(found, expected)


@pytest.mark.parametrize("name", WRONG)
def test_what_means_nothing_is_refused_before_anything_runs(name):
    wrong, error, message = WRONG[name]
    g, x, w = begun()

    def refused():
        wrong(g, x, w)
        g.runner()

    with pytest.raises(error, match=message):
        refused()


def test_no_operator_is_no_attribute():
    assert not hasattr(ow.Graph(), "frobnicate")


CALLS = {
    "missing": ({"x": X}, "missing y: pass arrays by name"),
    "extra": ({"x": X, "y": Y, "z": X}, "no input is called 'z': it has x, y"),
    "another shape": (
        {"x": X[:3], "y": Y},
        r"input x: expected float32\[9, 7\], found float32\[3",
    ),
    "another dtype": ({"x": X, "y": Y.astype("f4")}, r"expected float64\[7\], found float32\[7\]"),
    "a list": ({"x": X.tolist(), "y": Y}, "expected a NumPy array, found list"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_inputs_that_do_not_fit_are_refused_and_the_next_call_runs(name, mode):
    arrays, message = CALLS[name]
    graph, right, expected = fan()
    run = graph.runner(mode)
    with pytest.raises(ArgumentError, match=message):
        run(**arrays)

    close(run(**right), expected)
    with pytest.raises(ArgumentError):
        run(**{n: a[:2] for n, a in right.items()})
    close(run(), expected)


@pytest.mark.parametrize("options", [
    {"mode": "loop"}, {"mode": None}, {"fused": 1}, {"cached": "no"}, {"device": "sm_12"},
    {"mode": "replay", "device": "sm_80"},
])  # fmt: skip
def test_modes_and_devices_that_there_are_not(options):
    with pytest.raises(ow.OpweaveError, match="expected one of|expected True|replay"):
        fan()[0].runner(**options)


@pytest.mark.parametrize("mode", MODES)
def test_inputs_may_change_and_move_between_calls(mode):
    graph, arrays, _ = fan()
    run = graph.runner(mode)
    run(**arrays)
    arrays["x"] *= 2
    close(run()["half"], np.tanh(arrays["x"] - arrays["y"]) * 0.5)  # read where it is
    moved = np.asfortranarray(arrays["x"] + 1)
    close(run(x=moved)["half"], np.tanh(moved - arrays["y"]) * 0.5)
    moved -= 1
    close(run(x=moved)["half"], np.tanh(moved - arrays["y"]) * 0.5)  # copied again
    arrays.clear()  # nobody frees what is bound
    assert np.isfinite(run()["half"]).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", [
    lambda x: setattr(x, "shape", (7, 9)), lambda x: setattr(x, "dtype", np.int32),
    lambda x: x.resize((3, 2), refcheck=False),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_input_that_was_changed_in_place_is_refused(mode, change):
    graph, arrays, _ = fan()
    run = graph.runner(mode)
    run(**arrays)
    change(arrays["x"])

    with pytest.raises(ArgumentError, match="input x was reshaped"):
        run()


@pytest.mark.parametrize("mode", MODES)
def test_threads_that_share_a_runner_get_results_of_their_own_inputs(mode):
    graph, arrays, _ = fan()
    run = graph.runner(mode)
    run(**arrays)
    wrong = []

    def call(number):
        x = arrays["x"] + np.float32(number)
        expected = np.tanh(x - arrays["y"]) * 0.5
        for _ in range(100):
            if not np.allclose(run(x=x)["half"], expected, rtol=1e-3, atol=1e-6):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_code_of_the_page_runs():
    page = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/graphs.md", "exec"), {})
