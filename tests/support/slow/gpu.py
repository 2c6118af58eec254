"""What leaves the default tier of tests/gpu where a stand-in of CuPy runs it; a GPU runs all."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_gpu.py": {
        "test_the_variant_is_right_on_the_gpu": every(8).also("windows of rows"),
        "test_fused_equals_unfused_bit_for_bit": every(12),
        "test_no_rung_of_the_ladder_changes_a_bit": diagonal("toggles", "dtype"),
        "test_products_by_the_library_are_within_the_bound": diagonal("dtype", "shapes"),
        "test_the_gallery_gives_numpys_answers": every(3),
    },
    "test_gpu_graphs.py": {
        "test_a_graph_gives_the_same_in_every_mode": diagonal("mode", "options", "size"),
        "test_a_step_of_one_product_is_repeated": diagonal("n", "size").less("300-100", "300-128"),
        "test_steps_of_several_kernels_are_repeated_as_a_graph": every(1).less("500"),
        "test_a_loop_over_time_is_rolled_bit_for_bit_as_it_would_be_written_out": every(3),
        "test_a_long_loop_over_time_is_what_numpy_has": every(3),
    },
}
# fmt: on
