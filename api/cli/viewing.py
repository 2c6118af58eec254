"""``opweave view``: one HTML file of a function and its kernels, to look at in a browser."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from opweave._functions.parts import BREAKS
from opweave._programs.page import page_of, page_of_parts
from opweave.cli.arguments import made_up
from opweave.cli.inspecting import Request, loops_of, requested
from opweave.cli.loading import users_code
from opweave.cli.terminal import print_json
from opweave.opcodes.errors import FileError

# What a page of ours has in its head.
GENERATOR = b'<meta name="generator" content="opweave">'


def view(options: Namespace) -> int:
    """Write the page, and say where it is."""
    request = requested(options)
    text = _page(request)
    name = options.function.rpartition(":")[2]
    path = Path(options.out or f"{name}.html")
    if path.is_file() and GENERATOR not in path.read_bytes():
        raise FileError(f"{path} is there already, and no page of ours: name another by --out")
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    if options.json:
        print_json({"function": options.function, "file": str(path), "bytes": len(text.encode())})
    else:
        print(f"{path}: open it in a browser")
    return 0


def _page(request: Request) -> str:
    """The page of a whole; else of what a call finds out: parts, and loops that C runs."""
    found = loops_of(request)
    if found is None:
        try:
            program = request.lower()
            with users_code(request.file, "lowering"):
                return page_of(program, request.arguments)
        except BREAKS:
            if request.fused.options.fullgraph:
                raise
        with users_code(request.file, "running"):
            found = request.fused.explain(*map(made_up, request.arguments))
    return page_of_parts(request.fused.__wrapped__, found)
