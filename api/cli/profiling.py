"""``opweave profile``: counters and the model, of a function's kernels or of a CUDA file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from opweave._profiler.handwritten import profile_source
from opweave._profiler.profile import profile
from opweave._profiler.report import ProfileReport
from opweave.cli.inspecting import requested
from opweave.cli.loading import users_code
from opweave.cli.sanitizing import extents_of, number_of, value
from opweave.cli.terminal import heading, print_json
from opweave.opcodes.errors import FileError, RequestError

OF_CUDA = ("kernel", "grid", "block", "shared")


def run(options: Namespace) -> int:
    """Print a table, the source with its margin, or JSON."""
    is_cuda = options.function.endswith((".cu", ".cuh"))
    report = of_file(options) if is_cuda else of_function(options)
    if options.json:
        kernels = [kernel.as_dict() for kernel in report.kernels]
        print_json({"what": options.function, "us_by_model": report.us, "kernels": kernels})
    elif options.source or options.blocks:
        for kernel in report.kernels:
            print(heading(kernel.name))
            print(kernel.annotated if options.source else kernel.blocks_table)
    else:
        print(report)
    return 0


def of_function(options: Namespace) -> ProfileReport:
    """Profile the kernels of a Python function.

    Raises:
        RequestError: see ``inspecting.requested``; or an option that only a CUDA file takes.
    """
    for name in OF_CUDA:
        if getattr(options, name) is not None:
            raise RequestError(
                f"--{name} belongs to a .cu file: a function's kernels bring theirs"
            )
    request = requested(options)
    with users_code(request.file, "lowering"):
        return profile(request.fused, *request.arguments, target=request.target)


def of_file(options: Namespace) -> ProfileReport:
    """Profile a kernel of a CUDA file.

    Raises:
        RequestError: an option is missing, or does not parse.
        FileError: the file cannot be read.
        CompileError: it does not compile.
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
    return profile_source(
        source, options.kernel, extents_of("--grid", options.grid),
        extents_of("--block", options.block), [value(text) for text in options.arguments],
        number_of("--shared", options.shared or "0"), options.target,
    )  # fmt: skip
