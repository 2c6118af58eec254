"""Copies between host and device: pageable, pinned, and pinned memory that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measure.harness import Expected, Runner
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import amount, bandwidth, values

TITLE = "Copies between host and device: pageable and pinned"
ABOUT = (
    "uint8 from host memory to the device, and back. Pageable: as NumPy allocates, which the "
    "driver copies through a buffer of its own. Pinned: the data lies in page-locked memory. "
    "Staged: pageable data is copied to pinned memory that is kept, and from there."
)
FIGURES = (Figure("bandwidth", "nbytes", "bandwidth", "bytes", xlog=2, ylog=True),)
DEVICES = ("cuda",)
SIZES = tuple(1 << n for n in range(12, 31, 2))
QUICK = (1 << 16, 1 << 22)


def measure(record: Record) -> None:
    """Each size in three ways."""
    cupy = record.executor.xp
    for nbytes in record.sizes(SIZES, QUICK, 4):
        data = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
        memory = cupy.cuda.alloc_pinned_memory(nbytes)
        pinned = np.frombuffer(memory, np.uint8, nbytes)
        pinned[...] = data
        out = cupy.empty(nbytes, np.uint8)
        expected = Expected(cupy.asarray(data).astype(np.float64), 0.0)
        case = Case({"nbytes": nbytes}, [()], np.uint8, expected, nbytes)
        record.compare(runners(cupy, data, pinned, out), case)


def runners(cupy: Any, data: np.ndarray, pinned: np.ndarray, out: Any) -> list[Runner]:
    staging = np.frombuffer(cupy.cuda.alloc_pinned_memory(data.nbytes), np.uint8, data.nbytes)

    def waited(source: np.ndarray) -> Any:
        out.set(source)
        cupy.cuda.get_current_stream().synchronize()  # part of it is work of the host
        return out

    def staged() -> Any:
        staging[...] = data
        return waited(staging)

    return [
        Runner("pageable", lambda: waited(data), out=out, role="variant", waits=True),
        Runner("pinned", lambda: waited(pinned), out=out, role="variant", waits=True),
        Runner("staged", staged, out=out, role="variant", waits=True),
        *back(cupy, data, pinned),
    ]


def back(cupy: Any, data: np.ndarray, pinned: np.ndarray) -> list[Runner]:
    """From the device: to memory as NumPy allocates it, and to pinned memory."""
    device, pageable = cupy.asarray(data), np.zeros_like(data)
    return [
        Runner(f"{name}, to the host", lambda into=into: device.get(out=into), read=cupy.asarray,
               role="variant", waits=True)
        for name, into in (("pageable", pageable), ("pinned", pinned))
    ]  # fmt: skip


def reading(found: Mapping[str, Any]) -> str:
    """The rates of the largest copy."""
    largest = max(values(found, "nbytes"), default=0)
    if not largest:
        return ""
    names = dict.fromkeys(row["runner"] for row in found["rows"])
    rates = {name: bandwidth(found, name, nbytes=largest) for name in names}
    shown = ", ".join(f"{name} {rate:.3g} GB/s" for name, rate in rates.items())
    return f"At {amount(largest)}: {shown}."
