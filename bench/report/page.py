"""``docs/benchmarks.md`` from the stored results: figures, what they say, and how we stand."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.report.crossing import crossing
from bench.report.document import stored
from bench.report.reading import binding
from bench.report.standing import ratios

HEAD = (
    "# Benchmarks\n\n"
    "Made by `python bench/run.py --page` from the files in `bench/results`, which "
    "`python bench/run.py` measured; nothing here is estimated. Times are medians, bands are "
    "quartiles. Every result was checked against float64 before it was timed, except where a "
    "time is no result (guards, compile, network). What a peer or "
    "a device lacks is named. "
    "[bench/README.md](../bench/README.md) says how it is measured, and how "
    "to measure again.\n"
)
MOST_PLACES = 12
# A fixed piece of Python that takes so much longer at times shows a machine that others share.
STEADY = 1.1
# Roof, its name for people, factor and unit.
ROOFS = (
    ("copy", "copy of large arrays, read and written", 1e-9, "GB/s"),
    ("fp32", "multiply-adds of float32, two operations each", 1e-9, "GFLOP/s"),
    ("matrix", "float32 products by the library", 1e-9, "GFLOP/s"),
    ("matrix16", "float16 products by the library", 1e-9, "GFLOP/s"),
    ("special", "exponentials of float32", 1e-9, "G/s"),
    ("launch", "a call of one small kernel", 1e6, "us"),
)


def page(
    results: Path, target: Path, experiments: Sequence[str], load: Callable[[str], Any]
) -> str:
    """The page, experiment by experiment.

    Args:
        target: links lead from its folder to the figures.
        experiments: their names in order; ``load`` gives the module of one.
    """
    folders: dict[str, dict[str, tuple[Path, dict[str, Any]]]] = {}
    broken = []
    for path, found in stored(results):
        if isinstance(found, str):
            broken.append(found)
        elif not found["options"]["quick"]:
            folders.setdefault(path.parent.name, {})[found["experiment"]] = (path, found)
    parts = [HEAD]
    for folder, files in folders.items():
        parts.append(f"## {folder}\n\n{where(files)}\n")
        parts += [section(*files[n], target, load(n)) for n in experiments if n in files]
        missing = [n for n in experiments if n not in files]
        if missing:
            parts.append(f"Not measured on {folder}: {', '.join(missing)}.\n")
        parts.append(standing_of(results, folder))
        picture = results / folder / "roofline.svg"
        if picture.exists():
            parts.append(image(picture, "Kernels under the measured roofs", target))
    graphs = {folder: files["graphs"][1] for folder, files in folders.items() if "graphs" in files}
    if text := crossing(graphs, load("graphs").DEPTH):
        parts.append(f"## CPU or GPU\n\n{text}\n")
    tables = sorted(results.glob("*/standing/README.md"))
    if tables or not set(folders) - {"host"}:
        parts.append(f"## On a GPU\n\n{on_gpu(tables, target)}\n")
    parts += [f"Not read: {b}.\n" for b in broken]
    return "\n".join(parts).rstrip() + "\n"


def on_gpu(tables: Sequence[Path], target: Path) -> str:
    """Links to what was measured of the standing table, and what measures the rest."""
    links = [
        f"[The standing table on {path.parents[1].name.upper()}]"
        f"({Path(os.path.relpath(path, target.parent)).as_posix()})"
        for path in tables
    ]
    told = f"{', '.join(links)}: kernels beside other libraries and the model. " if links else ""
    rest = "The experiments above were not" if links else "Not"
    return f"{told}{rest} measured: `bench/gpu.sh all FOLDER` measures all of it."


def where(files: Mapping[str, tuple[Path, dict[str, Any]]]) -> str:
    """Machine, versions and dates of a folder's results."""
    documents = [found for _, found in files.values()]
    machine = documents[-1]["machine"]
    dates = sorted({d["machine"]["date"][:10] for d in documents})
    commits = sorted({_short(d["machine"]["commit"]) for d in documents})
    versions = [f"{n} {v}" for n, v in machine["versions"].items() if v != "absent"]
    devices = sorted({device_of(d) for d in documents})
    paces = [p for d in documents for p in d["machine"]["pace_ms"]]
    steady = max(paces) / min(paces)
    warning = (
        f" **The machine's pace changed by a factor of {steady:.1f} meanwhile**: differences "
        "below that are no findings."
    )
    return (
        f"{' and '.join(devices)}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}; "
        f"{', '.join(versions)}. Measured {' and '.join(dates)} at {', '.join(commits)}."
        f"{warning if steady > STEADY else ''}\n\n{roofs_of(documents)}"
    )


def device_of(document: Mapping[str, Any]) -> str:
    """What a file was measured on."""
    machine = document["machine"]
    name: str = machine["gpu"]["name"] if document["device"] == "cuda" else machine["processor"]
    return name


def roofs_of(documents: Sequence[Mapping[str, Any]]) -> str:
    """The measured roofs of a folder, as a table: the lowest and the highest of its files."""
    lines = ["| roof | measured |", "|---|---|"]
    for name, text, factor, unit in ROOFS:
        found = [d["roofs"][name] * factor for d in documents if d["roofs"][name]]
        if found:
            shown = " to ".join(f"{v:.3g}" for v in dict.fromkeys((min(found), max(found))))
            lines.append(f"| {text} | {shown} {unit} |")
    return "\n".join(lines)


def _short(commit: str) -> str:
    """The first digits of a commit, with "+" where files differed from it."""
    return commit[:10] + "+" * commit.endswith("+")


def stale(found: Mapping[str, Any], experiment: Any) -> str:
    """Says where the experiment is described in other words now than when it was measured."""
    same = found["about"] == experiment.ABOUT
    return "" if same else "measured by an older version of the experiment"


def section(path: Path, found: Mapping[str, Any], target: Path, experiment: Any) -> str:
    """One experiment: what it is, its figures, how they read, what was not measured."""
    lines = [f"### {found['title']}", "", found["about"], ""]
    for figure in found["figures"]:
        picture = path.with_name(f"{path.stem}-{figure['name']}.svg")
        if picture.exists():
            lines += [image(picture, found["title"], target)]
    reading = experiment.reading(found)
    lines += [reading, ""] if reading else []
    lines += [f"- {text}" for text in bindings(found)]
    state = {True: "met", False: "missed", None: "not measured"}
    lines += [
        f"- {limit['name']}: {limit['value']} {limit['unit']}, limit {limit['limit']}: "
        f"{state[limit['met']]}"
        for limit in found["limits"]
        if limit["value"] is not None
    ]
    lines += [
        f"- {limit['name']}, limit {limit['limit']}: not measured, {limit['why']}"
        for limit in found["limits"]
        if limit["value"] is None
    ]
    lines += [f"- {note}" for note in (*found["notes"], stale(found, experiment)) if note]
    lines += [f"- refused: {text}" for text in refusals(found)]
    reasons: dict[str, list[str]] = {}
    for name, why in found["absent"].items():
        reasons.setdefault(why, []).append(name)
    absent = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
    lines += [f"- absent: {absent}"] if absent else []
    lines += [] if found["complete"] else ["- broken off: not all of it was measured"]
    return "\n".join(lines).rstrip() + "\n"


def bindings(found: Mapping[str, Any]) -> list[str]:
    """What binds our least and our most work of an experiment."""
    own = [r for r in found["rows"] if r["role"] == "ours" and r["bytes"]]
    own.sort(key=lambda row: (row["bytes"] + row["flops"], row["median_us"]))
    ends = {id(row): row for row in (*own[:1], *own[-1:])}
    return [binding(row, found["roofs"]) for row in ends.values()]


def refusals(found: Mapping[str, Any]) -> list[str]:
    """Who was refused and why, each once, with the number of cases."""
    cases: dict[tuple[str, str], list[Any]] = {}
    for row in found["refused"]:
        reason = row["reason"].splitlines()[0][:160] if row["reason"] else ""
        kind = row["reason"].split(":")[0] if not row["wrong"] else "wrong"
        cases.setdefault((row["runner"], kind), []).append((row["parameters"], reason))
    made = []
    for (runner, _), rows in cases.items():
        parameters = ", ".join(f"{k}={v}" for k, v in rows[0][0].items())
        more = f" (and {len(rows) - 1} cases more)" if len(rows) > 1 else ""
        made.append(f"{runner} {parameters}: {rows[0][1]}{more}")
    return made


def image(picture: Path, title: str, target: Path) -> str:
    """A figure, linked from the page's folder."""
    return f"![{title}]({Path(os.path.relpath(picture, target.parent)).as_posix()})\n"


def standing_of(results: Path, folder: str) -> str:
    """The worst ratios of a folder, as a table."""
    found = [p for p in ratios(results)[0] if p.folder == folder]
    peers: Sequence[Any] = [p for p in found if p.other != "the roof"][:MOST_PLACES]
    rows = [f"| {p.workload} | {p.other} | {p.ratio:.2f} | {p.noise:.0%} |" for p in peers]
    return "\n".join([
        "### Where we stand worst", "",
        "Our time over a peer's: above 1 we are slower. `python bench/run.py --standing` has them "
        "all, and the distance to the roofs.", "",
        "| workload | peer | ours / peer | noise |", "|---|---|---|---|", *rows, "",
    ])  # fmt: skip
