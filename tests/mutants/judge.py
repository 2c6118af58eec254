"""Judge a mutant: do the checks see that a kernel is no longer what it was?

Three checks, in this order: the results in verify mode under three schedules, byte for byte and
against NumPy; faults that verify mode stops at; what the SIMT checker finds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jinja2
import numpy as np

import opweave as ow
from opweave._sanitizer import SEEN_TURNS, sanitize
from opweave.compiler.ir.values import TURNS
from opweave.compiler.kernels import render
from opweave.opcodes.errors import CompileError, OpweaveError
from opweave.runtime.simt.executors import SanitizeExecutor, VerifyExecutor
from opweave.templates import TEMPLATES
from tests.mutants.cases import (
    CASES,
    COMPLEX_CASES,
    HELPER_CASES,
    HOST_CASES,
    PLACE_CASES,
    REPEATED_CASES,
)
from tests.mutants.make import SWAPS, Mutant, mutants
from tests.mutants.structural import REPLACED
from tests.support.simt import flattened

SCHEDULES = (1, 0, 2)
TARGET = "sm_80"


@cache
def program(case: str):
    """A case as lowered by the templates as they are."""
    function, arguments, toggles = CASES[case]
    target = "host" if case in HOST_CASES else TARGET
    fused = ow.fuse(function).with_toggles(**toggles)
    fused = ow.repeat(fused, SEEN_TURNS) if case in REPEATED_CASES else fused
    made = fused.lower(*arguments, target=target)
    assert len(made.kernels) == 1, case
    for place, code in REPLACED[case][3] if case in REPLACED else ():
        made = made.kernels[0].replace(place, code).program
    return made


@cache
def expected(case: str, schedule: int = 0):
    return outcome(case, program(case).source, schedule)


def outcome(case: str, source: str, schedule: int):
    """Bytes of the results of a source in the place of a case's, or what stopped it."""
    made = program(case)
    changed = made.edited(replace(made.lowered, sources=(source,)))
    try:
        results = run(changed, VerifyExecutor(schedule), case)
    except CompileError:
        return "does not compile"
    except OpweaveError as error:
        return type(error).__name__
    return [
        np.asarray(r).tobytes() for r in (results if isinstance(results, tuple) else (results,))
    ]


def run(changed, executor, case: str):
    call = changed.arguments(tuple(CASES[case][1]), {})
    return changed.run_by(executor, replace(call, env={**call.env, TURNS: SEEN_TURNS}))


def is_found(case: str, source: str) -> bool:
    """True if the SIMT checker finds something in a source."""
    made = program(case)
    changed = made.edited(replace(made.lowered, sources=(source,)))
    try:
        if case in HOST_CASES:  # one thread
            executor = SanitizeExecutor()
            run(changed, executor, case)
            return any(launch.faults for launch in executor.seen)
        return not sanitize(changed, *CASES[case][1], schedules=2).ok
    except OpweaveError:
        return True


def verdict(pairs) -> str:
    """How the first of (case, changed source) dies; "survives" if none does."""
    tried = 0
    for case, source in pairs:
        tried += 1
        for schedule in SCHEDULES:
            found = outcome(case, source, schedule)
            if found == "does not compile":
                return "stillborn"
            if found != expected(case):
                return (
                    "killed by its results" if isinstance(found, list) else "killed in verify mode"
                )
    for case, source in pairs:
        if is_found(case, source):
            return "killed by the checker"
    return "survives" if tried else "not reached"


def with_template(mutant: Mutant):
    """(case, source) of the cases whose source a mutated template changes."""
    overlay = jinja2.DictLoader({mutant.file: mutant.text})
    plain = render._environment()
    changed = plain.overlay()
    changed.loader = jinja2.ChoiceLoader([overlay, jinja2.FileSystemLoader(str(TEMPLATES))])
    changed.cache = {}
    for case in CASES:
        kernel = program(case).lowered.kernels[0]
        kept, render._environment = render._environment, lambda: changed
        try:
            source = render.render(kernel)
        except jinja2.TemplateError:
            return
        finally:
            render._environment = kept
        if source != program(case).source:
            yield case, source


def with_rows(source: str, rows: str = (TEMPLATES / "rows.cuh").read_text()) -> str:
    """A source with the helpers of rows in it, as far as it calls them."""
    before, joins = rows.replace("#pragma once", "").split("// The warps of a row")
    joins, scans = joins.split("// What came before the warp")
    parts = (before, joins * ("join_" in source), scans * ("scan_tile" in source))
    return source.replace('#include "rows.cuh"', "//".join(parts))


def with_helper(mutant: Mutant):
    """(case, source) of the cases that helpers are tried in, with the helpers inside."""
    if mutant.file == "rows.cuh":
        for case in CASES:
            source = with_rows(program(case).source, mutant.text)
            if source != with_rows(program(case).source):
                yield case, source
        return
    changed = mutant.text.replace("#pragma once", "")
    if mutant.file == "complex.cuh":
        plain, cases = '#include "complex.cuh"', COMPLEX_CASES
    elif mutant.file == "places.cuh":
        plain, cases = '#include "places.cuh"', PLACE_CASES
    elif mutant.file == "policies.cuh":
        plain, cases = '#include "policies.cuh"', list(REPLACED)
    else:
        plain = (TEMPLATES / "common.cuh").read_text().replace("#pragma once", "")
        cases = HELPER_CASES
    for case in cases:
        yield case, flattened(program(case).source).replace(plain, changed)


def swapped() -> list[tuple[Mutant, list[tuple[str, str]]]]:
    """Mutants of rendered kernels: the operators of their reductions."""
    made: dict[str, tuple[Mutant, list[tuple[str, str]]]] = {}
    for case in CASES:
        if program(case).lowered.kernels[0].template in ("map", "pixel", "tile"):
            continue
        for mutant in mutants("rendered kernels", program(case).source, SWAPS):
            made.setdefault(mutant.key, (mutant, []))[1].append((case, mutant.text))
    return list(made.values())


def judged(mutant: Mutant) -> str:
    """The verdict on a mutant of a template or helper."""
    pairs = list(with_template(mutant) if mutant.file.endswith(".j2") else with_helper(mutant))
    return verdict(pairs)
