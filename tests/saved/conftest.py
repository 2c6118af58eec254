"""The stand-in of CuPy that the tests of the runtime have, and programs that are saved once."""

import pytest

from tests.runtime.conftest import launches  # noqa: F401
from tests.saved.programs import lowered


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The folder of a program of the table for a target, to be read."""
    made = {}

    def place(name, target="host"):
        if (name, target) not in made:
            folder = tmp_path_factory.mktemp("saved") / "program"
            made[name, target] = lowered(name, target).save(folder)
        return made[name, target]

    return place
