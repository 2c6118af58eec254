"""Read any picture that Pillow reads as 8-bit RGB, and write pictures as PNG."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import FileError, MissingExtraError, OpweaveError, RequestError

Array = np.ndarray[Any, Any]
ORIENTATION = 0x0112  # the EXIF tag


@dataclass(frozen=True)
class Picture:
    """A picture: uint8 pixels [height, width, 3], its alpha [height, width], and what was done."""

    pixels: Array
    alpha: Array | None = None
    notes: tuple[str, ...] = ()


def sample() -> Path:
    """The photograph that matplotlib ships; matplotlib itself is not imported.

    Raises:
        MissingExtraError: matplotlib is not installed, or ships none.
    """
    spec = importlib.util.find_spec("matplotlib")
    if spec is not None and spec.origin:
        path = Path(spec.origin).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg"
        if path.is_file():
            return path
    raise MissingExtraError(
        "the demo's photograph comes with matplotlib, which is not installed: run pip install "
        "'opweave[demo]', or name a picture with --image"
    )


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise MissingExtraError(
            "reading pictures needs Pillow: run pip install 'opweave[demo]'"
        ) from None
    return PIL


def read(path: Path) -> Picture:
    """Read a picture: turned upright, 8 bits, RGB, its alpha kept aside.

    Raises:
        RequestError: there is no such file.
        FileError: it is no picture, or it ends too early.
        MissingExtraError: Pillow is not installed.
    """
    pillow = _pillow()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise RequestError(f"{path} {what}: expected a picture such as photo.jpg")
    with _named(path, pillow), pillow.Image.open(path) as image:
        notes = []
        if getattr(image, "n_frames", 1) > 1:
            notes.append(f"first of {image.n_frames} frames")
        # "BGR;16" is 5, 6 and 5 bits; every other 16 stands for a channel.
        deep = ";16" in f"{image.mode} {image.tile}".replace("BGR;16", "")
        if image.getexif().get(ORIENTATION, 1) in range(2, 9):
            notes.append("turned upright as its EXIF says")
        upright = pillow.ImageOps.exif_transpose(image)
        if deep or upright.mode in ("I", "F"):
            notes.append("scaled to 8 bits")
        return _converted(upright, pillow, tuple(notes))


@contextmanager
def _named(path: Path, pillow: Any) -> Iterator[None]:
    """Pillow raises many types; each becomes one error that names the file."""
    try:
        yield
    except pillow.UnidentifiedImageError:
        raise FileError(f"{path} is not a picture that Pillow reads") from None
    except (OpweaveError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be read as a picture: {error}") from error


def _converted(image: Any, pillow: Any, notes: tuple[str, ...]) -> Picture:
    if image.mode.startswith("I") or image.mode == "F":
        grey = to_8_bits(np.asarray(image))
        return Picture(np.repeat(grey[..., None], 3, axis=2), None, notes)
    if not image.has_transparency_data:
        return Picture(np.array(image.convert("RGB")), None, notes)
    both = np.array(image.convert("RGBA"))
    return Picture(np.ascontiguousarray(both[..., :3]), both[..., 3].copy(), notes)


def to_8_bits(values: Array) -> Array:
    """Scale to 0..255: 16-bit integers by their range, others by the largest value.

    >>> to_8_bits(np.array([0, 257, 65535], np.uint16)).tolist()
    [0, 1, 255]
    """
    wide = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0).clip(0)
    top = float(wide.max(initial=0.0))
    if values.dtype.kind in "iu" and top <= 65535:
        top = 65535.0
    return np.rint(wide * (255.0 / (top or 1.0))).astype(np.uint8)


def write(path: Path, pixels: Array, alpha: Array | None = None) -> None:
    """Write a PNG; the alpha that was kept aside is put back.

    Raises:
        FileError: the file cannot be written.
    """
    pillow = _pillow()
    channels = pixels if alpha is None else np.dstack([pixels, alpha])
    try:
        pillow.Image.fromarray(np.ascontiguousarray(channels)).save(path, "PNG")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error


def folder(path: Path) -> Path:
    """Make the folder for what is written.

    Raises:
        FileError: it is a file, or cannot be written.
    """
    try:
        if path.exists() and not path.is_dir():
            raise FileError(f"{path} is a file: expected a folder, or a name that is free")
        path.mkdir(parents=True, exist_ok=True)
        (path / ".opweave").touch()
        (path / ".opweave").unlink()
    except ValueError as error:
        raise FileError(f"folder {shown(str(path))} has no possible name: {error}") from error
    except OSError as error:
        raise FileError(
            f"folder {path} cannot be written: {error.strerror or error}; name another with --out"
        ) from error
    return path
