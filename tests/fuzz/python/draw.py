"""Draw a program of ordinary Python: line by line, and Python says at each what is valid."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import random
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import modules
from .forms import BETWEEN, RESULTS, ROUNDED, TABLES, WEIGHTS
from .program import Call, Line, Parameter, Python
from .side import NAME
from .values import ARGUMENTS, DEFAULTS, HOLES

HOLE = re.compile(r"\{(\w)\d?\}|\{(new)\}")
# Calls of a program by the kinds of their arguments: the same, others, the same again.
ORDERS = ((0, 0, 1), (0, 1, 0), (0, 0, 0), (0, 1, 1), (0, 0, 1, 0))
MODES = (*("fuse",) * 9, "replay", "fullgraph", "profiled")
ROUND = (*("function",) * 5, "closure", "method", "callable", "partial")
ONLY_IN = {"method": ("method", "callable"), "closure": ("closure",)}
# Tries for a line, and the share of lines that may raise.
TRIES, RAISING = 8, 0.12


def draw(seed: int, number: int) -> Python:
    """The program of a seed and a number."""
    rng = random.Random(f"{seed} {number} python")
    drawing = Drawing(rng)
    for count in range(rng.choice((1, 2, 2, 3, 3, 4, 6))):
        if not drawing.line(f"v{count}", drawing.kind()):
            break
    return drawing.program()


def alone(kind: str, form: str, number: int) -> Python:
    """A program of one form, with other arguments for each number."""
    drawing = Drawing(random.Random(f"{kind} {form} {number}"))
    if kind in ONLY_IN:
        drawing.around = drawing.rng.choice(ONLY_IN[kind])
    for _ in range(TRIES):
        if drawing.form("v0", kind, form) is not None:
            break
    return drawing.program()


class Drawing:
    """One program being drawn, and what its names are by Python."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.around = rng.choice(ROUND)
        self.parameters: list[Parameter] = []
        self.makers: list[tuple[str, str]] = []
        self.lines: list[Line] = []
        self.held: dict[str, Any] = {}
        self.names: list[str] = []
        self.order = rng.choice(ORDERS)
        if rng.random() < 0.8:
            self.add("x")
            self.probed(())

    def kind(self) -> str:
        fits = {k: w for k, w in WEIGHTS.items() if self.around in ONLY_IN.get(k, (self.around,))}
        return self.rng.choices(list(fits), list(fits.values()))[0]

    def line(self, new: str, kind: str) -> bool:
        """Add a line; False where the function ends with it, because it raises."""
        for _ in range(TRIES):
            goes_on = self.form(new, kind, self.rng.choice(TABLES[kind]))
            if goes_on is not None:
                return goes_on
        return True

    def form(self, new: str, kind: str, form: str) -> bool | None:
        """Add a form; None if it is not for us, False if it raises."""
        before = list(self.parameters), list(self.makers)
        text = self.filled(form, new)
        if "\n" not in text and is_expression(text):
            text = f"{new} = {text}"
        made = new if re.search(rf"\b{new}\b", text) else ""
        line = Line(text, made, ((kind, form),))
        error = self.probed((*self.lines, line))
        if error is not None and (
            isinstance(error, SyntaxError | NameError) or self.rng.random() > RAISING
        ):
            self.parameters, self.makers = before
            return None
        self.lines.append(line)
        if form in ROUNDED:
            self.names = [n for n in self.names if n != new]
        return error is None

    def filled(self, form: str, new: str) -> str:
        """The form with its holes filled, equal ones alike."""
        known: dict[str, str] = {"new": new}

        def replaced(found: re.Match[str]) -> str:
            hole = found[2] or found[1]
            if hole != "new" and hole not in HOLES:
                return found[0]
            if hole not in known:
                known[hole] = self.name(hole)
            return known[hole]

        return HOLE.sub(replaced, form).replace("{{", "{").replace("}}", "}")

    def name(self, hole: str) -> str:
        """A name that fits, or a new parameter."""
        fits = [n for n in self.names if _fits(hole, self.held.get(n))]
        if fits and (self.rng.random() < 0.7 or len(self.parameters) > 4):
            return self.rng.choice(fits)
        return self.add(hole)

    def add(self, hole: str) -> str:
        """A new parameter; now and then its argument is another one."""
        rng, name = self.rng, f"a{len(self.parameters)}"
        if rng.random() < 0.04 and not any(p.name == "out" for p in self.parameters):
            name = "out"
        maker = rng.choice(ARGUMENTS[hole])
        others = [p.name for p in self.parameters if p.hole == hole and not p.default]
        if others and rng.random() < 0.3:
            maker = rng.choice(((others[0], maker[1]), (others[0], f"copy.copy({others[0]})")))
        default = rng.choice(DEFAULTS.get(hole, ("None",))) if rng.random() < 0.2 else ""
        if default and rng.random() < 0.7:
            maker = rng.choice(((maker[0], ""), ("", maker[0]), ("", "")))
        self.parameters.append(Parameter(name, hole, default))
        self.makers.append(maker)
        return name

    def calls(self) -> tuple[Call, ...]:
        named = self.rng.random() < 0.15
        between = self.rng.randrange(1, 4) if self.rng.random() < 0.3 else -1
        made = []
        for number, kind in enumerate(self.order):
            before = self.rng.choice(BETWEEN) if number == between else ""
            made.append(Call(tuple(m[kind] for m in self.makers), before, named))
        return tuple(made)

    def program(self) -> Python:
        names = [line.made for line in self.lines if line.made] or [
            p.name for p in self.parameters
        ]
        names = names or ["None"]
        last = {
            "a": names[-1],
            "b": self.rng.choice(names),
            "c": self.rng.choice(self.names or names),
        }
        results = re.sub(r"\{([abc])\}", lambda m: last[m[1]], self.rng.choice(RESULTS))
        return Python(
            self.calls(), tuple(self.parameters), tuple(self.lines),
            results.replace("{{", "{").replace("}}", "}"), self.around,
            self.rng.choice(MODES), self.rng.choice(("always", "default")),
        )  # fmt: skip

    def probed(self, lines: tuple[Line, ...]) -> BaseException | None:
        """Run the program so far by Python, and keep what its names hold."""
        call = Call(tuple(m[0] for m in self.makers))
        made = Python((call,), tuple(self.parameters), lines, "None", self.around)
        body = "\n".join([*(line.text for line in lines), "PROBE.update(locals())"])
        held: dict[str, Any] = {}
        error = probed(made.text_of(body), held)
        if error is None:
            known = {p.name for p in self.parameters} | {line.made for line in lines}
            rounded = {line.made for line in lines if line.forms[0][1] in ROUNDED}
            self.held = held
            self.names = [n for n in held if n in known - rounded]
        return error


def is_expression(text: str) -> bool:
    try:
        compile(text, "<form>", "eval")
    except SyntaxError:
        return False
    return True


def _fits(hole: str, value: Any) -> bool:
    try:
        return HOLES[hole](value)
    except Exception:  # an object that answers strangely
        return False


def probed(source: str, held: dict[str, Any]) -> BaseException | None:
    """Run a module and its first call by Python; what it raises.  ``held`` becomes its locals."""
    file = f"<{NAME}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    with _apart() as scope:
        scope["PROBE"] = held
        try:
            exec(compile(source, file, "exec"), scope)
            args, named = scope["all_calls"][0]()
            scope["f"](*args, **named)
        except Exception as error:  # whatever a drawn line does
            return error
    return None


@contextlib.contextmanager
def _apart() -> Iterator[dict[str, Any]]:
    """A scope for a module, with the modules that it imports; nothing of it is left behind."""
    before = {n: sys.modules.get(n) for n, _, _ in modules.MODULES}
    state = random.getstate(), np.random.get_state(), np.get_printoptions()
    made = types.ModuleType(NAME)
    for name, _, text in modules.MODULES:
        sys.modules[name] = types.ModuleType(name)
        exec(text, sys.modules[name].__dict__)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="opweave-draw-") as folder,
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            sys.modules[NAME] = made
            made.__dict__.update(fuse=lambda f: f, FOLDER=folder)
            yield made.__dict__
    finally:
        random.setstate(state[0])
        np.random.set_state(state[1])
        np.set_printoptions(**state[2])
        os.environ.pop("FUZZ_MODE", None)
        sys.modules.pop(NAME, None)
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
