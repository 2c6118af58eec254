"""``opweave inspect`` and ``opweave explain``: what becomes of a function, without running it."""

from __future__ import annotations

import re
from argparse import Namespace
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from inspect import isbuiltin
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave._functions.parts import BREAKS
from opweave._lists.oplist import OpcodeKernel
from opweave._programs.explain import Explanation
from opweave._programs.kernel_view import KernelView
from opweave._programs.program import Program
from opweave._repeats.repeated import Repeated
from opweave.cli.arguments import bind, made_up
from opweave.cli.loading import load, users_code
from opweave.cli.terminal import heading, highlighted, print_json, print_table
from opweave.compiler.ir.device import device_for
from opweave.configuration import config
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import OpweaveError, RequestError

LANGUAGES = {"source": "cuda", "flat": "cuda", "ptx": "ptx"}


@dataclass(frozen=True)
class Request:
    """A function with arguments and options, ready to lower."""

    fused: Fused
    arguments: list[Any]
    target: str
    file: str

    def lower(self) -> Program:
        with users_code(self.file, "lowering"):
            return self.fused.lower(*self.arguments, target=self.target)


def inspect(options: Namespace) -> int:
    """Print the source of every kernel, or what was asked for instead."""
    request = requested(options)
    if options.shown == "source" and not options.json and (found := loops_of(request)):
        print("\n".join(highlighted(text, "cuda").rstrip("\n") for text in found.loops))
        return 0
    program = request.lower()
    if options.json:
        kernels = [described(kernel, options.shown) for kernel in program.kernels]
        print_json({"function": options.function, "target": program.target, "kernels": kernels})
        return 0
    if options.shown == "resources":
        _print_resources(program)
        return 0
    texts = [_shown(kernel, options.shown) for kernel in program.kernels]
    named = options.shown in ("source", "flat")  # a source says its own name
    several = len(texts) > 1 and not named
    for number, (kernel, text) in enumerate(zip(program.kernels, texts, strict=True)):
        head = heading(kernel.name) + "\n" if several else ""
        body = highlighted(text, LANGUAGES.get(options.shown, ""))
        print(("\n" if number else "") + head + body.rstrip("\n"))
    return 0


def loops_of(request: Request) -> Explanation | None:
    """What becomes of a function of which a call on the host would have C run loops, else None.

    A run on made-up numbers finds them; where it raises, what is lowered says more.
    """
    fused = request.fused
    if request.target != "host" or fused.options.fullgraph or not fused.fallback.loops.has_any():
        return None
    with suppress(OpweaveError), users_code(request.file, "running"):
        found: Explanation = fused.explain(*map(made_up, request.arguments))
        return found if found.loops else None
    return None


def explain(options: Namespace) -> int:
    """Print what was fused, why, and what it saves."""
    request = requested(options)
    found, is_whole = explained(request)
    target = device_for(request.target).arch if is_whole else config.device
    if options.json:
        about = {"function": options.function, "target": target, "made_up": not is_whole}
        print_json(about | {"bytes_saved": found.bytes_saved} | asdict(found))
    else:
        print(found.text if options.full else found)
        if not is_whole:
            print(f"run for {target}, on made-up numbers: others may take other branches")
    return 0


def explained(request: Request) -> tuple[Explanation, bool]:
    """What becomes of a function, and whether it is a whole.

    Parts follow from a run: here, of numbers that are made up.
    """
    fused, arguments = request.fused, request.arguments
    with users_code(request.file, "lowering"):
        try:
            return fused.explain(*arguments, target=request.target), True
        except BREAKS:
            if fused.options.fullgraph:
                raise
        return fused.explain(*map(made_up, arguments)), False


def requested(options: Namespace) -> Request:
    """Read the request off the command line.

    Raises:
        RequestError: the function, an argument or a toggle is not what was expected.
        ToggleError: an unknown target or toggle.
    """
    device_for(options.target)
    toggles = dict(map(_toggle, options.toggles))
    found = load(options.function)
    fused = _fused(found, options).with_toggles(**toggles)
    code = getattr(fused.__wrapped__, "__code__", None)
    name = options.function.rpartition(":")[2]
    arguments = list(bind(options.arguments, fused.parameters, fused.static, name).values())
    file = code.co_filename if code else ""
    if isinstance(found, OpcodeKernel) and not options.unfused:
        with users_code(file, "lowering"):
            found.lower(*arguments, target=options.target)  # says why, if it is not one kernel
    return Request(fused, arguments, options.target, file)


def _fused(found: Any, options: Namespace) -> Fused:
    """The object as a fused function with the options of the command line."""
    if isinstance(found, OpcodeKernel):
        found = found.fused
    if isinstance(found, Repeated):
        found = found.step
    if isinstance(found, Program | KernelView):
        raise RequestError(
            f"{options.function} is lowered already: name the function that it came from"
        )
    built_in = isbuiltin(found) or isinstance(found, np.ufunc)
    if not callable(found) or isinstance(found, type) or built_in:
        kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise RequestError(
            f"{options.function} is {kind}: expected a function written in Python, an @ow.fuse "
            "function, an ow.repeat(...) or an ow.kernel(...)"
        )
    fused = found if isinstance(found, Fused) else Fused(found)
    static = (*fused.static, *(n for n in options.static if n not in fused.static))
    changes: dict[str, Any] = {"fast": True} if options.fast else {}
    if options.unfused:
        changes["fused"] = False
    return Fused(fused.__wrapped__, static, replace(fused.options, **changes))


def _toggle(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name.isidentifier() or not re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        raise RequestError(
            f"--toggle {shown(text)}: expected NAME=NUMBER, such as USE_VECTOR_IO=0"
        )
    return name, int(value)


def _shown(kernel: KernelView, what: str) -> str:
    return str(kernel) if what == "opcodes" else str(getattr(kernel, what))


def _print_resources(program: Program) -> None:
    rows = [(k.name, *asdict(k.resources).values()) for k in program.kernels]
    columns = ("kernel", "registers", "stack bytes", "shared bytes", "spill bytes")
    print_table(columns, rows, "lrrrr")


def described(kernel: KernelView, what: str) -> dict[str, Any]:
    """A kernel as JSON has it: always its source, toggles and op-codes, and what was asked for."""
    codes = [
        {"phase": c.phase.value, "name": c.name, "text": c.text, "comment": c.comment}
        for c in kernel.opcodes
    ]
    out: dict[str, Any] = {name: getattr(kernel, name) for name in ("name", "source", "toggles")}
    out["opcodes"] = codes
    if what == "resources":
        out[what] = asdict(kernel.resources)
    elif what in ("flat", "ptx", "sass"):
        out[what] = getattr(kernel, what)
    return out
