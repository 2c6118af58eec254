"""Hold a program of ordinary Python to Python: all calls are made plainly, then fused.

result      values, types, dtypes and shapes of what is returned
arguments   what the arguments are afterwards
identity    which objects are the same, and which arrays share memory
output      what is printed
log         level, message and line of each record
warning     category, text, line and number of warnings, ours excepted
raised      class and text of what is raised; a class of ours may stand for NumPy's or Python's, and
            a TypeError may have another text, which tells what Python asked a value for first, if it
            names no class of ours
state       what the modules hold afterwards: globals, counters, caches
files       what lies in files
hooks       the interpreter's profiler and tracer are those of before
crash       opweave raises where Python does not
refusal     the same with a typed error that no document names

A typed refusal that a document names ends the program and is counted, apart where the call had
changed something before.  Three calls show whether something happens once that should happen each time.  Numbers are exact;
where a form rounds they are held to a few units in the last place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import opweave as ow
from opweave.opcodes import errors

from ..oracles import Failure, Verdict
from .describe import difference, name_of, placeless, renumbered
from .forms import ROUNDED
from .known import sorted_out
from .program import Python
from .side import Seen, observed, written

MODES: dict[str, Callable[[Any], Any]] = {
    "fuse": ow.fuse,
    "replay": ow.fuse(replay=True),
    "fullgraph": ow.fuse(fullgraph=True),
    "profiled": ow.fuse,  # with a profiler of the user's own
}
# What opweave refuses by design where Python answers: a typed error's text, and where it is named.
DOCUMENTED = (
    (
        r"Python integer .* out of bounds",
        "differences.md: an integer of a call that a type cannot hold",
    ),
    (
        r"expected a NumPy or CuPy array, a number, or a tuple, list, dict",
        "differences.md: other arguments",
    ),
    (
        r"^argument (a\d+|out): expected at most 1024 ",
        "differences.md: arguments of many leaves",
    ),
)
# A text of ours names the line, in errors of Python's classes too.
OURS = re.compile(r"\(fuzz_program\.py:\d+\)")
# Classes of ours, of which no text of Python's may speak.
STANDS_IN = re.compile(r"Traced|Lazy|Refusing|Truth|opweave")


def judge_python(program: Python) -> Verdict:
    """Hold a program to Python; what is known to differ (``known.KNOWN``) counts as refused."""
    return sorted_out(judged(program), program)


def judged(program: Python) -> Verdict:
    """Make all calls; what differs of the first call that differs is kept, one of each oracle."""
    verdict = Verdict(ran=["python"])
    with written(program) as folder:
        want = observed(program, folder, lambda f: f, lambda f: f)
        got = observed(program, folder, MODES[program.mode], ow.fuse)
    rounded = any(text in ROUNDED for _, text in program.forms)
    for number, (one, other) in enumerate(zip(want, got, strict=True)):
        refused = _refused(program, one, other)
        if refused:
            verdict.refused = f"{refused}{', half done' * _has_changed(other)}"
            break
        found = differences(one, other, rounded)
        if found:
            place = f"call {number}" + ", which raises" * (one.error is not None)
            verdict.failures += [Failure(o, f"{place}: {text}") for o, text in found]
            break
    return verdict


def _refused(program: Python, want: Seen, got: Seen) -> str:
    """Why a call may be refused, or ""."""
    if not isinstance(got.error, errors.OpweaveError):
        return ""
    kind, text = type(got.error).__name__, str(got.error)
    if program.mode == "fullgraph":
        return f"fullgraph ({kind})"
    return next((f"{kind} ({page})" for found, page in DOCUMENTED if re.search(found, text)), "")


def _has_changed(seen: Seen) -> bool:
    """A refused call has changed arguments or state: it is no secret, but counted apart."""
    after = (seen.arguments, seen.state)
    return any(difference(a, b, "") for a, b in zip(seen.before, after, strict=True) if b)


def differences(want: Seen, got: Seen, rounded: bool = False) -> list[tuple[str, str]]:
    """What differs between two calls, by oracle."""
    raised = _raised(want, got)
    if raised:
        return [raised]
    pairs = [(n, getattr(want, n), getattr(got, n)) for n in ("result", "arguments", "state")]
    made = [(name, difference(one, other, name, rounded)) for name, one, other in pairs]
    if not any(text for _, text in made):
        others = (renumbered(one, other, name) for name, one, other in pairs)
        made.append(("identity", next(filter(None, others), "")))
        if want.sharing != got.sharing:
            made.append(
                ("identity", f"shared memory: {want.sharing} by Python, {got.sharing} by opweave")
            )
    made.append(("output", _texts(want.output.splitlines(), got.output.splitlines())))
    made.append(("log", _texts(want.logs, got.logs)))
    made.append(("warning", _texts(want.warned, got.warned)))
    made.append(("hooks", "" if want.hooks == got.hooks else f"another {got.hooks}"))
    if want.files != got.files:
        made.append(("files", f"{want.files} by Python, {got.files} by opweave"[:400]))
    return [(name, text) for name, text in made if text]


def _texts(want: list[str], got: list[str]) -> str:
    want, got = [placeless(text) for text in want], [placeless(text) for text in got]
    return "" if want == got else f"{want} by Python, {got} by opweave"[:500]


def _raised(want: Seen, got: Seen) -> tuple[str, str] | None:
    one, other = want.error, got.error
    if one is None and other is None:
        return None
    ours = isinstance(other, errors.OpweaveError)
    if one is None:
        return ("refusal" if ours else "crash", f"opweave raised {shown(other)}")
    if other is None:
        return "raised", f"Python raised {shown(one)}, opweave nothing"
    public = next(c for c in type(one).__mro__ if "._" not in c.__module__)
    kinds = {name_of(c) for c in type(other).__mro__}
    texts = [(name_of(type(e)), placeless(str(e))) for e in (one, other)]
    told = type(one) is TypeError and not STANDS_IN.search(str(other))
    same = (
        ours or OURS.search(str(other)) or public is not type(one) or texts[0] == texts[1] or told
    )
    if name_of(public) not in kinds or not same:
        return "raised", f"Python raised {shown(one)}, opweave {shown(other)}"
    return None


def shown(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"[:300]
