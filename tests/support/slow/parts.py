"""What leaves the default tier of tests/parts."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_assigned_parts.py": {
        "test_names_see_what_those_of_numpy_see": every(2),
    },
    "test_written_in_steps.py": {
        "test_rows_that_do_not_change_are_left_alone_where_they_are": every(2),
    },
    "test_short_left_to_numpy.py": {
        "test_a_call_has_the_same_bits_each_time_whatever_came_before": every(3),
        "test_an_unfused_function_is_left_to_numpy_alike": every(2),
    },
    "test_parts.py": {
        "test_a_function_in_parts_does_what_it_does": every(4).also("stack",
            "assignment of a shape", "masks of one"),
        "test_a_number_may_be_one_of_numpys": every(2),
        "test_any_layout": diagonal("name", "layout"),
    },
    "test_parts_and_memory.py": {
        "test_arrays_of_numpys_own_are_written_to": diagonal("made",
            "write").also("<lambda>0-<lambda>2"),
        "test_what_numpy_writes_to_a_view_is_seen_in_the_array": diagonal("view", "made", most=5),
    },
    "test_parts_as_python.py": {
        "test_what_a_review_found": every(2).also("copies"),
    },
    "test_sharing.py": {
        "test_what_is_written_is_seen_as_by_numpy": every(12).also("in rows, of a diagonal",
            "elements exchanged behind flat", "real", "einsum", "broadcast_arrays", "meshgrid",
            "row with an axis"),
        "test_what_is_written_to_a_reduction_is_seen_through_its_view": diagonal("through",
            "write", "name"),
    },
    "test_written_arguments.py": {
        "test_written_as_by_numpy": diagonal("function", "layout"),
    },
    "test_written_indices.py": {
        "test_a_whole_function_assigns_by_indices": diagonal("function", "layout"),
    },
    "test_written_parts.py": {
        "test_parts_hold_what_numpy_leaves_there": diagonal("function", "layout"),
        "test_what_is_stored_has_the_arguments_type": every(2),
    },
    "test_written_views.py": {
        "test_what_is_a_view_and_what_is_a_copy_is_numpys": every(2),
        "test_a_whole_function_writes_through_views": diagonal("function", "layout"),
        "test_another_shape_is_a_view_where_it_is_numpys": diagonal("function", "layout"),
    },
}
# fmt: on
