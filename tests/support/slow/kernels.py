"""What leaves the default tier of tests/kernels."""

from tests.support.tiers import Slow, diagonal, every, only

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_boundaries.py": {
        "test_a_form_is_right_at_an_extent": diagonal("form", "target", "extent"),
    },
    "test_columns.py": {
        "test_bands_keep_their_bounds": every(4),
        "test_fused_bands_are_bitwise_those_of_single_operators": every(16),
        "test_how_many_columns_go_together_changes_no_bit": diagonal("columns", "name",
            most=8).less("128-float16"),
        "test_narrow_numbers_are_reduced": diagonal("axis", "dtype"),
    },
    "test_complex_kernels.py": {
        "test_complex_functions_are_one_kernel_within_their_bounds": diagonal("case", "name",
            "target", most=6),
        "test_kernels_compile_for_every_architecture_without_spills": diagonal("case", "name",
            "target"),
        "test_no_compiler_joins_a_product_with_an_addition": diagonal("case", "name"),
        "test_products_keep_their_bounds_and_their_bits": every(1).less("complex64-shape0-sm_80",
            "complex64-shape2-host", "complex64-shape2-sm_80", "complex64-shape3-host",
            "complex64-shape3-sm_80", "complex128-shape0-host", "complex128-shape1-sm_80",
            "complex128-shape3-sm_80"),
        # what is dear in arcs of 128 bits are the functions, which test_complex_bounds.py holds
        "test_they_are_one_kernel_for_every_architecture": every(1).less("arcs-complex128",
            "arctangents-complex128"),
    },
    "test_devices.py": {
        "test_fused_and_unfused_agree_on_each_device": every(1).less("4-product and softmax",
            "4-product and wide softmax"),
        # other products on small devices: test_product_tiles.py, test_product_stages.py
        "test_no_device_changes_a_bit_of_tiles": diagonal("name", "kib").less("product f16-1",
            "product few rows-4", "product and wide softmax-1", "product c64-4",
            "product c128-16"),
        "test_on_any_device_kernels_fit_or_are_refused": every(4),
        "test_the_cards_that_are_known_have_room_for_the_same_kernels": diagonal("name", "target",
            most=30),
        "test_what_a_block_asks_for_is_known_and_fits_the_device": diagonal("name", "nbytes"),
        "test_what_is_known_is_what_the_compiler_allocates": diagonal("name", "target"),
    },
    "test_flat.py": {
        "test_it_computes_the_same_bits": diagonal("target", "name", "toggles", most=6).less(
            "sm_80-extremes large-toggles8", "sm_80-scan 1000-toggles16",
            "host-scan columns-toggles19"),
        "test_it_is_the_same_machine_code": diagonal("target", "name", "toggles", most=2),
        "test_no_condition_and_no_more_lines_are_left": every(2),
    },
    "test_gathers.py": {
        "test_a_gpus_compiler_takes_them_and_keeps_windows_in_registers": every(2).also("boundaries").less(
            "rolled", "softmax_of_picked"),
        "test_a_gpus_kernels_read_the_same_places": every(2).also("casts", "embedded",
            "arguments_of", "apart", "rows_of_joined").less("rolled", "stacked"),
        "test_a_stack_of_arrays_that_lie_differently_is_numpys": diagonal("axis",
            "dtype").less("bool-0", "float64-1"),
        "test_every_dtype_moves": every(10).also("bool").less("float16"),
        "test_fused_is_bit_for_bit_unfused_and_within_its_bounds": only("name", "casts",
            "softmax_of_picked"),
        "test_in_parts_they_are_the_same": only("name", "boundaries", "casts"),
        "test_places_are_those_of_numpy": diagonal("name", "layout", most=4).also("apart-negative",
            "arguments_of-C", "casts-C"),
        "test_take_checks_the_indices_that_numpy_does": every(3),
    },
    "test_places.py": {
        "test_what_is_computed_of_elements_read_one_by_one": diagonal("name", "dtype"),
    },
    "test_kept_rows.py": {
        "test_bits_are_those_of_separate_kernels": diagonal("columns", "function",
            "dtype").less("1000-softmax-f4", "1025-two-f8"),
    },
    "test_kernels.py": {
        "test_a_warp_joins_by_shuffles_without_a_barrier": every(2).less("sm_100"),
        # of products: test_product_tiles.py::test_products_compile_without_spills
        "test_the_variant_compiles_without_spills": diagonal("target", "variant", most=10).less(
            "sm_75-product few rows", "sm_80-product batched", "sm_89-product and softmax",
            "sm_90a-product and wide softmax"),
        "test_the_variant_is_right_as_fibres": diagonal("target", "variant", most=12),
        "test_the_variant_is_right_on_the_host": every(7),
        # of bytes: test_views.py::test_tiles_load_and_store_16_bytes_without_spills
        "test_vector_kernels_load_and_store_16_bytes": diagonal("name", "target", most=4).less(
            "map u8-sm_100"),
    },
    "test_layouts.py": {
        "test_broadcasting_agrees_with_numpy": diagonal("target", "shapes"),
        "test_every_layout_agrees_with_numpy": diagonal("target", "function", "layout", most=10),
        "test_every_layout_gives_the_bits_of_a_copy": diagonal("function", "layout", most=10),
        "test_runs_of_any_length_are_read_as_a_copy_in_their_order_is": diagonal("function", "run",
            "target"),
    },
    "test_names_in_kernels.py": {
        "test_an_argument_may_have_any_name": diagonal("name", "target", most=3),
    },
    "test_opted_shared_memory.py": {
        # what a launch takes of any: test_what_a_launch_says_is_what_the_tiles_take
        "test_no_bit_depends_on_where_tiles_lie": every(1).less("product of halves", "rows"),
        "test_the_compiler_allocates_none_of_it": diagonal("name", "target").less(
            "product of halves-sm_80", "rows-sm_89"),
    },
    "test_outer.py": {
        "test_every_number_of_rows_and_columns_is_reduced": diagonal("rows", "columns"),
        "test_fused_bits_are_those_of_single_operators": every(8),
        "test_no_toggle_but_the_plans_changes_a_bit": diagonal("toggles", "name", most=6),
        "test_results_keep_their_bounds_under_every_schedule": every(4),
    },
    "test_product_stages.py": {
        "test_copies_are_such_and_leave_registers_for_the_blocks": diagonal("rows",
            "target").less("4096-2-sm_90a"),
        "test_no_number_of_stages_changes_a_bit": every(2).less("strided", "rows"),
    },
    "test_product_tiles.py": {
        "test_a_large_product_loads_wide_and_reads_its_tiles_wide": only("target", "sm_80",
            "sm_90a"),
        "test_no_rung_of_the_ladder_changes_a_bit": diagonal("name", "toggles", most=6),
        "test_operands_of_several_widths_are_read_where_they_are_aligned": diagonal("columns",
            "toggles", "function"),
        "test_products_compile_without_spills": diagonal("name", "m", "n", "target",
            most=3).less("int32-4096-4096-sm_100"),
        "test_products_with_rows_compile_without_spills": diagonal("name", "columns", "target"),
    },
    "test_products.py": {
        "test_epilogues_share_the_kernel_of_their_product": every(12),
        "test_every_layout_agrees_with_numpy": diagonal("target", "right", "left"),
        "test_every_shape_agrees_with_numpy": diagonal("target", "shapes", most=12),
        "test_fused_equals_unfused_bit_for_bit": diagonal("target",
            "case", most=3).also("host-chain of maps", "host-norm", "host-softmax",
            "sm_80-chain of maps", "sm_80-norm").less("sm_80-softmax of 10"),
        "test_products_with_one_column_are_numpys": diagonal("dtype",
            "name", most=4).also("bool-epilogue", "uint16-epilogue"),
        "test_rows_without_columns_are_reduced_to_the_identity": diagonal("target", "inner",
            "function").also("host-5-<lambda>3"),
    },
    "test_scans.py": {
        "test_a_row_of_a_warp_is_scanned_by_shuffles_in_16_byte_accesses": every(2).less("sm_100"),
        "test_a_toggle_changes_no_bit": diagonal("shape", "toggles"),
        "test_any_extent_along_and_beside_the_axis": diagonal("target", "extent", most=3),
        "test_any_order_in_memory_gives_the_bits_of_a_copy": diagonal("target", "layout", most=4),
        "test_blocks_that_share_a_row_keep_bounds_and_bits": diagonal("target",
            "name", most=4).also("sm_75-16 bits", "sm_75-windows", "sm_90a-integers",
            "sm_90a-kept", "sm_90a-one row", "sm_75-kept", "sm_90a-16 bits"),
        "test_fused_and_unfused_bits_agree": diagonal("shape", "name",
            "target", most=6).also("(5, 37)-16-bit-sm_90a", "(5, 37)-with a column value-sm_90a",
            "(5, 37)-with a row value-sm_75", "(5, 37)-16-bit-sm_75"),
        "test_on_the_host_the_bits_are_numpys": diagonal("axis", "name", "dtype"),
        "test_parts_of_a_row_replace_the_plan": every(1).less("0-2", "0-16", "0-64"),
        "test_special_values_are_carried_as_numpy_does": diagonal("target", "name", "bad"),
    },
    "test_views.py": {
        "test_a_value_may_meet_its_own_view": diagonal("target", "case", most=4),
        "test_fused_equals_unfused_bit_for_bit": every(2),
        "test_reading_across_goes_through_tiles_and_keeps_every_bit": diagonal("target", "layout",
            "name", most=2).also("sm_80-transposed-uint8", "host-transposed-uint8",
            "sm_80-transposed-int32", "sm_80-sliced and transposed-bool", "host-transposed-int32",
            "host-offset-bool"),
        "test_tiles_load_and_store_16_bytes_without_spills": diagonal("name", "target", most=3),
        "test_views_agree_with_numpy_and_cost_no_kernel": diagonal("target", "case"),
    },
}
# fmt: on
