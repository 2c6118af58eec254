"""Values of a row that several passes need, and that take long to compute, are kept by the first.

On the host a row of some thousand values lies in the first cache, from where it is read in a
fraction of the time that an exponential takes.  On a GPU it lies in registers.  The bits are those
of the value either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from opweave.compiler.kernels.kernel_parts import Keep, Line, Pass
from opweave.compiler.kernels.quotients import KEPT
from opweave.opcodes.dtypes import DType
from opweave.opcodes.tokens import tokens

# Bytes of all that a row keeps: of a first cache of 32 KiB what operands leave.
MOST_BYTES = 16384
# Registers of a thread for them.
MOST_REGISTERS = 64


def keeping(
    passes: Sequence[Pass],
    worth_keeping: Callable[[Line], DType | None],
    elements: int,
    most_bytes: int,
) -> list[Pass]:
    """The passes, of which later ones read what an earlier one has kept.

    Args:
        worth_keeping: the dtype of a line's result, None if it is quick to compute.
        elements: as many as a row may have, or a thread of it.
        most_bytes: for all that is kept of them.
    """
    made: list[Pass] = []
    computed: dict[str, tuple[int, Line]] = {}
    kept: dict[str, Keep] = {}
    left = most_bytes // elements
    for number, step in enumerate(passes):
        lines = []
        for line in step.lines:
            first, earlier = computed.setdefault(line.text, (number, line))
            dtype = worth_keeping(line) if first < number and len(line.results) == 1 else None
            if dtype is not None and line.text not in kept and dtype.register_bytes <= left:
                left -= dtype.register_bytes
                name = earlier.results[0]
                kept[line.text] = Keep(name, name, dtype, elements)
                made[first] = replace(made[first], keeps=(*made[first].keeps, kept[line.text]))
            lines.append(_read(line, kept) if first < number else line)
        made.append(_pruned(replace(step, lines=tuple(lines))))
    return made


def _read(line: Line, kept: Mapping[str, Keep]) -> Line:
    """The value of a line as an earlier pass has left it, where it has."""
    keep = kept.get(line.text)
    if keep is None:
        return line
    text = f"const {keep.ctype} {line.results[0]} = {keep.register}[c][l];"
    return replace(line, text=text, comment=f"{line.comment}, kept", opcode=None, function="")


def _pruned(step: Pass) -> Pass:
    """Without lines and loads that nothing reads any more."""
    if not any(line.text.endswith(KEPT) for line in step.lines):
        return step
    texts = [store.value for store in step.stores]
    texts += [running.accumulate.text for running in step.reductions]
    needed = {token for text in texts for token in tokens(text)}
    lines: list[Line] = []
    for line in reversed(step.lines):
        if not line.results or needed & set(line.results):
            lines.insert(0, line)
            needed |= set(tokens(line.text))
    loads = tuple(load for load in step.loads if load.register in needed)
    return replace(step, lines=tuple(lines), loads=loads)
