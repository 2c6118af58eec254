"""The stand-in of CuPy that the tests of the runtime have."""

from tests.runtime.conftest import launches  # noqa: F401
