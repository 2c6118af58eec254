"""``program.to_cuda``: a program as one file of CUDA C++ with a launcher, and a header for C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opweave._saved.inlining import KernelText, grouped, texts_of
from opweave._saved.launches import (
    ARENA,
    Exported,
    ExportedArgument,
    KernelLaunch,
    LaunchSlot,
    MemoryPlace,
)
from opweave._saved.number_syntax import NumberSyntax
from opweave.compiler.ir.expr import Expr

# Elements in C's own words, for people who include the header.
PLAIN = {
    "f32": "float", "f64": "double", "i8": "signed char", "i16": "short", "i32": "int",
    "i64": "long long", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int",
    "u64": "unsigned long long", "b1": "unsigned char", "f16": "unsigned short",
    "bf16": "unsigned short", "c64": "float", "c128": "double",
}  # fmt: skip
NOTES = {
    "b1": "0 or 1", "f16": "bits of float16", "bf16": "bits of bfloat16",
    "c64": "pairs of real and imaginary part", "c128": "pairs of real and imaginary part",
}  # fmt: skip
REGISTERS = {
    "float": "float", "double": "double", "bool": "bool", "int": "int", "int64": "long long",
    "int8": "signed char", "int16": "short", "uint8": "unsigned char", "uint16": "unsigned short",
    "uint32": "unsigned int", "uint64": "unsigned long long",
}  # fmt: skip
NUMBERS = {"float": "double", "int": "long long"}


class CudaFile(NamedTuple):
    """A file of CUDA C++, and its header.

    Attributes:
        source: kernels and launcher.
        header: the launcher's declaration, for C and C++.
        options: for nvcc.
    """

    source: str
    header: str
    options: tuple[str, ...]


def cuda_file(program: Exported) -> CudaFile:
    """A program as a file that nvcc compiles, without anything of ours.

    Raises:
        SavedError: a number that C cannot compute as Python does.
    """
    options = options_of(program)
    parts = [KernelText(k.kernel.name, k.source, dict(k.kernel.toggles)) for k in program.launches]
    head = [
        f"// {program.name}: {program.line}",
        f"// nvcc -arch={program.target} {' '.join(options)}",
        "#include <cuda_runtime.h>\n",
    ]
    source = "\n".join([*head, *texts_of(parts), *_constants(program), *_launcher(program, parts)])
    return CudaFile(source + "\n", "\n".join(_header(program)) + "\n", options)


def options_of(program: Exported) -> tuple[str, ...]:
    """What keeps the arithmetic that ours has."""
    if program.fast:
        return ("-std=c++17", "-fmad=true", "-ftz=true", "-prec-div=false", "-prec-sqrt=false")
    return ("-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")


def _header(program: Exported) -> Iterator[str]:
    guard = f"{program.name.upper()}_H"
    yield f"// {program.name}: {program.line}"
    for each in (*program.arguments, *program.results):
        if each.dtype is not None and each.dtype.name in NOTES:
            yield f"// {each.name}: {NOTES[each.dtype.name]}"
    yield "// All arrays lie on the GPU, row by row; 16-byte addresses. Returns a cudaError_t."
    yield f"#ifndef {guard}\n#define {guard}\n#include <cuda_runtime_api.h>\n"
    yield '#ifdef __cplusplus\nextern "C"\n#endif'
    yield f"{_signature(program)};\n"
    yield "#endif"


def _signature(program: Exported) -> str:
    params = [_declared(each, each.written) for each in program.arguments]
    params += [_declared(each, True) for each in program.results]
    return f"int {program.name}({', '.join([*params, 'cudaStream_t stream'])})"


def _declared(argument: ExportedArgument, written: bool) -> str:
    if argument.dtype is None:
        return f"{NUMBERS[argument.kind]} {argument.name}"
    const = "" if written else "const "
    return f"{const}{PLAIN[argument.dtype.name]}* {argument.name}"


def _constants(program: Exported) -> Iterator[str]:
    for name, array in program.constants.items():
        data = array.tobytes() or b"\0"
        rows = (data[at : at + 24] for at in range(0, len(data), 24))
        lines = ",\n    ".join(", ".join(map(str, row)) for row in rows)
        yield f"static __device__ __align__(16) const unsigned char {name}_data[] = {{"
        yield f"    {lines}}};\n"


def _launcher(program: Exported, parts: list[KernelText]) -> Iterator[str]:
    spaces = {n: f"{g.space}::" for g in grouped(parts) for n in g.parts}
    yield f'extern "C" {_signature(program)} {{'
    yield "    cudaError_t status = cudaSuccess;"
    for name in program.constants:
        yield f"    void* {name} = 0;"
        yield from _then(f"cudaGetSymbolAddress(&{name}, {name}_data)")
    if program.arena:
        yield f"    char* {ARENA} = 0;  // temporaries"
        yield from _then(f"cudaMallocAsync((void**)&{ARENA}, {program.arena}, stream)")
    for place, nbytes in program.cleared:
        yield from _then(f"cudaMemsetAsync({_memory(place)}, 0, {nbytes}, stream)")
    for number, launch in enumerate(program.launches):
        yield from _launch(launch, number, spaces.get(number, ""))
    for source, target, nbytes in program.copies:
        there = f"{_memory(target)}, {_memory(source)}, {nbytes}, cudaMemcpyDeviceToDevice"
        yield from _then(f"cudaMemcpyAsync({there}, stream)")
    if program.arena:
        yield f"    if ({ARENA}) {{"
        yield f"        const cudaError_t freed = cudaFreeAsync({ARENA}, stream);"
        yield "        if (status == cudaSuccess) status = freed;"
        yield "    }"
    yield "    return status;"
    yield "}"


def _then(call: str) -> Iterator[str]:
    yield f"    if (status == cudaSuccess) status = {call};"


def _launch(launch: KernelLaunch, number: int, space: str) -> Iterator[str]:
    for place, nbytes in launch.cleared:
        yield from _then(f"cudaMemsetAsync({_memory(place)}, 0, {nbytes}, stream)")
    kernel = f"{space}kernel_{number}::{launch.kernel.name}" if space else launch.kernel.name
    if launch.shared:
        attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
        yield from _then(f"cudaFuncSetAttribute({kernel}, {attribute}, {launch.shared})")
    grid, block = (f"dim3({', '.join(map(str, n))})" for n in (launch.grid, launch.kernel.block))
    yield "    if (status == cudaSuccess) {"
    yield f"        {kernel}<<<{grid}, {block}, {launch.shared}, stream>>>("
    slots = [_slot(slot, space) for slot in launch.slots]
    yield f"            {', '.join(slots)});"
    yield "        status = cudaGetLastError();"
    yield "    }"


def _memory(place: MemoryPlace) -> str:
    """A place as a pointer to void."""
    if place.name == ARENA:
        return f"{ARENA} + {place.offset}"
    return f"(char*){place.name} + {place.offset}" if place.offset else f"(void*){place.name}"


def _slot(slot: LaunchSlot, space: str) -> str:
    if isinstance(slot.value, MemoryPlace):
        return _pointer(slot.value, slot, space)
    ctype = REGISTERS[slot.ctype]
    if isinstance(slot.value, Expr):
        return f"({ctype})({NUMBERS_IN_C.text(slot.value)})"
    return f"({ctype}){_literal(slot.value)}"


def _pointer(place: MemoryPlace, slot: LaunchSlot, space: str) -> str:
    const = "const " if "const" in slot.ctype else ""
    is_whole = place.name != ARENA and not place.offset
    at = place.name if is_whole else f"({_memory(place)})"
    return f"({const}{_element(slot, space)}*){at}"


def _element(slot: LaunchSlot, space: str) -> str:
    """The type of the elements at a pointer, as the kernel has it."""
    bare = slot.ctype.replace("const", "").replace("__restrict__", "").replace("*", "").strip()
    return REGISTERS.get(bare, bare if bare in ("char", "void", "unsigned") else f"{space}{bare}")


def _literal(value: bool | int | float) -> str:
    """A number in C.

    >>> _literal(True), _literal(2.5), _literal(-(2**63))
    ('true', '2.5', '(-9223372036854775807LL - 1)')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value == -(2**63):
            return f"({value + 1}LL - 1)"
        suffix = "ULL" if value >= 2**63 else "LL" if abs(value) >= 2**31 else ""
        return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"
    if value != value or value in (float("inf"), float("-inf")):
        bits = {"inf": "__builtin_inf()", "-inf": "-__builtin_inf()"}
        return bits.get(str(value), '__builtin_nan("")')
    return f"({value!r})" if str(value).startswith("-") else repr(value)


# What C computes as Python does.
NUMBERS_IN_C = NumberSyntax(
    _literal,
    {
        "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "(double){} / {}",
        "neg": "-{}",
    },
    "is Python's to compute: pass it as an argument of its own",
)  # fmt: skip
