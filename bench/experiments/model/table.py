"""``bench/run.py model``: every workload profiled for two devices, kept, and held to what it was.

Nothing is measured: counts come from the binaries, times from the model of ``runtime/model``.  A
row's roof is a launch and the bytes of arguments and results, each once, or the operations of its
products, where they take longer.  Products are kernels of ours here, also where a call would have
CUDA's library compute them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import opweave as ow
from bench.experiments.model.workloads import HALVES, QUICK, WORKLOADS, Workload
from bench.measure.machine import describe
from opweave.compiler.scheduling.vendors import choice, product_times
from opweave.runtime.model.device import DeviceModel, described
from opweave.runtime.sass.launches import NotingExecutor

DEVICES = ("H200", "A100")
# What a change must not make larger by more than so much.
HELD = ("us", "instructions", "moved_bytes")
MOST_WORSE = 1.02
HIDDEN = "opweave__requests_with_addresses_from_data.sum"
SHOWN = {
    "registers": "launch__registers_per_thread",
    "spilled": "opweave__spill_bytes_per_thread",
    "occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "in_flight": "opweave__bytes_in_flight_per_thread",
    "waves": "launch__waves_per_multiprocessor",
}

Row = dict[str, Any]


def roof_us(work: Workload, read: float, written: float, device: DeviceModel) -> float:
    """Microseconds that no kernel on the device is faster than, if its description holds."""
    rate = device.half_product_tflops if work.dtype in HALVES else device.single_tflops
    moving = device.transfer_us(read + written, read)
    return device.launch_us + max(moving, work.flops / rate / 1e6)


def row_of(work: Workload, device: DeviceModel) -> Row:
    """One row: what the kernels of a workload do on a device."""
    started = time.perf_counter()
    args = work.arguments()
    fused = ow.fuse(work.function, fast=work.fast).with_toggles(USE_VENDOR=0)
    program = fused.lower(*args, target=device.name)
    made = program.run_by(NotingExecutor(), program.arguments(args, {}))
    results = made if isinstance(made, tuple) else (made,)
    report = ow.profile(program, *args, target=device.name)
    floor = roof_us(
        work, sum(a.nbytes for a in args), sum(r.nbytes for r in results), device
    )  # fmt: skip
    return key_of(work) | {
        "roof_us": floor, "us": report.us, "fraction": floor / report.us,
        "instructions": sum(k.facts.instructions for k in report.kernels),
        "moved_bytes": sum(k.facts.moved_bytes for k in report.kernels),
        "kernels": [_kernel(kernel) for kernel in report.kernels],
        "seconds": round(time.perf_counter() - started, 1),
        **_library(program),
    }  # fmt: skip


def _library(program: Any) -> Row:
    """What the only product takes by CUDA's library, by the closed form, if it goes there."""
    graph, extents, device = program.graph, program.found.extents, program.lowered.device
    products = [node for node in graph.nodes if node.is_product]
    if len(products) != 1 or not choice(products[0], graph, extents, device).by_library:
        return {}
    return {"library_us": product_times(products[0], graph, extents, device).vendors}


def key_of(work: Workload) -> Row:
    """What tells a row from others of its device."""
    return {"work": work.name, "dtype": work.dtype, "fast": work.fast}


def peer_of(work: Workload, device: DeviceModel) -> Row:
    """What Triton's kernel for the same work takes by the model; {} where there is none."""
    try:
        from bench.experiments.model.triton_rows import profile
    except ModuleNotFoundError:
        return {}
    report = profile(work, device)
    if report is None or any(k.counters[HIDDEN] or k.unknown for k in report.kernels):
        return {}  # of what it spills nobody knows the addresses
    return {"peer": {"name": "Triton", "us": report.us}}


def _kernel(kernel: Any) -> Row:
    facts, model = kernel.facts, kernel.model
    return {
        "name": kernel.name, "us": model.us, "binds": model.binds.name,
        "why": model.binds.sentence, "next": model.binds.mend,
        "per_element": facts.instructions * 32 / facts.elements if facts.elements else None,
        "moved_over_least": facts.moved_bytes / facts.least_bytes if facts.least_bytes else 1.0,
        "not_attributed": kernel.counters["opweave__inst_not_attributed_at_most.sum"],
        **{name: kernel.counters[counter] for name, counter in SHOWN.items()},
        "pipes": {pipe: n for pipe, n in sorted(facts.issued.items()) if n},
    }  # fmt: skip


def made_by() -> Row:
    """What the table follows from."""
    machine = describe()
    return {
        "commit": machine["commit"],
        "date": machine["date"],
        "nvrtc": metadata.version("nvidia-cuda-nvrtc"),
    }


def profile_all(
    device: DeviceModel, works: Sequence[Workload], keep: Callable[[Row], Any] = lambda found: None
) -> Row:
    """All rows of a device, kept after each; a row that fails says why, and is one, too."""
    found: Row = {"device": device.name, "made_by": made_by(), "rows": []}
    for work in works:
        try:
            row = row_of(work, device) | peer_of(work, device)
        except Exception as error:  # the others are wanted all the same
            row = key_of(work) | {"refused": f"{type(error).__name__}: {error}"}
        found["rows"].append(row)
        print(line_of(device.name, row))
        keep(found)
    return found


def line_of(device: str, row: Mapping[str, Any]) -> str:
    """A row on the terminal."""
    name = f"{device:5} {titled(row):40}"
    if "refused" in row:
        return f"{name} refused: {row['refused']}"
    slowest = max(row["kernels"], key=lambda kernel: kernel["us"])
    return (
        f"{name} {row['fraction']:5.2f} of the roof (model), {row['us']:9.1f} us in "
        f"{len(row['kernels'])} kernels, bound by {slowest['binds']}"
    )


def titled(row: Mapping[str, Any]) -> str:
    """A row's name for people."""
    return f"{row['work']}, {row['dtype']}{' fast' if row['fast'] else ''}"


def path_of(folder: Path, device: str) -> Path:
    """Where the table of a device is stored."""
    return folder / device.lower() / "table.json"


def read(folder: Path, device: str) -> Row:
    """The stored table of a device.

    Raises:
        OSError: there is none.
    """
    found: Row = json.loads(path_of(folder, device).read_text())
    return found


def comparable(before: Row, now: Row) -> None:
    """See that something follows from a difference of two tables.

    Raises:
        ValueError: the compilers differ.
    """
    old, new = before["nvrtc"], now["nvrtc"]
    if old != new:
        raise ValueError(
            f"the table was made by NVRTC {old}, here is {new}: install that one, or make the "
            "table anew"
        )


def worse(before: Row, after: Row) -> Iterable[str]:
    """Rows that got worse, both listings of each, and rows that are gone."""
    news = {titled(row): row for row in after["rows"]}
    for old in before["rows"]:
        if "refused" in old:
            continue
        row = news.get(titled(old), {"refused": "it is gone"})
        names = [n for n in HELD if "refused" in row or row[n] > MOST_WORSE * old[n]]
        if names:
            yield (
                f"{after['device']}: {titled(old)} got worse ({', '.join(names)}):\n"
                f"  before {json.dumps(old)}\n  now    {json.dumps(row)}"
            )


def asked(options: Any) -> int:
    """The table by the model, or measured on a device that was named; see ``run``."""
    if options.device is None:
        return run(options.results, quick=options.quick, hold=options.hold)
    from bench.experiments.model import measured

    return measured.run(
        options.results, options.device, options.peers, quick=options.quick, commit=options.commit
    )


def run(results: Path, *, quick: bool, hold: bool) -> int:
    """Make the table anew, or hold what the sources make now to the stored one.

    Returns:
        1 if a workload was refused, or is held and got worse.

    Raises:
        OSError: there is no table to hold to.
        ValueError: it was made by another compiler.
    """
    works, target = QUICK if quick else WORKLOADS, results / "model" / ("quick" if quick else "")
    return held(target, works) if hold else stored(target, works)


def held(target: Path, works: Sequence[Workload]) -> int:
    """Status 1 where a row got worse than the stored one."""
    tables = [read(target, name) for name in DEVICES]
    for before in tables:
        comparable(before["made_by"], made_by())
    found = [
        text for before in tables
        for text in worse(before, profile_all(described()[before["device"]], works))
    ]  # fmt: skip
    print(*found, sep="\n", end="\n" * bool(found))
    return int(bool(found))


def stored(target: Path, works: Sequence[Workload]) -> int:
    """Write tables and page; status 1 where a workload was refused."""
    from bench.experiments.model.page import write_page

    made = []
    for name in DEVICES:
        path = path_of(target, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.append(profile_all(described()[name], works, partial(_write, path)))
    write_page(target, made)
    return int(any("refused" in row for found in made for row in found["rows"]))


def _write(path: Path, found: Row) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n")
