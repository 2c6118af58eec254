"""Random functions with loops, as text: most of their statements run, some raise."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

# A line, or the head of a block with what is in it.
Line = str
Block = tuple[str, list["Statement"]]
Statement = Line | Block

HELPERS = """
def pick(p, q=2.0):
    if p > q:
        return p
    return q


def stepped(p, q=3):
    if p > 1:
        q = q + 1
    return p * q


def bump(v, by=1):
    v[0] += by
    return by


def counted(v, q=0):
    for e in v:
        if e > 1:
            q += 1
    return q


def smooth(v, w):
    w[1:] = v[:-1] + v[1:]
    return v[-1]


def scaled(v, q=2.0):
    w = v * q
    return w


def halved(v, by=1):
    w = v / 2
    u = w
    u[:1] += by
    return u


def same(v):
    return v


"""
# Of the module: names that functions have, too.
IMPORTS = "import math\n\nimport numpy as np\n\n"
GLOBALS = "s, t, u, k, v, w, i, j = 41, 4.5, True, 7, 8, 9.5, 11, 12\n\n"
PARAMETERS = "x, y, z, A, B, n, m, a"
RESULTS = ("s", "t", "u", "k", "v", "w", "i", "j")
CONSTANTS = ("0", "1", "2", "3", "0.5", "-1", "1.5", "0.0", "-0.0", "100", "True")
MATCHED = (
    (":", ":"), ("1:", ":-1"), (":-1", "1:"), ("::2", "::2"), ("2:", ":-2"), ("::-1", ":"),
    ("1:-1", "2:"), ("-2:", ":2"), ("::2", "1::2"), ("5:1", "3:3"), ("::-2", "::2"),
)  # fmt: skip


@dataclass
class Writer:
    """Writes one function.

    Attributes:
        counters: of the loops around.
        wild: how often an index or a shape is anything.
    """

    random: random.Random
    counters: list[str] = field(default_factory=list)
    wild: float = 0.04

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, likely: float) -> bool:
        return self.random.random() < likely

    def vector(self) -> str:
        return self.one("x", "x", "y", "z")

    def matrix(self) -> str:
        return self.one("A", "B")

    def whole(self, depth: int = 1) -> str:
        """An integer."""
        base = [
            *self.counters,
            *self.counters,
            "n",
            "m",
            "k",
            "1",
            "2",
            "-1",
            f"len({self.vector()})",
        ]
        if depth <= 0 or self.chance(0.4):
            return self.random.choice(base)
        e, f = self.whole(depth - 1), self.whole(depth - 1)
        c = self.one("1", "2", "3", "-1", "-2")
        return self.one(
            f"{e} + {c}", f"{e} - {c}", f"({e}) * {c}", f"({e}) // 2", f"({e}) % 3",
            f"max({e}, {f})", f"min({e}, {f})", f"-({e})", f"({e} & 3)", f"({e}) >> 1",
            f"{e} + ({f})", f"{e} - ({f})", f"int({self.vector()}[0])", f"({e} | 1)",
            f"({e} if {self.truth(0)} else {f})", f"{self.matrix()}.shape[1]", f"({e} ^ 5)",
        )  # fmt: skip

    def place(self) -> str:
        """An index: most are inside."""
        if self.chance(self.wild):
            return self.whole()
        inside = ["0", "1", "-1", "-2", "2"]
        for c in self.counters:
            inside += [f"{c} % 3", f"{c} % 3 - 1", f"-1 - {c} % 3", f"{c} % 2 + 1"]
        return self.random.choice(inside)

    def bound(self) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return ""
        if kind < 0.6:
            return self.one("0", "1", "2", "-1", "-2", "5", "9", "-9")
        if kind < 0.9 and self.counters:
            return f"{self.random.choice(self.counters)}{self.one('', ' + 1', ' - 1', ' - 3')}"
        return self.one("k", "n", "m", "k % 4")

    def part(self) -> str:
        step = self.one("", "", "", "", ":2", ":-1", ":-2", ":3")
        return f"{self.bound()}:{self.bound()}{step}"

    def scalar(self, depth: int = 2) -> str:
        """A number, of Python or of NumPy."""
        if depth <= 0 or self.chance(0.25):
            return self.one(
                "s", "t", "u", "a", self.one(*CONSTANTS), f"{self.vector()}[{self.place()}]",
                f"{self.matrix()}[{self.place()}, {self.place()}]", self.whole(0),
            )  # fmt: skip
        e, f = self.scalar(depth - 1), self.scalar(depth - 1)
        v, w = self.vector(), self.vector()
        left, right = self.random.choice(MATCHED)
        return self.one(
            f"{e} + {f}", f"{e} - {f}", f"({e}) * {self.one('2', '0.5', '3', f'{v}[0]')}",
            f"({e}) * {self.one(f'{v}[{self.place()}]', 'a', '-1')}", f"({e}) / {self.one('2', '4.0', f'({f})')}",
            f"max({e}, {f})", f"min({e}, {f})", f"abs({e})", f"-({e})", f"float({e})",
            f"({e} if {self.truth(depth - 1)} else {f})", f"np.sqrt({e})", f"np.minimum({e}, {f})",
            f"pick({e}, {f})", f"pick({e})", f"stepped({e})", f"np.sum({v}[{self.part()}])",
            f"{v}[{left}] @ {w}[{right}]", f"np.dot({v}, {w})", f"{v}.max()", f"np.abs({e})",
            f"np.float32({e})", f"({e}) // {self.one('2', '3.0', f'({f})')}", f"({e}) % {self.one('2', '1.5')}",
            f"bump({v})", f"counted({v})", f"({self.truth(0)})", f"np.float64({e})", f"np.sum({v} * ({e}))",
            f"({e}) ** 2", f"np.int32({self.whole(0)})", f"np.where({e} > 1, {v}, {w})[0]" if self.chance(0.1) else e,
        )  # fmt: skip

    def truth(self, depth: int = 1) -> str:
        sign = self.one("<", ">", "<=", ">=", "==", "!=")
        first = f"{self.scalar(0)} {sign} {self.scalar(0)}"
        if depth <= 0 or self.chance(0.5):
            return first
        second = self.truth(depth - 1)
        return self.one(
            f"{first} and {second}", f"{first} or {second}", f"not {first}", f"not ({second})",
            f"{self.scalar(0)} {sign} {self.scalar(0)} < {self.scalar(1)}", self.scalar(0),
            f"({first}) & ({second})", f"({first}) | ({second})", f"0 <= {self.whole(0)} < 3",
        )  # fmt: skip

    def row(self, part: str, depth: int = 2) -> str:
        """A vector, as long as ``x[part]`` is."""
        if self.chance(self.wild):
            return f"{self.vector()}[{self.part()}]"
        v = f"{self.vector()}[{part or ':'}]"
        if depth <= 0 or self.chance(0.25):
            return v
        e, f, c = self.row(part, depth - 1), self.row(part, depth - 1), self.scalar(1)
        return self.one(
            f"{e} + {f}", f"{e} - {f}", f"({e}) * {f}", f"({e}) * ({c})", f"{e} + ({c})", f"-({e})",
            f"np.where({e} > {f}, {e}, {f})", f"np.minimum({e}, {f})", f"np.abs({e})", f"({e}) / 2",
            f"np.where({e} > 1, {c}, {f})", f"({e}).copy()", f"np.flip({v})", f"({e}) ** 2",
            f"np.maximum({e}, {c})", f"({c}) - ({e})", f"({e}) // 2", f"np.tanh({e})", f"({e} > {f})",
            f"{e} + bump({v})",
        )  # fmt: skip

    def grid(self, depth: int = 1) -> str:
        """A matrix of three by three, or what becomes one."""
        A, B = self.matrix(), self.matrix()
        e = self.grid(depth - 1) if depth else A
        c = self.scalar(1)
        return self.one(
            A, f"{A}.T", f"{e} + {B}", f"({e}) * ({c})", f"{A}[:, ::-1]", f"{A}[::-1].T", f"{e} + {B}[0]",
            f"{A}[:, 1][:, None] * {B}[0][None, :]", f"{e} - {B}[:, :1]", f"np.add.outer({A}[0], {B}[:, 1])",
            f"np.maximum({e}, {B}.T)", c, f"{A}[{self.part()}]" if self.chance(0.1) else A,
        )  # fmt: skip

    def line(self) -> str:
        """One statement without others in it."""
        name, other = self.one("s", "t", "u"), self.one("s", "t", "u")
        op, v, A = self.one("+", "-", "*"), self.vector(), self.matrix()
        left, right = self.random.choice(MATCHED)
        return self.one(
            f"{name} = {self.scalar()}", f"{name} = {self.scalar()}", f"{name} {op}= {self.scalar(1) if op != '*' else '2'}",
            f"k = ({self.whole(2)}) % 7", f"k {self.one('+', '-')}= {self.whole(0)}", f"{name}, {other} = {other}, {self.scalar(1)}",
            f"{name} = {other} = {self.scalar(1)}", f"u = {self.truth()}", f"{name} = {self.scalar(0)}",
            f"{v}[{self.place()}] = {self.scalar()}", f"{v}[{self.place()}] {op}= {self.scalar(1)}",
            f"{A}[{self.place()}, {self.place()}] {op}= {self.scalar(1)}", f"{A}[{self.place()}] = {A}[{self.place()}] + {self.scalar(1)}",
            f"{v}[{left or ':'}] = {self.row(right)}", f"{v}[{left or ':'}] {op}= {self.row(right)}", f"{v}[{self.part()}] {op}= {self.scalar(1)}",
            f"{A}[:] = {self.grid()}", f"{A} {op}= {self.grid()}", f"{A}[:, {self.place()}] {op}= {A}[{self.place()}, :]",
            f"w = {self.row(left)}", f"v = {v}[{self.part()}]", f"v = {A}[{self.bound()}:, {self.place()}]", f"v = {A}[{self.part()}]",
            "v[:] = v * 2", f"v = v{self.one('.T', '[1:]', '[::-1]', '[:, None]')}", f"v += {self.scalar(0)}", f"w = w {op} {self.scalar(1)}",
            f"w[{self.place()}] {op}= {self.scalar(1)}", f"{v}[{self.place()}] = {self.one('v', 'w')}[{self.place()}]",
            f"np.{self.one('add', 'multiply', 'maximum')}({v}[{left}:{right}], {self.scalar(0)}, out={v}[:])" if ":" not in left + right else f"np.add({v}[{left or ':'}], {self.row(right, 1)}, out={v}[{left or ':'}])",
            f"{v}.fill({self.scalar(0)})", f"smooth({self.vector()}, {v})", f"{v}[{self.place()}] = {name} = {self.scalar(1)}",
            f"w = np.zeros({self.one('3', 'n', 'len(x)', 'k')})", f"{v} {op}= {self.row('')}", f"t = np.sum({A}[{self.part()}])",
            f"{v}[k:] = {v}[: len({v}[k:])] + 1", "w = np.zeros_like(x)", f"{v}[:] = {v}[::-1]",
        )  # fmt: skip

    def range(self) -> str:
        return self.one(
            "range(3)", "range(n)", "range(1, 4)", "range(n - 1, -1, -1)", "range(m)", "range(2, 0, -1)",
            "range(0, 5, 2)", f"range({self.whole(1)} % 4)", f"range({self.bound() or '0'}, 3)", "range(counted(x) % 3)",
        )  # fmt: skip

    def block(self, depth: int) -> Block:
        kind = self.random.random()
        if kind < 0.4 or depth <= 0:
            return f"if {self.truth()}:", self.body(depth - 1)
        if kind < 0.55:
            return f"while k < {self.one('3', '5')} and {self.truth(0)}:", [
                "k += 1", *self.body(depth - 1),
            ]  # fmt: skip
        if kind < 0.65:
            return f"for s in {self.vector()}[{self.part()}]:", self.body(depth - 1)
        name = self.one(*[c for c in ("i", "j", "l") if c not in self.counters] or ["i"])
        head = f"for {name} in {self.range()}:"
        self.counters.append(name)
        inside = self.body(depth - 1)
        self.counters.pop()
        return head, inside

    def body(self, depth: int) -> list[Statement]:
        found: list[Statement] = []
        for _ in range(self.random.randint(1, 3)):
            if depth > 0 and self.chance(0.35):
                found.append(self.block(depth))
                if found[-1][0].startswith("if") and self.chance(0.4):
                    found.append(("else:", self.body(depth - 1)))
            else:
                found.append(self.line())
        if self.counters and self.chance(0.06):
            found.append(self.one("break", "continue"))
        return found

    def function(self) -> list[Statement]:
        """The statements of a function."""
        begin = [f"{n} = {self.scalar(0)}" for n in ("s", "t", "u") if self.chance(0.9)]
        begin = [
            line.replace("= s", "= 0").replace("= t", "= 0.0").replace("= u", "= 1")
            for line in begin
        ]
        begin.append(f"k = {self.one('0', '1', '2')}")
        if self.chance(0.5):
            begin.append(self.one("v = x[1:]", "v = A[1:]", "v = y", "v = z[::-1]"))
        if self.chance(0.5):
            begin.append(self.one("w = y * 2", "w = x", "w = np.ones(3)"))
        self.counters.append("i")
        inside = [*self.body(2), *self.body(1)]
        self.counters.pop()
        return [*begin, (f"for i in {self.range()}:", inside)]


def text_of(statements: list[Statement], results: list[str], shadows: bool) -> str:
    """The text of a module with the function ``program``.

    Args:
        shadows: names of the function are global ones, too.
    """
    lines: list[str] = []
    write(statements, 1, lines)
    returned = f"    return {', '.join(results)},\n" if results else ""
    body = "\n".join(lines) or "    pass"
    return f"{IMPORTS}{GLOBALS if shadows else ''}{HELPERS}def program({PARAMETERS}):\n{body}\n{returned}"


def write(statements: list[Statement], depth: int, lines: list[str]) -> None:
    for statement in statements:
        head = statement if isinstance(statement, str) else statement[0]
        lines.append("    " * depth + head)
        if not isinstance(statement, str):
            write(statement[1] or ["pass"], depth + 1, lines)
