"""The options of every command; nothing here does any work."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

import opweave
from opweave.compiler.ir.device import BY_ARCH
from opweave.opcodes.errors import RequestError

Commands = Any  # argparse keeps the class of its sub-parsers private

TOP = """\
examples:
  opweave doctor
  opweave inspect app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4
  opweave explain app.py:tonemap --arg "f32[1080,1920,3]" --arg 1.4 --target host
  opweave sanitize kernel.cu --kernel sum --grid 4 --block 256 --arg "f32[1024]=random"
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


def parser() -> Parser:
    """The parser of the whole command line."""
    common = Parser(add_help=False)
    # A default here would undo what stands before the name of the command.
    common.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="on a failure, also show where it was raised",
    )
    made = Parser(
        prog="opweave",
        description="A fusing compiler from NumPy-style code to readable CUDA C kernels.",
        epilog=TOP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"opweave {opweave.__version__}")
    commands = made.add_subparsers(metavar="COMMAND", dest="command", parser_class=Parser)
    commands.required = True
    _inspect(commands, common)
    _explain(commands, common)
    _sanitize(commands, common)
    _doctor(commands, common)
    _cache(commands, common)
    _demo(commands, common)
    return made


def _command(commands: Commands, name: str, says: str, epilog: str, common: Parser) -> Any:
    """A command's parser; its examples keep their lines."""
    return commands.add_parser(
        name,
        help=says,
        description=f"{says[0].upper()}{says[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
        allow_abbrev=False,
    )


def _function(command: Any) -> None:
    """What ``inspect`` and ``explain`` share: a function, its arguments, how to lower it."""
    add = command.add_argument
    add("function", metavar="FILE.py:FUNCTION",
        help="or package.module:function; plain, @ow.fuse, or an ow.kernel(...)")  # fmt: skip
    add("--arg", action="append", default=[], dest="arguments", metavar="ARG",
        help="an argument, in order or NAME=ARG; see below")  # fmt: skip
    add("--static", action="append", default=[], metavar="NAME",
        help="an argument whose value selects what the function does")  # fmt: skip
    add("--target", default="sm_90a",
        help=f"{', '.join(BY_ARCH)}, or a device such as H100 (default: sm_90a)")  # fmt: skip
    add("--toggle", action="append", default=[], dest="toggles", metavar="NAME=VALUE",
        help="flip a strategy, such as USE_VECTOR_IO=0")  # fmt: skip
    add("--fast", action="store_true", help="relaxed arithmetic")
    add("--unfused", action="store_true", help="every operator a kernel of its own")
    _json(command)


def _json(command: Any) -> None:
    command.add_argument("--json", action="store_true", help="print JSON, for programs")


def _inspect(commands: Commands, common: Parser) -> None:
    says = "print the CUDA source of a function's kernels, or what a compiler made of it"
    command = _command(commands, "inspect", says, ARGUMENTS + "\n" + INSPECT, common)
    _function(command)
    extra = command.add_mutually_exclusive_group()
    for name, text in (
        ("flat", "the source with its toggles resolved: what the compiler sees"),
        ("ptx", "PTX instead of the source"),
        ("sass", "disassembly instead of the source"),
        ("resources", "registers, stack, shared memory and spills instead of the source"),
        ("opcodes", "the op-code list instead of the source"),
    ):
        extra.add_argument(
            f"--{name}",
            dest="shown",
            action="store_const",
            const=name,
            default="source",
            help=text,
        )
    command.set_defaults(run="inspecting:inspect")


def _explain(commands: Commands, common: Parser) -> None:
    says = "print what was fused, why, and what it saves"
    command = _command(commands, "explain", says, ARGUMENTS + "\n" + EXPLAIN, common)
    _function(command)
    command.add_argument("--full", action="store_true", help="all lines, of any length")
    command.set_defaults(run="inspecting:explain")


def _sanitize(commands: Commands, common: Parser) -> None:
    says = "look for races, bad barriers, bad accesses in a function's kernels or a .cu file"
    command = _command(commands, "sanitize", says, SANITIZE, common)
    _function(command)
    add = command.add_argument
    add("--kernel", metavar="NAME", help="of a .cu file: the __global__ function to launch")
    add("--grid", metavar="X[,Y[,Z]]", help="of a .cu file: blocks")
    add("--block", metavar="X[,Y[,Z]]", help="of a .cu file: threads of a block")
    add("--shared", metavar="BYTES", help="of a .cu file: dynamic shared memory (default: 0)")
    add("--schedules", type=int, default=8, metavar="N",
        help="orders of threads and blocks to run (default: 8)")  # fmt: skip
    command.set_defaults(run="sanitizing:run")


def _doctor(commands: Commands, common: Parser) -> None:
    says = "say what is installed, try it, and name the command that adds what is missing"
    command = _command(commands, "doctor", says, DOCTOR, common)
    _json(command)
    command.set_defaults(run="doctor:doctor")


def _cache(commands: Commands, common: Parser) -> None:
    says = "list, prune, verify or clear the compiled kernels on disk"
    top = _command(commands, "cache", says, CACHE, common)
    actions = top.add_subparsers(metavar="ACTION", dest="action", parser_class=Parser)
    actions.required = True
    for name, text in (
        ("ls", "list the entries, last used first"),
        ("prune", "remove what was not used for longest, down to the cap"),
        ("verify", "check every entry against its hashes; exit status 1 if one is broken"),
        ("clear", "remove every entry, and nothing else"),
    ):
        action = _command(actions, name, text, "", common)
        _json(action)
        action.set_defaults(run=f"caching:{name}")
    prune, verify = actions.choices["prune"], actions.choices["verify"]
    prune.add_argument("--size", metavar="BYTES", help="this cap instead, such as 100M or 2G")
    prune.add_argument("--older-than", metavar="TIME", dest="older_than",
                       help="also what was not used for 30d, 12h, 45m or 90s")  # fmt: skip
    verify.add_argument("--remove", action="store_true", help="remove what is broken")


def _demo(commands: Commands, common: Parser) -> None:
    says = "develop a photograph and read digits, fused and unfused, checked and timed"
    command = _command(commands, "demo", says, DEMO, common)
    add = command.add_argument
    add("--image", metavar="FILE", help="a picture of yours (default: one from matplotlib)")
    add("--out", metavar="FOLDER", default="opweave-demo",
        help="folder for pictures and kernels (default: opweave-demo)")  # fmt: skip
    add("--target", default="sm_90a", help="architecture of the kernels that are written besides "
        "the host's (default: sm_90a)")  # fmt: skip
    _json(command)
    command.set_defaults(run="demo:demo")
