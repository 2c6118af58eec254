"""Write a failing program of ordinary Python as a test that needs nothing of the fuzzer."""

from __future__ import annotations

from ..oracles import Failure
from .beside import mentions
from .modules import MODULES
from .program import Python

TEMPLATE = '''"""{oracle}: {summary}

Found by python -m tests.fuzz --seed {seed} --only {number}{kind}.
"""

import contextlib
import importlib.util
import io
import logging
import random
import sys
import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host

SOURCE = r"""
{source}"""
MODULES = {modules}


def loaded(folder, name, **known):
    spec = importlib.util.spec_from_file_location(name, folder / f"{{name}}.py")
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    vars(made).update(known)
    spec.loader.exec_module(made)
    return made


def shown(value, deep=8):
    """A value as text: types, values, and what objects hold."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return f"{{kind.__name__}} {{value.dtype}} {{value.tolist()}} {{getattr(value, 'unit', '')}}"
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple) and deep:
        return f"{{kind.__name__}} {{[shown(item, deep - 1) for item in value]}}"
    if hasattr(value, "__dict__") and kind.__module__.startswith("fuzz_"):
        return f"{{kind.__name__}} {{shown(vars(value), deep - 1)}}"
    is_named = callable(value) or kind.__module__ in ("opweave", "fuzz_program")
    return f"{{kind.__name__}} {{getattr(value, '__name__', '') if is_named else repr(value)}}"


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        self.found.append(f"{{record.levelname}} {{record.lineno}} {{record.getMessage()}}")


def outcome(folder, fuse, inside):
    """What all calls did, call by call."""
    for name in MODULES:
        loaded(folder, name)
    module = loaded(folder, "fuzz_program", fuse=inside, FOLDER=str(folder))
    random.seed(7)
    np.random.seed(7)
    function, made, logger = fuse(module.f), [], logging.getLogger("fuzz")
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("{filter}")
        for call in module.all_calls:
            out, records = io.StringIO(), Records()
            logger.addHandler(records)
            logger.setLevel(logging.DEBUG)
            args, named = call()
            with contextlib.redirect_stdout(out):
                try:
                    result = function(*args, **named)
                except Exception as error:
                    kinds = (c.__name__ for c in type(error).__mro__ if "opweave" not in c.__module__)
                    result = f"raised {{next(kinds)}}"
            logger.removeHandler(records)
            warned = [str(w.message) for w in caught if w.category is not ow.OpweaveWarning]
            caught.clear()
            state = {{
                f"{{name}}.{{key}}": shown(value)
                for name in ("fuzz_program", *MODULES)
                for key, value in vars(sys.modules[name]).items()
                if key.isupper() and key not in ("FOLDER", "RNG")
            }}
            arrays = [v for v in (result if isinstance(result, tuple) else (result,)) if isinstance(v, np.ndarray)]
            shared = [[a is b or np.shares_memory(a, b) for a in arrays] for b in arrays]
            made.append([shown(result), shown(args), out.getvalue(), records.found, warned, state, shared])
    return made


@pytest.mark.filterwarnings("ignore")
def test_the_fused_function_does_what_python_does(tmp_path, monkeypatch):
    for name, text in {{"fuzz_program": SOURCE, **MODULES}}.items():
        (tmp_path / f"{{name}}.py").write_text(text)
        monkeypatch.setitem(sys.modules, name, None)
    want = outcome(tmp_path, lambda f: f, lambda f: f)

    assert outcome(tmp_path, {mode}, ow.fuse) == want
'''
FUSED = {
    "fuse": "ow.fuse",
    "replay": "ow.fuse(replay=True)",
    "fullgraph": "ow.fuse(fullgraph=True)",
    "profiled": "ow.fuse",
}


def text(program: Python, failure: Failure, seed: int, number: int, only: str = "") -> str:
    """The test, as Python."""
    modules = {name: body for name, _, body in MODULES if mentions(name, program.source)}
    return TEMPLATE.format(
        oracle=failure.oracle,
        summary=failure.message.splitlines()[0][:90].replace("\\", "").replace('"', "'"),
        seed=seed,
        number=number,
        kind=f" --kind {only}" if only else "",
        source=program.source,
        modules=repr(modules),
        filter=program.filter,
        mode=FUSED[program.mode],
    )
