"""A kernel of a CUDA file as a command line has it: its launch, and arguments with contents."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opweave._sanitizer import uninitialised
from opweave.cli.arguments import BY_NAME, is_plain, plain
from opweave.opcodes.errors import FileError, RequestError

# Options that only such a file takes.
OF_CUDA = ("kernel", "grid", "block", "shared")
MOST_BYTES = 1 << 30
SEED = 0
DTYPES = {name: d.numpy for name, d in BY_NAME.items() if not d.is_complex}
ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<extents>[\d\s,]*)\](?:=(?P<fill>[\w.+-]+))?")
EXPECTED = (
    "expected an array such as f32[1024]=random (or zeros, ones, arange, uninitialised, a "
    "number), a number, or one with its type such as f32=2.5"
)


def _random(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(SEED)
    if dtype.kind in "iub":
        return generator.integers(0, 2 if dtype.kind == "b" else 128, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


FILLS: Mapping[str, Callable[[tuple[int, ...], np.dtype[Any]], Any]] = {
    "random": _random,
    "zeros": np.zeros,
    "ones": np.ones,
    "arange": lambda shape, dtype: np.arange(math.prod(shape)).reshape(shape).astype(dtype),
    "uninitialised": uninitialised,
}


class CudaLaunch(NamedTuple):
    """A kernel and its launch, in the order of the parameters of ``ow.sanitize_source``."""

    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: list[Any]
    shared_bytes: int


def is_cuda(options: Namespace) -> bool:
    """Whether a file of CUDA C++ is named, or a function of Python."""
    return str(options.function).endswith((".cu", ".cuh"))


def refuse_options_of_cuda(options: Namespace) -> None:
    """Refuse what only a CUDA file takes.

    Raises:
        RequestError: names the option.
    """
    for name in OF_CUDA:
        if getattr(options, name) is not None:
            raise RequestError(
                f"--{name} belongs to a .cu file: a function's kernels bring theirs"
            )


def launch_of(options: Namespace) -> CudaLaunch:
    """The kernel that the options name, and its launch.

    Raises:
        RequestError: an option is missing, or does not parse.
        FileError: the file cannot be read.
    """
    for name in ("kernel", "grid", "block"):
        if getattr(options, name) is None:
            raise RequestError(
                f"{options.function}: add --kernel NAME --grid 4 --block 256, and one --arg for "
                f"each parameter (--{name} is missing)"
            )
    if options.toggles or options.fast or options.unfused or options.static:
        raise RequestError("--toggle, --fast, --unfused and --static belong to a Python function")
    try:
        source = Path(options.function).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{options.function} cannot be read: {error}") from None
    return CudaLaunch(
        source, options.kernel, _extents("--grid", options.grid),
        _extents("--block", options.block), [value(text) for text in options.arguments],
        _number("--shared", options.shared or "0"),
    )  # fmt: skip


def value(text: str) -> Any:
    """One argument of a kernel: an array with contents, or a number.

    Raises:
        RequestError: it does not parse; says what would.
    """
    text = text.strip()
    if is_plain(text):
        return plain(text)
    array = ARRAY.fullmatch(text)
    if array:
        extents = [p.strip() for p in array["extents"].split(",") if p.strip()]
        shape = tuple(map(int, extents))
        return contents(array["fill"] or "zeros", shape, _dtype(array["dtype"], text))
    name, sign, number = text.partition("=")
    if sign:
        try:
            return _dtype(name, text).type(float(number) if "." in number else int(number))
        except (ValueError, OverflowError):
            pass
    raise RequestError(f"--arg {text!r}: {EXPECTED}")


def _dtype(name: str, text: str) -> np.dtype[Any]:
    if name not in DTYPES:
        raise RequestError(
            f"--arg {text!r}: {name} is no dtype: expected one of {', '.join(DTYPES)}; {EXPECTED}"
        )
    return DTYPES[name]


def contents(fill: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array of a shape with the contents that a word or a number stands for.

    Raises:
        RequestError: neither, or too large an array.
    """
    if float(np.prod(shape, dtype=float)) * dtype.itemsize > MOST_BYTES:
        raise RequestError(f"an array of shape {shape} is too large to check: at most 1 GiB")
    if fill in FILLS:
        return FILLS[fill](shape, dtype)
    try:
        return np.full(shape, float(fill)).astype(dtype)
    except ValueError:
        known = ", ".join(FILLS)
        raise RequestError(f"={fill}: expected {known} or a number behind an array") from None


def _extents(option: str, text: str) -> tuple[int, ...]:
    return tuple(_number(option, part) for part in text.split(","))


def _number(option: str, text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise RequestError(f"{option} {text!r}: expected numbers such as 256 or 16,16")
    return int(text)
