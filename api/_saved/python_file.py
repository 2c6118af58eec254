"""``program.export("tonemap.py")``: a program as a module of Python that needs CuPy alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opweave._saved.inlining import inlined
from opweave._saved.launches import (
    ARENA,
    Exported,
    ExportedArgument,
    KernelLaunch,
    LaunchSlot,
    MemoryPlace,
)
from opweave._saved.number_syntax import NumberSyntax
from opweave._saved.plain import of_structure
from opweave.compiler.captures.structure import Constant, Structure, Tree
from opweave.compiler.ir.expr import INFIX, Expr
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import SavedError

# CuPy adds -ftz=true itself.
OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true")
FAST = ("--std=c++17", "--use_fast_math")
TYPES = {
    "float": "float32", "double": "float64", "bool": "bool_", "int": "int32", "int64": "int64",
    "int8": "int8", "int16": "int16", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64",
}  # fmt: skip
# Constants of a result that a file writes as they are.
PLAIN = (type(None), bool, int, float, str)


def python_file(program: Exported) -> str:
    """A program as the text of a module.

    Raises:
        SavedError: a number that is more than arithmetic, or an array that CuPy has no dtype for.
    """
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Exported) -> Iterator[str]:
    yield f'"""{program.name}: {program.line}'
    yield ""
    yield f"Kernels for {program.target}, which CuPy compiles when they are first launched.  It"
    yield 'compiles with -ftz=true: denormal numbers become zero."""\n'
    yield "import cupy"
    yield "import numpy\n"
    yield f"OPTIONS = {FAST if program.fast else OPTIONS}"
    for number, launch in enumerate(program.launches):
        yield f"SOURCE_{number} = {_text(inlined(launch.source))}"
        name = launch.kernel.name
        yield f"KERNEL_{number} = cupy.RawKernel(SOURCE_{number}, {name!r}, options=OPTIONS)"
    for name, array in program.constants.items():
        bits = array.dtype if array.dtype.isbuiltin else f"uint{8 * array.dtype.itemsize}"
        yield f"{name.upper()} = numpy.frombuffer({array.tobytes()!r}, {str(bits)!r})"
    yield "\n"
    yield from _function(program)


def _function(program: Exported) -> Iterator[str]:
    yield f"def {program.name}({_parameters(program.arguments)}):"
    yield f'    """{program.line}."""'
    for each in program.arguments:
        yield from _checked(each)
    for name, array in program.constants.items():
        yield f"    {name} = cupy.asarray({name.upper()}.reshape({array.shape}))"
    for each in program.results:
        yield f"    {each.name} = cupy.empty({each.shape}, {_dtype(each)!r})"
    if program.arena:
        yield f"    {ARENA} = cupy.empty({program.arena}, 'uint8')"
    for place, nbytes in program.cleared:
        yield _clear(place, nbytes)
    for number, launch in enumerate(program.launches):
        yield from _launch(launch, number)
    for source, target, nbytes in program.copies:
        yield f"    {_memory(target)}.copy_from_device_async({_memory(source)}, {nbytes})"
    if program.results:
        yield f"    return {_packed(program)}"


def _packed(program: Exported) -> str:
    """The results as the function packs them.

    Raises:
        SavedError: in a container of a class of the user's, or one that stands there twice.
    """
    of_structure(program.structure, f"{program.name}: the result")
    names = iter([each.name for each in program.results])
    return _written(program.structure, names)


def _written(structure: Structure | None, names: Iterator[str]) -> str:
    """A structure as Python writes it."""
    if isinstance(structure, Constant):
        return _constant(structure.value)
    if not isinstance(structure, Tree):
        return next(names)
    items = [_written(child, names) for child in structure.children]
    if structure.type is type(None):
        return "None"
    if structure.type is dict:
        pairs = zip(map(_constant, structure.keys), items, strict=True)
        return f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
    if structure.type is list:
        return f"[{', '.join(items)}]"
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _constant(value: object) -> str:
    """A constant of a result.

    Raises:
        SavedError: it is no number of Python's own and no text.
    """
    if type(value) is tuple:
        return f"({', '.join(map(_constant, value))}{',' * (len(value) == 1)})"
    if type(value) not in PLAIN:
        raise SavedError(
            f"the result has {shown(value)}, an object of type {type(value).__name__}: expected "
            "numbers of Python's own, texts and arrays; return it apart"
        )
    return _literal(value)


def _parameters(arguments: Sequence[ExportedArgument]) -> str:
    """The parameters, of which the last have the function's defaults."""
    found, optional = [], True
    for each in reversed(arguments):
        optional = optional and each.default is not None
        found.append(f"{each.name}={_literal(each.default)}" if optional else each.name)
    return ", ".join(reversed(found))


def _text(source: str) -> str:
    """A source as Python writes a text of several lines."""
    quotes = '"' * 3
    if quotes in source or source.endswith('"') or "\\" in source.rpartition("\n")[2]:
        return repr(source)
    return f"r{quotes}\n{source}{quotes}"


def _checked(argument: ExportedArgument) -> Iterator[str]:
    """Refuse another array: a kernel would read behind it."""
    if argument.dtype is None:
        return
    name, dtype = argument.name, _dtype(argument)
    yield f"    if {name}.shape != {argument.shape} or {name}.dtype != {dtype!r}:"
    found = f"{{{name}.dtype}}{{{name}.shape}}"
    yield f"        raise TypeError(f'{name}: expected {dtype}{argument.shape}, found {found}')"
    yield f"    if not {name}.flags.c_contiguous or {name}.data.ptr % 16:"
    yield f"        raise TypeError('{name}: expected C order, at a multiple of 16 bytes')"


def _dtype(argument: ExportedArgument) -> str:
    assert argument.dtype is not None
    if argument.dtype.name == "bf16":
        raise SavedError(f"{argument.name}: CuPy has no arrays of bfloat16")
    return argument.dtype.numpy_name


def _memory(place: MemoryPlace) -> str:
    return f"({place.name}.data + {place.offset})"


def _clear(place: MemoryPlace, nbytes: int) -> str:
    return f"    {_memory(place)}.memset_async(0, {nbytes})"


def _launch(launch: KernelLaunch, number: int) -> Iterator[str]:
    for place, nbytes in launch.cleared:
        yield _clear(place, nbytes)
    if launch.shared:
        yield f"    KERNEL_{number}.max_dynamic_shared_size_bytes = {launch.shared}"
    slots = ", ".join(map(_slot, launch.slots))
    more = f", shared_mem={launch.shared}" if launch.shared else ""
    yield f"    KERNEL_{number}({launch.grid}, {launch.kernel.block}, ({slots},){more})"


def _slot(slot: LaunchSlot) -> str:
    if isinstance(slot.value, MemoryPlace):
        place = slot.value
        is_whole = not place.offset and place.name != ARENA
        return place.name if is_whole else f"numpy.uint64({place.name}.data.ptr + {place.offset})"
    value = (
        NUMBERS_IN_PYTHON.text(slot.value)
        if isinstance(slot.value, Expr)
        else _literal(slot.value)
    )
    return f"numpy.{TYPES[slot.ctype]}({value})"


def _literal(value: object) -> str:
    return f"float({str(value)!r})" if str(value) in ("inf", "-inf", "nan") else repr(value)


NUMBERS_IN_PYTHON = NumberSyntax(
    _literal,
    {op: f"{{}} {sign} {{}}" for op, sign in INFIX.items()}
    | {"neg": "-{}", "pos": "+{}", "invert": "~{}"},
    "is more than arithmetic: pass it as an argument",
)
