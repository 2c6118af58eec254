"""What leaves the default tier of tests/rolled, and of rounds and repeats."""

from tests.support.tiers import Slow, diagonal, every

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
    "repeats/test_counters.py": {
        "test_a_step_gets_the_number_of_its_round": diagonal("name", "n"),
        "test_one_round_on_a_gpu_is_one_round": diagonal("name", "target"),
    },
    "repeats/test_conditions.py": {
        "test_a_loop_ends_where_its_state_is_enough": diagonal("name", "n", "every"),
    },
    "repeats/test_numbers.py": {
        "test_numbers_are_carried_as_arrays_are": diagonal("name", "n"),
        "test_numbers_of_kernels_are_those_of_a_loop_over_the_fused_step": diagonal("name", "n"),
    },
    "rounds/test_loops_on_gpu.py": {
        "test_a_loop_is_rolled_bit_for_bit_as_it_would_be_written_out": every(3),
        "test_other_loops_mean_what_python_means": every(2).also("first_alone", "chosen_by_another",
            "a_part_of_an_argument"),
    },
}
# fmt: on
