"""Hold a program of lists to the oracles of graphs, and to what lists promise.

lists      lists in a function have the bits of their op-codes written out
split      so have the function's lines, each compiled alone
list       a list that is called alone has the bits of the list in a function
pickled    a list that was pickled is the same list, and has the same bits
structural a list with another index, guard, loads and stores has the bits of the list, and no
           race; one that adds to what is there adds its bits once
toggle     so has a function with any value of any toggle; ``check`` holds it to its bound
bad list   a list that has no meaning is refused by the error that is documented
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import opweave as ow
from opweave.opcodes import errors

from .. import oracles
from ..oracles import Failure, Fault, Plan, Verdict
from ..program import SCOPE, Step
from .agree import agree as _agree
from .agree import calls as _calls
from .agree import several as _several
from .folds import Fold
from .forms import BAD, TOGGLES
from .program import Lists, unregistered
from .structure import structural

# Of what a list may say when it is called alone, or in a graph.
NO_KERNEL = "does not fit one kernel"
NOT_REGISTERED = "registered"
TIMES = 3


def judge_lists(program: Lists, plan: Plan) -> Verdict:
    with unregistered():
        verdict = oracles.judge(program, plan)
        if verdict.failures or verdict.refused:
            return verdict
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for check in (_bad, _pickled, _toggled, _alone_along_axes, _others, structural):
                _kept(check, program, plan, verdict)
    return verdict


def _kept(check: Callable[..., None], program: Lists, plan: Plan, verdict: Verdict) -> None:
    """Keep the fault that a check finds."""
    try:
        check(program, plan)
    except Fault as fault:
        verdict.failures.append(Failure(fault.oracle, str(fault)))
    except Exception as found:  # every other exception is a fault of opweave
        verdict.failures.append(Failure("crash", f"{type(found).__name__}: {found}"))


def _bad(program: Lists, plan: Plan) -> None:
    form, name = program.bad
    if not form:
        return
    text = form.format(k=name)
    try:
        eval(text, program.scope)
    except BAD[form] as error:
        if not str(error):
            raise Fault("bad list", f"{text}: an error without words") from None
        return
    except Exception as error:
        raise Fault("bad list", f"{text}: {type(error).__name__}: {error}") from None
    raise Fault("bad list", f"{text}: not refused")


def _pickled(program: Lists, plan: Plan) -> None:
    for made in program.made:
        found = program.scope[made.name]
        try:
            again = pickle.loads(pickle.dumps(found))
        except errors.EditError as error:
            if NOT_REGISTERED not in str(error):
                raise Fault("pickled", f"{made.name}: {error}") from None
            continue
        if (repr(again), again.where) != (repr(found), found.where):
            raise Fault("pickled", f"{made.name}: {again!r} was {found!r}")


def _others(program: Lists, plan: Plan) -> None:
    """The program in another form, or its lists in another use; one or two for each program."""
    if not plan.host:
        return
    names = list(USES)
    picked = np.random.default_rng(plan.other).permutation(len(names))[:2]
    for n in sorted(picked):
        USES[names[n]](program)


def _toggled(program: Lists, plan: Plan) -> None:
    """Every value of a toggle gives the same bits, fused and unfused, here and as fibres."""
    given = program.given()
    there = None
    for name in dict.fromkeys(o.toggle for o in program.own if o.toggle):
        plain = ow.fuse(program.function)
        expected = plain(*given)
        for value in TOGGLES[name][0]:
            what = f"{name}={value} and without"
            made = plain.with_toggles(**{name: value})
            try:
                if plan.host:
                    _agree("toggle", made(*given), expected, what)
                    _agree("toggle", made.unfused()(*given), expected, f"{what}, unfused")
                if plan.target:
                    there = there or plain.lower(*given, target=plan.target).verify(*given)
                    found = made.lower(*given, target=plan.target).verify(*given)
                    _agree("toggle", found, there, f"{what}, for {plan.target}")
            except errors.ToggleError as error:
                if "cannot hold" not in str(error):
                    raise


def _unrolled(program: Lists) -> None:
    flat = program.flat
    scope = program.scope | {"__builtins__": __builtins__}
    exec(compile(flat.source, "<flat>", "exec"), scope)
    given = program.given()
    found, other = ow.fuse(program.function)(*given), ow.fuse(scope["f"])(*given)
    _agree("lists", found, other, "in a function, and written out")


def _split(program: Lists) -> None:
    held = dict(zip((a.name for a in program.arguments), program.given(), strict=True))
    for step in program.steps:
        held |= zip(step.results, _alone(program, step, held), strict=True)
    found = ow.fuse(program.function)(*program.given())
    _agree("split", found, [held[o] for o in program.outputs], "in one function, and line by line")


def _alone(program: Lists, step: Step, held: dict[str, Any]) -> tuple[Any, ...]:
    """A line as a function of its own."""
    names = list(dict.fromkeys(step.names))
    line = eval(f"lambda {', '.join(names)}: {step.text}", SCOPE | program.scope)
    arrays = (np.asarray(v) if isinstance(v, np.generic) else v for v in (held[n] for n in names))
    made = ow.fuse(line)(*arrays)
    return made if len(step.results) > 1 else (made,)


def _called(program: Lists) -> None:
    for found, given in _calls(program):
        try:
            made = found(*given)
        except errors.EditError as error:
            if NO_KERNEL not in str(error):
                raise
            continue
        _agree("list", made, ow.fuse(found)(*given), f"{found.name} alone and in a function")


def _loaded(program: Lists) -> None:
    for found, given in _calls(program):
        try:
            again = pickle.loads(pickle.dumps(found))
        except errors.EditError:
            continue  # see ``_pickled``
        made, other = ow.fuse(found)(*given), ow.fuse(again)(*given)
        _agree("pickled", made, other, f"{found.name} and its pickle")


def _in_a_graph(program: Lists) -> None:
    for found, given in _calls(program):
        graph, inputs, operands = ow.Graph("g"), {}, []
        for n, value in enumerate(given):
            if isinstance(value, np.ndarray | np.generic):
                inputs[f"a{n}"] = np.ascontiguousarray(value).reshape(np.shape(value))
                value = graph.host_to_device(f"a{n}", np.shape(value), value.dtype)
            operands.append(value)
        try:
            results = _several(found(*operands))
            for n, value in enumerate(results):
                graph.device_to_host(value, f"r{n}")
        except errors.GraphError as error:
            if NOT_REGISTERED not in str(error) and "value of the graph" not in str(error):
                raise
            continue
        made = graph.runner(device="host")(**inputs)
        other = ow.fuse(graph.function())(*inputs.values())
        found_there = tuple(made.values()) if isinstance(made, dict) else made
        _agree("list", found_there, other, f"{found.name} in a graph")


def _repeated(program: Lists) -> None:
    for found, given in _calls(program):
        if len(found.results) > 1:
            continue
        value, *rest = given
        if not isinstance(value, np.ndarray):
            continue
        once = np.asarray(ow.fuse(found)(value, *rest))
        if (once.shape, once.dtype) != (value.shape, value.dtype):
            continue
        other = value
        for _ in range(TIMES):
            other = np.asarray(ow.fuse(found)(other, *rest))
        made = ow.repeat(found, TIMES)(value, *rest)
        _agree("list", made, other, f"{found.name} repeated")


def _scheduled(program: Lists) -> None:
    for found, given in _calls(program):
        text = str(ow.schedule([found], *given, target="sm_80"))
        if not text.startswith(f"{found.name} for sm_80: "):
            raise Fault("list", f"{found.name}: its schedule reads {text}")


def _alone_along_axes(program: Lists, plan: Plan) -> None:
    """What oracles of whole functions may not see: rounded results hide what lies beside."""
    if plan.host:
        _by_one(program, {"neighbour", *(o.name for o in program.own if isinstance(o, Fold))})


def _by_one(program: Lists, ops: Any = None) -> None:
    """Each op-code that has NumPy's bits, alone, on what NumPy has made of those before it."""
    held = program.evaluate()
    for step in program.flat.steps:
        if ops is not None and step.op not in ops:
            continue
        if not program.deviates and program.is_exact_step(step, held):
            made = _alone(program, step, held)
            meant = [held[r] for r in step.results]
            _agree("numpy", made, meant, f"{step.text} alone, against NumPy,")


def _checked(program: Lists) -> None:
    """``check`` holds every value of every toggle to its bound."""
    if program.is_bounded:
        report = ow.fuse(program.function).check(*program.given())
        if not report.ok:
            raise Fault("toggle", f"check finds {report}")


USES: dict[str, Callable[[Lists], None]] = {
    "unrolled": _unrolled,
    "split": _split,
    "alone": _called,
    "pickled": _loaded,
    "graph": _in_a_graph,
    "repeat": _repeated,
    "schedule": _scheduled,
    "check": _checked,
    "op-codes": _by_one,
}
