"""Numbers of a call in the languages that programs are exported to."""

import pytest

from opweave._saved.cuda_file import NUMBERS_IN_C
from opweave._saved.python_file import NUMBERS_IN_PYTHON
from opweave.compiler.ir.expr import Expr, literal
from opweave.opcodes import errors as e

A, B = Expr("argument", ("a",)), Expr("argument", ("b",))


def of(op, *args):
    return Expr(op, tuple(arg if isinstance(arg, Expr) else literal(arg) for arg in args))


# The number, as Python and as C write it; "" where C has none.
NUMBERS = [
    (of("sub", A, of("sub", B, 1)), "a - (b - 1)", "a - (b - 1)"),
    (of("mul", -2, of("neg", A)), "(-2) * (-a)", "(-2) * (-a)"),
    (of("neg", of("neg", A)), "-(-a)", "-(-a)"),
    (of("truediv", of("add", A, 1), 2), "(a + 1) / 2", "(double)(a + 1) / 2"),
    (of("mul", of("truediv", A, B), 1e-5), "(a / b) * (1e-05)", "((double)a / b) * (1e-05)"),
    (of("pow", -2, A), "(-2) ** a", ""),
    (of("pow", of("neg", A), 2), "(-a) ** 2", ""),
    (of("pow", A, -1.5), "a ** (-1.5)", ""),
    (of("mod", of("pos", A), B), "(+a) % b", ""),
    (of("real", of("add", A, float("inf"))), "a + (float('inf'))", "a + (__builtin_inf())"),
]


@pytest.mark.parametrize(("number", "python", "c"), NUMBERS)
def test_operands_bind_as_one(number, python, c):
    assert NUMBERS_IN_PYTHON.text(number) == python
    if c:
        assert NUMBERS_IN_C.text(number) == c
    else:
        with pytest.raises(e.SavedError, match="is Python's to compute"):
            NUMBERS_IN_C.text(number)


def test_what_is_more_than_arithmetic_is_refused():
    with pytest.raises(e.SavedError, match="more than arithmetic"):
        NUMBERS_IN_PYTHON.text(Expr("sqrt", (A,)))
