"""What leaves the default tier of tests/rolled."""

from tests.support.tiers import Slow, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_lists.py": {
        "test_a_loop_that_reads_lists_does_what_python_does": every(3),
        "test_an_item_that_is_not_there_is_pythons_error_and_lists_hold_what_came_before": every(2),
    },
    "test_two_names.py": {
        "test_an_array_with_two_names_is_one_as_in_python": every(3),
    },
    "test_methods.py": {
        "test_a_loop_that_calls_methods_does_what_python_does": every(3),
    },
}
# fmt: on
