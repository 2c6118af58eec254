"""A ``cupy`` of NumPy's arrays and of our ``fuse``, as far as CuPy's tests of fusion ask for one.

A pytest plugin: with ``-p tests.fusion.cupy`` the tests import this module as ``cupy``.  Each
dtype, or a few pairs of dtypes, are tried as CuPy's decorators do; what a call's ``explain``
says goes as a line of JSON into the file that the environment names.
"""

import inspect
import itertools
import json
import os
import random
import sys
from functools import partial, update_wrapper
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

import opweave as ow
from tests.fusion.suite import OUTCOMES

PAIRS = int(os.environ.get("OPWEAVE_FUSION_PAIRS", "6"))
BOOLS, INTEGERS, COMPLEX = "?", "bhilqBHILQ", "FD"
FLOATS = "efd"


def noted(test, **about):
    """A line about what happened in a test."""
    line = json.dumps({"test": test, **about})
    with open(os.environ[OUTCOMES], "a") as file:
        file.write(line + "\n")


def of_test():
    """The id of the test that runs, as pytest tells it."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]


def copied(arguments):
    return [np.array(x) if isinstance(x, np.ndarray) else x for x in arguments]


class Fused:
    """A fused function that notes how each of its calls ran."""

    def __init__(self, function):
        update_wrapper(self, function)
        self.fused = ow.fuse(function)

    def __call__(self, *args, **kwargs):
        try:
            found = self.fused.explain(*copied(args), **kwargs)
        except Exception as error:  # the call's own error is what the test judges
            noted(of_test(), error=f"{type(error).__name__}: {error}"[:400])
        else:
            breaks = [str(line.why) for line in found.breaks]
            noted(of_test(), breaks=breaks, text=found.text[:200])
        return self.fused(*args, **kwargs)

    def clear_cache(self):
        pass


def fuse(*args, kernel_name=None, kind=Fused):
    """``cupy.fuse``, with and without brackets."""
    return kind(*args) if args else kind


# What tests of fusion use of cupy.testing.


def _wraps_partial_xp(function, *names):
    """The function's signature without these, so that pytest does not ask for them."""

    def deco(wrapper):
        update_wrapper(wrapper, function)
        signature = inspect.signature(function)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        wrapper.__signature__ = signature.replace(parameters=kept)
        del wrapper.__wrapped__
        return wrapper

    return deco


def for_dtypes_combination(groups, names, pairs=PAIRS):
    """Each choice of dtypes, or so many drawn by the test's name."""

    def deco(function):
        def wrapper(self, **kwargs):
            choices = list(itertools.product(*groups))
            if len(groups) > 1:
                drawn = random.Random(function.__qualname__)
                choices = drawn.sample(choices, min(pairs, len(choices)))
            for chosen in choices:
                dtypes = dict(zip(names, map(np.dtype, chosen), strict=True))
                try:
                    function(self, **kwargs, **{n: d.type for n, d in dtypes.items()})
                except Exception as error:
                    error.add_note(str(dtypes))
                    raise

        return _wraps_partial_xp(function, *names)(wrapper)

    return deco


def kinds(no_bool=False, no_float16=False, no_complex=False):
    floats = FLOATS[no_float16:]
    return INTEGERS + floats + COMPLEX * (not no_complex) + BOOLS * (not no_bool)


def for_dtypes(dtypes, name="dtype"):
    return for_dtypes_combination([dtypes], [name])


def for_all_dtypes(name="dtype", **options):
    return for_dtypes(kinds(**options), name)


def for_float_dtypes(name="dtype", no_float16=False):
    return for_dtypes(FLOATS[no_float16:], name)


def for_int_dtypes(name="dtype", no_bool=False):
    return for_dtypes(INTEGERS + BOOLS * (not no_bool), name)


def for_all_dtypes_combination(names=("dtype",), full=None, **options):
    return for_dtypes_combination([kinds(**options)] * len(names), names)


def for_int_dtypes_combination(names=("dtype",), no_bool=False, full=None):
    return for_dtypes_combination([INTEGERS + BOOLS * (not no_bool)] * len(names), names)


def shaped_random(shape, xp=np, dtype=np.float32, scale=10, seed=0, order="C"):
    drawn = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype == "?":
        found = drawn.randint(2, size=shape)
    elif dtype.kind == "c":
        found = (drawn.rand(*shape) + 1j * drawn.rand(*shape)) * scale
    else:
        found = drawn.rand(*shape) * scale
    return np.asarray(found, dtype, order)


def shaped_arange(shape, xp=np, dtype=np.float32, order="C"):
    found = np.arange(1, np.prod(shape) + 1)
    found = found % 2 if np.dtype(dtype) == "?" else found
    return np.array(found.astype(dtype).reshape(shape), order=order)


def beside(compare):
    """A test that is run for NumPy and for "CuPy", and whose results are compared."""

    def deco(function):
        def wrapper(self, **kwargs):
            with mock.patch.object(sys.modules["cupy"], "fuse", partial(fuse, kind=Plain)):
                expected = function(self, xp=np, **kwargs)
            compare(function(self, xp=np, **kwargs), expected)

        return _wraps_partial_xp(function, "xp")(wrapper)

    return deco


class Plain(Fused):
    """A function that is not fused."""

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)


def numpy_cupy_allclose(rtol=1e-7, atol=0, **_):
    return beside(partial(np.testing.assert_allclose, rtol=rtol, atol=atol))


def numpy_cupy_array_equal(**_):
    return beside(np.testing.assert_array_equal)


def multi_gpu(_):
    return pytest.mark.skip("asks for two GPUs")


def with_requires(*_):
    return lambda function: function


def slow(function):
    return function


def assert_array_list_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


class Namespace(ModuleType):
    """Our ``fuse``, and NumPy for what is not told here."""

    def __getattr__(self, name):
        return getattr(np, name)


def made():
    """The modules that take CuPy's place."""
    cupy, testing, loops = Namespace("cupy"), ModuleType("cupy.testing"), ModuleType("loops")
    here = sys.modules[__name__]
    for name in (
        "for_dtypes", "for_all_dtypes", "for_float_dtypes", "for_int_dtypes", "slow",
        "for_all_dtypes_combination", "for_int_dtypes_combination", "shaped_random",
        "shaped_arange", "numpy_cupy_allclose", "numpy_cupy_array_equal", "multi_gpu",
        "with_requires", "assert_array_list_equal",
    ):  # fmt: skip
        setattr(testing, name, getattr(here, name))
    testing.assert_allclose = np.testing.assert_allclose
    testing.assert_array_equal = np.testing.assert_array_equal
    loops._wraps_partial_xp = _wraps_partial_xp
    cupy.fuse, cupy.testing, cupy.get_array_module = fuse, testing, lambda *_: cupy
    cupy.cuda = mock.MagicMock()
    cupy._core = mock.MagicMock()
    modules = {"cupy": cupy, "cupy.testing": testing, "cupy.testing._loops": loops}
    return modules | {"cupy.exceptions": np.exceptions}


def pytest_load_initial_conftests():
    """Take CuPy's place, in this process alone, before a test imports it."""
    sys.modules.update(made())


def pytest_runtest_logreport(report):
    """What became of each test."""
    if report.outcome == "failed" or report.when == "call":
        why = str(report.longrepr)[-1500:] if report.failed else ""
        noted(report.nodeid, outcome=report.outcome, why=why)
