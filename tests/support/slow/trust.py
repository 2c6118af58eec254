"""What leaves the default tier of tests/trust."""

from tests.support.tiers import Slow, away, diagonal, every, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_cache_faults.py": {
        "test_a_call_that_fails_is_a_miss_and_never_an_error": diagonal("name", "error"),
    },
    "test_aliases.py": {
        "test_an_argument_may_be_its_own_out": diagonal("name", "kind"),
        "test_views_of_one_memory_give_the_bits_of_copies": every(2),
    },
    "test_fuzz.py": {
        "test_a_fault_is_found_and_shrunk": every(2),
        "test_random_scripts_are_numpys": away("trust/test_fuzz.py::test_a_short_run_finds_nothing"),
    },
    "test_fuzz_lists.py": {
        "test_a_fault_in_lists_is_found_shrunk_and_written": some("two stores of a name"),
        "test_a_fault_is_found_in_one_of_a_few_programs": some("a reduction of another step than it means",
            "a toggle whose other value computes another result", "a grid-stride loop that leaves its first element out"),
        "test_every_form_of_a_list_is_drawn": away("trust/test_fuzz_lists.py::test_random_lists_are_what_their_op_codes_are"),
    },
    "test_mutants.py": {
        "test_every_barrier_of_a_kernel_is_needed": every(40),
        "test_the_tool_leaves_no_survivor_without_a_reason": away("trust/test_mutants.py::test_every_barrier_of_a_kernel_is_needed"),
    },
    "test_offsets.py": {
        "test_elements_behind_2_to_the_31_are_read": diagonal("form", "step", most=3),
    },
    "test_repeatable.py": {
        "test_a_hundred_random_schedules_give_one_result": every(2),
    },
    "test_hostile.py": {
        "test_a_hostile_value_is_refused_or_changes_no_token": every(3),
    },
    "test_strict.py": {
        "test_every_operator_keeps_its_bits_behind_another": some("0-float32", "1-float32",
            "2-float32"),
        "test_no_schedule_changes_a_bit": diagonal("shape", "function"),
        "test_rows_keep_their_bits": diagonal("target", "function", "name", most=1),
        "test_toggles_that_are_no_plan_change_no_bit": diagonal("cols", "toggles"),
    },
}
# fmt: on
