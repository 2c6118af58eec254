"""Blocks on worker processes: kernels compiled once, one thread each, a worker that is killed."""

import os
import signal
import time

import numpy as np
import pytest

import opweave as ow

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.host

X = np.random.default_rng(0).random((8, 600))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers, processes of one thread each, with an empty cache folder of their own."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ["OPWEAVE_CACHE_DIR"]
    os.environ["OPWEAVE_CACHE_DIR"] = str(folder)  # which the processes inherit
    try:
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                silence_logs=50,
            ) as cluster,
            distributed.Client(cluster) as found,
        ):  # fmt: skip
            yield found
    finally:
        os.environ["OPWEAVE_CACHE_DIR"] = before


def state():
    """What a worker has compiled, how many threads its kernels take, and which process it is."""
    from opweave.runtime.binaries.build import builder
    from opweave.runtime.process.share import threads

    made = builder()
    return made.compiled, len(list(made.disk.entries())), threads(), os.getpid()


def slow(block):
    time.sleep(0.2)
    return block


def scaled(x):
    return np.sqrt(x) * 0.987654321 + x[:1]


def test_two_workers_compile_a_kernel_once(client):
    given = da.from_array(X, chunks=(8, 20))
    found = ow.fuse(scaled)(given).compute()
    states = client.run(state).values()

    assert (found == scaled(X)).all()
    assert len(states) == 2
    assert sum(compiled for compiled, *_ in states) == max(entries for _, entries, *_ in states)


def test_a_worker_takes_one_thread(client):
    assert {threads for _, _, threads, _ in client.run(state).values()} == {1}


def test_an_operator_of_ones_own_goes_to_workers_by_value(client):
    own = ow.operator("tripled_there", "x * (T)3", "same", lambda x: x * 3, replace=True)
    found = ow.fuse(lambda x: own(x) + 1)(da.from_array(X, chunks=(4, 300)))

    assert (found.compute() == X * 3 + 1).all()


def test_an_error_of_a_worker_has_its_class_and_text(client):
    places = da.from_array(np.array([3, 8]), chunks=1)
    found = ow.fuse(lambda x, i: x[i])(da.from_array(X[:, 0].copy(), chunks=-1), places)
    with pytest.raises(ow.errors.BoundsError, match="index 8 is out of bounds"):
        found.compute()


def test_stencils_sums_and_products_of_blocks_on_two_workers(client):
    def step(x):
        y = np.tanh(x[:, 1:-1] * 0.5 + x[:, 2:] + x[:, :-2])
        return y @ y.T, y.mean()

    found = [each.compute() for each in ow.fuse(step)(da.from_array(X, chunks=(4, 100)))]
    for array, expected in zip(found, step(X), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-12)


def test_a_worker_that_is_killed_costs_its_blocks_alone(client):
    given = da.from_array(X, chunks=(8, 60)).map_blocks(slow, meta=X[:0, :0])
    future = client.compute(ow.fuse(lambda x: (x * 2 + 1).sum(axis=1))(given))
    time.sleep(0.5)
    os.kill(min(pid for *_, pid in client.run(state).values()), signal.SIGKILL)

    np.testing.assert_allclose(future.result(timeout=60), (X * 2 + 1).sum(axis=1), rtol=1e-12)
