"""What leaves the default tier of tests/runtime."""

from tests.support.tiers import Slow, away, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_blas.py": {
        "test_a_matrix_with_a_vector_has_numpys_bits": diagonal("form", "layout", "dtype"),
        "test_factors_may_lie_as_they_like": diagonal("first", "second"),
    },
    "test_cuda_faults.py": {
        "test_out_of_memory_the_pool_is_emptied_and_one_more_try_made": diagonal("error", "place"),
    },
    "test_interrupted.py": {
        "test_ctrl_c_while_compiling": diagonal("what", "trap"),
    },
    "test_killed.py": {
        "test_64_cold_processes_that_want_one_kernel_compile_it_once": away(
            "runtime/test_killed.py::test_processes_that_start_at_once_share_their_work"),
    },
    "test_out_of_memory.py": {
        "test_a_result_that_is_too_large_is_named_and_nothing_else_is_lost": diagonal("name",
            "kept"),
    },
    "test_pool.py": {
        "test_a_call_holds_neither_its_arguments_nor_its_results": every(2),
    },
    "test_sanitize.py": {
        "test_nothing_is_found_in_a_correct_kernel": every(12),
        "test_the_fault_of_a_kernel_is_found": every(6),
    },
    "test_sanitize_api.py": {
        "test_no_finding_in_any_kernel_that_the_compiler_can_choose": every(10),
    },
    "test_sanitize_meaning.py": {
        "test_a_reduction_of_a_tile_is_that_of_numpy": diagonal("name", "of_numpy", "size",
            "dtype"),
    },
    "test_verify_mode.py": {
        "test_a_faulty_kernel_stops_with_its_reason": diagonal("schedule", "body", "message"),
    },
}
# fmt: on
