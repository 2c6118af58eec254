"""What a compiled kernel says about itself: lines of its program, places of its variables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from opweave.opcodes.cached import cached_property

# The file name that a kernel's own text goes by, set by a #line directive in front of it.
KERNEL_FILE = "kernel.cu"


@dataclass(frozen=True)
class Variable:
    """A variable of the library: ``address`` counts from where the library, or storage, lies."""

    name: str
    address: int
    bytes: int
    is_guard: bool = False  # the compiler's own guard of an initialisation


class DebugInfo:
    """Line table, inlined calls and variables of a shared object, by pyelftools."""

    def __init__(self, payload: bytes):
        from elftools.elf.elffile import ELFFile

        self._elf: Any = ELFFile(BytesIO(payload))

    def variables(self, *sections: str) -> list[Variable]:
        """Variables of sections in the order of their addresses."""
        indices = {self._elf.get_section_index(section) for section in sections}
        return self._symbols("STT_OBJECT", lambda symbol: symbol["st_shndx"] in indices)

    def shared(self) -> tuple[int, list[Variable]]:
        """Bytes of the thread-local storage, and its variables by their offset in it."""
        sizes = [s["p_memsz"] for s in self._elf.iter_segments() if s["p_type"] == "PT_TLS"]
        return sum(sizes), self._symbols("STT_TLS", lambda symbol: True)

    def _symbols(self, kind: str, wanted: Callable[[Any], bool]) -> list[Variable]:
        table = self._elf.get_section_by_name(".symtab")
        found = [
            Variable(variable_name(s.name), s["st_value"], s["st_size"], s.name.startswith("_ZGV"))
            for s in (table.iter_symbols() if table else ())
            if s["st_info"]["type"] == kind and s["st_size"] and wanted(s)
        ]
        return sorted(found, key=lambda v: v.address)

    def constants(self) -> list[tuple[int, int]]:
        """Parts of the library that are mapped and cannot be written: first address and end."""
        return [
            (s["p_vaddr"], s["p_vaddr"] + s["p_memsz"])
            for s in self._elf.iter_segments()
            if s["p_type"] == "PT_LOAD" and not s["p_flags"] & 2
        ]

    def line(self, address: int) -> int:
        """The kernel's line that a return address belongs to; 0 if it is none of its own.

        What was inlined from a header belongs to the line that called it.
        """
        at = address - 1  # a return address lies behind the call
        calls = [c for c in self._inlined if c[0] <= at < c[1]]
        number = bisect_right(self._rows, (at, 1 << 62, "")) - 1
        if number >= 0 and self._rows[number][2] == KERNEL_FILE:
            return self._rows[number][1]
        own = [c for c in calls if c[3] == KERNEL_FILE]
        return min(own, key=lambda c: c[1] - c[0])[2] if own else 0

    @cached_property
    def _rows(self) -> list[tuple[int, int, str]]:
        """(address, line, file), by address."""
        rows = []
        for _, program, names in self._units():
            for state in (entry.state for entry in program.get_entries() if entry.state):
                name = "" if state.end_sequence else names[state.file - 1]
                rows.append((state.address, state.line, name))
        return sorted(rows, key=lambda r: r[0])

    @cached_property
    def _inlined(self) -> list[tuple[int, int, int, str]]:
        """(first address, end, line of the call, file of the call) of inlined functions."""
        found = []
        for unit, _, names in self._units():
            for die in unit.iter_DIEs():
                line = die.attributes.get("DW_AT_call_line")
                if die.tag == "DW_TAG_inlined_subroutine" and line:
                    name = names[die.attributes["DW_AT_call_file"].value - 1]
                    ranges = self._ranges(unit, die)
                    found += [(low, high, line.value, name) for low, high in ranges]
        return found

    def _ranges(self, unit: Any, die: Any) -> list[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            is_address = high.form == "DW_FORM_addr"
            return [(low, high.value if is_address else low + high.value)]
        if "DW_AT_ranges" not in attributes:
            return []
        lists = unit.dwarfinfo.range_lists()
        entries = lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value)
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        return [(base + e.begin_offset, base + e.end_offset) for e in entries]

    def _units(self) -> Iterator[tuple[Any, Any, list[str]]]:
        """Compilation units, their line programs and the names of their files."""
        units = self._elf.get_dwarf_info().iter_CUs() if self._elf.has_dwarf_info() else ()
        for unit in units:
            program = unit.dwarfinfo.line_program_for_CU(unit)
            yield unit, program, [_text(e.name) for e in program.header["file_entry"]]


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def function_name(symbol: str) -> str:
    """The name of a function as it stands in the source: of an Itanium-mangled one the last part.

    >>> function_name("_Z4copyPKfPf"), function_name("_ZN2db5sgemmILi8ELi4EEEviPf")
    ('copy', 'sgemm')
    >>> function_name("_ZN12_GLOBAL__N_14copyEPf"), function_name("copy")
    ('copy', 'copy')
    """
    if not symbol.startswith("_Z"):
        return symbol
    rest, name = re.sub(r"^_Z[LNKV]*", "", symbol), symbol
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
    return name


def variable_name(symbol: str) -> str:
    """The name of a variable, likewise: what stands before its name may be a function's type.

    >>> variable_name("_ZZ4spinE4tile"), variable_name("tile")
    ('tile', 'tile')
    >>> variable_name("_ZN12_GLOBAL__N_11nE")
    'n'
    >>> variable_name("_ZZN12_GLOBAL__N_19block_sumILi256EEEffE4part_0")
    'part'
    """
    if not symbol.startswith("_Z"):
        return symbol
    symbol = symbol.replace("12_GLOBAL__N_1", "")  # the unnamed namespace: its digits mislead
    for match in reversed(list(re.finditer(r"(?<=[A-Za-z_\d])\d+", symbol))):
        end = match.end() + int(match[0])
        name, rest = symbol[match.end() : end], symbol[end:]
        # what may stand behind: which of several variables of that name it is, a compiler's suffix
        if re.fullmatch(r"[A-Za-z_]\w*", name) and re.fullmatch(r"E?(_\d+|__\d+_)?(\..*)?", rest):
            return name
    return symbol
