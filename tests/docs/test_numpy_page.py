"""Every public function of NumPy has a line in docs/numpy.md, and what the line says is so."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.numpy_api.registry import SPECIAL
from tests.numpy_page.judge import difference
from tests.numpy_page.kinds import differences
from tests.numpy_page.page import PAGE, chapters, rows_of, text_of
from tests.numpy_page.rows import APART, APART_METHODS

pytest.importorskip("scipy.special")
CALLS = chapters()
TEXT = " ".join(call for calls in CALLS.values() for call in calls)
# NumPy's functions differ from version to version; the page is of one.
OF_PAGE = f"NumPy {'.'.join(np.__version__.split('.')[:2])}," in PAGE.read_text()


def public(module, names):
    """Functions, not types, modules and exceptions."""
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {n for n, value in found.items() if callable(value) and not isinstance(value, type)}


def lacking(names, prefix):
    return sorted(n for n in names if f"{prefix}{n}(" not in TEXT and f"{prefix}{n}." not in TEXT)


@pytest.mark.skipif(not OF_PAGE, reason="the page is of another NumPy")
def test_every_function_of_numpy_is_tried():
    assert lacking(public(np, np.__all__) - APART, "np.") == []


@pytest.mark.skipif(not OF_PAGE, reason="the page is of another NumPy")
def test_every_function_of_linalg_is_tried():
    assert lacking(public(np.linalg, np.linalg.__all__), "np.linalg.") == []


def test_every_function_of_fft_is_tried():
    assert lacking(public(np.fft, np.fft.__all__), "np.fft.") == []


def test_every_function_of_scipy_in_the_table_is_tried():
    assert lacking(SPECIAL, "special.") == []


def test_every_method_of_arrays_is_tried():
    names = {n for n in dir(np.ndarray) if not n.startswith("_")} - APART_METHODS
    tried = {n for n in names if f".{n}" in TEXT}

    assert sorted(names - tried) == []


@pytest.mark.skipif(not OF_PAGE, reason="the page is of another NumPy")
@pytest.mark.filterwarnings("ignore")
def test_the_page_says_what_becomes_of_each_call():
    with np.errstate(all="ignore"):
        made = text_of({name: rows_of(calls) for name, calls in CALLS.items()})

    assert PAGE.read_text() == made, "write it again: python -m tests.numpy_page"


@pytest.mark.host
@pytest.mark.skipif(not OF_PAGE, reason="the page is of another NumPy")
@pytest.mark.parametrize("chapter", CALLS)
def test_results_are_those_of_numpy(chapter):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {call: difference(call) for call in CALLS[chapter]}

    assert {call: text for call, text in found.items() if text} == {}


@pytest.mark.host
@pytest.mark.skipif(not OF_PAGE, reason="the page is of another NumPy")
@pytest.mark.parametrize("kind", ["int32", "bytes", "empty", "of one element"])
def test_reductions_of_other_operands_are_those_of_numpy(kind):
    reductions = [
        call for c in CALLS if c.startswith(("math_sums", "statistics")) for call in CALLS[c]
    ]

    assert differences(kind, tuple(reductions)) == {}


@pytest.mark.host
@pytest.mark.parametrize(
    "wrong", [lambda x: x + 1, lambda x: x * 1.0, lambda x: x[0], lambda x: (x,)]
)
def test_a_difference_is_seen(monkeypatch, wrong):
    monkeypatch.setattr(ow, "fuse", lambda function: lambda *args: wrong(function(*args)))

    assert difference("i * 2") != ""
