"""The JSON file of a run: the only thing that plots, pages and tables are made from.

{"format": 3, "experiment": "fusion", "title": ..., "about": ..., "device": "host",
 "complete": true, "machine": {...}, "options": {...}, "roofs": {...}, "notes": [...],
 "absent": {"jax": "ModuleNotFoundError: ..."}, "copy_rates": [...], "rows": [...],
 "refused": [...], "limits": [...], "figures": [...], "lines": [...], "marks": [...]}

In the file, samples are packed: in place of ``samples_us`` stands ``samples_ns_steps``, whole
nanoseconds, the first sample and then what each adds to the one before.  ``read`` unpacks them.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FORMAT = 3
OLD_FORMAT = 2  # its samples are not packed; --compare may be given results of before
SAMPLES, PACKED = "samples_us", "samples_ns_steps"
# What was measured until an experiment broke off; an older whole file stays beside it.
PARTIAL = ".partial.json"
# Keys that every file, row and so on has; a reader may rely on them.
DOCUMENT = (
    "format", "experiment", "title", "about", "device", "complete", "machine", "options", "roofs",
    "notes", "absent", "copy_rates", "rows", "refused", "limits", "figures", "lines", "marks",
)  # fmt: skip
ROW = (
    "runner", "role", "parameters", "bytes", "bytes_moved", "flops", "special", "unit", "check",
    "clock", SAMPLES, "median_us", "quartiles_us", "spread", "visits_us", "sets",
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
        ValueError: keys are missing, a figure is not finite, or a sample is not a whole number of
            nanoseconds, so that packing would change it.
    """
    lacks = missing_keys(found)
    if lacks:
        raise ValueError(f"the document lacks {', '.join(lacks)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(_text({**found, "format": FORMAT}))
    os.replace(beside, path)


def _text(found: Mapping[str, Any]) -> str:
    parts = []
    for key, value in found.items():
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(_json(packed(item)) for item in value) + "\n]"
        else:
            text = _json(value)
        parts.append(f"{_json(key)}:{text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def packed(item: Any) -> Any:
    """A row as the file has it; what has no samples, as it is.

    >>> packed({"runner": "a", "samples_us": [4.5, 4.521, 4.52]})
    {'runner': 'a', 'samples_ns_steps': [4500, 21, -1]}
    """
    if SAMPLES not in mapping(item):
        return item
    samples = item[SAMPLES]
    whole = [round(us * 1000) if math.isfinite(us) else 0 for us in samples]
    if [n / 1000 for n in whole] != list(samples):
        raise ValueError("a sample is not a whole number of nanoseconds")
    steps = [b - a for a, b in itertools.pairwise([0, *whole])]
    return {PACKED if k == SAMPLES else k: steps if k == SAMPLES else v for k, v in item.items()}


def unpacked(item: Any) -> Any:
    """A row as readers have it: the inverse of ``packed``.

    >>> unpacked({"runner": "a", "samples_ns_steps": [4500, 21, -1]})
    {'runner': 'a', 'samples_us': [4.5, 4.521, 4.52]}
    """
    if PACKED not in mapping(item):
        return item
    samples = [n / 1000 for n in itertools.accumulate(item[PACKED])]
    return {SAMPLES if k == PACKED else k: samples if k == PACKED else v for k, v in item.items()}


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        ValueError: not a document of this format, or incomplete; names the file.
    """
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(found, dict) or found.get("format") not in (FORMAT, OLD_FORMAT):
        raise ValueError(f"{path.name}: expected a benchmark of format {FORMAT}")
    found = {k: [unpacked(i) for i in v] if isinstance(v, list) else v for k, v in found.items()}
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
