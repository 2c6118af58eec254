"""Figures, drawn from a benchmark's JSON and from nothing else: opweave is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

Document = Mapping[str, Any]
Row = Mapping[str, Any]
MARKERS = "osD^v<>Pp*"
FLOOR = {"color": "black", "linewidth": 1}


def draw(found: Document, folder: Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write every figure of a document; returns the paths.

    Raises:
        ValueError: no figure is known for the experiment.
    """
    name = found["experiment"]
    if name not in FIGURES:
        raise ValueError(f"no figure is known for the experiment {name!r}")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, make in FIGURES[name].items():
        for executor in unique(row["executor"] for row in found["rows"]):
            figure = make(found, executor)
            if figure is None:
                continue
            figure.text(0.5, 0.004, provenance(found, executor), ha="center", size=7)
            for suffix in formats:
                paths.append(folder / f"{name}-{executor}-{kind}.{suffix}")
                figure.savefig(paths[-1], dpi=110)
            plt.close(figure)
    return paths


def provenance(found: Document, executor: str) -> str:
    """Where and when the figures were measured, in one line."""
    machine = found["machine"]
    gpu = machine["gpu"]
    where = (
        f"{gpu['name']}, driver {gpu['state'].get('driver_version', '?')}"
        if executor == "cuda" and gpu
        else f"{machine['processor']}, {machine['cores']} cores"
    )
    note = f"; {machine['note']}" if machine["note"] else ""
    changed = "+" * machine["commit"].endswith("+")
    return f"{where}; {machine['date'][:10]}; commit {machine['commit'][:10]}{changed}{note}"


def unique(values: Iterable[Any]) -> list[Any]:
    """Values in their first order."""
    return list(dict.fromkeys(values))


def rows_of(found: Document, executor: str, **parameters: Any) -> list[Row]:
    """Rows of an executor with these parameters."""
    return [
        row
        for row in found["rows"]
        if row["executor"] == executor
        and all(row["parameters"].get(k) == v for k, v in parameters.items())
    ]


def by_runner(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["runner"], []).append(row)
    return found


def numbers(found: Document, executor: str) -> dict[str, int]:
    """A number per runner, for a colour and a marker that are the same in every panel."""
    runners = unique(row["runner"] for row in rows_of(found, executor))
    return {name: number for number, name in enumerate(runners)}


def panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with panels side by side, and room for one legend below them."""
    figure, axes = plt.subplots(
        1, count, figsize=(4.6 * count if count > 1 else 7.5, 5.2), squeeze=False
    )
    margin = 0.85 / figure.get_figwidth()
    figure.subplots_adjust(left=margin, right=0.98, top=0.86, bottom=0.25)
    return figure, list(axes[0])


def finish(figure: Any, title: str, axes: Sequence[Any]) -> Any:
    figure.suptitle(title)
    handles = {}
    for axis in axes:
        shown, labels = axis.get_legend_handles_labels()
        handles |= dict(zip(labels, shown, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=4, fontsize=8,
                  bbox_to_anchor=(0.5, 0.03))  # fmt: skip
    return figure


def amount(nbytes: float, base: int = 1024) -> str:
    """Bytes for people.

    >>> amount(3 << 20), amount(2_000_000_000, 1000)
    ('3 MiB', '2 GB')
    """
    units = ("B", "KiB", "MiB", "GiB") if base == 1024 else ("B", "KB", "MB", "GB")
    for unit in units:
        if nbytes < base or unit == units[-1]:
            return f"{nbytes:.3g} {unit}"
        nbytes /= base
    raise AssertionError("unreachable")


def curve(axis: Any, number: int, label: str, x: Sequence[float], rows: Sequence[Row],
          value: Callable[[Row, float], float]) -> None:  # fmt: skip
    """Medians, with the quartiles as a band."""
    middle = [value(row, row["median_us"]) for row in rows]
    low, high = ([value(row, row["quartiles_us"][q]) for row in rows] for q in (0, 1))
    colour, marker = f"C{number % 10}", MARKERS[number % len(MARKERS)]
    axis.plot(x, middle, color=colour, marker=marker, markersize=5, label=label)
    axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def chain_time(found: Document, executor: str) -> Any:
    """Time against chain length, a panel per size; floors from the copy rate."""
    sizes = unique(row["parameters"]["elements"] for row in rows_of(found, executor))
    figure, axes = panels(len(sizes))
    styles = numbers(found, executor)
    for axis, size in zip(axes, sizes, strict=True):
        for name, rows in by_runner(rows_of(found, executor, elements=size)).items():
            curve(axis, styles[name], name, lengths(rows), rows, lambda row, us: us)
        x = lengths(rows)
        copied = copy_us(found, executor, 4 * size)
        if copied:
            axis.plot(x, [copied] * len(x), "--", label="floor, fused: one copy", **FLOOR)
            axis.plot(x, [copied * n for n in x], ":", label="floor, unfused: one each", **FLOOR)
        chain_axis(axis, size, x)
        axis.set_yscale("log")
    axes[0].set_ylabel("time of a call, µs")
    return finish(figure, f"{found['title']}, {executor}: time", axes)


def chain_bandwidth(found: Document, executor: str) -> Any:
    """Effective bandwidth against chain length: 8 bytes an element, whatever a runner moves."""
    sizes = unique(row["parameters"]["elements"] for row in rows_of(found, executor))
    figure, axes = panels(len(sizes))
    styles = numbers(found, executor)
    for axis, size in zip(axes, sizes, strict=True):
        for name, rows in by_runner(rows_of(found, executor, elements=size)).items():
            curve(
                axis,
                styles[name],
                name,
                lengths(rows),
                rows,
                lambda row, us: row["bytes"] / us / 1e3,
            )
        x = lengths(rows)
        copied = copy_us(found, executor, 4 * size)
        if copied:
            rate = 8 * size / copied / 1e3
            axis.plot(x, [rate] * len(x), "--", label="measured copy rate", **FLOOR)
        chain_axis(axis, size, x)
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("8 bytes x elements / time, GB/s")
    return finish(figure, f"{found['title']}, {executor}: effective bandwidth", axes)


def lengths(rows: Sequence[Row]) -> list[int]:
    return [row["parameters"]["length"] for row in rows]


def copy_us(found: Document, executor: str, nbytes: int) -> float | None:
    """Measured time of a copy of so many bytes."""
    for row in found["copy_rates"]:
        if (row["executor"], row["array_bytes"]) == (executor, nbytes):
            return float(row["median_us"])
    return None


def chain_axis(axis: Any, size: int, x: Sequence[int]) -> None:
    axis.set_title(f"{size:,} elements ({amount(4 * size)} in, as much out)", fontsize=9)
    axis.set_xscale("log", base=2)
    axis.set_xticks(x, [str(n) for n in x])
    axis.set_xlabel("operators in the chain")
    axis.grid(alpha=0.3)


def product_rate(found: Document, executor: str) -> Any:
    """Operations a second against size, a panel per problem and dtype."""
    rows = rows_of(found, executor)
    kinds = unique((r["parameters"]["problem"], r["parameters"]["dtype"]) for r in rows)
    figure, axes = panels(len(kinds))
    styles = numbers(found, executor)
    for axis, (problem, dtype) in zip(axes, kinds, strict=True):
        chosen = by_runner(rows_of(found, executor, problem=problem, dtype=dtype))
        for name, of_runner in chosen.items():
            x = [row["parameters"]["n"] for row in of_runner]
            curve(axis, styles[name], name, x, of_runner, lambda row, us: row["flops"] / us / 1e3)
        roof = memory_roof(found, executor, chosen)
        axis.plot(*roof, "--", label="bytes / measured copy rate", **FLOOR)
        axis.set_title(f"{problem}, {dtype}", fontsize=9)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(roof[0], [str(n) for n in roof[0]])
        axis.set_xlabel("n, of n x n matrices")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("GFLOP/s")
    return finish(figure, f"{found['title']}, {executor}", axes)


def memory_roof(
    found: Document, executor: str, chosen: Mapping[str, list[Row]]
) -> tuple[list[int], list[float]]:
    """GFLOP/s that the copy rate at each size allows."""
    some = {row["parameters"]["n"]: row for rows in chosen.values() for row in rows}
    rates = {r["array_bytes"]: r["bytes_per_second"] for r in found["copy_rates"]
             if r["executor"] == executor}  # fmt: skip
    x = [n for n in sorted(some) if 4 * n * n in rates]
    return x, [some[n]["flops"] / some[n]["bytes"] * rates[4 * n * n] / 1e9 for n in x]


def compile_time(found: Document, executor: str) -> Any:
    """Time to the source against depth, and the limit."""
    figure, (axis,) = panels(1)
    for number, target in enumerate(
        unique(row["parameters"]["target"] for row in rows_of(found, executor))
    ):
        rows = rows_of(found, executor, target=target)
        x = [row["parameters"]["layers"] for row in rows]
        curve(axis, number, f"target {target}", x, rows, lambda row, us: us / 1e3)
    limit = limit_of(found)
    axis.axhline(limit, linestyle="--", label=f"limit at 64 layers, {limit:g} ms", **FLOOR)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(x, [str(n) for n in x])
    axis.set_xlabel("layers")
    axis.set_ylabel("time to the source, ms")
    axis.grid(alpha=0.3)
    return finish(figure, found["title"], [axis])


def limit_of(found: Document) -> float:
    return float(found["limits"][0]["limit"].split()[1])


def bars(found: Document, executor: str) -> Any:
    """A bar per runner, and the floor."""
    rows = rows_of(found, executor)
    figure, (axis,) = panels(1)
    figure.subplots_adjust(left=0.24, bottom=0.22)
    times = [row["median_us"] / 1e3 for row in rows]
    spans = [[abs(q / 1e3 - t) for q, t in zip(qs, times, strict=True)]
             for qs in zip(*(row["quartiles_us"] for row in rows), strict=True)]  # fmt: skip
    drawn = axis.barh(
        [row["runner"] for row in rows], times, xerr=spans, label="median, quartiles"
    )
    axis.bar_label(drawn, [f" {t:,.0f} ms" if t >= 100 else f" {t:.3g} ms" for t in times], size=8)
    for rate in found["copy_rates"]:
        if rate["executor"] == executor:
            floor = rows[0]["bytes"] / rate["bytes_per_second"] * 1e3
            axis.axvline(floor, linestyle="--", label="floor: bytes / measured copy rate", **FLOOR)
    axis.invert_yaxis()
    axis.margins(x=0.15)
    axis.set_xlabel("time of a call, ms")
    return finish(figure, f"{found['title']}, {executor}", [axis])


FIGURES: dict[str, dict[str, Callable[[Document, str], Any]]] = {
    "fusion": {"time": chain_time, "bandwidth": chain_bandwidth},
    "products": {"rate": product_rate},
    "pixels": {"time": bars},
    "network": {"time": compile_time},
}
