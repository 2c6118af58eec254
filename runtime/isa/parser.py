"""PTX text to instructions."""

from __future__ import annotations

import re
import struct
from functools import lru_cache

from opweave.opcodes.errors import PtxSyntaxError
from opweave.runtime.isa.instruction import TYPES, Function, Instruction, PtxModule, PtxVariable
from opweave.runtime.isa.lexer import Words, tokens
from opweave.runtime.isa.operands import NameScopes, integer, operand

NEWEST = (9, 5)  # the version of the ISA whose instructions the tables were written for
SPACES = (".global", ".const", ".shared", ".local", ".param")
LINKING = (".visible", ".extern", ".weak", ".common")
# Directives about performance and debugging: what a thread computes does not depend on them.
OF_KERNELS = (".maxntid", ".minnctapersm", ".reqntid", ".maxnreg", ".noreturn", ".pragma",
              ".maxclusterrank", ".reqnctapercluster", ".explicitcluster", ".blocksareclusters",
              ".abi_preserve", ".abi_preserve_control")  # fmt: skip


@lru_cache(maxsize=256)
def parse(text: str) -> PtxModule:
    """The functions and variables of a PTX text.

    Raises:
        PtxSyntaxError: it does not follow PTX's grammar, or is of a newer version.
    """
    return _Parser(text).module


class _Parser:
    def __init__(self, text: str):
        self.words = Words(tokens(text))
        self.module = PtxModule()
        self.place: tuple[int, int] | None = None
        while self.words.next:
            self._top()

    def _top(self) -> None:
        word = self.words.take().text
        if word in LINKING:
            return
        if word == ".version":
            self._version(self.words.take().text)
        elif word == ".target":
            self.module.target = self.words.take().text
            while self.words.found(","):
                self.words.take()
        elif word == ".address_size":
            if self.words.take().text != "64":
                raise PtxSyntaxError("PTX with addresses of 32 bits: compile it for 64")
        elif word == ".file":
            self._file()
        elif word == ".section":
            self._skip_braces()
        elif word in (".entry", ".func"):
            self._function(word == ".entry")
        elif word in SPACES:
            self.module.variables += self._variables(word[1:])
        else:
            raise PtxSyntaxError(f"PTX line {self.words.line}: {word!r} opens no declaration")

    def _version(self, text: str) -> None:
        major, _, minor = text.partition(".")
        self.module.version = found = int(major), int(minor or 0)
        if found > NEWEST:
            raise PtxSyntaxError(
                f"PTX {text} is newer than {NEWEST[0]}.{NEWEST[1]}, the newest that is known "
                "here: compile with an older toolkit"
            )

    def _file(self) -> None:
        number = int(self.words.take().text)
        self.module.files[number] = self.words.take().text.strip('"')
        while self.words.found(","):
            self.words.take()

    def _skip_braces(self) -> None:
        while self.words.take().text != "{":
            pass
        while self.words.take().text != "}":
            pass

    def _function(self, is_entry: bool) -> None:
        results = self._formals() if self.words.next == "(" else []
        made = Function(self.words.take().text, is_entry, results=results)
        made.params = self._formals() if self.words.next == "(" else []
        while self.words.next in OF_KERNELS:
            self._performance()
        if self.words.found(";"):
            self.module.functions.setdefault(made.name, made)
            return
        self.module.functions[made.name] = made
        self.words.expect("{")
        self.place = None
        _Body(self, made).read()

    def _performance(self) -> None:
        self.words.take()
        while self.words.next not in ("{", ";", "") and not self.words.next.startswith("."):
            self.words.take()
        self.words.found(";")

    def _formals(self) -> list[PtxVariable]:
        self.words.expect("(")
        made = []
        while not self.words.found(")"):
            space = self.words.take().text[1:]  # .param, or .reg of old code
            made += self._declared(space, once=True)
            self.words.found(",")
        return made

    def _variables(self, space: str) -> list[PtxVariable]:
        made = self._declared(space, once=False)
        self.words.expect(";")
        return made

    def _declared(self, space: str, once: bool) -> list[PtxVariable]:
        align, kind, lanes = 0, "", 1
        while self.words.next.startswith("."):
            word = self.words.take().text[1:]
            if word == "align":
                align = int(self.words.take().text)
            elif word in TYPES:
                kind = word
            elif re.fullmatch(r"v[248]", word):
                lanes = int(word[1:])
            elif word not in ("ptr", "global", "const", "shared", "local", "attribute"):
                raise PtxSyntaxError(f"PTX line {self.words.line}: .{word} in a declaration")
        made = [self._one(space, kind, align, lanes)]
        while not once and self.words.found(","):
            made.append(self._one(space, kind, align, lanes))
        return made

    def _one(self, space: str, kind: str, align: int, lanes: int) -> PtxVariable:
        name, count = self.words.take().text, lanes
        while self.words.found("["):
            count *= 0 if self.words.next == "]" else integer(self.words.take())
            self.words.expect("]")
        initial = self._initial(kind) if self.words.found("=") else b""
        if kind not in TYPES:
            raise PtxSyntaxError(f"PTX line {self.words.line}: {name} has no type")
        size = TYPES[kind].itemsize
        return PtxVariable(name, space, kind, align or size * lanes, size * count, initial)

    def _initial(self, kind: str) -> bytes:
        made, depth = b"", 0
        while True:
            word = self.words.take()
            depth += {"{": 1, "}": -1}.get(word.text, 0)
            if word.kind == "number" or word.text == "-":
                sign = -1 if word.text == "-" else 1
                word = self.words.take() if sign < 0 else word
                made += _bytes_of(word.text, sign, kind)
            elif word.kind != "mark":
                raise PtxSyntaxError(
                    f"PTX line {word.line}: an initial value of {word.text!r}: expected numbers"
                )
            if depth == 0:
                return made


def _bytes_of(text: str, sign: int, kind: str) -> bytes:
    size = TYPES[kind].itemsize
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16).to_bytes(size, "little")
    if TYPES[kind].kind == "f":
        return struct.pack({4: "<f", 8: "<d", 2: "<e"}[size], sign * float(text))
    result: bytes = (sign * int(text.rstrip("U"), 0) % 256**size).to_bytes(size, "little")
    return result


class _Body:
    """The statements of one function; names in inner braces are their own."""

    def __init__(self, parser: _Parser, function: Function):
        self.parser, self.words, self.function = parser, parser.words, function
        self.scopes = NameScopes(function)
        self.outer: dict[tuple[int, int, int], tuple[int, int]] = {}

    def read(self) -> None:
        """Read up to the closing brace."""
        while self.scopes.depth >= 0:
            word = self.words.next
            if self.words.found("{"):
                self.scopes.open()
            elif self.words.found("}"):
                self.scopes.close()
            elif self.words.after() == ":" and word != "@":
                self.scopes.label(self.words.take().text)
                self.words.expect(":")
            elif word.startswith(".") and word != ".":
                self._directive(self.words.take().text)
            else:
                self._instruction()
        self.function.code = self.scopes.resolved(self.function.code)

    def _directive(self, word: str) -> None:
        if word == ".reg":
            self._registers()
        elif word == ".loc":
            self._place()
        elif word in SPACES:
            for made in self.parser._variables(word[1:]):
                self.function.variables.append(self.scopes.variable(made))
        elif word == ".pragma":
            while self.words.take().text != ";":
                pass
        else:
            raise PtxSyntaxError(f"PTX line {self.words.line}: the directive {word} is not known")

    def _place(self) -> None:
        """``.loc file line column``; what was inlined counts for the line that calls it."""
        found = self._three()
        outer = None
        while self.words.found(","):
            if self.words.take().text == "function_name":
                self.words.take()
                if self.words.found("+"):
                    self.words.take()
            else:  # inlined_at: the place of the call, which may be inlined itself
                called = self._three()
                outer = self.outer.get(called, called[:2])
        self.outer[found] = outer or found[:2]
        if found[1]:
            self.parser.place = self.outer[found]

    def _three(self) -> tuple[int, int, int]:
        file, line, column = (int(self.words.take().text) for _ in range(3))
        return file, line, column

    def _registers(self) -> None:
        kind = self.words.take().text[1:]
        while True:
            name = self.words.take().text
            if self.words.found("<"):
                count = integer(self.words.take())
                self.words.expect(">")
                for n in range(count):
                    self.scopes.register(f"{name}{n}", kind)
            else:
                self.scopes.register(name, kind)
            if not self.words.found(","):
                break
        self.words.expect(";")

    def _instruction(self) -> None:
        predicate, negated = None, False
        if self.words.found("@"):
            negated = self.words.found("!")
            predicate = self.scopes.name(self.words.take().text)
        token = self.words.take()
        if token.kind != "word":
            raise PtxSyntaxError(f"PTX line {token.line}: {token.text!r} is no instruction")
        root, *modifiers = token.text.split(".")
        found = []
        while self.words.next != ";":
            found.append(operand(self.words, self.scopes.name, token))
            if not self.words.found(",") and self.words.next != ";":
                raise PtxSyntaxError(
                    f"PTX line {self.words.line}: {token.text}: expected ',' or ';', found "
                    f"{self.words.next!r}"
                )
        self.words.expect(";")
        self.function.code.append(Instruction(
            root, tuple(modifiers), tuple(found), predicate, negated, token.line,
            self.parser.place,
        ))  # fmt: skip
