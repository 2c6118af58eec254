"""What leaves the default tier of tests/bench."""

from tests.support.tiers import Slow, every, only, some, without

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_experiments.py": {
        "test_a_loops_bound_holds_for_numpy_and_not_for_another_argument": only("number", "0",
            "2"),
        "test_an_experiment_writes_a_file_that_reads": without("name", "compile", "functions",
            "gallery", "graphs", "pixels", "transformer"),
    },
    "test_kernel_table.py": {
        "test_a_kernel_asks_for_no_more_than_its_row_says": some(
            "map behind the first element, f32-H200"),
    },
    "test_programs.py": {
        "test_a_program_does_what_it_does_in_numpy": every(2).less("cholesky"),
    },
    "test_timing.py": {
        "test_a_gpu_is_timed_by_events": only("name", "fusion", "overhead", "tiles"),
    },
}
# fmt: on
