"""The stand-in of CuPy that the tests of the runtime have."""

# pytest finds a fixture by its name in a conftest, which nothing here calls
from tests.runtime.conftest import launches  # noqa: F401
