"""What leaves the default tier of tests/sass."""

from tests.support.tiers import Slow, every, some

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_inner_chunks.py": {
        "test_a_row_has_the_bits_that_it_has_where_each_pass_reads_it_again": every(6),
        "test_loads_of_rows_of_odd_length_are_on_their_way_together": every(6),
        "test_half_the_chunks_of_a_class_are_inner_ones_and_all_where_rows_fill_them": every(3),
    },
    "test_ptx_and_sass.py": {
        "test_integers_are_those_of_the_code_that_ptxas_writes": some("sm_80"),
        "test_requests_sectors_and_bytes_of_global_memory_agree": some("sm_90a-product"),
        "test_wavefronts_and_conflicts_of_shared_memory_agree": some("sm_90a-product"),
    },
    "test_sass_kernels.py": {
        "test_a_loop_ends_when_no_lane_of_the_warp_goes_on": some("sm_90a"),
        "test_atomics_are_neither_loads_nor_stores": some("sm_90a"),
        "test_what_an_atomic_leaves_in_shared_memory_is_not_guessed": some("sm_75"),
        "test_a_kernel_that_reads_once_asks_for_each_sector_once": every(2),
        "test_coalescing": every(2),
        "test_lines_change_no_instruction_and_no_pipe_is_unknown": every(4),
        "test_a_map_on_the_other_architectures": every(2),
        "test_a_sample_stands_for_all_blocks": some(),
        "test_blocks_that_count_themselves_are_followed_to_the_end": every(2),
        "test_multiplications_of_a_product_are_all_there": every(2),
        "test_what_is_left_out_decides_nothing": every(3),
    },
}
# fmt: on
