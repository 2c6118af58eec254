"""Measure, draw, compare: ``python bench/run.py [EXPERIMENT ...]``.

Each experiment of a run leaves one JSON file and its figures in ``bench/results/NAME``, where NAME
is ``host`` or the card's, such as ``h200``; ``docs/benchmarks.md`` is made from those files.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if not __package__:  # run by its path: Python put this folder there, -m puts the clone's
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.experiments import EXPERIMENTS, MODEL, load
from bench.measure.executors import Executor, find, measured_roofs, reason
from bench.measure.machine import describe, pace, place
from bench.measure.record import Options, Record, document
from bench.report.document import PARTIAL, read, stored, write
from bench.report.progress import Bar, report

RESULTS = Path(__file__).parent / "results"
BROKE_OFF, INTERRUPTED = "the experiment", 130


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    made.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="default: all")
    made.add_argument("--list", action="store_true", help="name the experiments, and stop")
    made.add_argument("--standing", action="store_true", help="our time over others', and stop")
    made.add_argument("--page", action="store_true", help="write docs/benchmarks.md, and stop")
    made.add_argument("--draw", action="store_true", help="draw all stored results, and stop")
    made.add_argument("--compare", type=Path, metavar="FOLDER",
                      help="time of each row over its time in FOLDER, and stop")  # fmt: skip
    made.add_argument(
        "--least-ms", type=float, default=0.0, help="of --compare: shorter rows do not count"
    )
    made.add_argument("--against", metavar="VENV|COMMIT",
                      help="this build and another in turns, round by round; status 1 where a row "
                      "is slower, and stop")  # fmt: skip
    made.add_argument("--hold", action="store_true", help="of model: status 1 where a row got "
                      "worse than the stored one")  # fmt: skip
    made.add_argument(
        "--limit", type=ratio, help="of --against: how many times longer a row may take; default: "
        "by experiment"
    )  # fmt: skip
    measuring(made)
    return made


def measuring(made: argparse.ArgumentParser) -> None:
    """Add the options of what is measured."""
    made.add_argument("--quick", action="store_true", help="small sizes, few samples")
    made.add_argument("--device", choices=("host", "cuda"), help="default: all that are there")
    made.add_argument("--peers", type=names, help="such as NumPy,JAX, or none; default: all that "
                      "are there")  # fmt: skip
    made.add_argument("--sizes", type=integers, help="in place of an experiment's own")
    made.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    made.add_argument(
        "--rounds", type=int, choices=range(1, 21), metavar="N",
        help="measure all so often and pool each row's visits, for machines that drift; of "
        "--against, where 20 is the default and 6 the fewest: rounds to compare",
    )  # fmt: skip
    made.add_argument("--no-figures", action="store_true", help="measure only; see --draw")
    made.add_argument("--note", default="", help="what a reader must know of the machine")
    made.add_argument("--commit", default="", help="where the folder is no clone")


def names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def integers(text: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in text.split(",") if part.strip())
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"expected positive integers such as 64,128: {text!r}")
    return found


def ratio(text: str) -> float:
    found = float(text)
    if not 0 < found < 100:
        raise argparse.ArgumentTypeError(f"expected a ratio such as 1.03: {text!r}")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 1 if a result of ours was refused or an experiment broke off."""
    made = parser()
    options = made.parse_args(arguments)
    known = EXPERIMENTS if options.experiments != [MODEL] else (MODEL,)
    unknown = [name for name in options.experiments if name not in known]
    if unknown:
        expected = f"{', '.join(EXPERIMENTS)}; or {MODEL} alone"
        made.error(f"unknown experiment {', '.join(unknown)}: expected {expected}")
    if options.list:
        for name in EXPERIMENTS:
            print(f"{name:<12} {load(name).TITLE}")
        print(f"{MODEL:<12} Kernels on GPUs by the model, no GPU needed")
        return 0
    for wanted, act in (("standing", show_standing), ("page", write_page), ("draw", draw_all)):
        if getattr(options, wanted):
            return act(options.results)
    if options.compare:
        return compare_results(options, made.error)
    if options.against:
        return compare_builds(options, made.error)
    try:
        options.results.mkdir(parents=True, exist_ok=True)
        if options.experiments == [MODEL]:
            return load(MODEL).asked(options)
        return measure(options)
    except (ValueError, OSError) as error:
        made.error(str(error))


def compare_results(options: argparse.Namespace, refuse: Callable[[str], Any]) -> int:
    """Print what rows take over what they took in another folder."""
    from bench.report.compare import pairs, table

    if not options.compare.is_dir():
        refuse(f"--compare {options.compare}: no such folder")
    if not pairs(options.results, options.compare):
        refuse(
            f"--compare {options.compare}: no row of {options.results} is there: expected a "
            "folder that holds host/, or a card's, as --results does"
        )
    print(table(options.results, options.compare, options.least_ms))
    return 0


def compare_builds(options: argparse.Namespace, refuse: Callable[[str], Any]) -> int:
    """Status 1 where this build is slower than the other; 2 where they cannot be compared."""
    from bench.tools.against import ROUNDS, CannotCompare, compare

    try:
        return compare(
            options.experiments or EXPERIMENTS, options.against, rounds=options.rounds or ROUNDS,
            limit=options.limit, device=options.device or "host", sizes=options.sizes,
        )  # fmt: skip
    except CannotCompare as error:
        refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    return 2


def measure(options: argparse.Namespace) -> int:
    """Run the experiments on each device that is there."""
    from bench.measure import peers

    rounds = options.rounds or 1
    chosen = Options(
        options.quick, options.sizes, options.peers, options.note, options.commit, rounds
    )
    peers.chosen("host", options.peers, quick=options.quick)  # unknown names are refused now
    status = 0
    for device in (options.device,) if options.device else ("host", "cuda"):
        try:
            executor = find(device)
        except Exception as error:  # CuPy raises errors of the driver, the runtime and NVRTC
            print(f"absent: {device} ({reason(error)})")
            status |= int(options.device is not None)
            continue
        status |= measure_on(executor, options, chosen)
        if status == INTERRUPTED:
            break
    return status


def measure_on(executor: Executor, options: argparse.Namespace, chosen: Options) -> int:
    """Run the experiments on one device, round by round, and draw what was found."""
    device, status = executor.name, 0
    print(f"{device}: measuring the roofs")
    roofs = measured_roofs(executor)
    listed = options.experiments or EXPERIMENTS
    folder = options.results / place(device, describe(), quick=options.quick)
    visits: dict[str, Any] = {name: {} for name in listed}
    with Bar(chosen.rounds * len(listed)) as (advance, log):
        for name in [*listed] * chosen.rounds:  # one round after the other
            advance(name)
            found = experiment(name, executor, roofs, chosen, folder, log, visits[name])
            status |= found
            if found == INTERRUPTED:
                break
    if not options.no_figures:  # after all measuring, whose time is dearer
        draw([folder / f"{name}.json" for name in listed])
    return status


def experiment(
    name: str, executor: Executor, roofs: dict[str, float], options: Options, folder: Path,
    log: Callable[[str], None], earlier: dict[Any, Any],
) -> int:  # fmt: skip
    """Measure and write; what was found before a failure, or Ctrl-C, is kept.

    ``earlier`` holds the visits of each row in earlier rounds, and gets those of this one.
    """
    module = load(name)
    if executor.name not in getattr(module, "DEVICES", ("host", "cuda")):
        log(f"{name}: not on {executor.name}")
        return 0
    machine = describe(options.note, options.commit)
    path, partial = folder / f"{name}.json", folder / f"{name}{PARTIAL}"

    def keep(record: Record, *, complete: bool = False) -> dict[str, Any]:
        found = document(name, module, machine, record, complete=complete)
        write(path if complete else partial, found)
        if complete:
            partial.unlink(missing_ok=True)
        return found

    record = Record(options, executor, roofs, log=log, changed=keep, earlier=earlier)
    status, complete = run_to_end(module, record)
    if options.sizes and not record.is_sized:
        record.note("--sizes has no meaning for this experiment: its own were measured")
    machine["pace_ms"].append(pace())
    report(keep(record, complete=complete), log)
    log(str(path if complete else partial))
    # a peer that fails is a finding, not a failure
    return status or int(any(row["role"] in ("ours", "variant") for row in record.refused))


def run_to_end(module: Any, record: Record) -> tuple[int, bool]:
    """Status, and whether all of an experiment was measured; what it broke off for is noted."""
    try:
        module.measure(record)
    except KeyboardInterrupt:
        record.note("interrupted: not all of it was measured")
        return INTERRUPTED, False
    except Exception as error:  # a device that is lost must not lose the rows before it
        traceback.print_exc()
        record.refuse(BROKE_OFF, "ours", {}, error)
        return 0, False
    return 0, True


def draw(paths: Iterable[Path]) -> int:
    """Figures beside their files, and one with all kernels; without matplotlib, says so."""
    try:
        from bench.report import plots
        from bench.report.roofline import roofline
    except ImportError as error:
        print(f"no figures: {error}", file=sys.stderr)
        return 1
    folders: dict[Path, None] = {}
    for path in filter(Path.exists, paths):
        try:
            plots.draw(read(path), path.parent, path.stem)
        except ValueError as error:
            print(f"not drawn: {error}", file=sys.stderr)
            continue
        folders[path.parent] = None
    for folder in folders:  # of all that lies there, whatever was measured now
        found = [d for p, d in stored(folder.parent) if p.parent == folder and isinstance(d, dict)]
        if any(row["flops"] for document in found for row in document["rows"]):
            plots.save(lambda d=found: roofline(d), folder / "roofline.svg")
    return 0


def show_standing(results: Path) -> int:
    from bench.report.standing import table

    print(table(results))
    return 0


def write_page(results: Path) -> int:
    """The page of the project, or of another folder of results beside them."""
    from bench.report.page import page

    if not any(isinstance(d, dict) and not d["options"]["quick"] for _, d in stored(results)):
        print(f"no page: {results} holds no results but of quick runs", file=sys.stderr)
        return 1
    own = Path(__file__).parent.parent / "docs" / "benchmarks.md"
    path = own if results.resolve() == RESULTS.resolve() else results / "benchmarks.md"
    path.write_text(page(results, path, EXPERIMENTS, load))
    print(path)
    return 0


def draw_all(results: Path) -> int:
    return draw(sorted(results.glob("*/*.json")))


def stopped(*_: Any) -> None:
    """Whoever ends the process by SIGTERM, as a time limit does, interrupts it."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that left ends it quietly
    sys.exit(main())
