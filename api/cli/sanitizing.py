"""``opweave sanitize``: the SIMT checker on a function's kernels, or on a CUDA file."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from opweave._sanitizer import SanitizerReport, sanitize, sanitize_source
from opweave.cli.cuda_files import contents, is_cuda, launch_of, refuse_options_of_cuda
from opweave.cli.inspecting import requested
from opweave.cli.loading import users_code
from opweave.cli.terminal import print_json
from opweave.opcodes.errors import OpweaveError, RequestError
from opweave.runtime.simt.findings import GIVE_DYNAMIC, Finding

FOUND = 1  # exit status
FILLED = re.compile(r"(?P<array>.*\](?::\w)?)=(?P<fill>[\w.+-]+)")


def run(options: Namespace) -> int:
    """Check, print the report, and return 1 if there was a finding."""
    try:
        report = of_file(options) if is_cuda(options) else of_function(options)
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
    refuse_options_of_cuda(options)
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
    """Check a kernel of a CUDA file; errors as ``launch_of`` raises them."""
    report = sanitize_source(*launch_of(options), schedules=options.schedules)
    return replace(report, findings=[_of_options(f) for f in report.findings])


def _of_options(finding: Finding) -> Finding:
    """A finding whose remedy goes by the option's name instead of the parameter's."""
    return replace(finding, message=finding.message.replace(GIVE_DYNAMIC, "pass --shared BYTES"))
