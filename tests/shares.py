"""python -m tests.shares: a share of every long run, another one for each state of the tree.

The seed is a hash of the names and contents of the package's and the tests' files, so that the
same tree gives the same shares, with and without git.  Each command is printed before it runs, and
again if it fails: it repeats the share on any tree.  Exit status 1 if one failed.

    python -m tests.shares [--seed N] [--hold-cells] [--list] [fuzz] [mutants] [slow]
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("api", "compiler", "opcodes", "runtime", "templates", "tests")
# What runs and tools leave in these folders.
MADE = {"__pycache__", "found"}
PROGRAMS = 250
SHARES = {"mutants": 100, "slow": 4}


def files() -> Iterable[Path]:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not MADE.intersection(path.parts):
                yield path


def seed_of_the_tree() -> int:
    found = sha256()
    for name, path in sorted((str(p.relative_to(ROOT)), p) for p in files()):
        found.update(f"{name} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return int(found.hexdigest()[:8], 16)


def fuzz(seed: int) -> list[str]:
    return [
        "-m",
        "tests.fuzz",
        "--seed",
        str(seed),
        "--programs",
        str(PROGRAMS),
        "--minutes",
        "30",
    ]


def mutants(seed: int) -> list[str]:
    count = SHARES["mutants"]
    return ["-m", "tests.mutants", "--every", str(count), "--first", str(seed % count)]


def slow(seed: int) -> list[str]:
    """Of the slow tier, with every variant for every architecture."""
    share = f"{seed % SHARES['slow']}/{SHARES['slow']}"
    return ["-m", "pytest", "-q", "-n", "2", "--tier", "slow", "--share", share]


LONG: dict[str, Callable[[int], list[str]]] = {f.__name__: f for f in (slow, mutants, fuzz)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.shares",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="*", help=f"of {', '.join(LONG)}; default: all")
    parser.add_argument("--seed", type=int, help="default: of the tree")
    parser.add_argument("--hold-cells", action="store_true", help="of slow, see docs/testing.md")
    parser.add_argument("--list", action="store_true", help="print the commands, run nothing")
    options = parser.parse_args(arguments)
    if unknown := set(options.runs) - LONG.keys():
        parser.error(f"no long run: {', '.join(sorted(unknown))}; there are {', '.join(LONG)}")
    seed = seed_of_the_tree() if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    failed = [
        shown
        for name in options.runs or LONG
        if not run(shown := command(name, seed, options.hold_cells), options.list)
    ]
    for shown in failed:
        print(f"failed; to repeat it: {shown}")
    return 1 if failed else 0


def command(name: str, seed: int, hold_cells: bool) -> str:
    held = ["--hold-cells"] if hold_cells and name == "slow" else []
    return shlex.join(["python", *LONG[name](seed), *held])


def run(shown: str, only_list: bool) -> bool:
    """Run a command by this Python; True if it succeeds."""
    print(f"+ {shown}", flush=True)
    if only_list:
        return True
    begun = time.monotonic()
    status = subprocess.run([sys.executable, *shlex.split(shown)[1:]], cwd=ROOT).returncode
    print(f"took {time.monotonic() - begun:.0f} s", flush=True)
    return status == 0


if __name__ == "__main__":
    sys.exit(main())
