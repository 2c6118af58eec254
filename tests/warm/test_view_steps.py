"""The steps by which C makes a view give the view that Python makes."""

import numpy as np
import pytest

from opweave.runtime.calls.views import ViewRecipe

ALL = slice(None)
X = np.arange(120.0).reshape(4, 5, 6)
RECIPES = {
    "all of it": (ViewRecipe(None, (ALL,) * 3, (0, 1, 2), (4, 5, 6)), 0),
    "turned": (ViewRecipe(None, (ALL,) * 3, (2, 1, 0), (6, 5, 4)), 1),
    "turned once": (ViewRecipe(None, (ALL,) * 3, (1, 2, 0), (5, 6, 4)), 1),
    "a part": (ViewRecipe(None, (slice(1, 3, 1), ALL, ALL), (0, 1, 2), (2, 5, 6)), 1),
    "a part, turned": (
        ViewRecipe(None, (slice(1, 3, 1), ALL, slice(4, 0, -2)), (2, 0, 1), (2, 2, 5)),
        2,
    ),
    "one of them, turned": (ViewRecipe(None, (slice(1, 2, 1), ALL, ALL), (2, 1), (6, 5)), 2),
    "new axes, turned": (
        ViewRecipe(None, (ALL,) * 3, (2, None, 1, 0, None), (6, 1, 5, 4, 1)),
        2,
    ),
    "new axes between": (ViewRecipe(None, (ALL,) * 3, (0, None, 1, 2), (4, 1, 5, 6)), 1),
    "in another shape": (ViewRecipe((20, 6), (ALL,) * 2, (0, 1), (20, 6)), 1),
    "in another shape, turned": (ViewRecipe((20, 6), (ALL,) * 2, (1, 0), (6, 20)), 2),
    "in another shape, a part": (
        ViewRecipe((20, 6), (slice(2, 20, 3), ALL), (1, None, 0), (6, 1, 6)),
        3,
    ),
}


def by_steps(array, recipe):
    for method, argument in recipe.steps:
        array = array[argument] if method is None else method(array, argument)
    return array


@pytest.mark.parametrize("name", RECIPES)
def test_steps_make_the_view(name):
    recipe, steps = RECIPES[name]
    assert len(recipe.steps) == steps
    expected = recipe.of(X)
    for made in (by_steps(X, recipe), recipe.viewing()(X)):
        assert (made.shape, made.strides) == (expected.shape, expected.strides)
        assert made.ctypes.data == expected.ctypes.data


def test_a_view_of_all_of_an_array_is_an_object_of_its_own():
    assert ViewRecipe(None, (ALL,) * 3, (0, 1, 2), (4, 5, 6)).viewing()(X) is not X


def test_an_axis_that_is_there_twice_is_left_to_python():
    assert ViewRecipe(None, (ALL,) * 2, (1, 0, 1), (6, 5, 6)).steps is None
