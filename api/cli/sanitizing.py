"""``opweave sanitize``: the SIMT checker on a function's kernels, or on a CUDA file."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from opweave._sanitizer import SanitizerReport, sanitize, sanitize_source, uninitialised
from opweave.cli.arguments import BY_NAME, is_plain, plain
from opweave.cli.inspecting import requested
from opweave.cli.loading import users_code
from opweave.cli.terminal import print_json
from opweave.opcodes.errors import FileError, OpweaveError, RequestError
from opweave.runtime.simt.findings import GIVE_DYNAMIC, Finding

FOUND = 1  # exit status
MOST_BYTES = 1 << 30
SEED = 0
DTYPES = {name: d.numpy for name, d in BY_NAME.items() if not d.is_complex}
ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<extents>[\d\s,]*)\](?:=(?P<fill>[\w.+-]+))?")
FILLED = re.compile(r"(?P<array>.*\](?::\w)?)=(?P<fill>[\w.+-]+)")
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


def run(options: Namespace) -> int:
    """Check, print the report, and return 1 if there was a finding."""
    is_cuda = options.function.endswith((".cu", ".cuh"))
    try:
        report = of_file(options) if is_cuda else of_function(options)
    except RequestError:
        raise
    except OpweaveError as error:  # 1 means findings: what could not be checked is something else
        raise RequestError(str(error)) from error
    if options.json:
        found = [asdict(f) for f in report.findings]
        print_json({"what": options.function, "ok": report.ok, "schedules": report.schedules,
                    "varies": list(report.varies), "findings": found})  # fmt: skip
    else:
        print(report)
    return 0 if report.ok else FOUND


def of_function(options: Namespace) -> SanitizerReport:
    """Check the kernels of a Python function.

    Raises:
        RequestError: see ``inspecting.requested``; or an option that only a CUDA file takes.
    """
    for name in ("kernel", "grid", "block", "shared"):
        if getattr(options, name) is not None:
            raise RequestError(
                f"--{name} belongs to a .cu file: a function's kernels bring theirs"
            )
    parts = [FILLED.fullmatch(text) for text in options.arguments]
    fills = [p["fill"] if p else "random" for p in parts]
    texts = [p["array"] if p else text for p, text in zip(parts, options.arguments, strict=True)]
    request = requested(Namespace(**{**vars(options), "arguments": texts}))
    names = [name for name, _ in request.fused.parameters]
    filled = dict(zip(_named(texts, names), fills, strict=True))
    arguments = [
        _filled(a, filled.get(name, "random")) if isinstance(a, np.ndarray) else a
        for name, a in zip(names, request.arguments, strict=True)
    ]
    with users_code(request.file, "lowering"):
        return sanitize(
            request.fused, *arguments, schedules=options.schedules, target=request.target
        )


def _named(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The parameter that each text is for, as ``arguments.bind`` takes them."""
    found: list[str] = []
    for text in texts:
        name = text.partition("=")[0].strip()
        found.append(name if name in names else next(n for n in names if n not in found))
    return found


def _filled(array: np.ndarray[Any, Any], fill: str) -> np.ndarray[Any, Any]:
    """An array with contents, in the order of the one that stands for it."""
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    made: np.ndarray[Any, Any] = contents(fill, array.shape, array.dtype)
    return np.asfortranarray(made) if is_fortran else made


def of_file(options: Namespace) -> SanitizerReport:
    """Check a kernel of a CUDA file.

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
    report = sanitize_source(
        source, options.kernel, extents_of("--grid", options.grid),
        extents_of("--block", options.block), [value(text) for text in options.arguments],
        number_of("--shared", options.shared or "0"), options.schedules,
    )  # fmt: skip
    return replace(report, findings=[_of_options(f) for f in report.findings])


def _of_options(finding: Finding) -> Finding:
    """A finding whose remedy goes by the option's name instead of the parameter's."""
    return replace(finding, message=finding.message.replace(GIVE_DYNAMIC, "pass --shared BYTES"))


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


def extents_of(option: str, text: str) -> tuple[int, ...]:
    return tuple(number_of(option, part) for part in text.split(","))


def number_of(option: str, text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise RequestError(f"{option} {text!r}: expected numbers such as 256 or 16,16")
    return int(text)
