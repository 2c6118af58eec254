"""Numbers for the paragraphs of the page, out of a document's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
Row = Mapping[str, Any]


def rows(found: Document, runner: str = "", **parameters: Any) -> Iterator[Row]:
    """The rows of a runner with these parameters, in the order of the file."""
    for row in found["rows"]:
        same = all(row["parameters"].get(k) == v for k, v in parameters.items())
        if same and row["runner"] == (runner or row["runner"]):
            yield row


def times(found: Document, runner: str, **parameters: Any) -> list[float]:
    """Medians in microseconds; [] if there is no such row."""
    return [row["median_us"] for row in rows(found, runner, **parameters)]


def bandwidth(found: Document, runner: str, **parameters: Any) -> float:
    """The highest rate in GB/s of the bytes that any algorithm must move."""
    found_rates = [r["bytes"] / r["median_us"] / 1e3 for r in rows(found, runner, **parameters)]
    return max(found_rates, default=0.0)


def rate(found: Document, runner: str, **parameters: Any) -> float:
    """The highest rate in GFLOP/s."""
    found_rates = [r["flops"] / r["median_us"] / 1e3 for r in rows(found, runner, **parameters)]
    return max(found_rates, default=0.0)


def values(found: Document, name: str, **parameters: Any) -> list[Any]:
    """The values of a parameter, in order."""
    return list(dict.fromkeys(
        row["parameters"][name] for row in rows(found, **parameters) if name in row["parameters"]
    ))  # fmt: skip


def quickest(found: Document, **parameters: Any) -> str:
    """The three quickest runners with their times, such as ``opweave 1.2 ms, JAX 1.5 ms``.

    Of those that were timed by the clock that timed ours, variants apart.  Those that write to
    memory that is there stand by themselves: they pay for no pages.
    """
    clock = next((r["clock"] for r in rows(found, **parameters) if r["role"] == "ours"), None)
    alike = [
        r
        for r in rows(found, **parameters)
        if r["clock"] == clock and r["role"] in ("ours", "peer")
    ]
    parts = []
    for is_into, text in ((False, ""), (True, "into memory that is there: ")):
        chosen = [row for row in alike if row["runner"].endswith("out=") is is_into]
        order = sorted(chosen, key=lambda row: row["median_us"])[:3]
        shown = ", ".join(f"{row['runner']} {time(row['median_us'])}" for row in order)
        parts += [text + shown] if shown else []
    return "; ".join(parts)


def floors(row: Row, roofs: Mapping[str, float]) -> dict[str, float]:
    """Seconds that a row's work takes at the measured roofs; what nobody measured is left out."""
    found = {"memory": row["bytes"] / roofs["copy"], "overhead": roofs["launch"]}
    if roofs[row["unit"]]:
        arithmetic = row["flops"] / roofs[row["unit"]] + row["special"] / roofs["special"]
        found["arithmetic"] = arithmetic
    return found


def regime(row: Row, roofs: Mapping[str, float]) -> str:
    """Which floor binds a row, and how much of its time that is.

    A floor that is less than half of the time explains it no better than the kernel's own code.
    """
    found = floors(row, roofs)
    name = max(found, key=lambda n: found[n])
    share = 1e6 * found[name] / row["median_us"]
    return f"{name} binds, {share:.0%} of the time" if share >= 0.5 else (
        f"{name} explains {share:.0%} of it, the rest is the kernel's own code, or fresh memory"
    )  # fmt: skip


def binding(row: Row, roofs: Mapping[str, float]) -> str:
    """What binds a row, beside its floors."""
    shown = ", ".join(f"{k} {time(1e6 * v)}" for k, v in floors(row, roofs).items())
    case = ", ".join(f"{k} {v}" for k, v in row["parameters"].items())
    return (
        f"{case}: {time(row['median_us'])} by {row['runner']}; floors: {shown}: "
        f"{regime(row, roofs)}"
    )


def time(us: float) -> str:
    """Microseconds for people.

    >>> time(2.51), time(12_345.0)
    ('2.51 us', '12.3 ms')
    """
    if us >= 1e6:
        return f"{us / 1e6:.3g} s"
    return f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.3g} us"


def amount(nbytes: float) -> str:
    """Bytes for people.

    >>> amount(3 << 20)
    '3 MiB'
    """
    for unit in ("B", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1024
    return f"{nbytes:.3g} GiB"
