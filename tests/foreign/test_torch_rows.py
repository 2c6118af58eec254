"""The rows of the table of ATen's operators: each means what torch means, for types and shapes."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from tests.foreign.aten import CALLS

torch = pytest.importorskip("torch")

from torch.fx.experimental.proxy_tensor import make_fx

from opweave._torch.partition import Partition, seen
from opweave._torch.recipes import RecipeFunction, recipe_of
from opweave._torch.support import Supported
from opweave._torch.table import TABLE

DTYPES = ("float32", "float64", "int64", "bool")
PIECES = {"_operator.getitem"}  # stands in calls of operators with several results
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-12}
# Arrays of the samples as they lie in memory.
LAYOUTS = {
    "plain": lambda t: t,
    "columns": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t,
    "holes": lambda t: t.repeat_interleave(2, -1)[..., ::2] if t.dim() else t,
}
# (dtype, layout, whether x is empty)
VARIANTS = [
    *((dtype, "plain", False) for dtype in DTYPES),
    *((dtype, layout, False) for dtype in ("float32", "int64") for layout in ("columns", "holes")),
    ("float64", "plain", True), ("int64", "plain", True),
]  # fmt: skip


def samples(dtype, layout="plain", empty=False):
    """Tensors by name, see aten.py."""
    dtype, generator = getattr(torch, dtype), torch.Generator().manual_seed(7)
    lies = LAYOUTS[layout]

    def made(*shape):
        found = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
        return lies((found > 0) if dtype is torch.bool else found.to(dtype))

    x = made(3, 4)
    if dtype.is_floating_point:
        x[0, 0], x[0, 1], x[1, 2], x[2, 3] = float("nan"), float("inf"), -0.0, -float("inf")
    return SimpleNamespace(
        torch=torch, x=x[:0] if empty else x, y=made(4), o=made(), d=torch.tensor(1.25).double(),
        b=made(3, 4) > 0, i=torch.tensor([2, 0, 1]), m=made(4, 3), v=made(4) if dtype is torch.bool else made(4).abs(), n=made(2, 3, 4),
        g=made(2, 4, 2, 3), k=3,
    )  # fmt: skip


def operator(name):
    space, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload)


def traced(calls, given):
    """A graph of all calls that torch does and we take: it, its tensors, which calls, and results.

    Args:
        calls: names of operators, and functions of the operator and of samples.
    """
    names = [n for n, v in vars(given).items() if isinstance(v, torch.Tensor)]
    tensors = [getattr(given, n) for n in names]
    done, expected = [], []
    for name, call in calls:
        try:
            expected.append(call(operator(name), given))
            done.append((name, call))
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
            pass

    def everything(*tensors):
        beside = SimpleNamespace(**{**vars(given), **dict(zip(names, tensors, strict=True))})
        return tuple(call(operator(name), beside) for name, call in done)

    module = make_fx(everything, tracing_mode="fake")(*tensors)
    ours = of_ours(module.graph)
    output = module.graph.output_node()
    kept = [place for place, node in enumerate(output.args[0]) if node in ours]
    output.args = (tuple(output.args[0][place] for place in kept),)
    module.graph.eliminate_dead_code()
    return module, tensors, [done[place] for place in kept], [expected[place] for place in kept]


def of_ours(graph):
    """The nodes that are ours, as all are that they read."""
    supported, ours = Supported(graph), set()
    for node in graph.nodes:
        takes = node.op == "placeholder" or (node.op == "call_function" and supported.takes(node))
        if takes and ours.issuperset(node.all_input_nodes):
            ours.add(node)
    return ours


def by_numpy(module, tensors):
    """The recipe of a graph, by NumPy alone."""
    recipe = recipe_of(module)
    function = RecipeFunction("row", recipe, ())
    arrays = [seen(tensors[place]) for place in recipe.arrays]
    found = function(*arrays, *function.constants)
    return [
        array if order is None else np.transpose(array, np.argsort(order))
        for array, order in zip(found, recipe.orders, strict=True)
    ]


def assert_same(found, expected, what):
    found = torch.as_tensor(np.array(found)) if not isinstance(found, torch.Tensor) else found
    assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    within = TOLERANCE.get(str(expected.dtype)[6:], 0)
    torch.testing.assert_close(
        found, expected, rtol=within, atol=within, equal_nan=True, msg=str(what)
    )


def test_every_row_is_called_here():
    assert set(CALLS) == set(TABLE) - PIECES


@pytest.mark.parametrize("name", CALLS)
def test_a_row_means_what_torch_means(name):
    tried = 0
    for variant in VARIANTS:
        calls = [(name, call) for call in CALLS[name]]
        module, tensors, kept, expected = traced(calls, samples(*variant))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = by_numpy(module, tensors)
        for (_, call), found, wanted in zip(kept, results, expected, strict=True):
            assert_same(found, wanted, (CALLS[name].index(call), variant))
        tried += len(kept)
    assert tried


FAMILIES = {
    family: [n for n in CALLS if TABLE[n].compute.__module__.endswith(family)]
    for family in ("shapes", "reductions")
} | {"elementwise": [n for n in CALLS if "shapes" not in (m := TABLE[n].compute.__module__)
                     and "reductions" not in m]}  # fmt: skip


@pytest.mark.host
@pytest.mark.filterwarnings("error::opweave.OpweaveWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_all_rows_at_once_give_what_torch_gives(family, dtype):
    calls = [(name, call) for name in FAMILIES[family] for call in CALLS[name]]
    module, tensors, kept, expected = traced(calls, samples(dtype))
    partition = Partition(module, "rows")
    for _ in range(2):  # the second call is prepared
        results = partition(*tensors)
        for (name, call), found, wanted in zip(kept, results, expected, strict=True):
            assert_same(found, wanted, (name, CALLS[name].index(call)))
