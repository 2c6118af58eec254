"""Corrections of the IR of a sanitized kernel, where clang's instrumentation is not enough.

ThreadSanitizer tells the checker of every load and store, UndefinedBehaviorSanitizer of
misaligned ones, with two exceptions.  Structs that are copied as a whole lose the alignment of
their type.  And to write a bit-field its neighbours are read and written back, a read that is not
the program's.
"""

from __future__ import annotations

import re

from opweave.runtime.binaries.tokens import split

# To LLVM IR: as clang's front end makes it, with names by which bit-fields are known.
EMIT = ("-S", "-emit-llvm", "-fno-discard-value-names", "-Xclang", "-disable-llvm-passes")
# The functions of checker.cpp that copy and fill, by the intrinsic that they stand for.
ALIGNED = {"memcpy": "ow_copy_aligned", "memmove": "ow_copy_aligned", "memset": "ow_fill_aligned"}
INTRINSIC = re.compile(
    r"(?P<call>call void )@llvm\.(?P<name>memcpy|memmove|memset)\.[\w.]*\((?P<args>.*)\)"
    r"(?P<rest>[^()]*)$"
)
ALIGN = re.compile(r"\balign (\d+)")
FIELD_READ = re.compile(r"\s*(?P<name>%bf\.load\d*) = load ")
FIELD_CLEARED = re.compile(r"\s*(?P<name>%bf\.clear\d*) = and \S+ (?P<of>%bf\.load\d*),")
FIELD_SET = re.compile(r"\s*%bf\.set\d* = or .*?(?P<of>%bf\.clear\d*)\b")
BY_INSTRUMENTATION = ", !nosanitize !{}"


def told(ir: str) -> str:
    """The IR in which copies tell their alignment, and bit-fields tell of their own bits only."""
    made: list[str] = []
    declared: set[str] = set()
    function: list[str] = []
    for line in ir.split("\n"):
        function.append(_aligned(line, declared))
        if line == "}":
            made += _fields_written(function)
            function = []
    return "\n".join([*made, *function, *sorted(declared)])


def _aligned(line: str, declared: set[str]) -> str:
    """A copy or fill of memory as a call of the checker's; other lines as they are."""
    found = INTRINSIC.search(line)
    if found is None:
        return line
    name = ALIGNED[found["name"]]
    given = split(found["args"], found["args"], "([{<", ")]}>")
    arguments = ["".join(text).strip() for text in given[:3]]
    pointers = arguments[:2] if name == "ow_copy_aligned" else arguments[:1]
    aligns = [(ALIGN.search(text) or ("", "1"))[1] for text in pointers]
    types = [text.split()[0] for text in arguments] + ["i32"] * len(aligns)
    declared.add(f"declare void @{name}({', '.join(types)})")
    passed = ", ".join([*arguments, *(f"i32 {n}" for n in aligns)])
    return f"{line[: found.start()]}{found['call']}@{name}({passed}){found['rest']}"


def _fields_written(function: list[str]) -> list[str]:
    """A function that does not tell of reads whose only purpose is to write a bit-field."""
    if not any("%bf.set" in line for line in function):
        return function
    cleared = {m["name"]: m["of"] for line in function if (m := FIELD_CLEARED.match(line))}
    kept = {cleared.get(m["of"]) for line in function if (m := FIELD_SET.match(line))}
    return [
        line + BY_INSTRUMENTATION if (m := FIELD_READ.match(line)) and m["name"] in kept else line
        for line in function
    ]
