"""What leaves the default tier of tests/xp."""

from tests.support.tiers import Slow, every, some, without

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_meaning.py": {
        "test_kernels_give_the_same": every(9),
        "test_kernels_run_every_function_of_elements": some("hypot", "logical_not"),
    },
    "test_others.py": {
        "test_functions_of_others_take_our_arrays": without("library", "sklearn"),
    },
    "test_random.py": {
        "test_so_do_those_that_kernels_compute": every(10),
    },
    "test_standard.py": {
        "test_the_suite_of_the_standard_passes_but_for_the_list": some(),
        "test_kernels_pass_tests_of_the_suite": some(),
    },
}
# fmt: on
