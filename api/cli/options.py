"""The options of every command; nothing here does any work."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple, NoReturn

import opweave
from opweave.compiler.ir.device import BY_ARCH
from opweave.opcodes.errors import RequestError

TOP = """\
examples:
  opweave doctor
  opweave inspect app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave explain app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --target host
  opweave sanitize kernel.cu --kernel sum --grid 4 --block 256 --arg "f32[1024]=random"
  opweave profile app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --target H200
  opweave view app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave export app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --cu tonemap.cu
  opweave eject app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --target host
  opweave ops sum
  opweave cache prune --older-than 30d
  opweave demo --out demo

exit status: 0 done, 1 failed, 2 a mistake in the request, 130 stopped with Ctrl-C
"""
ARGUMENTS = """\
arguments of the function, in order or by name, one --arg each:
  --arg "f32[1080,1920,3]"     an array; no memory is spent on it
  --arg "f32[100,200]:F"       in Fortran order
  --arg 1.4  --arg "gamma=2.2" a number; --arg=-1e-3 where it begins with '-'
  --arg "mode=fast"            a string, where the function names mode in static_argnames
  dtypes: f16 bf16 f32 f64 i32 i64 u8 u64 b1, or NumPy's names
"""
INSPECT = """\
examples:
  opweave inspect app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave inspect package.module:softmax --arg "bf16[4096,1000]" --target sm_80 --sass
  opweave inspect app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --flat
  opweave inspect app.py:tonemap --arg "f32[64]" --arg 1.4 --toggle USE_VECTOR_IO=0 --json
"""
EXPLAIN = """\
examples:
  opweave explain app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave explain package.module:softmax --arg "bf16[4096,1000]" --target host --json
"""
SANITIZE = """\
FILE.py:FUNCTION, or a CUDA file such as kernel.cu with --kernel, --grid and --block

arguments of a kernel, in order and without names, one --arg each:
  --arg "f32[1024]=random"     an array; or =zeros, =ones, =arange, =uninitialised, =3
  --arg 1024  --arg f32=2.5    a number, of the parameter's type or of its own
  dtypes: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 b1, or NumPy's names

examples:
  opweave sanitize kernel.cu --kernel sum --grid 4 --block 256 --arg "f32[1024]=random" --arg 1024
  opweave sanitize app.py:softmax --arg "f32[64,1000]" --schedules 4

exit status: 0 nothing found, 1 findings, 2 it could not be checked
"""
PROFILE = """\
FILE.py:FUNCTION, or a CUDA file such as kernel.cu with --kernel, --grid and --block

examples:
  opweave profile app.py:softmax --arg "f32[4096,1000]" --target A100
  opweave profile app.py:softmax --arg "f32[4096,1000]" --roofline softmax.svg
  opweave profile kernel.cu --kernel copy --grid 1024 --block 256 --arg "f32[262144]" \\
    --arg "f32[262144]" --json

Counts follow from the binary and the launch, times from a model of a device: nothing is measured.
"""
VIEW = """\
examples:
  opweave view app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave view app.py:softmax --arg "f32[4096,1000]" --target A100 --out softmax.html

Writes one HTML file that needs no network and no server.  Counters and a roofline are in it where
NVRTC and nvdisasm are installed and the target is a GPU: nothing is measured.
"""
EXPORT = """\
examples:
  opweave export app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --cu tonemap.cu
  opweave export app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --python tonemap_gpu.py

--cu writes kernels, a launcher and a header for C; --python a module that needs CuPy alone
"""
EJECT = """\
examples:
  opweave eject app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --target host

from then on the file in app.opweave/tonemap runs, as you have edited it
"""
CHECK_EJECTED = """\
examples:
  opweave check-ejected app.py

exit status: 1 if a function has changed, is gone, or a file cannot be read
"""
OPS = """\
examples:
  opweave ops
  opweave ops softmax
  opweave ops matmul --json
"""
DOCTOR = """\
example:
  opweave doctor --json

exit status: 0 if kernels run here, on the host or on a GPU, else 1
"""
CACHE = """\
examples:
  opweave cache ls
  opweave cache prune --size 100M
  opweave cache prune --older-than 30d
  opweave cache verify --remove
"""
DEMO = """\
examples:
  opweave demo
  opweave demo --image holiday.jpg --out demo

writes before.png, after.png and every generated kernel as .cu into the folder of --out
exit status: 0 only if every check holds
"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are typed errors."""

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            message += ", found none; a value that begins with '-' is joined with '=': --arg=-1e-3"
        raise RequestError(f"{message}; see {self.prog} --help")


Option = tuple[str, dict[str, Any]]  # its name, and how argparse takes it


def _flag(name: str, says: str) -> Option:
    return name, {"action": "store_true", "help": says}


def _value(name: str, metavar: str | None, says: str, **how: Any) -> Option:
    return name, {"metavar": metavar, "help": says, **how}


def _several(name: str, metavar: str, says: str, **how: Any) -> Option:
    return _value(name, metavar, says, action="append", default=[], **how)


JSON = _flag("--json", "print JSON, for programs")
# What the commands about a function share: the function, its arguments, how to lower it.
FUNCTION: tuple[Option, ...] = (
    _value("function", "FILE.py:FUNCTION",
           "or package.module:function; plain, @ow.fuse, or an ow.kernel(...)"),
    _several("--arg", "ARG", "an argument, in order or NAME=ARG; see below", dest="arguments"),
    _several("--static", "NAME", "an argument whose value selects what the function does"),
    _value("--target", None, f"{', '.join(BY_ARCH)}, or a device such as H100 (default: sm_90a)",
           default="sm_90a"),
    _several("--toggle", "NAME=VALUE", "flip a strategy, such as USE_VECTOR_IO=0", dest="toggles"),
    _flag("--fast", "relaxed arithmetic"),
    _flag("--unfused", "every operator a kernel of its own"),
    JSON,
)  # fmt: skip
LAUNCH: tuple[Option, ...] = (
    _value("--kernel", "NAME", "of a .cu file: the __global__ function to launch"),
    _value("--grid", "X[,Y[,Z]]", "of a .cu file: blocks"),
    _value("--block", "X[,Y[,Z]]", "of a .cu file: threads of a block"),
    _value("--shared", "BYTES", "of a .cu file: dynamic shared memory (default: 0)"),
)
OF_FILES: tuple[Option, ...] = (
    *LAUNCH,
    _value("--schedules", "N", "orders of threads and blocks to run (default: 8)", type=int,
           default=8),
)  # fmt: skip
OF_DEMO: tuple[Option, ...] = (
    _value("--image", "FILE", "a picture of yours (default: one from matplotlib)"),
    _value("--out", "FOLDER", "folder for pictures and kernels (default: opweave-demo)",
           default="opweave-demo"),
    _value("--target", None, "architecture of the kernels that are written besides the host's "
           "(default: sm_90a)", default="sm_90a"),
    JSON,
)  # fmt: skip
# What inspect prints in the place of the source; one of them.
INSTEAD: dict[str, Any] = {"dest": "shown", "action": "store_const", "default": "source"}
SHOWN = {
    "flat": "the source with its toggles resolved: what the compiler sees",
    "ptx": "PTX instead of the source",
    "sass": "disassembly instead of the source",
    "resources": "registers, stack, shared memory and spills instead of the source",
    "opcodes": "the op-code list instead of the source",
}


class Command(NamedTuple):
    """One command: ``run`` names the module and the function in it that run it."""

    name: str
    says: str
    run: str
    options: tuple[Option, ...]
    epilog: str = ""


COMMANDS = (
    Command("inspect", "print the CUDA source of a function's kernels, or what a compiler made of "
            "it", "inspecting:inspect", FUNCTION, ARGUMENTS + "\n" + INSPECT),
    Command("explain", "print what was fused, why, and what it saves", "inspecting:explain",
            (*FUNCTION, _flag("--full", "all lines, of any length")), ARGUMENTS + "\n" + EXPLAIN),
    Command("sanitize", "look for races, bad barriers, bad accesses in a function's kernels or a "
            ".cu file", "sanitizing:run", (*FUNCTION, *OF_FILES), SANITIZE),
    Command("profile", "count what a function's kernels or a .cu file do on a GPU, and model "
            "their time; no GPU is needed", "profiling:run",
            (*FUNCTION, *LAUNCH,
             _flag("--source", "the source with warp instructions of each line in its margin"),
             _flag("--blocks", "basic blocks of the binary: how often each runs, and its pipes"),
             _value("--roofline", "FILE.svg", "write a picture of the kernels below the roofs")),
            ARGUMENTS + "\n" + PROFILE),
    Command("view", "write a page to look at: the function beside its kernels, toggles to "
            "switch, counters", "viewing:view",
            (*FUNCTION, _value("--out", "FILE", "the page (default: FUNCTION.html)")),
            ARGUMENTS + "\n" + VIEW),
    Command("export", "write a function as one file that needs no opweave: CUDA C++ or Python",
            "exporting:export",
            (*FUNCTION, _value("--cu", "FILE.cu", "CUDA C++ with a launcher; FILE.h beside it"),
             _value("--python", "FILE.py", "a module that launches the kernels by CuPy")),
            ARGUMENTS + "\n" + EXPORT),
    Command("eject", "write a kernel's source beside the function's file, used in its place",
            "ejecting:eject",
            (*FUNCTION, _value("--kernel", "NAME", "one of several kernels (default: all)"),
             _flag("--force", "replace what was ejected; the old file is kept as .old")),
            ARGUMENTS + "\n" + EJECT),
    Command("check-ejected", "say of each ejected kernel whether its function has changed",
            "ejecting:check_ejected",
            (_value("file", "FILE.py", "of its functions (default: below this folder)", nargs="?"),
             JSON), CHECK_EJECTED),
    Command("ops", "list all operators, or print the op-codes and dtypes of one",
            "operators:ops", (_value("name", "NAME", "of an operator, such as hypot", nargs="?"),
                              JSON), OPS),
    Command("doctor", "say what is installed, try it, and name the command that adds what is "
            "missing", "doctor:doctor", (JSON,), DOCTOR),
    Command("cache", "list, prune, verify or clear the compiled kernels on disk", "", (), CACHE),
    Command("demo", "develop a photograph and read digits, fused and unfused, checked and timed",
            "demo:demo", OF_DEMO, DEMO),
)  # fmt: skip
ACTIONS = (
    Command("ls", "list the entries, last used first", "caching:ls", (JSON,)),
    Command("prune", "remove what was not used for longest, down to the cap", "caching:prune", (
        JSON,
        _value("--size", "BYTES", "this cap instead, such as 100M or 2G"),
        _value("--older-than", "TIME", "also what was not used for 30d, 12h, 45m or 90s"),
    )),
    Command("verify", "check every entry against its hashes; exit status 1 if one is broken",
            "caching:verify", (JSON, _flag("--remove", "remove what is broken"))),
    Command("clear", "remove every entry, and nothing else", "caching:clear", (JSON,)),
)  # fmt: skip


def parser() -> Parser:
    """The parser of the whole command line."""
    common = Parser(add_help=False)
    # A default here would undo what stands before the name of the command.
    says = "on a failure, also show where it was raised"
    common.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=says)
    made = Parser(
        prog="opweave", epilog=TOP, **_like(common),
        description="A fusing compiler from NumPy-style code to readable CUDA C kernels.",
    )  # fmt: skip
    made.add_argument("--version", action="version", version=f"opweave {opweave.__version__}")
    commands = _add(made, "command", COMMANDS, common)
    shown = commands["inspect"].add_mutually_exclusive_group()
    for name, says in SHOWN.items():
        shown.add_argument(f"--{name}", const=name, help=says, **INSTEAD)
    _add(commands["cache"], "action", ACTIONS, common)
    return made


def _like(common: Parser) -> dict[str, Any]:
    """What all parsers share; examples keep their lines."""
    form = argparse.RawDescriptionHelpFormatter
    return {"formatter_class": form, "parents": [common], "allow_abbrev": False}


def _add(to: Any, what: str, rows: tuple[Command, ...], common: Parser) -> dict[str, Any]:
    """Add commands to a parser; returns theirs by name."""
    commands = to.add_subparsers(
        metavar=what.upper(), dest=what, parser_class=Parser, required=True
    )
    for name, says, run, options, epilog in rows:
        description = f"{says[0].upper()}{says[1:]}."
        command = commands.add_parser(
            name, help=says, description=description, epilog=epilog, **_like(common)
        )
        for option, how in options:
            command.add_argument(option, **how)
        if run:
            command.set_defaults(run=run)
    return dict(commands.choices)
