"""What leaves the default tier of tests/ptx."""

from tests.support.tiers import Slow, away, diagonal, every, only, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_agreement.py": {
        "test_every_variant_agrees_with_verify_mode": some("map f16-sm_80", "softmax 40-sm_80",
            "norm small-sm_75", "product few rows-sm_90a", "transpose-sm_75", "scan 30-sm_80",
            "julia-sm_90a", "pixels-sm_75"),
        "test_no_schedule_changes_a_result": only("schedule", "1"),
    },
    "test_narrow_types.py": {
        "test_rows_of_all_lengths_agree_with_verify_mode": every(3),
    },
    "test_row_quotients.py": {
        "test_no_quotient_of_floats_is_rounded_wrongly": away(
            "ptx/test_row_quotients.py::test_a_quotient_next_to_the_middle_of_two_floats_is_the_nearer_one"),
        "test_rows_of_all_lengths_and_passes_are_divided_as_separate_kernels_do": some("37-twice"),
    },
    "test_users_kernels.py": {
        "test_a_kernel_gives_what_its_source_means": some("spin lock-1", "transpose through a tile-0",
            "two stages of asynchronous copies-0"),
    },
    "test_operators_by_ptx.py": {
        "test_operators_stay_within_their_bounds": some("float32-1-3", "float16-2-0", "int32-2-0"),
    },
    "test_float_instructions.py": {
        "test_arithmetic_is_rounded_once": diagonal("name", "kind", "mode"),
    },
    "test_integer_instructions.py": {
        "test_a_float_becomes_an_integer_within_its_range": diagonal("source", "made", "mode"),
    },
    "test_exp_sums.py": {
        "test_results_keep_the_bound_and_are_those_of_unfused_kernels": every(3),
        "test_rows_of_infinities_and_nan_are_as_by_numpy": every(2),
    },
}
# fmt: on
