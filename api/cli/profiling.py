"""``opweave profile``: counters and the model, of a function's kernels or of a CUDA file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from opweave._profiler.handwritten import profile_source
from opweave._profiler.profile import profile
from opweave._profiler.report import ProfileReport
from opweave.cli.cuda_files import is_cuda, launch_of, refuse_options_of_cuda
from opweave.cli.inspecting import requested
from opweave.cli.loading import users_code
from opweave.cli.terminal import heading, print_json
from opweave.opcodes.errors import FileError, RequestError


def run(options: Namespace) -> int:
    """Print a table, the source with its margin, or JSON."""
    report = of_file(options) if is_cuda(options) else of_function(options)
    if options.roofline:
        write_roofline(report, Path(options.roofline))
    if options.json:
        kernels = [kernel.as_dict() for kernel in report.kernels]
        print_json(
            {
                "what": options.function,
                "us_by_model": report.us,
                "kernels": kernels,
                "by_library": list(report.by_library),
            }
        )
    elif options.source or options.blocks:
        for kernel in report.kernels:
            print(heading(kernel.name))
            print(kernel.annotated if options.source else kernel.blocks_table)
    else:
        print(report)
    return 0


def write_roofline(report: ProfileReport, path: Path) -> None:
    """
    Raises:
        RequestError: there is nothing to draw.
        FileError: the file cannot be written.
    """
    if not report.roofline:
        raise RequestError("--roofline: no kernel moves bytes, so none has a place below a roof")
    try:
        path.write_text(report.roofline, "utf-8")
    except OSError as error:
        raise FileError(f"--roofline: {path} cannot be written: {error.strerror}") from error


def of_function(options: Namespace) -> ProfileReport:
    """Profile the kernels of a Python function.

    Raises:
        RequestError: see ``inspecting.requested``; or an option that only a CUDA file takes.
    """
    refuse_options_of_cuda(options)
    request = requested(options)
    with users_code(request.file, "lowering"):
        return profile(request.fused, *request.arguments, target=request.target)


def of_file(options: Namespace) -> ProfileReport:
    """Profile a kernel of a CUDA file; errors as ``launch_of`` raises them.

    Raises:
        CompileError: it does not compile.
    """
    return profile_source(*launch_of(options), target=options.target)
