"""What shares a kernel, what does not, and why."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import VerifierError

X = np.ones((6, 50), np.float32)
W = np.ones(50, np.float32)
BIG = np.ones((300, 500), np.float32)


def shared(x):
    y = np.exp(x)
    return y + 1, y * 2


def norm_then_rows(x):
    return x / np.sqrt((x * x).sum()), x.max(axis=1)


CASES = [
    ("maps share a loop", lambda x: np.exp(x * 2) + 1, (X,), 1),
    ("several outputs", shared, (X,), 1),
    ("broadcast operand", lambda x, w: x * w + 1, (X, W), 1),
    ("map before a sum", lambda x: (x * x).sum(axis=1), (X,), 1),
    ("map after a sum", lambda x: np.sqrt(x.sum(axis=1)), (X,), 1),
    ("map, sum, map", lambda x: x / (x * x).sum(axis=1, keepdims=True), (X,), 1),
    ("two sums of one row", lambda x: (x.sum(axis=1), x.max(axis=1)), (X,), 1),
    ("softmax", lambda x: ow.softmax(x), (X,), 1),
    ("log softmax", lambda x: ow.log_softmax(x), (X,), 1),
    ("variance", lambda x: x.var(axis=-1), (X,), 1),
    ("gelu", lambda x: ow.gelu(x), (X,), 1),
    ("whole sum with maps around", lambda x: np.sqrt((x * x).sum()) * 2, (BIG,), 1),
    ("leading axis", lambda x: x - x.mean(axis=0), (X,), 1),
    ("softmax over a long row", lambda x: ow.softmax(x, axis=None), (BIG,), 2),
    ("reduced again", lambda x: x.sum(axis=1).max(), (X,), 2),
    ("other axis", lambda x: (x.sum(axis=1), x.sum(axis=0)), (X,), 2),
    ("independent shapes", lambda x, w: (x + 1, w + 1), (X, W), 2),
    ("small exp in a large loop", lambda x, w: x * np.exp(w), (X, W), 2),
    ("small sum in a large loop", lambda x, w: x * (w + 1), (X, W), 1),
    ("nothing to do", lambda x: x, (X,), 0),
    ("numbers only", lambda x, s: s * 2 + 1, (X, 3), 0),
    ("a node between", lambda x: x.sum(axis=1).max() + x.sum(axis=1), (X,), 2),
]


@pytest.mark.parametrize(
    ("name", "function", "arguments", "kernels"), CASES, ids=[c[0] for c in CASES]
)
def test_number_of_kernels(name, function, arguments, kernels):
    program = ow.fuse(function).lower(*arguments, target="sm_80")

    assert kernels == len(program.kernels)


def chain(step, length):
    def function(x):
        for _ in range(length):
            x = step(x)
        return x

    return ow.fuse(function)


# What takes long: the operations of a kernel, see Cost.slots.
LONG = [
    ("plain", lambda x: x * 1.5 + 1, 500, 1),
    ("many plain", lambda x: x * 1.5 + 1, 600, 2),
    ("exponentials", lambda x: np.exp(x), 100, 1),
    ("many exponentials", lambda x: np.exp(x), 250, 3),
    ("remainders", lambda x: x % 3.5, 60, 2),
    ("sines", lambda x: np.sin(x), 45, 1),
    ("many sines", lambda x: np.sin(x), 70, 2),
    ("within a row", lambda x: np.exp(x - x.max(axis=-1, keepdims=True)), 10, 1),
    ("many within a row", lambda x: np.exp(x - x.max(axis=-1, keepdims=True)), 40, 5),
]


@pytest.mark.parametrize(("name", "step", "length", "kernels"), LONG, ids=[r[0] for r in LONG])
def test_a_kernel_that_would_compile_for_long_is_split(name, step, length, kernels):
    fused = chain(step, length)

    assert len(fused.lower(X, target="sm_90a").kernels) == kernels
    with ow.config(loops=False):  # which C would run
        assert kernels == 1 or "would compile for long" in fused.explain(X).text


@pytest.mark.parametrize(("length", "kernels"), [(35, 1), (100, 3)])
def test_results_of_16_bits_compile_for_longer(length, kernels):
    fused = chain(lambda x: x * 1.5 + 1, length)

    assert len(fused.lower(X.astype(np.float16), target="host").kernels) == kernels


@pytest.mark.host
def test_a_kernel_takes_so_many_numbers():
    @ow.fuse
    def shifted(x, *numbers):
        for n in numbers:
            x = x * 0.5 + n
        return x

    numbers = [float(n) for n in range(500)]
    program = shifted.lower(X, *numbers, target="sm_90a")

    assert len(program.kernels) == 3
    assert all(len(k.data.params) <= 200 for k in program.kernels)
    np.testing.assert_array_equal(shifted(X, *numbers), shifted.__wrapped__(X, *numbers))


@pytest.mark.host
def test_a_split_chain_gives_what_it_gives_in_one():
    fused = chain(lambda x: np.remainder(7.25, x), 45)
    assert len(fused.lower(X).kernels) > 1

    assert fused.check(X).ok
    np.testing.assert_array_equal(fused(X), fused.unfused()(X))


def test_shared_subexpressions_are_computed_once():
    kernel = ow.fuse(lambda x: np.exp(x) + np.exp(x)).lower(X, target="sm_80").kernels[0]

    assert kernel.source.count("exp(") == 1


def test_dead_values_are_dropped():
    def function(x):
        np.sin(x)
        return x + 1

    assert "sin" not in ow.fuse(function).lower(X, target="sm_80").source


@pytest.mark.parametrize(("function", "gone"), [
    (lambda x: np.exp(x) * 1, "multiply"),
    (lambda x: np.exp(x).astype(np.float32), "cast"),
    (lambda x: (+np.exp(x)) / 1, "divide"),
    (lambda x: np.power(np.exp(x), 2), "pow("),
])  # fmt: skip
def test_identities_are_folded(function, gone):
    assert gone not in ow.fuse(function).lower(X, target="sm_80").source


def test_an_identity_that_numpy_would_copy_is_not_returned_as_the_input():
    assert ow.fuse(lambda x: +x).lower(X, target="sm_80").kernels


REASONS = [
    (lambda x: ow.softmax(x, axis=None), (BIG,), "shared by several blocks"),
    (lambda x, w: x * np.exp(w), (X, W), "computed again for every row"),
    (lambda x: (x.sum(axis=1), x.sum(axis=0)), (X,), "different spaces"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "reason"), REASONS)
def test_explain_gives_the_reason_and_the_line(function, arguments, reason):
    text = ow.fuse(function).explain(*arguments, target="sm_80").text

    assert reason in text
    assert "test_fuse.py:" in text


def test_an_explanation_has_costs_and_refusals_first_and_groups_decisions():
    def deep(x):
        for _ in range(30):
            x = x / x.sum(axis=-1, keepdims=True) @ x
        return x

    found = ow.fuse(deep).explain(X[:, :4].repeat(1, 0)[:4], target="sm_80")
    titles = ("memory traffic", "regime:", "not fused:", "kernels:", "fused:")
    places = [f"\n{found.text}".index(f"\n{title}") for title in titles]
    short = str(found).split("\n")

    assert places == sorted(places)
    assert len(found.decisions) > 60
    assert sum(" -> " in line and "test_fuse.py:" in line for line in found.text.split("\n")) < 10
    assert len(short) <= 60
    assert max(map(len, short)) <= 100
    left = int(short[-1].split()[0].lstrip("("))
    assert left + 59 >= len(found.text.split("\n"))


def test_explain_counts_what_fusion_saves():
    explained = ow.fuse(lambda x: np.exp(x * 2) + 1).explain(X, target="sm_80")

    assert explained.launches_saved == 2
    assert explained.bytes_moved == 2 * X.nbytes
    assert explained.bytes_unfused == 6 * X.nbytes


def test_unfused_is_one_kernel_per_operator():
    program = ow.fuse(lambda x: np.exp(x * 2) + 1).unfused().lower(X, target="sm_80")

    assert [k.data.title[0] for k in program.kernels] == [
        "fused: multiply", "fused: exp", "fused: add",
    ]  # fmt: skip


def test_the_verifier_notices_a_broken_graph():
    from dataclasses import replace

    from opweave.compiler.scheduling.verify import verify_graph

    graph = ow.fuse(lambda x: np.exp(x * 2)).lower(X, target="sm_80").graph
    broken = [
        graph.with_nodes(reversed(graph.nodes)),
        graph.with_nodes(graph.nodes[:1]),
        graph.with_nodes([*graph.nodes, graph.nodes[0]]),
        graph.with_nodes([replace(graph.nodes[0], operands=graph.nodes[0].operands[:1])]),
        graph.with_nodes(
            [
                replace(n, results=(replace(n.result, shape=n.result.shape[:1]),))
                for n in graph.nodes
            ]
        ),
    ]
    for item in broken:
        with pytest.raises(VerifierError):
            verify_graph(item)


def test_300_random_shapes_compile_once_per_class():
    fused = ow.fuse(lambda x: ow.softmax(x) * 2)
    rng = np.random.default_rng(0)
    sources = set()
    for _ in range(300):
        rows, cols = rng.integers(2, 300, 2)
        x = np.empty((int(rows), int(cols)), np.float32)
        sources.add(fused.lower(x, target="sm_80").source)

    assert fused._specialised.traces <= 2  # aligned arrays, and others
    assert len(sources) <= 12


@pytest.mark.host
def test_no_merge_makes_kernels_wait_for_each_other():
    def function(a, b, c, j, s):
        t0, t2 = c.max(axis=0), b + a
        t3, t4 = np.cumsum(t2, axis=1), c.reshape(-1)[::-1].reshape(c.shape) + t0
        t5, t6 = t2 + s, t3[::-1] + t4
        return a + t4, (t4[:, j] * t5) @ t6.T

    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    args = (x, x + 1, x * 2, np.arange(16), 2.0)
    fused = ow.fuse(function, fullgraph=True)

    for found, expected in zip(fused(*args), fused.unfused()(*args), strict=True):
        np.testing.assert_array_equal(found, expected)
