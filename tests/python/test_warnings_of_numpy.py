"""NumPy's warnings of what is too short come at the user's line, as often as by NumPy."""

import warnings

import numpy as np
import pytest

import opweave as ow

NOTHING, ONE, TABLE = np.zeros(0), np.ones(1), np.zeros((0, 3))

FUNCTIONS = {
    "a mean": (lambda x: x.mean(), NOTHING),
    "a mean that is not used": (lambda x: (x.mean(), x + 1)[1], NOTHING),
    "np.mean": (lambda x: np.mean(x) + 1, NOTHING),
    "means of columns": (lambda x: x.mean(axis=0), TABLE),
    "no means of rows": (lambda x: x.mean(axis=1), TABLE),
    "a variance": (lambda x: np.var(x), NOTHING),
    "a deviation": (lambda x: x.std(axis=0), TABLE),
    "no degree of freedom": (lambda x: x.var(ddof=1), ONE),
    "one degree of freedom": (lambda x: x.var(ddof=1), np.arange(2.0)),
    "an average": (lambda x: np.average(x), NOTHING),
    "a mean without nan": (lambda x: np.nanmean(x), NOTHING),
    "a mean of integers": (lambda x: np.nanmean(x), np.zeros(0, int)),
    "a deviation without nan": (lambda x: np.nanstd(x, ddof=1), ONE),
}


def warned(function, x, count=3):
    """Results, and what was warned of in some calls: category, text, file and line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [function(x) for _ in range(count)]
    return results, [
        (w.category, str(w.message), w.filename, w.lineno)
        for w in caught
        if not issubclass(w.category, ow.OpweaveWarning) and "encountered" not in str(w.message)
    ]


@pytest.mark.host
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_too_short_is_warned_of_as_by_numpy(name):
    function, x = FUNCTIONS[name]
    expected, texts = warned(function, x)
    found, told = warned(ow.fuse(function), x)

    assert told == texts
    np.testing.assert_array_equal(found, expected)


@pytest.mark.host
def test_a_line_warns_once_by_default():
    def function(x):
        return x.mean()

    fused = ow.fuse(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            fused(NOTHING)
    assert [str(w.message) for w in caught if "Mean" in str(w.message)] == ["Mean of empty slice"]


@pytest.mark.host
def test_what_has_to_be_whole_is_and_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ow.fuse(lambda x: x.mean(), fullgraph=True)(NOTHING))


@pytest.mark.host
def test_an_error_of_numpys_shows_the_line_once():
    def function(x):
        return np.linalg.inv(x * 2)

    with pytest.raises(np.linalg.LinAlgError) as caught:
        ow.fuse(function)(np.zeros((2, 2)))
    lines = [frame.lineno for frame in caught.traceback if str(frame.path) == __file__]
    assert len(lines) == len(set(lines))


@pytest.mark.host
@pytest.mark.parametrize("given", [ONE, ONE.view(np.matrix)], ids=["an array", "a matrix"])
def test_a_name_that_numpy_had_once_is_not_asked_of_it(given):
    def function(x, y):
        return str(x.shape), object(), y * 2

    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        warnings.simplefilter("ignore", ow.errors.OpweaveWarning)
        ow.fuse(function)(given, ONE)
