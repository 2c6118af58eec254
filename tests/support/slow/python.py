"""What leaves the default tier of tests/python."""

from tests.support.tiers import Slow, diagonal, every

# fmt: off
TABLE: dict[str, dict[str, Slow]] = {
    "test_arguments.py": {
        "test_what_is_done_in_place_by_a_numpy_number": diagonal("function", "number", most=3),
        "test_whatever_holds_arrays_goes_in_and_comes_out": every(2),
    },
    "test_captures.py": {
        "test_arrays_that_the_function_makes_are_inputs": every(2),
        "test_other_modules_of_the_user_are_read_at_each_call": diagonal("change",
            "name", most=5).also("imported function-equal_names_of_two_scopes"),
        "test_what_changes_outside_changes_the_result": diagonal("name", "change", "traces"),
    },
    "test_changes_outside.py": {
        "test_what_is_changed_outside_is_changed_at_each_call": every(2).also("a dataclass with slots",
            "objects linked deeply"),
    },
    "test_outside.py": {
        "test_what_any_object_holds_is_read_at_each_call": every(2),
        "test_what_a_function_changes_is_changed_at_each_call": every(2),
        "test_what_an_object_holds_is_read_at_each_call": diagonal("kind", "called",
            "change", most=8).also("Layer-a captured partial-element"),
    },
    "test_subclasses.py": {
        "test_a_class_of_arrays_keeps_its_meaning": every(2),
    },
    "test_questions.py": {
        "test_a_fused_function_is_told_what_python_tells": diagonal("parts",
            "name", most=31).also("in parts-its priority",
            "whole-text: an element of NumPy's number", "whole-text: an array without dimensions",
            "whole-a count of numbers", "whole-type in a union",
            "whole-an attribute that is not there", "in parts-lru_cache", "whole-in sys.modules",
            "whole-a match of False", "whole-text: a sum has an element",
            "whole-isinstance of a tuple of types"),
    },
    "test_redefined.py": {
        "test_a_change_is_seen_at_the_next_call": diagonal("how",
            "name", most=11).also("versions-one of a metaclass"),
        "test_what_is_patched_for_a_while": diagonal("how", "source", "where", "name", "other"),
    },
    "test_what_outlives_a_call.py": {
        "test_nothing_keeps_the_arrays_of_a_call": every(2),
    },
    "test_types_first.py": {
        "test_the_exception_is_numpys": diagonal("function", "pair", "made", most=24),
    },
}
# fmt: on
