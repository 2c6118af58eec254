"""Run an experiment, or draw one again: ``python bench/run.py fusion --json FILE --plot FOLDER``.

``python bench/run.py list`` names the experiments; ``plot FILE.json`` draws from a file alone.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, load
from record import Options, Record, document, read, write

BROKE_OFF = "the experiment"


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 1 if a result of ours was refused or the experiment broke off."""
    options = parser().parse_args(arguments)
    if options.what == "list":
        print("\n".join(EXPERIMENTS))
        return 0
    if options.what == "plot":
        draw(
            read(Path(options.file)), Path(options.plot or Path(options.file).parent), options.svg
        )
        return 0
    return experiment(options)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    commands = made.add_subparsers(dest="what", required=True)
    commands.add_parser("list", help="names of the experiments")
    plot = commands.add_parser("plot", help="draw from a JSON file and from nothing else")
    plot.add_argument("file")
    for name in EXPERIMENTS:
        one = commands.add_parser(name)
        one.add_argument("--json", help="write what was found to this file")
        one.add_argument("--quick", action="store_true", help="small sizes, few samples")
        one.add_argument("--sizes", type=integers, help="such as 4096,1048576")
        one.add_argument("--executors", type=names, help="host, cuda or host,cuda")
        one.add_argument("--note", default="", help="what a reader must know of the machine")
        one.add_argument("--commit", default="", help="where the folder is no clone")
    for one in commands.choices.values():
        one.add_argument("--plot", help="write figures to this folder")
        one.add_argument("--svg", action="store_true", help="SVG beside PNG")
    return made


def integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def names(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    unknown = set(found) - {"host", "cuda"}
    if unknown:
        raise argparse.ArgumentTypeError(f"expected host or cuda, found {', '.join(unknown)}")
    return found


def experiment(options: argparse.Namespace) -> int:
    """Measure, write, draw; what was found before a failure is written too."""
    from machine import describe, pace

    chosen = Options(options.executors, options.sizes, options.quick, options.note, options.commit)
    machine, record = describe(chosen.note, chosen.commit), Record(chosen)
    module = load(options.what)
    try:
        module.measure(record)
    except Exception as error:  # a device that is lost must not lose the rows before it
        traceback.print_exc()
        record.refuse("", BROKE_OFF, {}, error)
    machine["pace_ms"].append(pace())
    found = document(options.what, module.TITLE, module.ABOUT, machine, record)
    if options.json:
        write(Path(options.json), found)
    report(found)
    if options.plot:
        draw(found, Path(options.plot), options.svg)
    # a peer that fails is a finding, not a failure
    return int(any(row["runner"].startswith(("opweave", BROKE_OFF)) for row in record.refused))


def report(found: dict[str, Any]) -> None:
    """Who was absent, and the limits."""
    for name, why in found["absent"].items():
        print(f"absent: {name} ({why})")
    for limit in found["limits"]:
        verdict = {True: "met", False: "MISSED", None: f"not measured: {limit['why']}"}
        value = "-" if limit["value"] is None else f"{limit['value']:g} {limit['unit']}"
        print(f"{limit['name']}: {value}, limit {limit['limit']}: {verdict[limit['met']]}")


def draw(found: dict[str, Any], folder: Path, svg: bool) -> None:
    """Figures; without matplotlib, says so and measures all the same."""
    try:
        import plots
    except ImportError as error:
        print(f"no figures: {error}", file=sys.stderr)
        return
    for path in plots.draw(found, folder, ("png", "svg") if svg else ("png",)):
        print(path)


if __name__ == "__main__":
    sys.exit(main())
