"""``opweave export``: a function as one file that needs no opweave."""

from __future__ import annotations

from argparse import Namespace

from opweave.cli.inspecting import requested
from opweave.cli.terminal import print_json
from opweave.opcodes.errors import RequestError

# Options, and what the names that they take end in.
FILES = {"cu": ".cu", "python": ".py"}


def export(options: Namespace) -> int:
    """Write the files, and print their names."""
    asked = {name: getattr(options, name) for name in FILES if getattr(options, name) is not None}
    if not asked:
        raise RequestError("expected --cu FILE.cu or --python FILE.py, or both")
    for name, file in asked.items():
        if not file.endswith(FILES[name]):
            raise RequestError(f"--{name} {file}: expected a name that ends in {FILES[name]}")
    program = requested(options).lower()
    written = [*map(str, program.export(*asked.values()))]
    if options.json:
        print_json({"function": options.function, "target": program.target, "written": written})
    else:
        print("\n".join(written))
    return 0
