"""On a GPU: graphs, replays and repeated steps give what single launches give."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.pipeline import specialise
from tests.rounds.programs import PROGRAMS, READ_BY_INDEX

pytestmark = pytest.mark.gpu


def _network(depth, size):
    g = ow.Graph("network")
    rng = np.random.default_rng(depth)
    h = g.host_to_device("x", (size, size))
    arrays = {"x": rng.standard_normal((size, size), np.float32)}
    for n in range(depth):
        w, b = g.host_to_device(f"w{n}", (size, size)), g.host_to_device(f"b{n}", size)
        arrays[f"w{n}"] = rng.standard_normal((size, size), np.float32) / np.float32(size**0.5)
        arrays[f"b{n}"] = rng.standard_normal(size, np.float32)
        h = g.relu(g.linear(h, w, b))
    g.device_to_host(g.softmax(h), name="y")
    return g, arrays


@pytest.mark.parametrize("size", [4, 33, 256])
@pytest.mark.parametrize("options", [{}, {"fused": False}, {"staging": False}, {"cached": False}])
@pytest.mark.parametrize("mode", ["immediate", "graph", "replay"])
def test_a_graph_gives_the_same_in_every_mode(mode, options, size):
    graph, arrays = _network(5, size)
    expected = graph.runner(device="host")(**arrays)
    run = graph.runner(mode, device="cuda", **options)

    np.testing.assert_allclose(run(**arrays), expected, rtol=1e-3, atol=1e-6)
    other = arrays["x"] * 2
    found = [run(x=other).tobytes() for _ in range(20)]
    np.testing.assert_allclose(
        run(), graph.runner(device="host")(**arrays | {"x": other}), rtol=1e-3, atol=1e-6
    )
    assert len(set(found)) == 1


def test_replays_on_two_streams_do_not_disturb_each_other():
    import threading

    graph, arrays = _network(20, 128)
    runs = [graph.runner("replay", device="cuda") for _ in range(4)]
    expected = [run(**arrays | {"x": arrays["x"] * n}).copy() for n, run in enumerate(runs, 1)]
    wrong = []

    def call(number):
        for _ in range(200):
            if runs[number]().tobytes() != expected[number].tobytes():
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_that_come_again_are_replayed_and_those_that_move_are_not(cp):
    def function(x, s):
        return ow.softmax(x @ x * s, axis=None) @ x

    fused, plain = ow.fuse(function, replay=True), ow.fuse(function)
    arrays = [cp.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64) * n for n in (1, 2)]
    out = cp.empty((64, 64), np.float32)
    for turn in range(30):
        x, s = arrays[turn // 8 % 2], 1.0 + turn // 20
        x += 0.001  # other elements in the same place
        given = {"out": out} if turn % 3 else {}
        with cp.cuda.Stream(non_blocking=True) if turn % 5 == 4 else cp.cuda.Stream.null:
            cp.cuda.Device().synchronize()
            found = fused(x, s, **given)
            cp.cuda.get_current_stream().synchronize()
        assert found.get().tobytes() == plain(x, s).get().tobytes()


@pytest.mark.parametrize("n", [0, 1, 2, 70])
def test_a_step_is_repeated(n, cp):
    x = cp.linspace(-1, 1, 5000, dtype=np.float32)

    def step(x, a):
        return x * x * a + np.float32(0.1)

    expected = x
    for _ in range(n):
        expected = step(expected, 0.5)

    cp.testing.assert_allclose(ow.repeat(step, n)(x, 0.5), expected, rtol=1e-5)


@pytest.mark.parametrize("columns", [20, 1000, 20000])
@pytest.mark.parametrize("n", [1, 2, 70])
def test_a_step_of_rows_is_repeated(n, columns, cp):
    x = cp.linspace(-1, 1, 7 * columns, dtype=np.float32).reshape(7, columns)

    def step(x):
        return x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + np.float32(0.1)

    fused, expected = ow.fuse(step), x
    for _ in range(n):
        expected = fused(expected)

    assert cp.array_equal(ow.repeat(step, n)(x), expected)


@pytest.mark.parametrize("size", [4, 30, 64, 100, 128])
@pytest.mark.parametrize("n", [1, 2, 300])
def test_a_step_of_one_product_is_repeated(n, size, cp):
    rng = np.random.default_rng(size)
    x, w = (cp.asarray(rng.standard_normal((size, size)).astype(np.float32)) for _ in range(2))

    def layer(x, w):
        return x * np.float32(0.5) + cp.tanh(x @ w)

    def attention(x, w):
        powers = cp.exp(x @ w - (x @ w).max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    for step in (layer, attention):
        fused, expected = ow.fuse(step), x
        for _ in range(n):
            expected = fused(expected, w)
        assert cp.array_equal(ow.repeat(step, n)(x, w), expected)


@pytest.mark.parametrize("n", [1, 2, 67, 500])
def test_steps_of_several_kernels_are_repeated_as_a_graph(n, cp):
    rng = np.random.default_rng(0)
    x, w = (cp.asarray(rng.standard_normal((64, 64)).astype(np.float32)) for _ in range(2))

    @ow.fuse
    def step(x, w):
        y = cp.tanh(x @ w)
        return y / cp.abs(y).max()

    repeated = ow.repeat(step, n)
    for _ in range(2):
        expected = x
        for _ in range(n):
            expected = step(expected, w)
        cp.cuda.Device().synchronize()
        with cp.cuda.Stream(non_blocking=True) as stream:
            found = repeated(x, w)
            stream.synchronize()
        assert cp.array_equal(found, expected)
        x = found  # elements and place are others the second time


@pytest.mark.parametrize("n", [0, 1, 2, 70])
def test_rounds_that_differ_are_those_of_a_loop(n, cp):
    rng = np.random.default_rng(0)
    x, f = cp.asarray(rng.random((40, 30))), cp.asarray(rng.random((80, 40, 30)))

    def step(x, rate, f, i):
        return x - rate * (x - f[i]) / (1 + 0.5**i), rate * 0.9

    expected, rate = x, 0.5
    for number in range(n):
        expected, rate = step(expected, rate, f, number)

    found, last = ow.repeat(step, n, counter="i")(x, 0.5, f)
    cp.testing.assert_allclose(found, expected, rtol=1e-12)
    assert last == rate


@pytest.mark.parametrize("every", [1, 3])
def test_a_loop_on_a_gpu_ends_where_it_is_enough(every, cp):
    x = cp.linspace(1, 2, 1000)
    run = ow.repeat(lambda x: x * 0.5, 50, until=lambda x: x.max() < 0.1, every=every,
                    return_rounds=True)  # fmt: skip
    found, rounds = run(x)

    assert rounds == {1: 5, 3: 6}[every]
    assert cp.array_equal(found, x * 0.5**rounds)
    on_host = run(cp.asnumpy(x))
    assert cp.asnumpy(found).tobytes() == on_host[0].tobytes()
    with ow.config(device="cuda"):
        again, rounds = run(cp.asnumpy(x))
    assert (again.tobytes(), rounds) == (on_host[0].tobytes(), on_host[1])


def given(args, make):
    """Copies of arguments, arrays made by a function."""
    return [make(a) if isinstance(a, np.ndarray) else a for a in args]


def leaves(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_over_time_is_rolled_bit_for_bit_as_it_would_be_written_out(name, cp, monkeypatch):
    monkeypatch.setattr(specialise, "UNASKED", 1)  # every loop that can be is no part of a whole
    function, args = PROGRAMS[name]
    fused, own, others = ow.fuse(function), given(args, cp.array), given(args, cp.array)
    found, wanted = fused(*own, 13), ow.fuse(function, fullgraph=True)(*others, 13)

    for a, b in zip((*leaves(found), *own), (*leaves(wanted), *others), strict=True):
        assert cp.asnumpy(a).tobytes() == cp.asnumpy(b).tobytes()
    assert all(loop.rounds.listed for loop in fused.fallback.device_loops.known.values())


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in READ_BY_INDEX])
def test_a_long_loop_over_time_is_what_numpy_has(name, cp, monkeypatch):
    monkeypatch.setattr(specialise, "UNASKED", 1)
    function, args = PROGRAMS[name]
    fused, expected = ow.fuse(function), leaves(function(*given(args, np.array), 150))

    for _ in range(2):  # the second by graphs of the first
        found = leaves(fused(*given(args, cp.array), 150))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(cp.asnumpy(a), b, rtol=1e-7)
