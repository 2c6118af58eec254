"""The table of the slow tier: what leaves the default one, and what still shows the same there."""

from tests.support.tiers import Slow, away, diagonal, every, only, some, without

# Each kind of dtype, and floats that are rounded in other ways.
_TYPES = ("bool", "int64", "uint8", "bfloat16", "float32", "float64", "complex64")

# fmt: off
_TABLE: dict[str, dict[str, Slow]] = {
    "cli/test_cli_doctor.py": {
        "test_the_status_says_whether_kernels_run_anywhere": diagonal("host", "gpu", "status"),
        "test_what_is_missing_comes_with_its_command": every(2),
    },
    "api/test_graphs.py": {
        "test_a_number_reaches_the_kernel_as_it_is": every(2),
        "test_every_mode_gives_numpys_result_each_time": diagonal("name", "mode", "fused", most=2),
        "test_random_graphs_give_the_same_in_every_mode": every(12),
    },
    "api/test_pains.py": {
        "test_it_is_right_and_fused": every(2),
        "test_pytorch_168126_and_183761_fused_sixteen_bits_are_unfused_ones": every(2),
    },
    "api/test_pickled.py": {
        "test_what_is_loaded_is_the_same_function": diagonal("way", "name", most=8),
    },
    "api/test_repeat.py": {
        "test_it_is_the_step_so_many_times": diagonal("step", "args",
            "n", most=7).also("no dimensions-69"),
        "test_turns_of_a_kernel_are_steps": diagonal("toggles", "step", "args",
            "target", most=12).also("{'BLOCK_K': 8}-<lambda>-args14-sm_80",
            "{'USE_SHARED_MEMORY': 0}-<lambda>-args14-sm_75", "{}-<lambda>-args3-sm_75"),
    },
    "api/test_structural_templates.py": {
        "test_op_codes_of_loads_and_stores_keep_the_bits": diagonal("function", "target"),
    },
    "bench/test_experiments.py": {
        "test_a_loops_bound_holds_for_numpy_and_not_for_another_argument": only("number", "0",
            "2"),
        "test_an_experiment_writes_a_file_that_reads": without("name", "compile", "functions",
            "gallery", "graphs", "pixels", "transformer"),
    },
    "bench/test_programs.py": {
        "test_a_program_does_what_it_does_in_numpy": every(2),
    },
    "bench/test_timing.py": {
        "test_a_gpu_is_timed_by_events": only("name", "fusion", "overhead", "tiles"),
    },
    "compiler/test_fuse.py": {
        "test_a_kernel_that_would_compile_for_long_is_split": every(2),
    },
    "compiler/test_memory.py": {
        "test_results_are_those_of_arrays_apart": diagonal("function", "args",
            "unfused", most=7).also("a fan-fused"),
    },
    "compiler/test_reads.py": {
        "test_results_are_those_of_numpy_in_as_many_kernels": only("name", "difference", "tiled",
            "counted", "of a reduction"),
    },
    "compiler/test_undecided.py": {
        "test_a_bound_of_clip_beyond_the_type_bounds_nothing": diagonal("low", "high", "dtype"),
    },
    "loops/test_loops_in_c.py": {
        "test_a_loop_does_what_python_does": every(2),
    },
    "loops/test_once_wrong.py": {
        "test_it_does_what_python_does": every(3),
    },
    "loops/test_random_programs.py": {
        "test_a_random_program_does_in_c_what_it_does_in_python": every(8),
    },
    "loops/test_what_loops_do.py": {
        "test_rows_are_summed_by_the_plan_of_every_row": every(3),
        "test_what_c_does_not_run_python_does": every(3),
    },
    "docs/test_gallery.py": {
        "test_a_program_gives_numpys_answer_in_as_many_kernels": every(3),
        "test_a_program_keeps_its_bound": diagonal("target",
            "name", most=15).also("sm_80-haversine", "sm_80-hue_and_value", "sm_80-rotate",
            "sm_80-transformer_block", "host-hue_and_value", "sm_80-bilinear"),
    },
    "docs/test_numpy_page.py": {
        "test_reductions_of_other_operands_are_those_of_numpy": only("kind", "empty"),
        "test_results_are_those_of_numpy": some("creation: arrays of a given shape, like another array, and from data",
            "logic: truth of elements, and comparison of whole arrays",
            "manipulation_shape: shape, order of axes, type and memory order"),
    },
    "python/test_arguments.py": {
        "test_what_is_done_in_place_by_a_numpy_number": diagonal("function", "number", most=3),
        "test_whatever_holds_arrays_goes_in_and_comes_out": every(2),
    },
    "parts/test_assigned_parts.py": {
        "test_names_see_what_those_of_numpy_see": every(2),
    },
    "numpy_api/test_axes.py": {
        "test_any_set_of_axes_is_reduced_as_by_numpy": diagonal("name", "axes",
            "target", most=4).also("any-axes87-sm_80"),
    },
    "python/test_captures.py": {
        "test_arrays_that_the_function_makes_are_inputs": every(2),
        "test_other_modules_of_the_user_are_read_at_each_call": diagonal("change",
            "name", most=5).also("imported function-equal_names_of_two_scopes"),
        "test_what_changes_outside_changes_the_result": diagonal("name", "change", "traces"),
    },
    "python/test_changes_outside.py": {
        "test_what_is_changed_outside_is_changed_at_each_call": every(2).also("a dataclass with slots",
            "objects linked deeply"),
    },
    "numpy_api/test_complex_arrays.py": {
        "test_any_layout_serves": diagonal("layout", "name", "target", most=3),
        "test_types_shapes_and_values_are_numpys": diagonal("case",
            "name", most=8).also("comparison-complex64", "reductions-complex64"),
    },
    "numpy_api/test_complex_spellings.py": {
        "test_functions_that_are_made_of_others_take_complex_arrays": diagonal("name",
            "dtype", most=8).also("variance, mean-complex128", "real if close-complex128",
            "correlation coefficients-complex128"),
        "test_nan_in_either_part_counts_as_nan": diagonal("name", "dtype", most=6),
    },
    "numpy_api/test_composed.py": {
        "test_it_is_numpys": diagonal("target", "case", most=3).also("host-diff of bool",
            "sm_80-count_nonzero of integers", "sm_80-diff of bool", "sm_80-norm inf",
            "sm_80-ptp of integers", "host-count_nonzero of integers", "sm_80-nansum",
            "host-ptp of integers", "sm_80-nanvar", "host-nanvar"),
    },
    "numpy_api/test_creation.py": {
        "test_what_is_made_is_numpys": diagonal("target", "case", most=3).also("host-by an extent",
            "sm_80-by an extent", "sm_80-full_like of another type", "sm_80-of an extent"),
    },
    "numpy_api/test_errors_by_numpy.py": {
        "test_an_error_is_told_as_by_numpy": every(6).also("47", "16"),
        "test_where_there_is_no_error_kernels_are_the_whole_call": every(8).also("17", "41", "37",
            "38", "40", "29", "34", "20", "31"),
    },
    "numpy_api/test_indexing.py": {
        "test_an_index_is_numpys": diagonal("target", "case", most=9),
        "test_any_layout_can_be_indexed": diagonal("layout", "target", most=2),
    },
    "numpy_api/test_missing_places.py": {
        "test_a_place_is_checked_though_nobody_reads_it": diagonal("fused", "function"),
        "test_a_place_that_is_not_there_is_refused_where_nothing_is_read": every(2),
    },
    "numpy_api/test_numpy_forms.py": {
        "test_a_form_that_was_in_parts_is_whole": every(4),
        "test_a_type_that_follows_from_values_is_pythons": diagonal("scale", "function"),
        "test_max_and_min_of_computed_numbers": diagonal("kind", "name", "scale"),
        "test_the_mean_of_a_variance_takes_part_in_its_type": diagonal("mean", "of"),
    },
    "numpy_api/test_numpys_rules.py": {
        "test_a_cast_to_integers_and_back_is_no_truncation": every(2),
        "test_a_power_of_one_half_is_the_root_where_numpy_takes_it": every(2),
        "test_integer_arrays_meet_integer_constants": diagonal("function", "dtype"),
    },
    "python/test_outside.py": {
        "test_what_any_object_holds_is_read_at_each_call": every(2),
        "test_what_a_function_changes_is_changed_at_each_call": every(2),
        "test_what_an_object_holds_is_read_at_each_call": diagonal("kind", "called",
            "change", most=8).also("Layer-a captured partial-element"),
    },
    "compiler/test_forwarding.py": {
        "test_fused_kernels_and_single_ones_leave_the_same_bits": every(3),
    },
    "python/test_subclasses.py": {
        "test_a_class_of_arrays_keeps_its_meaning": every(2),
    },
    "parts/test_written_in_steps.py": {
        "test_rows_that_do_not_change_are_left_alone_where_they_are": every(2),
    },
    "parts/test_short_left_to_numpy.py": {
        "test_a_call_has_the_same_bits_each_time_whatever_came_before": every(3),
        "test_an_unfused_function_is_left_to_numpy_alike": every(2),
    },
    "parts/test_parts.py": {
        "test_a_function_in_parts_does_what_it_does": every(4).also("stack",
            "assignment of a shape", "masks of one"),
        "test_a_number_may_be_one_of_numpys": every(2),
        "test_any_layout": diagonal("name", "layout"),
    },
    "parts/test_parts_and_memory.py": {
        "test_arrays_of_numpys_own_are_written_to": diagonal("made",
            "write").also("<lambda>0-<lambda>2"),
        "test_what_numpy_writes_to_a_view_is_seen_in_the_array": diagonal("view", "made", most=5),
    },
    "parts/test_parts_as_python.py": {
        "test_what_a_review_found": every(2).also("copies"),
    },
    "python/test_questions.py": {
        "test_a_fused_function_is_told_what_python_tells": diagonal("parts",
            "name", most=31).also("in parts-its priority",
            "whole-text: an element of NumPy's number", "whole-text: an array without dimensions",
            "whole-a count of numbers", "whole-type in a union",
            "whole-an attribute that is not there", "in parts-lru_cache", "whole-in sys.modules",
            "whole-a match of False", "whole-text: a sum has an element",
            "whole-isinstance of a tuple of types"),
    },
    "python/test_redefined.py": {
        "test_a_change_is_seen_at_the_next_call": diagonal("how",
            "name", most=11).also("versions-one of a metaclass"),
        "test_what_is_patched_for_a_while": diagonal("how", "source", "where", "name", "other"),
    },
    "numpy_api/test_reshape.py": {
        "test_a_reshape_is_numpys": diagonal("target", "case", most=10),
        "test_what_stands_in_a_maps_place_is_reshaped_as_rows": diagonal("name", "layout"),
    },
    "numpy_api/test_selection.py": {
        "test_what_a_mask_selects_stays_in_the_kernel": diagonal("target",
            "name", most=2).also("sm_80-a spread", "sm_80-truth"),
    },
    "parts/test_sharing.py": {
        "test_what_is_written_is_seen_as_by_numpy": every(12).also("in rows, of a diagonal",
            "elements exchanged behind flat", "real", "einsum", "broadcast_arrays", "meshgrid",
            "row with an axis"),
        "test_what_is_written_to_a_reduction_is_seen_through_its_view": diagonal("through",
            "write", "name"),
    },
    "numpy_api/test_spellings.py": {
        "test_it_is_numpys_in_few_kernels": some("host-a place", "host-a table of products",
            "sm_80-a place from the end", "sm_80-logsumexp", "sm_80-nextafter", "sm_80-norms",
            "sm_80-searchsorted of integers"),
        "test_what_was_wrong_once_is_numpys": every(4).also("a table of integers for bfloat16",
            "nothing, resized", "a square product in place", "rounds of eigenvalues"),
    },
    "numpy_api/test_values.py": {
        "test_dtypes_keep_their_characters": every(16).also("np.gcd(x, y)", "~x"),
        "test_interp_of_complex_values": diagonal("z", "function", most=3),
        "test_results_have_the_types_of_numpy": every(8).also("np.size(x, 0)",
            "np.logical_not(np.allclose(x, x))", "np.allclose(o, 2.5)",
            "np.array([np.allclose(x, x), np.allclose(x, y)])"),
        "test_what_only_python_knows_has_its_types_in_parts": every(2),
    },
    "python/test_what_outlives_a_call.py": {
        "test_nothing_keeps_the_arrays_of_a_call": every(2),
    },
    "parts/test_written_arguments.py": {
        "test_written_as_by_numpy": diagonal("function", "layout"),
    },
    "parts/test_written_indices.py": {
        "test_a_whole_function_assigns_by_indices": diagonal("function", "layout"),
    },
    "parts/test_written_parts.py": {
        "test_parts_hold_what_numpy_leaves_there": diagonal("function", "layout"),
        "test_what_is_stored_has_the_arguments_type": every(2),
    },
    "parts/test_written_views.py": {
        "test_what_is_a_view_and_what_is_a_copy_is_numpys": every(2),
        "test_a_whole_function_writes_through_views": diagonal("function", "layout"),
        "test_another_shape_is_a_view_where_it_is_numpys": diagonal("function", "layout"),
    },
    "python/test_types_first.py": {
        "test_the_exception_is_numpys": diagonal("function", "pair", "made", most=24),
    },
    "ptx/test_agreement.py": {
        "test_every_variant_agrees_with_verify_mode": some("map f16-sm_80", "softmax 40-sm_80",
            "norm small-sm_75", "product few rows-sm_90a", "transpose-sm_75", "scan 30-sm_80",
            "julia-sm_90a", "pixels-sm_75"),
        "test_no_schedule_changes_a_result": only("schedule", "1"),
    },
    "ptx/test_users_kernels.py": {
        "test_a_kernel_gives_what_its_source_means": some("spin lock-1", "transpose through a tile-0",
            "two stages of asynchronous copies-0"),
    },
    "ptx/test_operators_by_ptx.py": {
        "test_operators_stay_within_their_bounds": some("float32-1-3", "float16-2-0", "int32-2-0"),
    },
    "ptx/test_float_instructions.py": {
        "test_arithmetic_is_rounded_once": diagonal("name", "kind", "mode"),
    },
    "ptx/test_integer_instructions.py": {
        "test_a_float_becomes_an_integer_within_its_range": diagonal("source", "made", "mode"),
    },
    "kernels/test_boundaries.py": {
        "test_a_form_is_right_at_an_extent": diagonal("form", "target", "extent"),
    },
    "kernels/test_columns.py": {
        "test_bands_keep_their_bounds": every(4),
        "test_fused_bands_are_bitwise_those_of_single_operators": every(16),
        "test_how_many_columns_go_together_changes_no_bit": diagonal("columns", "name", most=8),
        "test_narrow_numbers_are_reduced": diagonal("axis", "dtype"),
    },
    "kernels/test_complex_kernels.py": {
        "test_complex_functions_are_one_kernel_within_their_bounds": diagonal("case", "name",
            "target", most=6),
        "test_kernels_compile_for_every_architecture_without_spills": diagonal("case", "name",
            "target"),
        "test_no_compiler_joins_a_product_with_an_addition": diagonal("case", "name"),
    },
    "kernels/test_devices.py": {
        "test_no_device_changes_a_bit_of_tiles": diagonal("name", "kib"),
        "test_on_any_device_kernels_fit_or_are_refused": every(4),
        "test_the_cards_that_are_known_have_room_for_the_same_kernels": diagonal("name", "target",
            most=30),
        "test_what_a_block_asks_for_is_known_and_fits_the_device": diagonal("name", "nbytes"),
        "test_what_is_known_is_what_the_compiler_allocates": diagonal("name", "target"),
    },
    "kernels/test_flat.py": {
        "test_it_computes_the_same_bits": diagonal("target", "name", "toggles", most=6),
        "test_it_is_the_same_machine_code": diagonal("target", "name", "toggles", most=2),
        "test_no_condition_and_no_more_lines_are_left": every(2),
    },
    "kernels/test_gathers.py": {
        "test_a_gpus_compiler_takes_them_and_keeps_windows_in_registers": every(2).also("boundaries"),
        "test_a_gpus_kernels_read_the_same_places": every(2).also("casts", "embedded",
            "arguments_of", "apart", "rows_of_joined"),
        "test_a_stack_of_arrays_that_lie_differently_is_numpys": diagonal("axis", "dtype"),
        "test_every_dtype_moves": every(10).also("bool"),
        "test_fused_is_bit_for_bit_unfused_and_within_its_bounds": only("name", "casts",
            "softmax_of_picked"),
        "test_in_parts_they_are_the_same": only("name", "boundaries", "casts"),
        "test_places_are_those_of_numpy": diagonal("name", "layout", most=4).also("apart-negative",
            "arguments_of-C", "casts-C"),
        "test_take_checks_the_indices_that_numpy_does": every(3),
    },
    "kernels/test_kept_rows.py": {
        "test_bits_are_those_of_separate_kernels": diagonal("columns", "function", "dtype"),
    },
    "kernels/test_kernels.py": {
        "test_a_warp_joins_by_shuffles_without_a_barrier": every(2),
        "test_the_variant_compiles_without_spills": diagonal("target", "variant", most=10),
        "test_the_variant_is_right_as_fibres": diagonal("target", "variant", most=12),
        "test_the_variant_is_right_on_the_host": every(7),
        "test_vector_kernels_load_and_store_16_bytes": diagonal("name", "target", most=4),
    },
    "kernels/test_layouts.py": {
        "test_broadcasting_agrees_with_numpy": diagonal("target", "shapes"),
        "test_every_layout_agrees_with_numpy": diagonal("target", "function", "layout", most=10),
        "test_every_layout_gives_the_bits_of_a_copy": diagonal("function", "layout", most=10),
        "test_runs_of_any_length_are_read_as_a_copy_in_their_order_is": diagonal("function", "run",
            "target"),
    },
    "kernels/test_names_in_kernels.py": {
        "test_an_argument_may_have_any_name": diagonal("name", "target", most=3),
    },
    "kernels/test_opted_shared_memory.py": {
        "test_the_compiler_allocates_none_of_it": diagonal("name", "target"),
    },
    "kernels/test_product_stages.py": {
        "test_copies_are_such_and_leave_registers_for_the_blocks": diagonal("rows", "target"),
        "test_no_number_of_stages_changes_a_bit": every(2),
    },
    "kernels/test_product_tiles.py": {
        "test_a_large_product_loads_wide_and_reads_its_tiles_wide": only("target", "sm_80",
            "sm_90a"),
        "test_no_rung_of_the_ladder_changes_a_bit": diagonal("name", "toggles", most=6),
        "test_operands_of_several_widths_are_read_where_they_are_aligned": diagonal("columns",
            "toggles", "function"),
        "test_products_compile_without_spills": diagonal("name", "m", "n", "target", most=3),
        "test_products_with_rows_compile_without_spills": diagonal("name", "columns", "target"),
    },
    "kernels/test_products.py": {
        "test_epilogues_share_the_kernel_of_their_product": every(12),
        "test_every_layout_agrees_with_numpy": diagonal("target", "right", "left"),
        "test_every_shape_agrees_with_numpy": diagonal("target", "shapes", most=12),
        "test_fused_equals_unfused_bit_for_bit": diagonal("target",
            "case", most=3).also("host-chain of maps", "host-norm", "host-softmax",
            "sm_80-chain of maps", "sm_80-norm"),
        "test_products_with_one_column_are_numpys": diagonal("dtype",
            "name", most=4).also("bool-epilogue", "uint16-epilogue"),
        "test_rows_without_columns_are_reduced_to_the_identity": diagonal("target", "inner",
            "function").also("host-5-<lambda>3"),
    },
    "kernels/test_scans.py": {
        "test_a_row_of_a_warp_is_scanned_by_shuffles_in_16_byte_accesses": every(2),
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
        "test_special_values_are_carried_as_numpy_does": diagonal("target", "name", "bad"),
    },
    "kernels/test_views.py": {
        "test_a_value_may_meet_its_own_view": diagonal("target", "case", most=4),
        "test_fused_equals_unfused_bit_for_bit": every(2),
        "test_reading_across_goes_through_tiles_and_keeps_every_bit": diagonal("target", "layout",
            "name", most=2).also("sm_80-transposed-uint8", "host-transposed-uint8",
            "sm_80-transposed-int32", "sm_80-sliced and transposed-bool", "host-transposed-int32",
            "host-offset-bool"),
        "test_tiles_load_and_store_16_bytes_without_spills": diagonal("name", "target", most=3),
        "test_views_agree_with_numpy_and_cost_no_kernel": diagonal("target", "case"),
    },
    "opcodes/test_broken_fragments.py": {
        "test_the_host_compiler_s_complaint_names_the_op_code": diagonal("name", "target"),
    },
    "opcodes/test_complex.py": {
        "test_arithmetic_has_numpys_special_values": diagonal("arity", "name"),
        "test_functions_have_the_special_values_of_annex_g": diagonal("row", "name", most=2),
        "test_powers_of_arrays_that_the_function_makes": every(3),
    },
    "opcodes/test_complex_bounds.py": {
        "test_bounds_of_inverses_are_a_few_ulp_everywhere": diagonal("row", "name",
            "executor", most=3),
        "test_either_part_of_an_inverse_is_right_to_a_few_ulp_everywhere": diagonal("row",
            "name", most=2),
        "test_functions_keep_their_bounds_and_numpys_wide_values_do_too": diagonal("row",
            "name", most=3),
    },
    "opcodes/test_host_math.py": {
        "test_a_function_keeps_its_stated_ulp": diagonal("name", "dtype", most=7),
        "test_a_vector_and_its_rest_have_the_same_bits": diagonal("name", "dtype", most=4),
        "test_relaxed_arithmetic_leaves_the_functions_themselves": every(4),
    },
    "opcodes/test_integer_edges.py": {
        "test_integers_of_the_edges": diagonal("table", "target", "dtype", most=8),
        "test_quotients_by_one_number": diagonal("dtype", "y", most=6),
        "test_quotients_next_to_whole_ones": every(2),
    },
    "opcodes/test_numerics.py": {
        "test_results_are_those_of_numpy": every(2),
    },
    "opcodes/test_lists.py": {
        "test_a_list_has_the_bits_of_its_op_codes_as_operators": diagonal("dtype", "target", most=9),
        "test_a_list_has_the_same_bits_wherever_it_stands": diagonal("form", "target"),
    },
    "opcodes/test_operators.py": {
        "test_binary_operators_agree_with_numpy_on_all_pairs_of_special_values": only("name", *_TYPES),
        "test_casts_agree_with_numpy": only("source", *_TYPES, "int8", "float16", "uint64"),
        "test_composites_agree_with_numpy": diagonal("composite", "name"),
        "test_fused_operators_return_numpys_dtypes": only("name", *_TYPES),
        "test_reductions_agree_with_numpy": diagonal("name", "axis"),
        "test_unary_operators_agree_with_numpy_on_special_values": only("name", *_TYPES),
    },
    "opcodes/test_ordinary_numbers.py": {
        "test_a_long_array_has_the_bits_of_its_pieces": diagonal("name", "dtype"),
        "test_a_rare_number_leaves_every_form_as_it_is": diagonal("columns", "dtype", "name"),
        "test_an_ordinary_number_has_the_same_bits_beside_any_other": diagonal("name", "dtype"),
    },
    "opcodes/test_own_products.py": {
        "test_a_list_is_a_product": diagonal("name", "target", most=2),
        "test_max_plus_is_exact_but_for_the_sum_in_every_form": diagonal("form", "target"),
    },
    "opcodes/test_own_reductions.py": {
        "test_a_list_is_a_reduction": diagonal("name", "target", most=4),
        "test_a_list_is_a_scan": diagonal("name", "target"),
        "test_the_list_of_sum_has_the_bits_of_sum_in_every_form": diagonal("form", "target"),
    },
    "opcodes/test_pixels.py": {
        "test_a_chain_is_one_kernel_from_uint8_to_uint8": diagonal("target", "shape", most=3),
        "test_channels_and_pixels_broadcast_as_by_numpy": diagonal("target", "case", most=4),
        "test_every_layout_gives_the_bits_of_a_copy": diagonal("target", "layout"),
        "test_every_operator_agrees_with_its_meaning": diagonal("target", "operator",
            "name", most=5),
        "test_pictures_broadcast_over_others": diagonal("target", "dtype", "shape", most=2),
    },
    "opcodes/test_scan_functions.py": {
        "test_a_function_is_numpys": diagonal("name",
            "target", most=8).also("from a row of weights-sm_80", "logical_and.accumulate-sm_80",
            "nancumprod-sm_80", "nancumsum-host", "nancumsum-sm_80", "of a broadcast-sm_80",
            "of columns in an order-sm_80", "of elements at places-sm_80",
            "of rolled columns-host", "of rolled columns-sm_80"),
        "test_every_scan_of_every_type_keeps_its_bound": diagonal("target", "axis",
            "dtype", most=7).also("host-1-bool", "host-1-int8", "host-1-uint8", "sm_80-0-bool",
            "sm_80-0-float64", "sm_80-0-int8", "sm_80-0-uint8", "sm_80-1-bool"),
    },
    "opcodes/test_toggles_of_running_values.py": {
        "test_a_running_value_has_the_same_bits_with_every_value_in_every_form": diagonal("name",
            "target"),
    },
    "opcodes/test_umath_rows.py": {
        "test_rows_hold_in_verify_mode": diagonal("first", "dtype"),
        "test_rows_hold_on_the_host": every(2),
    },
    "opcodes/test_vectors_in_products.py": {
        "test_a_product_in_a_list_takes_vectors_as_numpy_does": diagonal("operator", "name"),
    },
    "opcodes/test_specials.py": {
        "test_no_compiler_makes_one_function_of_two": diagonal("family", "turn"),
        "test_special_values_are_numpys": diagonal("name", "arity", most=3),
    },
    "runtime/test_blas.py": {
        "test_a_matrix_with_a_vector_has_numpys_bits": diagonal("form", "layout", "dtype"),
        "test_factors_may_lie_as_they_like": diagonal("first", "second"),
    },
    "runtime/test_cuda_faults.py": {
        "test_out_of_memory_the_pool_is_emptied_and_one_more_try_made": diagonal("error", "place"),
    },
    "runtime/test_interrupted.py": {
        "test_ctrl_c_while_compiling": diagonal("what", "trap"),
    },
    "runtime/test_killed.py": {
        "test_64_cold_processes_that_want_one_kernel_compile_it_once": away(
            "runtime/test_killed.py::test_processes_that_start_at_once_share_their_work"),
    },
    "runtime/test_out_of_memory.py": {
        "test_a_result_that_is_too_large_is_named_and_nothing_else_is_lost": diagonal("name",
            "kept"),
    },
    "runtime/test_pool.py": {
        "test_a_call_holds_neither_its_arguments_nor_its_results": every(2),
    },
    "runtime/test_sanitize.py": {
        "test_nothing_is_found_in_a_correct_kernel": every(12),
        "test_the_fault_of_a_kernel_is_found": every(6),
    },
    "runtime/test_sanitize_api.py": {
        "test_no_finding_in_any_kernel_that_the_compiler_can_choose": every(10),
    },
    "runtime/test_sanitize_meaning.py": {
        "test_a_reduction_of_a_tile_is_that_of_numpy": diagonal("name", "of_numpy", "size",
            "dtype"),
    },
    "runtime/test_verify_mode.py": {
        "test_a_faulty_kernel_stops_with_its_reason": diagonal("schedule", "body", "message"),
    },
    "sass/test_ptx_and_sass.py": {
        "test_integers_are_those_of_the_code_that_ptxas_writes": some("sm_80"),
        "test_requests_sectors_and_bytes_of_global_memory_agree": some("sm_90a-product"),
        "test_wavefronts_and_conflicts_of_shared_memory_agree": some("sm_90a-product"),
    },
    "sass/test_sass_kernels.py": {
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
    "cli/test_cli_profile.py": {
        "test_a_lesson_prints_what_the_page_says": every(2),
        "test_a_mistake_is_one_line": every(2),
    },
    "trust/test_aliases.py": {
        "test_an_argument_may_be_its_own_out": diagonal("name", "kind"),
        "test_views_of_one_memory_give_the_bits_of_copies": every(2),
    },
    "trust/test_fuzz.py": {
        "test_a_fault_is_found_and_shrunk": every(2),
        "test_random_scripts_are_numpys": away("trust/test_fuzz.py::test_a_short_run_finds_nothing"),
    },
    "trust/test_fuzz_lists.py": {
        "test_a_fault_in_lists_is_found_shrunk_and_written": some("two stores of a name"),
        "test_a_fault_is_found_in_one_of_a_few_programs": some("a reduction of another step than it means",
            "a toggle whose other value computes another result", "a grid-stride loop that leaves its first element out"),
        "test_every_form_of_a_list_is_drawn": away("trust/test_fuzz_lists.py::test_random_lists_are_what_their_op_codes_are"),
    },
    "trust/test_mutants.py": {
        "test_every_barrier_of_a_kernel_is_needed": every(40),
        "test_the_tool_leaves_no_survivor_without_a_reason": away("trust/test_mutants.py::test_every_barrier_of_a_kernel_is_needed"),
    },
    "trust/test_offsets.py": {
        "test_elements_behind_2_to_the_31_are_read": diagonal("form", "step", most=3),
    },
    "trust/test_repeatable.py": {
        "test_a_hundred_random_schedules_give_one_result": every(2),
    },
    "trust/test_hostile.py": {
        "test_a_hostile_value_is_refused_or_changes_no_token": every(3),
    },
    "trust/test_strict.py": {
        "test_every_operator_keeps_its_bits_behind_another": some("0-float32", "1-float32",
            "2-float32"),
        "test_no_schedule_changes_a_bit": diagonal("shape", "function"),
        "test_rows_keep_their_bits": diagonal("target", "function", "name", most=1),
        "test_toggles_that_are_no_plan_change_no_bit": diagonal("cols", "toggles"),
    },
}
# fmt: on

SLOW = {f"{module}::{test}": row for module, rows in _TABLE.items() for test, row in rows.items()}
