"""What leaves the default tier of tests/api."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_graphs.py": {
        "test_a_number_reaches_the_kernel_as_it_is": every(2),
        "test_every_mode_gives_numpys_result_each_time": diagonal("name", "mode", "fused", most=2),
        "test_random_graphs_give_the_same_in_every_mode": every(12),
    },
    "test_pains.py": {
        "test_it_is_right_and_fused": every(2),
        "test_pytorch_168126_and_183761_fused_sixteen_bits_are_unfused_ones": every(2),
    },
    "test_pickled.py": {
        "test_what_is_loaded_is_the_same_function": diagonal("way", "name", most=8),
    },
    "test_repeat.py": {
        "test_it_is_the_step_so_many_times": diagonal("step", "args",
            "n", most=7).also("no dimensions-69"),
        "test_turns_of_a_kernel_are_steps": diagonal("toggles", "step", "args",
            "target", most=12).also("{'BLOCK_K': 8}-<lambda>-args14-sm_80",
            "{'USE_SHARED_MEMORY': 0}-<lambda>-args14-sm_75", "{}-<lambda>-args3-sm_75"),
    },
    "test_structural.py": {
        "test_a_list_that_is_unfused_keeps_its_structural_op_codes": every(1).less("host-an index",
            "host-a guard", "host-a load, where the argument is read",
            "sm_80-a store, where the result is made", "sm_80-of rows"),
    },
    "test_structural_templates.py": {
        # of each template a list stays, and of products one for each target
        "test_op_codes_of_loads_and_stores_keep_the_bits": diagonal("function", "target").less(
            "tile-<lambda>-args3-sm_80", "product-<lambda>-args7-sm_80",
            "product-<lambda>-args8-host", "product-<lambda>-args9-sm_80",
            "pixel-<lambda>-args11-sm_80", "pixel-<lambda>-args12-host"),
        "test_tiles_that_come_straight_from_memory_are_read_by_them": every(1).less("product"),
    },
}
# fmt: on
