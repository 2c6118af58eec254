"""Builds of opweave in environments of their own, to be compared."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]
THIS, OTHER = "this build", "the other"
SETUPTOOLS = 77  # what pyproject.toml asks for
SECONDS = 1800  # of a process; the longest experiment takes a tenth
PACKAGES = ("site-packages", "dist-packages")


class CannotCompare(Exception):
    """Two builds cannot be compared; says why, and what to do."""


@dataclass(frozen=True)
class Build:
    """An environment whose Python imports a build of opweave.

    Attributes:
        name: for people: "this build", "the other".
        python: its interpreter.
        inside: a folder that the build must be imported from; None: wherever it is.
    """

    name: str
    python: Path
    inside: Path | None = None


def run(
    command: Sequence[Any], what: str, folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """What a command prints.

    Raises:
        CannotCompare: it fails; with the end of what it said.
    """
    try:
        ran = subprocess.run(
            [str(part) for part in command], cwd=folder, env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotCompare(f"{what}: {error}") from None
    if ran.returncode:
        said = "\n".join(ran.stdout.strip().split("\n")[-15:])
        raise CannotCompare(f"{what}: exit status {ran.returncode} of {command[1]}:\n{said}")
    return ran.stdout


@contextmanager
def builds(against: str) -> Iterator[tuple[Build, Build, Path]]:
    """This build and the other, and a folder; what was made for them goes in the end.

    Raises:
        CannotCompare: ``against`` is neither, or is not to be built.
    """
    with tempfile.TemporaryDirectory(prefix="opweave-against-") as text:
        folder = Path(text)
        python = Path(against) / "bin" / "python"
        if python.exists():
            yield Build(THIS, Path(sys.executable)), Build(OTHER, python.absolute()), folder
            return
        commit = commit_of(against)
        # both are regular installs, whatever this environment has: an editable one is another
        yield installed(THIS, "", folder), installed(OTHER, commit, folder), folder


def commit_of(text: str) -> str:
    """The hash of a commit of this clone.

    Raises:
        CannotCompare: there is none of that name.
    """
    try:
        return run([*git(), "rev-parse", "--verify", "--end-of-options", f"{text}^{{commit}}"],
                   "git", BENCH).strip()  # fmt: skip
    except CannotCompare:
        raise CannotCompare(
            f"--against {text}: expected a virtual environment, with bin/python in it, or a "
            "commit of this clone"
        ) from None


def git() -> list[str]:
    return ["git", "-C", str(BENCH.parent), "--no-optional-locks"]


def installed(name: str, commit: str, folder: Path) -> Build:
    """A build of a commit, or of the files as they are, in an environment of its own.

    All else that it needs it finds in this environment.
    """
    print(f"{name}: building {commit[:12] or 'the files as they are'}")
    place = folder / name.replace(" ", "-")
    source, home = place / "source", place / "venv"
    source.mkdir(parents=True)
    copy_files(commit, source)
    run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", home], name, folder)
    site = next(home.glob("lib/python*/site-packages"))
    isolation = ["--no-build-isolation"] if has_setuptools() else []
    run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-deps", *isolation, "--target", site, source], name, folder)  # fmt: skip
    # packages of this environment come behind its own, and the .pth files there are not read:
    # an editable install of opweave is not seen
    others = [path for path in sys.path if Path(path).name in PACKAGES]
    (site / "others.pth").write_text("\n".join(others) + "\n")
    shutil.rmtree(source)
    return Build(name, home / "bin" / "python", site)


def copy_files(commit: str, target: Path) -> None:
    """The files of a commit; without one, those that git would see as they are now."""
    if commit:
        archive = target.parent / "source.tar"
        run([*git(), "archive", "--output", archive, commit], "git", BENCH)
        shutil.unpack_archive(archive, target)
        archive.unlink()
        return
    listed = run([*git(), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                 "git", BENCH)  # fmt: skip
    for name in filter(None, listed.split("\0")):
        path = BENCH.parent / name
        if path.is_file():  # one that was deleted is listed still
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)


def has_setuptools() -> bool:
    try:
        return int(version("setuptools").split(".")[0]) >= SETUPTOOLS
    except PackageNotFoundError:
        return False
