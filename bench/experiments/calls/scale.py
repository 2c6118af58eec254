"""Blocks of dask arrays: two workers beside one, and what a block costs that is not its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import process_time
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.clock import in_visits, sample_host, summary
from bench.measure.harness import WrongResult
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Blocks of dask arrays on worker processes"
ABOUT = (
    "Rate: a function of 12 sines and exponentials an element, summed along rows, of float64 "
    "blocks of 4000 x 4000 that the workers hold already; a LocalCluster of one and of two "
    "processes with one thread each, by us and by NumPy through map_blocks; beside the times the "
    "CPU time of the busiest worker, which others on the machine leave as it is. Cost: CPU time a "
    "block, in this process, of planning it and of calling its kernel on 10 x 64 elements, for "
    "1000 blocks of four operators, of a stencil and of a row's mean and deviation."
)
FIGURES = (Figure("time", "workers", "time", kind="bars"),)
DEVICES = ("host",)
OURS, NUMPY = "opweave", "NumPy, map_blocks"
# Blocks of 128 MB: Dask's page of best practices for arrays advises against less than 100 MB.
TERMS, REPEATS = 6, 5
BLOCKS, BLOCK = 4, (4000, 4000)
QUICK_BLOCKS, QUICK_BLOCK = 4, (1000, 2000)
SMALL, QUICK_SMALL = (100, 6400), (20, 640)
LEAST_RATIO, MOST_MS = ">= 1.7", "<= 1"


def heavy(x: Any) -> Any:
    """A function that is bound by its arithmetic."""
    y = x
    for term in range(TERMS):
        y = np.sin(y) + np.exp(-y * y) * (1 / (term + 1))
    return y.sum(axis=1)


def pointwise(x: Any) -> Any:
    return np.sqrt(x * x + 1) * 2


def stencil(u: Any) -> Any:
    return u[1:-1, 1:-1] * 4 - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


def standardised(x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1)


SMALL_ONES = {f.__name__: f for f in (pointwise, stencil, standardised)}


def measure(record: Record) -> None:
    """The rates, then the costs."""
    try:
        da, distributed = peers.module("dask.array"), peers.module("distributed")
    except peers.Absent as error:
        record.absent["dask"] = str(error)
        return
    times: dict[str, dict[int, float]] = {OURS: {}, NUMPY: {}}
    busiest: dict[int, float] = {}
    for count in (1, 2):
        with workers(distributed, count) as client:
            for name, seconds in rates(record, da, count).items():
                times[name][count] = seconds
            busiest[count] = busiest_of(record, client, da)
    ours = times[OURS]
    record.limit("one worker's time / two workers'", LEAST_RATIO, ours[1] / ours[2], "x")
    ratio = busiest[1] / busiest[2]
    record.limit("the same by CPU time of the busiest worker", LEAST_RATIO, ratio, "x")
    worst = max(costs(record, da))
    record.limit("our CPU time a block, the most", MOST_MS, worst * 1e3, "ms")


@contextmanager
def workers(distributed: Any, count: int) -> Iterator[Any]:
    """A cluster of processes of one thread each, on which dask computes meanwhile."""
    with (
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def held(record: Record, da: Any) -> Any:
    """An array whose blocks the workers hold."""
    is_quick = record.options.quick
    blocks, block = (QUICK_BLOCKS, QUICK_BLOCK) if is_quick else (BLOCKS, BLOCK)
    shape = blocks * block[0], block[1]
    return da.random.default_rng(0).random(shape, chunks=block).persist()


def busiest_of(record: Record, client: Any, da: Any) -> float:
    """CPU seconds of the worker that has most of them: where others take the cores, too."""
    array = ow.fuse(heavy)(held(record, da))
    array.compute()
    before = client.run(process_time)
    for _ in range(REPEATS):
        array.compute()
    after = client.run(process_time)
    return max(after[worker] - before[worker] for worker in after) / REPEATS


def rates(record: Record, da: Any, count: int) -> dict[str, float]:
    """Seconds of each by so many workers."""
    x = held(record, da)
    by_numpy = x.map_blocks(heavy, dtype=x.dtype, drop_axis=1)
    made = {OURS: ow.fuse(heavy)(x), NUMPY: by_numpy}
    runs: dict[str, Callable[[], Any]] = {n: array.compute for n, array in made.items()}
    if not np.allclose(runs[OURS](), runs[NUMPY](), rtol=1e-10):
        raise WrongResult("blocks do not give what NumPy gives")
    visits = in_visits(
        runs, lambda name, effort: sample_host(runs[name], [()], effort), record.effort
    )
    found = {}
    for name, samples in visits.items():
        flat = [sample for visit in samples for sample in visit]
        role = "ours" if name == OURS else "peer"
        record.measured(name, {"workers": count}, flat, role, "perf_counter")
        record.rows[-1] |= summary(samples) | {"blocks": x.npartitions}
        found[name] = record.rows[-1]["median_us"] / 1e6
    return found


def costs(record: Record, da: Any) -> Iterator[float]:
    """CPU seconds a block of ours, for each of the small functions."""
    x = np.random.default_rng(0).random(QUICK_SMALL if record.options.quick else SMALL)
    given = da.from_array(x.astype(np.float32), chunks=(10, 64))
    for name, function in SMALL_ONES.items():
        fused = ow.fuse(function)
        planned = min(timed(lambda fused=fused: fused(given)) for _ in range(3))
        calls = [*block_calls(fused(given))]
        for call in calls[:1] * 2:  # what is compiled and prepared once
            call()
        ran = min(timed(lambda calls=calls: [call() for call in calls]) for _ in range(3))
        each = (planned + ran) / given.npartitions
        record.measured(OURS, {"cost": name}, [each], clock="process_time")
        record.rows[-1] |= {"plan_us": planned / given.npartitions * 1e6}
        yield each


def block_calls(array: Any) -> Iterator[Callable[[], Any]]:
    """The tasks of ours among those of an array, each with blocks of zeros in their places."""
    from opweave._dask.blocks import Block, run_block

    tasks = dict(array.dask)
    for task in [*tasks.values()]:
        if not isinstance(task, tuple) or task[0] is not run_block:
            continue
        _, key, block, _ = task
        assert isinstance(block, Block)
        pieces = [np.zeros(p.shape, i.dtype) for i in block.parts for p in i.pieces]
        yield lambda stage=tasks[key], block=block, pieces=pieces: run_block(stage, block, pieces)


def timed(work: Callable[[], Any]) -> float:
    """CPU seconds of this process."""
    start = process_time()
    work()
    return process_time() - start


def reading(found: Mapping[str, Any]) -> str:
    """The ratio of two workers to one, by runner, and the costs."""
    times = {
        (row["runner"], row["parameters"]["workers"]): row["median_us"]
        for row in rows(found)
        if "workers" in row["parameters"]
    }
    text = [
        f"{name}: two workers take 1/{times[name, 1] / times[name, 2]:.2f} of one's time"
        for name in (OURS, NUMPY)
        if {(name, 1), (name, 2)} <= {*times}
    ]
    each = [
        f"{row['parameters']['cost']} {row['median_us'] / 1e3:.2f} ms"
        for row in rows(found)
        if "cost" in row["parameters"]
    ]
    if each:
        text.append(f"CPU time of ours a block: {', '.join(each)}")
    return "".join(f"{part}. " for part in text).rstrip()
