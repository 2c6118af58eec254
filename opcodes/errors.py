"""Every error that opweave raises: one base class, one small class per kind of mistake.

A message names the operator, what was expected, what was found, the user's line, and says what
to do.  Errors that NumPy users know under a built-in name also derive from it.
"""

from __future__ import annotations

from typing import Any, Self

from numpy.exceptions import AxisError as NumpyAxisError

# The name of a frame that calls NumPy from the user's line; no line of a traceback.
BY_NUMPY = "<by NumPy>"


class OpweaveError(Exception):
    """Base of all errors raised by opweave.

    Attributes:
        mean_seconds: of a loop that is too long to be written out, how long NumPy takes for one of
            its operations, by the model in ``compiler/ir/pace.py``.
        asks: other numbers or extents may not lead there; False of a refusal that a trace met
            before it had asked for any.
        reached: of a refusal of a trace how far it had come, see ``compiler/traced/lengths.py``.
    """

    mean_seconds: float | None = None
    asks = True
    reached: Any = None

    def saying(self, text: str) -> Self:
        """The same error with another text."""
        made = type(self)(text)
        made.mean_seconds, made.asks, made.reached = self.mean_seconds, self.asks, self.reached
        return made


class OpweaveWarning(RuntimeWarning):
    """All is right, but not done as one would think; told once for a function and place."""


class ShapeError(OpweaveError, ValueError):
    """Extents do not broadcast, or an axis does not exist.

    Attributes:
        made: how many there were.  A function that caught one has branched on extents: a trace
            that met one has them all in its guard.
    """

    made = 0

    def __init__(self, *args: Any):
        super().__init__(*args)
        ShapeError.made += 1


class BoundsError(ShapeError, IndexError):
    """An index that an array has not."""


class AxisError(ShapeError, NumpyAxisError):
    """An axis that an array has not."""


class DTypeError(OpweaveError, TypeError):
    """A dtype is not supported, or an operator has no meaning for it."""


class OutOfRangeError(DTypeError, OverflowError):
    """A Python integer that a dtype cannot hold."""


class PowerError(DTypeError, ValueError):
    """Integers to a negative integer power."""


class TraceError(OpweaveError, TypeError):
    """The function asks a traced value for something that only a concrete array has."""


class UnsupportedError(OpweaveError, NotImplementedError):
    """A NumPy function or argument that opweave does not compile."""


class IntegerError(UnsupportedError, TypeError):
    """What is no plain integer, where NumPy asks for one; NumPy's own answer is another each time.

    A bool is an axis to ``np.roll`` and none to ``np.sum``; ``np.triu`` takes 1.5.
    """


class PlainError(UnsupportedError):
    """What the function asks of its arrays only NumPy can do, with its own arrays."""


class SubclassError(PlainError):
    """An array of a class that gives it a meaning of its own, such as a unit or a mask."""


class LockedViewError(PlainError, ValueError):
    """The function writes to a view that NumPy lets nobody write to."""


class ArgumentError(OpweaveError, TypeError):
    """A call does not fit the compiled function: wrong argument, device or ``out``."""


class AlignmentError(ArgumentError):
    """An array's elements do not lie at multiples of their size."""


class InterchangeError(ArgumentError):
    """An array of another library that cannot be taken, mixed with others, or given back."""


class ReadOnlyError(InterchangeError, ValueError):
    """The function writes to an argument whose library lets nobody write to it."""


class NameRefusedError(OpweaveError, ValueError):
    """A name that may not enter generated source, or that is already taken."""


class FragmentError(OpweaveError, ValueError):
    """An op-code's CUDA C fragment does not fit the rules for fragments."""


class ToggleError(OpweaveError, ValueError):
    """A toggle is unknown, its value cannot hold, or two declare it differently; says why."""


class EditError(OpweaveError, ValueError):
    """An op-code list cannot be edited as asked."""


class GraphError(OpweaveError, ValueError):
    """An ``ow.Graph`` that means nothing: a missing value, a cycle, shapes that do not fit."""


class RecompileError(OpweaveError, RuntimeError):
    """A function was traced so often that it looks like a mistake; see ``config``."""


class VerifierError(OpweaveError, AssertionError):
    """A graph or schedule breaks an invariant: a fault of opweave, not of its user."""


class CompileError(OpweaveError, RuntimeError):
    """A compiler refused a kernel.

    Attributes:
        opcode: name of the op-code that the log points at, or None.
        line: the line of the source that the log points at, counted from 1, or None.
        source: the whole source that was compiled.
        log: what the compiler printed.
    """

    def __init__(
        self,
        message: str,
        *,
        opcode: str | None = None,
        line: int | None = None,
        source: str = "",
        log: str = "",
    ):
        super().__init__(message)
        self.opcode = opcode
        self.line = line
        self.source = source
        self.log = log


class NoCompilerError(OpweaveError, RuntimeError):
    """A compiler or disassembler that the request needs is not installed."""


class NoDeviceError(OpweaveError, RuntimeError):
    """The request needs a CUDA device or CuPy, and there is none."""


class LaunchError(OpweaveError, RuntimeError):
    """A kernel failed while running; in verify mode, with the line that failed."""


class PtxError(OpweaveError):
    """PTX that cannot be executed as it is.

    Attributes:
        instruction: the opcode, such as ``ld.global.f32``; "" where there is none.
        line: of the PTX text, from 1; 0 where there is none.
        place: the line of the source that it was compiled from, as text; "" if it is not known.
    """

    instruction, line, place = "", 0, ""

    def at(self, instruction: str, line: int, place: str) -> Self:
        """The same error, of this instruction."""
        self.instruction, self.line, self.place = instruction, line, place
        return self


class PtxSyntaxError(PtxError, ValueError):
    """Text that is no PTX, or PTX of a newer version."""


class UnknownInstructionError(PtxError, NotImplementedError):
    """An instruction, or a form of one, that the interpreter does not execute."""


class PtxLaunchError(PtxError, LaunchError):
    """A launch of PTX that cannot go on, or that does not fit its kernel."""


class PtxMemoryError(PtxLaunchError):
    """An access outside every array, one that is not aligned, a write where none may be."""


class UninitialisedError(PtxMemoryError):
    """A read of bytes that nobody has written."""


class DeadlockError(PtxLaunchError):
    """Threads wait, and nobody can end that."""


class BudgetError(PtxLaunchError):
    """A kernel runs for more instructions than it may."""


class OutOfMemoryError(OpweaveError, MemoryError):
    """There is no memory for an array or a kernel; the message names it and the bytes."""


class SavedError(OpweaveError, ValueError):
    """A program that cannot be saved, or a saved one that cannot be loaded here; says why."""


class EjectedError(OpweaveError, ValueError):
    """An ejected kernel does not fit its function any more, or cannot be read; says what to do."""


class CheckError(OpweaveError, AssertionError):
    """A result lies outside its derived bound."""


class RequestError(OpweaveError, ValueError):
    """A command line asks for what does not exist, or says it in a way that does not parse."""


class FileError(OpweaveError, OSError):
    """A file or folder that a command needs cannot be read, written or run."""


class MissingExtraError(OpweaveError, ImportError):
    """A package of an optional extra is not installed; the message has the command."""
