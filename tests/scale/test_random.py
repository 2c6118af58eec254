"""Random chains of operators, cut at random: NumPy computes the blocks, so that no kernel compiles.

What is tried is which parts of which blocks are read, and where a block lies.
"""

from random import Random

import numpy as np
import pytest

import opweave as ow

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

PADS = ("constant", "edge", "wrap", "reflect")
SHARES, EACH = 8, 40


def some_rows(x, begin):
    w = x.copy()
    w[begin:-1] = x[begin:-1] * 2
    w[0] = 7
    return w


def some_columns(x, begin):
    w = np.zeros_like(x)
    w[:, begin:] = x[:, begin:]
    w[1:, 0] += 1
    return w


# Links of a chain: each takes a generator of random numbers, and gives a function of a matrix.
LINKS = [
    lambda r: lambda x: np.abs(x * 2 - 1) ** 0.5,
    lambda r: lambda x, a=r.randint(0, 2), b=r.randint(0, 2): x[a : x.shape[0] - b],
    lambda r: lambda x, a=r.randint(0, 2), b=r.randint(0, 2): x[:, a : x.shape[1] - b],
    lambda r: lambda x, axis=r.randint(0, 1): np.diff(x, axis=axis),
    lambda r: lambda x, step=r.choice([2, 3, -1, -2, -3]): x[::step],
    lambda r: lambda x, step=r.choice([2, -1, -2]): x[:, ::step],
    lambda r: lambda x: x.T,
    lambda r: lambda x, by=r.randint(-5, 5), axis=r.randint(0, 1): np.roll(x, by, axis),
    lambda r: lambda x, n=r.randint(0, 2), mode=r.choice(PADS): np.pad(x, n, mode=mode),
    lambda r: lambda x, axis=r.randint(0, 1): np.concatenate([x, x * 3], axis),
    lambda r: lambda x, axis=r.choice([0, 1, None]): x - x.mean(axis=axis, keepdims=True),
    lambda r: lambda x, axis=r.randint(0, 1): x / (1 + np.abs(x).max(axis=axis, keepdims=True)),
    lambda r: lambda x: x + np.arange(x.shape[0])[:, None] * 0.5,
    lambda r: lambda x: np.tril(x * np.arange(x.shape[1])),
    lambda r: lambda x, begin=r.randint(0, 2): some_rows(x, begin),
    lambda r: lambda x, begin=r.randint(0, 2): some_columns(x, begin),
    lambda r: lambda x: np.tanh(x @ x.T * 0.1),
    lambda r: lambda x: x.T @ x * 0.1,
    lambda r: lambda x, axis=r.randint(0, 1): np.cumsum(x, axis=axis) * 0.1,
    lambda r: lambda x: np.repeat(x, 2, axis=0),
    lambda r: lambda x: np.tile(x, (2, 1)),
    lambda r: lambda x, axis=r.randint(0, 1): np.sort(x, axis=axis),
    lambda r: lambda x, axis=r.randint(0, 1): np.gradient(x, axis=axis),
    lambda r: lambda x, at=[r.randint(-2, 1) for _ in range(3)]: x[np.array(at)],
    lambda r: lambda x: np.where(x > 0.3, np.flip(x), x[::-1]),
    lambda r: lambda x: x.reshape(-1)[None],
    lambda r: lambda x: x.reshape(x.shape[0], 1, x.shape[1]).sum(1),
    lambda r: lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
    lambda r: lambda x: x + x.argmax(axis=0),
    lambda r: lambda x: np.swapaxes(np.stack([x, -x]), 0, 1)[:, 0],
    lambda r: lambda x: x[np.clip(np.arange(x.shape[0]) + 2, 0, x.shape[0] - 1)],
    lambda r: lambda x: x[:, :1] * x[:1],
]


def cut(r, length):
    """Random chunks, some of them of no elements."""
    if r.random() < 0.2:
        return (length,)
    found = []
    while sum(found) < length:
        found.append(min(length - sum(found), r.choice([0, 1, 2, 3, 5])))
    return tuple(found)


def drawn(seed):
    """A function, an array and its chunks."""
    r = Random(seed)
    links = [r.choice(LINKS)(r) for _ in range(r.randint(1, 4))]

    def chain(x):
        for link in links:
            x = link(x)
        return x

    x = np.random.default_rng(seed).random((r.randint(3, 9), r.randint(3, 7)))
    return chain, x, tuple(cut(r, length) for length in x.shape)


@pytest.fixture
def by_numpy(monkeypatch):
    from opweave._dask.blocks import Stage
    from opweave.compiler.ir.reference import run_reference
    from opweave.compiler.pipeline.specialise import symbol_extents
    from opweave.runtime.calls.arguments import array_type

    def run(self, block, arrays):
        graph, numbers = self.forms[block.form]
        begins = zip(graph.scalars[len(numbers) :], block.begins, strict=True)
        extents = graph.extents(symbol_extents([array_type("", a) for a in arrays]))
        given = {i.value.id: a for i, a in zip(graph.inputs, arrays, strict=True)}
        return run_reference(graph, given, {**extents, **numbers, **dict(begins)})

    monkeypatch.setattr(Stage, "run", run)
    with dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize("share", range(SHARES))
def test_a_chain_of_blocks_gives_what_numpy_gives(share, by_numpy):
    done = 0
    for seed in range(share * EACH, (share + 1) * EACH):
        chain, x, chunks = drawn(seed)
        try:
            wanted = chain(x)
        except (ValueError, IndexError):  # too few elements are left for one of the links
            continue
        try:
            found = ow.fuse(chain)(da.from_array(x, chunks=chunks))
        except ow.errors.UnsupportedError as error:
            if "rechunk" not in str(error):
                raise
            continue
        found = np.asarray(found.compute())
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), seed
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=str(seed))
        done += 1
    assert done > EACH / 3
