"""What leaves the default tier of tests/host."""

from tests.support.tiers import Slow, diagonal

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_row_passes.py": {
        "test_any_number_of_a_row_has_the_bits_of_single_operators": diagonal("function", "dtype"),
    },
}
