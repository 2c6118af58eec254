"""Matrix products, and a linear layer with its bias and ReLU fused in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.executors import Executor, copy_rates, sets_for
from bench.measure.harness import Expected, Runner, gamma, likely
from bench.measure.problem import peers_of, variant
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import quickest, rate, times, values

TITLE = "Matrix products"
ABOUT = (
    "x[n, n] @ w[n, n], and max(x @ w + b, 0), for random x and w; 2 n^3 operations, each matrix "
    "read or written once. float32 products are strict: no tf32, by us or by a peer. opweave is "
    "as it chooses by itself; variants have strategies switched off through toggles; naive is one "
    "result a thread, straight from memory."
)
FIGURES = (
    Figure("rate", "n", "flops", "n, of n x n matrices", panels=("problem", "dtype"), xlog=2),
)
SIZES = {"host": (128, 256, 512, 1024), "cuda": (256, 512, 1024, 2048, 4096, 8192)}
QUICK = {"host": (64, 128), "cuda": (128, 512)}
DTYPES = {"host": ("float32",), "cuda": ("float32", "float16")}
UNITS = {"float32": "matrix", "float16": "matrix16"}
# One result a thread.
SINGLE = {"THREAD_M": 1, "THREAD_N": 1, "WIDTH": 1, "BLOCK_M": 16, "BLOCK_N": 16}
# Strategies switched off; one that a target's template lacks is named as absent.
VARIANTS = {
    "opweave, no padding": {"USE_PADDED_TILE": 0},
    "opweave, no shared memory": {"USE_SHARED_MEMORY": 0},
    "opweave, no register tiles": SINGLE,
    "opweave, naive": SINGLE | {"USE_SHARED_MEMORY": 0},
}
# A slow variant at a large size would take the time of all others.
MOST_OF_VARIANTS = {"host": 512, "cuda": 4096}
# The size whose ratio of tiled to naive has a limit.
JUDGED = 2048


def product(x: Any, w: Any) -> Any:
    return x @ w


def linear(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x @ w + b, 0)


def measure(record: Record) -> None:
    """Time products and linear layers."""
    sizes = record.sizes(SIZES[record.device], QUICK[record.device], 8 * 8, 2)
    record.copy_rates += copy_rates(record.executor, [4 * n * n for n in sizes])
    for dtype in DTYPES[record.device]:
        for size in sizes:
            for case in cases(record.executor, size, dtype):
                record.compare(runners(record, case), case)
        roof = record.roofs[UNITS[dtype]]
        for problem in ("product", "linear") if roof else ():
            points = [(n, roof / 1e9) for n in sizes]
            label = "measured roof, the library's best"
            record.line("rate", label, points, problem=problem, dtype=dtype)
    judge(record, sizes)


def cases(executor: Executor, n: int, dtype: str) -> Iterator[Case]:
    """The product and the linear layer at one size."""
    xp, rng = executor.xp, np.random.default_rng(0)
    x, w = (rng.standard_normal((n, n), np.float32).astype(dtype) for _ in "xw")
    w *= np.asarray(n**-0.5, dtype)  # results of the magnitude of x
    b = rng.standard_normal(n, np.float32).astype(dtype)
    nbytes = 3 * x.nbytes
    count = sets_for(executor, nbytes)
    sets = [(executor.put(x), executor.put(w)) for _ in range(count)]
    wide, wide_w = (a.astype(np.float64) for a in sets[0])
    value = wide @ wide_w
    rounded = gamma(1, dtype) if dtype != "float32" else 0.0
    bound = likely(xp, wide, wide_w)
    yield Case(
        {"problem": "product", "n": n, "dtype": dtype}, sets, dtype,
        Expected(value, rounded, bound, n), nbytes, 2 * n**3, unit=UNITS[dtype],
    )  # fmt: skip
    put_b = executor.put(b)
    wide_b = put_b.astype(np.float64)
    # the product and the sum are each rounded to the dtype
    bound = bound + gamma(2, np.float32) * abs(wide_b) + rounded * (abs(value) + abs(wide_b))
    value = xp.maximum(value + wide_b, 0)
    yield Case(
        {"problem": "linear", "n": n, "dtype": dtype}, [(*pair, put_b) for pair in sets], dtype,
        Expected(value, rounded, bound, n + 1), nbytes + b.nbytes, 2 * n**3 + 2 * n**2,
        unit=UNITS[dtype],
    )  # fmt: skip


def runners(record: Record, case: Case) -> list[Runner]:
    """Ours, our variants and the peers of one case."""
    is_product = case.parameters["problem"] == "product"
    plain = product if is_product else linear
    fused = ow.fuse(plain)
    found = ours(record, fused, case)
    if is_product and case.parameters["n"] <= MOST_OF_VARIANTS[record.device]:
        found += variants(record, fused, case)
    if not is_product:
        found.append(Runner("opweave unfused", fused.unfused(), role="variant"))
    slow = case.parameters["n"] == max(SIZES[record.device])
    task = peers.Task(plain, case.sets, record.executor.xp)
    return found + peers_of(record, task, case.parameters, slow=slow)


def ours(record: Record, fused: Any, case: Case) -> list[Runner]:
    """As the compiler chooses; nothing where it cannot."""
    try:
        toggles = fused.lower(*case.sets[0]).kernels[0].toggles
    except Exception as error:  # said in the file; the peers are timed all the same
        record.refuse("opweave", "ours", case.parameters, error)
        return []
    return [Runner("opweave", fused, toggles=toggles)]


def variants(record: Record, fused: Any, case: Case) -> list[Runner]:
    """Strategies switched off, as far as the template has their toggles."""
    own = {"USE_VENDOR": 0} if record.device == "cuda" else {}
    named = {"opweave, no library": {}} | VARIANTS if own else VARIANTS
    made = (variant(record, n, fused.with_toggles(**t, **own), case) for n, t in named.items())
    return [runner for runner in made if runner is not None]


def judge(record: Record, sizes: Sequence[int]) -> None:
    """Tiled against naive; a fused linear layer against one kernel per operator."""
    at = {"problem": "product", "n": JUDGED, "dtype": "float32"}
    tiled = "opweave, no library" if record.device == "cuda" else "opweave"
    ratio = record.ratio("opweave, naive", tiled, **at)
    record.limit(f"naive / tiled at {JUDGED}^3, float32", ">= 5", ratio, "x")
    at = {"problem": "linear", "n": max(sizes), "dtype": "float32"}
    ratio = record.ratio("opweave unfused", "opweave", **at)
    name = f"linear + bias + ReLU, unfused / fused, n = {max(sizes)}"
    record.limit(name, ">= 1", ratio, "x")


def reading(found: Mapping[str, Any]) -> str:
    """The largest product against the library's, and what fusing a layer saves."""
    n = max(values(found, "n"), default=0)
    ratio = found["roofs"]["matrix"] / 1e9
    reached = rate(found, "opweave", problem="product", n=n, dtype="float32")
    at = {"problem": "linear", "n": n, "dtype": "float32"}
    fused, apart = times(found, "opweave", **at), times(found, "opweave unfused", **at)
    if not (reached and fused and apart):
        return ""
    return (
        f"At n = {n} the float32 product reaches {reached:,.0f} GFLOP/s, {reached / ratio:.0%} of "
        f"the best rate that the library reached in the same run. "
        f"A layer with its bias and ReLU takes {fused[0] / apart[0]:.2f} of the time of three "
        f"kernels. Quickest there: {quickest(found, **at)}."
    )
