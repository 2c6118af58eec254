"""The page and the picture of the standing table, from its files and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.experiments.model import by_hand
from bench.experiments.model.table import titled

HEAD = """\
# The standing table: kernels on GPUs, by the model

Made by `python bench/run.py model`; **nothing here was measured**: that is in
[h200/standing](../h200/standing/README.md). Counts come from the binaries that NVRTC makes,
executed for control and addresses; times from the model of the described device
([docs/profile.md](../../../docs/profile.md)). The roof of a row is a launch and the bytes of
arguments and results, each once, or the operations of its products. *moved* are bytes over the
least of the kernel, *I/el* instructions an element; *in flight* are bytes a thread. *library*: a
call has CUDA's library compute this product, and this much of the roof is what it was chosen by
(`compiler/scheduling/vendors.py`, a closed form); the rest of the row is the kernel of ours.
"""
COLUMNS = (
    "work", "of the roof", "us", "kernels", "slowest is bound by", "moved", "I/el", "registers",
    "occupancy", "in flight", "waves", "Triton", "library",
)  # fmt: skip


def write_page(folder: Path, tables: Sequence[Mapping[str, Any]]) -> None:
    """``README.md`` and ``fractions.svg`` beside the files."""
    parts = [HEAD, "![fractions of the roof](fractions.svg)\n"]
    parts += [section(found) for found in tables]
    parts += filter(None, map(by_hand.section, tables))
    (folder / "README.md").write_text("\n".join(parts))
    from bench.report.plots import save

    save(lambda: drawn(tables), folder / "fractions.svg")


def section(found: Mapping[str, Any]) -> str:
    """The table of a device."""
    made = found["made_by"]
    lines = [
        f"## {found['device']} (model)\n",
        f"NVRTC {made['nvrtc']}, commit {made['commit'][:12]}, {made['date'][:10]}.\n",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in found["rows"]]
    return "\n".join(lines) + "\n"


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row's cells: of several kernels what the slowest does."""
    if "refused" in row:
        return [titled(row), f"refused: {row['refused']}", *[""] * (len(COLUMNS) - 2)]
    slowest = max(row["kernels"], key=lambda kernel: kernel["us"])
    each, peer = slowest["per_element"], row.get("peer")
    return [
        titled(row), f"{row['fraction']:.2f}", f"{row['us']:.1f}", str(len(row["kernels"])),
        slowest["binds"], f"{slowest['moved_over_least']:.2f}", f"{each:.1f}" if each else "",
        f"{slowest['registers']:.0f}", f"{slowest['occupancy']:.0f} %",
        f"{slowest['in_flight']:.0f}", f"{slowest['waves']:.1f}",
        f"{row['roof_us'] / peer['us']:.2f}" if peer else "",
        f"{row['roof_us'] / row['library_us']:.2f}" if "library_us" in row else "",
    ]  # fmt: skip


def drawn(tables: Sequence[Mapping[str, Any]]) -> Any:
    """Bars: of each row the fraction of the roof, a colour a device; Triton's as marks."""
    import matplotlib.pyplot as plt

    names = [titled(row) for row in tables[0]["rows"]]
    figure, axis = plt.subplots(figsize=(9, 0.32 * len(names) + 1.2))
    wide = 0.8 / len(tables)
    for n, found in enumerate(tables):
        rows = {titled(row): row for row in found["rows"] if "refused" not in row}
        at = [i + n * wide for i, name in enumerate(names) if name in rows]
        chosen = [rows[name] for name in names if name in rows]
        axis.barh(at, [row["fraction"] for row in chosen], wide, label=found["device"])
        marks = [(y, row) for y, row in zip(at, chosen, strict=True) if "peer" in row]
        axis.plot(
            [row["roof_us"] / row["peer"]["us"] for _, row in marks], [y for y, _ in marks], "k|",
            markersize=9, label="Triton" if n == 0 and marks else None,
        )  # fmt: skip
    axis.set_yticks([i + 0.4 - wide / 2 for i in range(len(names))], names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.05)
    axis.set_xlabel("fraction of the roof, by the model; nothing was measured")
    axis.legend(loc="lower right")
    figure.tight_layout()
    return figure
