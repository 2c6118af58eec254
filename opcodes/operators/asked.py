"""A meaning of two values, asked for a few of them whether it may be that of a reduction or scan.

Lanes, warps and blocks are joined in an order of their own; so joining must be associative, that
of a reduction commutative, too, and what a running value begins with must change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import Fragment
from opweave.opcodes.core import TypeRule
from opweave.opcodes.errors import ArgumentError, DTypeError, FragmentError
from opweave.opcodes.identities import number_of

# By the kind of a dtype: signs, fractions, ends of types.
SAMPLES: dict[str, tuple[str, Sequence[Any]]] = {
    "f": ("float64", (-3.0, -0.5, 0.25, 1.0, 2.0, 40.0)),
    "i": ("int8", (-128, -100, -1, 0, 1, 3, 100, 127)),
    "u": ("uint8", (0, 1, 3, 100, 200, 255)),
    "b": ("bool", (False, True)),
}
LAWS = ("sum", "prod", "max")  # of errors
CLOSE = 1e-9  # of the largest number, for functions that round


@dataclass(frozen=True)
class Asked:
    """What is asked.

    Attributes:
        name: as messages name the operator.
        function: the meaning, of two arrays, element by element.
        rule: the operator's type rule.
        before: what each element goes through before.
        is_scan: elements stay in order.
    """

    name: str
    function: Callable[..., Any]
    rule: TypeRule
    before: Callable[[Any], Any]
    is_scan: bool

    def kinds(self, rows: Sequence[Fragment]) -> str:
        """The kinds of dtypes that it takes, of those of an accumulate op-code's rows.

        Raises:
            FragmentError: it is no meaning of a reduction or scan; shows the values.
        """
        pairs = [(kind, row.start) for row in rows for kind in row.kinds]
        taken = "".join(kind for kind, start in pairs if self._takes(kind, start))
        if not taken:
            raise FragmentError(
                f"{self.name}: expected a NumPy meaning of two arrays, found one that raises "
                "TypeError for all dtypes"
            )
        return taken

    def law(self, like: str | None, kinds: str) -> str:
        """As whose errors its own grow: what picks one of two values rounds nothing.

        Raises:
            ArgumentError: the user's ``like`` is no law.
        """
        if like is not None:
            if type(like) is not str or like not in LAWS:
                expected = f"expected one of {', '.join(LAWS)}"
                raise ArgumentError(f"{self.name}: like={shown(like)}: {expected}")
            return like
        if "f" not in kinds:
            return "sum"  # integers are exact
        a, b = np.meshgrid(*[np.asarray(SAMPLES["f"][1])] * 2)
        with np.errstate(all="ignore"):
            found = np.asarray(self.function(a, b))
        if np.all((found == a) | (found == b)):
            return "max"
        return "prod" if np.allclose(found, a * b) else "sum"

    def _takes(self, kind: str, start: str) -> bool:
        if kind not in SAMPLES:
            return True
        try:
            with np.errstate(all="ignore"):
                x = self._samples(kind)
                self._check_order(x)
                self._check_start(x, start)
        except FragmentError:
            raise
        except DTypeError:  # a type that is refused where it is used
            return True
        except TypeError:
            return False
        except Exception as error:  # of the user's function
            raise FragmentError(
                f"{self.name}: its NumPy meaning raised {type(error).__name__} for arrays of "
                f"{SAMPLES[kind][0]}: {error}; give texts for the kinds that it is for, "
                "such as {'iu': ...}"
            ) from error
        return True

    def _samples(self, kind: str) -> Any:
        """Values of a kind as they are joined."""
        text, values = SAMPLES[kind]
        found = self.before(np.asarray(values, text))
        (loop, *_), _ = self.rule((dtypes.of(found.dtype),), ())
        return found.astype(np.float64 if loop.is_float else loop.numpy)

    def _join(self, a: Any, b: Any) -> Any:
        return np.asarray(self.function(a, b)).astype(a.dtype)

    def _check_order(self, x: Any) -> None:
        join, (a, b, c) = self._join, (part.ravel() for part in np.meshgrid(x, x, x))
        given = {"a": a, "b": b, "c": c}
        grouped = {"f(f(a, b), c)": join(join(a, b), c), "f(a, f(b, c))": join(a, join(b, c))}
        self._agree("associative", grouped, given)
        if not self.is_scan:
            self._agree("commutative", {"f(a, b)": join(a, b), "f(b, a)": join(b, a)}, given)

    def _check_start(self, x: Any, start: str) -> None:
        begun = number_of(start, dtypes.of(x.dtype))
        if begun is None:
            return
        x = np.append(x, np.asarray([0.0, -0.0])) if x.dtype.kind == "f" else x
        found = self._join(np.full_like(x, begun), x)
        what = f"that begins with {start} and so changes no value"
        self._agree(what, {f"f({start}, a)": found, "a": x}, {"a": x})
        if self.is_scan and np.any(np.signbit(found[x == 0]) != np.signbit(x[x == 0])):
            raise FragmentError(
                f"{self.name}: expected a scan {what}, found that -0.0 loses its sign; begin "
                "with -0.0f"
            )

    def _agree(self, what: str, sides: dict[str, Any], given: dict[str, Any]) -> None:
        first, second = sides.values()
        if first.dtype.kind == "f":
            largest = np.max(np.abs(first[np.isfinite(first)]), initial=0.0)
            wrong = ~np.isclose(first, second, rtol=CLOSE, atol=CLOSE * largest, equal_nan=True)
        else:
            wrong = first != second
        if wrong.any():
            at = int(np.argmax(wrong))
            found = " and ".join(f"{text} = {side[at]}" for text, side in sides.items())
            values = ", ".join(f"{name} = {array[at]}" for name, array in given.items())
            raise FragmentError(
                f"{self.name}: expected a meaning f {what}, since lanes and blocks are joined in "
                f"an order of their own; found {found} of {first.dtype} for {values}"
            )
