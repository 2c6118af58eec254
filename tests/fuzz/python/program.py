"""A program of ordinary Python as data: parameters, lines, results, and the calls of it.

program ::= beside* "def" f parameters: line* "return" results, in one of ``AROUND``
call    ::= what happens before it, and a text for each parameter
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from .beside import beside


@dataclass(frozen=True)
class Parameter:
    """A parameter of the function.

    Attributes:
        name: of the parameter.
        hole: what it was made for, a key of ``values.ARGUMENTS``.
        default: its text, or "".
    """

    name: str
    hole: str
    default: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.default}" if self.default else self.name


@dataclass(frozen=True)
class Line:
    """A statement: its text, the name that it makes or "", and the forms it was drawn from."""

    text: str
    made: str
    forms: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Call:
    """One call.

    Attributes:
        arguments: a text for each parameter; "" where the default is taken.
        before: what happens before it, as Python, or "".
        named: arguments are given by name.
    """

    arguments: tuple[str, ...]
    before: str = ""
    named: bool = False


@dataclass(frozen=True)
class Python:
    """A function among what it reads and calls, and the calls of it.

    Attributes:
        calls: in order.
        parameters: of the function.
        lines: of its body.
        results: what it returns, as text.
        around: a key of ``AROUND``.
        mode: a key of ``judge.MODES``.
        filter: of warnings: "default" or "always".
    """

    calls: tuple[Call, ...]
    parameters: tuple[Parameter, ...]
    lines: tuple[Line, ...]
    results: str
    around: str = "function"
    mode: str = "fuse"
    filter: str = "always"

    @property
    def forms(self) -> list[tuple[str, str]]:
        return [form for line in self.lines for form in line.forms]

    @property
    def body(self) -> str:
        return "\n".join([*(line.text for line in self.lines), f"return {self.results}"])

    @property
    def own(self) -> str:
        """The body, and the texts of the calls."""
        calls = [t for call in self.calls for t in (call.before, *call.arguments)]
        return "\n".join([self.body, *(p.default for p in self.parameters), *calls])

    @property
    def source(self) -> str:
        """The module."""
        return self.text_of(self.body)

    def text_of(self, body: str) -> str:
        """The module with another body."""
        head, names = AROUND[self.around], ", ".join(map(str, self._ordered()))
        made = head.format(names=names, body="{body}").replace("{body}", _indented(body, head))
        calls = [self._call(n, call) for n, call in enumerate(self.calls)]
        numbered = ", ".join(f"call_{n}" for n in range(len(calls)))
        own = "\n\n\n".join([made, *calls, f"all_calls = [{numbered}]"])
        return "\n\n\n".join([*beside(own), own]) + "\n"

    def _ordered(self) -> list[Parameter]:
        """Those without a default first, as Python wants it."""
        return sorted(self.parameters, key=lambda p: bool(p.default))

    def _call(self, number: int, call: Call) -> str:
        given = dict(zip((p.name for p in self.parameters), call.arguments, strict=True))
        lines = call.before.splitlines() + [f"{n} = {t}" for n, t in given.items() if t]
        named, positions = [], []
        for parameter in self._ordered():
            name = parameter.name
            if not given[name]:
                named.append("")  # what follows has to be named
            elif call.named or named:
                named.append(f"'{name}': {name}")
            else:
                positions.append(name)
        shown = f"[{', '.join(positions)}], {{{', '.join(filter(None, named))}}}"
        text = "\n".join([*lines, f"return {shown}"])
        return f"def call_{number}():\n{textwrap.indent(text, '    ')}"

    def __str__(self) -> str:
        return f"# {self.mode}, {self.around}, warnings {self.filter}\n{self.source}"


def _indented(body: str, head: str) -> str:
    """The body as deep as its place in what stands around it."""
    place = next(line for line in head.splitlines() if "{body}" in line)
    return textwrap.indent(body, " " * (len(place) - len(place.lstrip()))).lstrip()


# How the function comes about; ``f`` is what is called.
AROUND: dict[str, str] = {
    "function": "def f({names}):\n    {body}",
    "closure": """def made_f():
    count_, flag_, kept_, made_, weights_, module_, missing_ = 0, True, [], {{}}, np.ones(1), np, None

    def f({names}):
        {body}

    return f


f = made_f()""",
    "method": """class Owner:
    made = 0

    def __init__(self):
        self.calls, self.flag, self.seen, self.last, self.weights = 0, True, [], None, np.ones(1)

    def helper(self, v):
        self.calls += 1
        return v * 2

    def f(self, {names}):
        {body}


OWNER = Owner()
f = OWNER.f""",
    "callable": """class Owner:
    made = 0

    def __init__(self):
        self.calls, self.flag, self.seen, self.last, self.weights = 0, True, [], None, np.ones(1)

    def helper(self, v):
        self.calls += 1
        return v * 2

    def __call__(self, {names}):
        {body}


OWNER = f = Owner()""",
    "partial": """def whole(extra_, {names}):
    {body}


f = functools.partial(whole, 2)""",
}
