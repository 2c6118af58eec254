"""``program.save``: a program as a folder, for one target or several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from opweave._saved.folder import digest, write
from opweave._saved.given import GivenArguments, signature_data
from opweave._saved.machine import features, interface
from opweave._saved.plain import of_structure
from opweave._saved.recording import Recorded, plan_data, recorded
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.pipeline.specialise import Specialised
from opweave.opcodes import dtypes
from opweave.opcodes.errors import SavedError
from opweave.runtime.binaries.build import VERSION, build_kernel
from opweave.runtime.host.launcher import runtime_binary

Files = dict[str, bytes]


class Saveable(Protocol):
    """A lowered function, with the arguments that it was lowered for."""

    fused: Any
    found: Specialised
    lowered: Lowered
    given: GivenArguments | None

    @property
    def target(self) -> str: ...


def save(place: str | os.PathLike[str], programs: Sequence[Saveable]) -> Path:
    """Write programs of one function and arguments, each for another target.

    Raises:
        SavedError: what cannot be saved, or does not belong together; names it.
        FileError: the folder cannot be written, or is there already.
        CompileError, NoCompilerError: of a kernel.
    """
    files: Files = {}
    targets: dict[str, Any] = {}
    signature: Any = None
    for program in programs:
        if program.target in targets:
            raise SavedError(f"two of the programs are for {program.target}: expected one each")
        found, targets[program.target] = _of_target(program, files)
        if signature is not None and found != signature:
            raise SavedError(
                f"the programs for {', '.join(targets)} are of other functions or arguments: "
                "expected one function, lowered for the same arguments"
            )
        signature = found
    made = Path(place)
    write(made, {"opweave": VERSION, "signature": signature, "targets": targets}, files)
    return made


def given_of(program: Saveable) -> GivenArguments:
    """What a program was lowered for.

    Raises:
        SavedError: nobody has noted it.
    """
    if program.given is None:
        raise SavedError("only what fused.lower(...) returns can be saved, or is made of that")
    return program.given


def recorded_of(program: Saveable, *, compiles: bool, joins: bool) -> tuple[Recorded, list[Any]]:
    """The plan of a program and its constants, those from outside first."""
    _, outside = signature_data(given_of(program), program.found.variant)
    constants = [*outside, *program.found.variant.trace.constants]
    fast = program.fused.options.fast
    found = recorded(
        program.lowered, program.found.extents, constants, fast=fast, compiles=compiles,
        joins=joins,
    )  # fmt: skip
    return found, constants


def _of_target(program: Saveable, files: Files) -> tuple[Any, dict[str, Any]]:
    """The signature of a program, and what belongs to its target; adds its files."""
    target, on_host = program.target, program.target == "host"
    given = given_of(program)
    signature, _ = signature_data(given, program.found.variant)
    name, structure = signature["name"], program.found.variant.trace.structure
    # what stands there twice is counted behind the containers of arguments
    may_repeat = all(isinstance(place, str) or tree is None for place, tree, _ in given.leaves())
    signature["structure"] = of_structure(structure, f"{name}: the result", may_repeat)
    plan, constants = recorded_of(program, compiles=True, joins=on_host)
    made = {"fast": program.fused.options.fast, "plan": plan_data(plan)}
    made["constants"] = [*_constants(target, constants, files)]
    made["files"] = dict(_binaries(program, plan, files))
    if on_host:
        files["host/runtime.so"] = runtime_binary()
        made |= {"cpu": features(), "interface": interface()}
    return signature, made


def _constants(target: str, constants: Sequence[Any], files: Files) -> Iterator[list[Any]]:
    for number, array in enumerate(constants):
        held = np.ascontiguousarray(array.get() if hasattr(array, "get") else array)
        path = f"constants/{target}/{number}.bin"
        files[path] = held.tobytes()
        yield [path, dtypes.of(held.dtype).numpy_name, array.shape]


def _binaries(program: Saveable, plan: Recorded, files: Files) -> Iterator[tuple[str, list[str]]]:
    """By a kernel's number the names of its binary and of its source."""
    lowered, target = program.lowered, program.target
    for number, _ in plan.launched:
        kernel, source = lowered.kernels[number], lowered.sources[number]
        binary = build_kernel(kernel, source, fast=program.fused.options.fast)
        name = f"{number}_{kernel.name}"
        folder = "host" if binary.kind == "so" else f"cubin/{target}"
        path, text = f"{folder}/{name}.{binary.kind}", f"kernels/{target}/{name}.cu"
        files[path], files[text] = binary.payload, source.encode()
        yield str(number), [path, text, digest(binary.payload)]
