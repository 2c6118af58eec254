"""Figures, drawn from a benchmark's JSON and from nothing else: opweave is not imported here."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

Document = Mapping[str, Any]
Row = Mapping[str, Any]
MARKERS = "osD^v<>Pp*"
# The colour of each runner that many experiments share, in every figure; the second of a pair of
# matplotlib's tab20 is its lighter half, for the same runner with ``out=``.  Variants of an
# experiment's own get the colours that are left, then those of tab20b.
SHARED = (
    "opweave", "NumPy", "numexpr", "numba", "PyTorch", "torch.compile", "JAX", "CuPy",
    "cupy.fuse", "Triton",
)  # fmt: skip
INTO = ", out="
# What a figure is drawn with, and what a reader's dark theme has in place of it: backgrounds and
# text of GitHub's two themes. The colours of the lines do on both, so none may be one of these.
PAPER, INK = "#ffffff", "#1f2328"
DARK = {PAPER: "#0d1117", INK: "#e6edf3"}
NAMES_OF_INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color",
                "grid.color")  # fmt: skip
NAMES_OF_PAPER = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
STYLE = {**dict.fromkeys(NAMES_OF_INK, INK), **dict.fromkeys(NAMES_OF_PAPER, PAPER),
         "legend.facecolor": "inherit", "grid.alpha": 0.15, "svg.hashsalt": "opweave",
         "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans", "Verdana"]}  # fmt: skip
# Of panels, and inches of one: the names of bars stand beside them.
MOST_COLUMNS = {"curves": 3, "bars": 2}
WIDTHS = {"curves": 4.6, "bars": 6.5}
# A measure: what the axis says, and its value from a row and a time in microseconds.
MEASURES: dict[str, tuple[str, Callable[[Row, float], float]]] = {
    "time": ("time of a call, µs", lambda row, us: us),
    "milliseconds": ("time, ms", lambda row, us: us / 1e3),
    "bandwidth": ("bytes in and out / time, GB/s", lambda row, us: row["bytes"] / us / 1e3),
    "moved": ("bytes that its passes move / time, GB/s",
              lambda row, us: row["bytes_moved"] / us / 1e3),
    "flops": ("operations / time, GFLOP/s", lambda row, us: row["flops"] / us / 1e3),
    "speedup": ("time of NumPy, or CuPy / time", lambda row, us: row["library_us"] / us),
    "peak": ("peak of memory, KiB", lambda row, us: row["peak_bytes"] / 1024),
}  # fmt: skip
# What a row must have beside times; null where nobody can tell.
NEEDS = {"moved": "bytes_moved", "speedup": "library_us", "peak": "peak_bytes"}


def draw(found: Document, folder: Path, stem: str) -> list[Path]:
    """Write every figure of a document as ``STEM-FIGURE.svg``; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for figure in found["figures"]:
        if rows_of(found, figure):
            paths.append(folder / f"{stem}-{figure['name']}.svg")
            save(lambda figure=figure: drawn(found, figure), paths[-1])
    return paths


def save(make: Callable[[], Any], path: Path) -> None:
    """Make a figure and write it as an SVG that follows the reader's theme."""
    with plt.rc_context(STYLE):
        figure, text = make(), io.StringIO()
        # no date, no random names: the same data gives the same file
        figure.savefig(text, format="svg", metadata={"Date": None})
        plt.close(figure)
    path.write_text(follows_theme(text.getvalue()))


def follows_theme(svg: str) -> str:
    """The SVG with a sheet that replaces paper and ink where the reader's theme is dark.

    The elements keep their own colours: a viewer without style sheets shows the light figure.
    """
    rules = "".join(
        f'[style*="{kind}: {light}"] {{{kind}: {dark} !important}}\n'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    sheet = f"\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n"
    return svg.replace("</style>", f"{sheet}</style>", 1)


def drawn(found: Document, figure: Mapping[str, Any]) -> Any:
    """One figure: panels side by side, one legend below them, where it was measured."""
    rows = rows_of(found, figure)
    panels = unique(panel_of(row, figure) for row in rows)
    made, axes = grid_of(len(panels), figure["kind"], most_bars(rows, figure))
    styles = styles_of(unique(row["runner"] for row in rows))
    for axis, panel in zip(axes, panels, strict=True):
        chosen = [row for row in rows if panel_of(row, figure) == panel]
        (bars if figure["kind"] == "bars" else curves)(axis, found, figure, chosen, styles)
        extras(axis, found, figure, dict(zip(figure["panels"], panel, strict=True)))
        axis.set_title(", ".join(f"{k} {v}" for k, v in zip(figure["panels"], panel, strict=True)),
                       fontsize=9)  # fmt: skip
    finish(made, axes, found["title"], provenance(found))
    return made


def styles_of(runners: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Colour and marker of each runner: the same in every figure for those that many share.

    >>> one, other = styles_of(["opweave", "JAX"]), styles_of(["naive", "JAX", "opweave"])
    >>> one["JAX"] == other["JAX"], other["naive"] in one.values()
    (True, False)
    """
    pairs, spare = plt.get_cmap("tab20").colors, plt.get_cmap("tab20b").colors
    others = iter(n for n in runners if n.removesuffix(INTO) not in SHARED)
    made = {}
    for number, name in enumerate(others):
        made[name] = (spare[(4 * number + number // 5) % len(spare)], MARKERS[-1 - number % 4])
    for name in runners:
        if name not in made:
            at, is_into = SHARED.index(name.removesuffix(INTO)), name.endswith(INTO)
            made[name] = (pairs[2 * at + is_into], MARKERS[at % len(MARKERS)])
    return made


def rows_of(found: Document, figure: Mapping[str, Any]) -> list[Row]:
    """The rows that a figure shows."""
    return [
        row
        for row in found["rows"]
        if (not figure["x"] or figure["x"] in row["parameters"])
        and (figure["y"] not in NEEDS or row.get(NEEDS[figure["y"]]) is not None)
    ]


def panel_of(row: Row, figure: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row["parameters"].get(name) for name in figure["panels"])


def unique(values: Iterable[Any]) -> list[Any]:
    """Values in their first order."""
    return list(dict.fromkeys(values))


def most_bars(rows: Sequence[Row], figure: Mapping[str, Any]) -> int:
    counts: dict[Any, int] = {}
    for row in rows:
        counts[panel_of(row, figure)] = counts.get(panel_of(row, figure), 0) + 1
    return max(counts.values())


def grid_of(count: int, kind: str, tallest: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels; those left over are not there."""
    columns = min(count, MOST_COLUMNS[kind])
    rows = math.ceil(count / columns)
    width = WIDTHS[kind] * columns if columns > 1 else 7.5
    height = max(3.4, 0.28 * tallest + 1.2) if kind == "bars" else 3.6 + 1.4 * (columns == 1)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height * rows + 0.9), squeeze=False, layout="constrained"
    )
    flat = [axis for line in axes for axis in line]
    for axis in flat[count:]:
        axis.remove()
    return figure, flat[:count]


def curves(
    axis: Any, found: Document, figure: Mapping[str, Any], rows: Sequence[Row],
    styles: Mapping[str, tuple[Any, str]],
) -> None:  # fmt: skip
    """A line for each runner: medians, with the quartiles as a band."""
    label, value = MEASURES[figure["y"]]
    for name in unique(row["runner"] for row in rows):
        own = {r["parameters"][figure["x"]]: r for r in rows if r["runner"] == name}
        # where a runner took no part, its line has a gap
        x = sorted({row["parameters"][figure["x"]] for row in rows})
        low, high = (
            [value(own[at], own[at]["quartiles_us"][q]) if at in own else math.nan for at in x]
            for q in (0, 1)
        )
        middle = [value(own[at], own[at]["median_us"]) if at in own else math.nan for at in x]
        colour, marker = styles[name]
        axis.plot(x, middle, color=colour, marker=marker, markersize=4, label=name)
        axis.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0)
    if figure["xlog"]:
        axis.set_xscale("log", base=figure["xlog"])
        axis.xaxis.set_major_formatter(lambda at, _: ticked(at))
    if figure["ylog"]:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_xlabel(figure["xlabel"] or figure["x"])
    axis.set_ylabel(label)
    axis.grid(visible=True)


def ticked(number: float) -> str:
    """A power of two for people.

    >>> ticked(32), ticked(4096), ticked(1 << 24), ticked(0.25)
    ('32', '4Ki', '16Mi', '0.25')
    """
    for unit in ("", "Ki", "Mi", "Gi"):
        if number < 1024 or unit == "Gi":
            return f"{number:g}{unit}"
        number /= 1024
    raise AssertionError("unreachable")


def bars(
    axis: Any, found: Document, figure: Mapping[str, Any], rows: Sequence[Row],
    styles: Mapping[str, tuple[Any, str]],
) -> None:  # fmt: skip
    """A bar for each row, with its quartiles; the shortest time is not always the best bar.

    On a logarithmic axis, which has no 0 for a bar to start from, a point.
    """
    label, value = MEASURES[figure["y"]]
    x = figure["x"]
    names = [row["runner"] + (f", {row['parameters'][x]}" if x else "") for row in rows]
    middle = [value(row, row["median_us"]) for row in rows]
    ends = [sorted(value(row, us) for us in row["quartiles_us"]) for row in rows]
    spans = [
        [max(0.0, m - low) for m, (low, _) in zip(middle, ends, strict=True)],
        [max(0.0, high - m) for m, (_, high) in zip(middle, ends, strict=True)],
    ]
    colours = [styles[row["runner"]][0] for row in rows]
    text = axis.xaxis.label.get_color()
    shown = [f" {m:,.0f}" if m >= 100 else f" {m:.3g}" for m in middle]
    if figure["ylog"]:
        axis.set_xscale("log")
        axis.errorbar(middle, names, xerr=spans, fmt="none", ecolor=text)
        axis.scatter(middle, names, color=colours, zorder=3)
        for at, name, label_of in zip(middle, names, shown, strict=True):
            axis.annotate(label_of, (at, name), (0, 5), textcoords="offset points", size=8,
                          ha="center", color=text)  # fmt: skip
    else:
        made = axis.barh(names, middle, xerr=spans, color=colours, ecolor=text)
        axis.bar_label(made, shown, size=8)
    axis.invert_yaxis()
    axis.margins(x=0.18)
    axis.set_xlabel(label)
    axis.grid(visible=True, axis="x")


def extras(
    axis: Any, found: Document, figure: Mapping[str, Any], panel: Mapping[str, Any]
) -> None:
    """Roofs, floors, predictions and marks that belong to a panel."""
    text = axis.xaxis.label.get_color()

    def belongs(item: Mapping[str, Any]) -> bool:
        same = all(panel.get(k) == v for k, v in item["panel"].items())
        return bool(item["figure"] == figure["name"] and same)

    for number, line in enumerate(filter(belongs, found["lines"])):
        if figure["kind"] == "bars":
            axis.axvline(line["points"][0][1], linestyle="--", color=text, label=line["label"])
            continue
        x, y = zip(*line["points"], strict=True)
        axis.plot(x, y, ("--", ":", "-.")[number % 3], color=text, linewidth=1,
                  label=line["label"])  # fmt: skip
    for mark in filter(belongs, found["marks"]):
        axis.axvline(mark["x"], color=text, linewidth=0.8, alpha=0.5)
        axis.annotate(mark["label"], (mark["x"], 0.02), xycoords=("data", "axes fraction"),
                      rotation=90, fontsize=7, ha="right", va="bottom", color=text)  # fmt: skip


def finish(figure: Any, axes: Sequence[Any], title: str, where: str) -> None:
    """Title, one legend for all panels, and where the figures are from."""
    figure.suptitle(title, fontsize=11)
    handles: dict[str, Any] = {}
    for axis in axes:
        shown, labels = axis.get_legend_handles_labels()
        handles |= {n: h for n, h in zip(labels, shown, strict=True) if not n.startswith("_")}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center",
                      ncols=min(4, len(handles)), fontsize=8, frameon=False)  # fmt: skip
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    # below all, and no part of the layout of an axis
    figure.text(0.995, 0.004, where, fontsize=6, ha="right").set_in_layout(False)


def provenance(found: Document) -> str:
    """Where and when the figures were measured, in one line."""
    machine = found["machine"]
    gpu = machine["gpu"]
    where = (
        f"{gpu['name']}, driver {gpu['state'].get('driver_version', '?')}"
        if found["device"] == "cuda" and gpu
        else f"{machine['processor']}, {machine['cores']} cores"
    )
    note = f"; {machine['note']}" if machine["note"] else ""
    quick = "; quick" if found["options"]["quick"] else ""
    changed = "+" * machine["commit"].endswith("+")
    return (
        f"{where}; {machine['date'][:10]}; commit {machine['commit'][:10]}{changed}{quick}{note}"
    )
