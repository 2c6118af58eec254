"""What leaves the default tier of tests/rolled."""

from tests.support.tiers import Slow, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_lists.py": {
        "test_a_loop_that_reads_lists_does_what_python_does": every(5),
        "test_an_item_that_is_not_there_is_pythons_error_and_lists_hold_what_came_before": every(4),
    },
    "test_two_names.py": {
        "test_an_array_with_two_names_is_one_as_in_python": every(4),
    },
    "test_dicts.py": {
        "test_items_of_a_dict_are_what_python_leaves": every(2),
    },
    "test_methods.py": {
        "test_a_loop_that_calls_methods_does_what_python_does": every(5),
    },
}
# fmt: on
