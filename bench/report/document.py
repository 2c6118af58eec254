"""The JSON file of a run: the only thing that plots, pages and tables are made from.

{"format": 2, "experiment": "fusion", "title": ..., "about": ..., "device": "host",
 "complete": true, "machine": {...}, "options": {...}, "roofs": {...}, "notes": [...],
 "absent": {"jax": "ModuleNotFoundError: ..."}, "copy_rates": [...], "rows": [...],
 "refused": [...], "limits": [...], "figures": [...], "lines": [...], "marks": [...]}
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FORMAT = 2
# What was measured until an experiment broke off; an older whole file stays beside it.
PARTIAL = ".partial.json"
# Keys that every file, row and so on has; a reader may rely on them.
DOCUMENT = (
    "format", "experiment", "title", "about", "device", "complete", "machine", "options", "roofs",
    "notes", "absent", "copy_rates", "rows", "refused", "limits", "figures", "lines", "marks",
)  # fmt: skip
ROW = (
    "runner", "role", "parameters", "bytes", "bytes_moved", "flops", "special", "unit", "check",
    "clock", "samples_us", "median_us", "quartiles_us", "spread", "visits_us", "sets",
)  # fmt: skip
REFUSED = ("runner", "role", "parameters", "reason", "wrong")
LIMIT = ("name", "limit", "value", "unit", "met", "why")
ROOFS = ("copy", "fp32", "special", "matrix", "matrix16", "launch")  # matrix16: 0 if not measured
FIGURE = ("name", "kind", "x", "y", "xlabel", "panels", "xlog", "ylog")
LINE = ("figure", "label", "points", "panel")
MARK = ("figure", "label", "x", "panel")
MACHINE = (
    "date", "commit", "system", "python", "processor", "cores", "caches", "memory_bytes", "load",
    "pace_ms", "versions", "gpu", "note",
)  # fmt: skip
PARTS = {
    "rows": ROW, "refused": REFUSED, "limits": LIMIT, "figures": FIGURE, "lines": LINE,
    "marks": MARK,
}  # fmt: skip


def missing_keys(found: Mapping[str, Any]) -> list[str]:
    """Keys that a document lacks, as paths; [] if it has them all."""
    lacks = [k for k in DOCUMENT if k not in found]
    for part, keys in {"machine": MACHINE, "roofs": ROOFS}.items():
        lacks += [f"{part}.{k}" for k in keys if k not in mapping(found.get(part))]
    for part, keys in PARTS.items():
        rows = found.get(part)
        for number, row in enumerate(rows if isinstance(rows, list) else []):
            lacks += [f"{part}[{number}].{k}" for k in keys if k not in mapping(row)]
    return lacks


def mapping(part: Any) -> Mapping[str, Any]:
    return part if isinstance(part, dict) else {}


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a document, a row per line, in the place of an older one only when it is whole.

    Raises:
        ValueError: keys are missing, or a figure is not finite.
    """
    lacks = missing_keys(found)
    if lacks:
        raise ValueError(f"the document lacks {', '.join(lacks)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(_text(found))
    os.replace(beside, path)


def _text(found: Mapping[str, Any]) -> str:
    parts = []
    for key, value in found.items():
        if isinstance(value, list) and value:
            lines = ",\n  ".join(json.dumps(v, allow_nan=False) for v in value)
            parts.append(f" {json.dumps(key)}: [\n  {lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        ValueError: not a document of this format, or incomplete; names the file.
    """
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{path.name}: expected a benchmark of format {FORMAT}")
    lacks = missing_keys(found) + [p for p in PARTS if not isinstance(found.get(p), list)]
    if lacks:
        raise ValueError(f"{path.name}: lacks {', '.join(lacks)}")
    times = [t for row in found["rows"] for t in (row["median_us"], *row["quartiles_us"])]
    if not all(isinstance(t, int | float) and 0 < t < math.inf for t in times):
        raise ValueError(f"{path.name}: a time that is no positive number")
    return found


def stored(results: Path) -> Iterator[tuple[Path, dict[str, Any] | str]]:
    """Every document below a folder, or why a file is none, in the order of the paths.

    Of an experiment that broke off only where no whole file is there.
    """
    for path in sorted(results.glob("*/*.json")):
        if path.with_name(path.name.replace(PARTIAL, ".json")).exists() and PARTIAL in path.name:
            continue
        try:
            yield path, read(path)
        except ValueError as error:
            yield path, str(error)
