"""``opweave demo``: develop a photograph and read digits, fused and unfused, checked, timed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import opweave as ow
from opweave._functions.fused import Fused
from opweave._programs.units import size
from opweave.cli import pictures
from opweave.cli.measure import Measured, Testbed, best_testbed, measure
from opweave.cli.terminal import duration, print_json, print_table, progress
from opweave.compiler.ir.device import device_for
from opweave.opcodes.errors import FileError, RequestError

LEAST_ACCURACY = 0.95
MOST_CHECKED = 400_000
LOOK: dict[str, float] = {
    "red": 1.06, "blue": 0.94, "stops": -0.4, "degrees": -3.0, "amount": 1.1, "slope": 0.95,
    "value": 2.2,
}  # fmt: skip


def develop(
    img: Any, red: Any, blue: Any, stops: Any, degrees: Any, amount: Any, slope: Any, value: Any
) -> Any:
    """Ten pixel operators, in linear light between two gammas: uint8 in, uint8 out."""
    px = ow.pixels
    x = px.from_uint8(img)
    x = px.gamma(x, 1 / value)
    x = px.white_balance(x, red, 1.0, blue)
    x = px.exposure(x, stops)
    x = px.aces(x)
    x = px.hue(x, degrees)
    x = px.saturation(x, amount)
    x = px.gamma(x, value)
    x = px.contrast(x, slope)
    return px.to_uint8(x)


def classify(images: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """Probabilities of ten digits: images [n, 64] of 0..16, through layers of 64, 32 and 10."""
    x = images.astype(np.float32) / 16
    x = ow.relu(x @ w1 + b1)
    x = ow.relu(x @ w2 + b2)
    return ow.softmax(x @ w3 + b3)


@dataclass(frozen=True)
class Part:
    """One part of the demo, measured; ``accuracy`` is of the classifier alone."""

    name: str
    fused: Fused
    arguments: Sequence[Any]
    measured: Measured
    accuracy: float | None = None

    @property
    def failures(self) -> list[str]:
        """What does not hold, a line each."""
        found = [f"{self.name}: {text}" for text in self.measured.failures]
        if self.accuracy is not None and self.accuracy < LEAST_ACCURACY:
            found.append(
                f"{self.name}: accuracy {self.accuracy:.4f}, expected at least {LEAST_ACCURACY}"
            )
        return found


def demo(options: Namespace) -> int:
    """Run both parts, write pictures and kernels, print a table; status 0 if all checks hold."""
    if options.image == "" or options.out == "":
        raise RequestError("--image and --out: expected a name, found an empty text")
    targets = dict.fromkeys(["host", device_for(options.target).arch])
    picture = pictures.read(Path(options.image) if options.image else pictures.sample())
    folder = pictures.folder(Path(options.out))
    testbed = best_testbed()
    with progress(5) as say:
        say("developing the photograph")
        photograph = developed(picture, testbed)
        say("reading digits")
        digits = read_digits(testbed)
        say("writing pictures")
        pictures.write(folder / "before.png", picture.pixels, picture.alpha)
        pictures.write(folder / "after.png", photograph.measured.result, picture.alpha)
        say("writing kernels")
        written = write_kernels([photograph, digits], list(targets), folder)
    parts = [photograph, digits]
    failures = [line for part in parts for line in part.failures]
    if options.json:
        print_json(_as_json(parts, picture, folder, ["before.png", "after.png", *written]))
    else:
        _print(parts, picture, folder, written)
    for line in failures if not options.json else ():
        print(f"FAILED: {line}")
    return 1 if failures else 0


def developed(picture: pictures.Picture, testbed: Testbed) -> Part:
    """The photograph through the render graph."""
    fused, arguments = ow.fuse(develop), [picture.pixels, *LOOK.values()]
    sample = [lines_of(picture.pixels), *LOOK.values()]
    return Part("photograph", fused, arguments, measure(fused, arguments, testbed, sample))


def lines_of(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Lines of a picture, evenly spaced, of at most ``MOST_CHECKED`` pixels in all.

    The check keeps every step of the graph in float64, with its bound; of a whole large picture
    that would take minutes and gigabytes.
    """
    every = -(-pixels.shape[0] * pixels.shape[1] // MOST_CHECKED)
    return np.ascontiguousarray(pixels[:: max(1, every)])


def read_digits(testbed: Testbed) -> Part:
    """The held-out digits through the trained classifier."""
    data = load_digits()
    fused, arguments = ow.fuse(classify), [data[n] for n in ("images", *WEIGHTS)]
    measured = measure(fused, arguments, testbed)
    found = measured.result.argmax(axis=-1) == data["labels"]
    return Part("digits", fused, arguments, measured, float(np.mean(found)))


WEIGHTS = ("w1", "b1", "w2", "b2", "w3", "b3")


def load_digits() -> dict[str, np.ndarray[Any, Any]]:
    """Weights, test images and labels, as ``bench/tools/train_digits.py`` wrote them.

    Raises:
        FileError: the package data is missing or damaged.
    """
    path = files("opweave") / "data" / "digits.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in ("images", "labels", *WEIGHTS)}
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"{path} cannot be read: {error}; install opweave again") from error


def write_kernels(parts: Sequence[Part], targets: Sequence[str], folder: Path) -> list[str]:
    """Write every fused kernel as NAME.TARGET.cu; returns the file names.

    Raises:
        FileError: a file cannot be written.
    """
    written = []
    for part in parts:
        for target in targets:
            for kernel in part.fused.lower(*part.arguments, target=target).kernels:
                if kernel.data.by_numpy:
                    continue  # a product that a library computes has no source
                path = folder / f"{kernel.name}.{target}.cu"
                try:
                    path.write_text(kernel.source)
                except OSError as error:
                    raise FileError(f"{path} cannot be written: {error.strerror}") from error
                written.append(path.name)
    return written


def _as_json(
    parts: Sequence[Part], picture: pictures.Picture, folder: Path, written: Sequence[str]
) -> dict[str, Any]:
    rows = []
    for part in parts:
        kept = {f.name: getattr(part.measured, f.name) for f in fields(Measured)}
        del kept["result"], kept["failures"]
        rows.append({"name": part.name, **kept, "speedup": part.measured.speedup,
                     "accuracy": part.accuracy, "ok": not part.failures,
                     "failures": part.failures})  # fmt: skip
    return {
        "ok": all(row["ok"] for row in rows),
        "picture": {"shape": list(picture.pixels.shape), "notes": list(picture.notes)},
        "folder": str(folder),
        "files": list(written),
        "parts": rows,
    }


COLUMNS = ("part", "kernels", "saved", "unfused", "fused", "NumPy", "speed-up", "error")
LEGEND = """\
saved: bytes of memory traffic; times: the least of several calls
speed-up: NumPy's time over the fused one; error: of its bound, 1 is allowed"""


def _print(
    parts: Sequence[Part], picture: pictures.Picture, folder: Path, written: Sequence[str]
) -> None:
    height, width, _ = picture.pixels.shape
    executor = parts[0].measured.executor
    where = "the host" if executor == "host" else executor
    print("; ".join([f"picture of {width} x {height} pixels, on {where}", *picture.notes]))
    print_table(COLUMNS, [_row(part) for part in parts], "lrrrrrrr")
    print(LEGEND)
    same = all(part.measured.same_bits for part in parts)
    print(f"fused gives bit for bit what unfused gives: {'yes' if same else 'NO'}")
    for part in parts:
        if part.accuracy is not None:
            print(f"{part.name}: {part.accuracy:.1%} read correctly")
    tight = [f"{part.name} ({part.measured.error:.3g})" for part in parts if part.measured.tight]
    if tight:
        print(f"over half of the bound: {', '.join(tight)}")
    print(f"wrote before.png, after.png and {len(written)} kernels to {folder}")
    print(f"open next: {folder / 'after.png'} beside before.png, then the kernel that made it,")
    print(f"  {folder / kernel_of(parts[0], written)}")


def _row(part: Part) -> tuple[str, ...]:
    m = part.measured
    times = (m.seconds_unfused, m.seconds, m.seconds_numpy)
    return (
        part.name, f"{m.kernels_unfused} -> {m.kernels}", size(m.bytes_saved),
        *map(duration, times), f"{m.speedup:.1f} x", f"{m.error:.2g}",
    )  # fmt: skip


def kernel_of(part: Part, written: Sequence[str]) -> str:
    """The file of the kernel that ran: of the host, or else of the architecture."""
    found = [name for name in written if name.startswith(f"{part.fused.__wrapped__.__name__}_")]
    host = part.measured.executor == "host"
    return next((name for name in found if name.endswith(".host.cu") == host), found[0])
