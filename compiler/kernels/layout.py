"""Layout: dimensions collapsed, and every operand's address as text.

A kernel walks *rows* (outer dimensions) and *columns* (inner ones); a kernel of tiles walks
batches of matrices, whose rows and columns are one dimension each.  Neighbouring dimensions
become one where every operand allows it, so most kernels have one or two.  An operand is read in
one of these ways, and kernels of tiles and pixels add their own:

    chunk     consecutive elements from ``base + j``
    strided   elements ``base + j * stride``
    splat     one element ``base`` for the whole row
    gather    elements at an offset computed from ``j`` by division
    runs      consecutive elements, as many as ``extent``, and then those ``stride`` further on
    window    elements of a table from ``base + start + j``, as far as it has them
    places    elements of a table at the places that ``start`` names, as far as it has them

Kernels of pixels read dense pictures as ``pixels``, all channels of consecutive pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opweave.compiler.ir.views import View
from opweave.compiler.kernels.walks import DimList, MatrixWalk, Operand, Stride, Walk, in_order
from opweave.opcodes.tokens import tokens


@dataclass(frozen=True)
class Access:
    """How an operand is addressed: ``kind``, text of the base, and text that depends on ``j``.

    ``channel`` is the step to the next channel of a pixel, for operands that have channels; of a
    window ``extent`` is the number of its elements, and ``start`` its index in column 0; of places
    it is the name of the ``Places``; of runs ``extent`` is their length.
    """

    kind: str
    base: str
    stride: str = ""
    gather: str = ""
    strides: tuple[Stride, ...] = ()
    rows_aligned: bool = True
    channel: str = ""
    extent: str = ""
    start: str = ""

    def at(self, pointer: str, j: str) -> str:
        """Address of the element in column ``j``."""
        terms = [t for t in (pointer, self.base, self.column(j)) if t]
        return " + ".join(terms) or "0"

    @property
    def is_table(self) -> bool:
        """What is read at places that the kernel computes."""
        return self.kind in ("window", "places")

    @property
    def channel_step(self) -> str:
        """Offset of channel ``h`` of a pixel."""
        return "h" if self.channel == "1" else f"h * {self.channel}"

    @property
    def channels(self) -> str:
        """The dimension of channels in registers, "" for operands without them."""
        return "[CHANNELS]" if self.channel else ""

    def column(self, j: str) -> str:
        if self.kind in ("chunk", "pixels"):
            return j
        return f"{j} * {self.stride}" if self.kind in ("strided", "across") else ""


@dataclass(frozen=True)
class Places:
    """Where the elements of a chunk lie in a table, as a function of the column ``j``.

    Attributes:
        lines: what computes it, each with its comment.
        place: what they call it.
        rises: from one column to the next it rises by 1 or not at all.
    """

    name: str
    lines: tuple[str, ...]
    place: str
    rises: bool = False

    @property
    def notes_faults(self) -> bool:
        """A line notes faults of columns that are ``here``."""
        return any("index_of" in tokens(line) for line in self.lines)


@dataclass(frozen=True)
class MatrixAddress:
    """Where the elements of a matrix lie: ``pointer + batch + row * step + column * step``.

    ``batch`` is the text of an offset, or "".  A step is "" (the operand does not move along it),
    "1", or the name of a stride.
    """

    batch: str
    row_step: str
    column_step: str
    strides: tuple[Stride, ...] = ()

    def at(self, pointer: str, row: str, column: str) -> str:
        """Address of an element; the coordinates are terms, such as ``m0 + i``."""
        terms = [pointer, *([self.batch] if self.batch else [])]
        for coordinate, step in ((row, self.row_step), (column, self.column_step)):
            terms += [_times(coordinate, step)] if step else []
        return " + ".join(terms)


def _times(coordinate: str, step: str) -> str:
    """Text of a coordinate times a step; "1" is none."""
    if step == "1":
        return coordinate
    return f"({coordinate}) * {step}" if " " in coordinate else f"{coordinate} * {step}"


class _Strides:
    """The steps of an operand along dimensions of the space, and the strides that they take."""

    def __init__(self, operand: Operand):
        self.operand = operand
        self._strides: dict[str, Stride] = {}

    def along(self, dim: int) -> str:
        """A step: "" where the operand does not move, "1", or the name of a stride."""
        own = self.operand.own_dim(dim)
        if own is None or self.operand.has_unit_stride(own):
            return "" if own is None else "1"
        found = self.operand.stride(own)
        self._strides[found.name] = found
        return found.name

    def offset(self, coordinates: Sequence[str], dims: Sequence[DimList]) -> str:
        """Text of the sum of coordinates times steps."""
        pairs = [(c, self.along(d[-1])) for c, d in zip(coordinates, dims, strict=True)]
        return " + ".join(_times(c, s) for c, s in pairs if s)

    def owns(self, dims: Sequence[DimList]) -> bool:
        """The operand moves along each of them."""
        return all(self.operand.own_dim(d[-1]) is not None for d in dims)

    @property
    def strides(self) -> tuple[Stride, ...]:
        return tuple(self._strides.values())


def matrix_address(operand: Operand, walk: MatrixWalk, row: int, column: int) -> MatrixAddress:
    """The address of an operand over a walk, with its own pair of dimensions."""
    steps = _Strides(operand)
    batch = steps.offset(walk.batch_coordinates(), walk.outer[:-1])
    row_step, column_step = steps.along(row), steps.along(column)
    return MatrixAddress(batch, row_step, column_step, steps.strides)


def viewed_layout(layout: str, view: View) -> str:
    """Layout class of a view of an array with this layout.

    >>> from opweave.compiler.ir.expr import literal
    >>> from opweave.compiler.ir.values import Symbol, Value
    >>> from opweave.opcodes.dtypes import F32
    >>> whole = View.whole(Value(0, F32, (Symbol("n"), Symbol("m"))))
    >>> [viewed_layout("C", v) for v in (whole.moved((1, 0)), whole.moved((None, 0, 1)))]
    ['us', 'C']
    >>> [viewed_layout("C", whole.sliced(d, literal(1), step, Symbol("k")))
    ...  for d, step in ((0, 1), (1, 1), (1, 2))]
    ['C', 'su', 'ss']
    """
    shape, axes = view.shape_of_base, view.axes
    long = [d for d, e in enumerate(shape) if e != 1]
    if layout == "C":
        layout = "".join(
            "b" if d not in long else "u" if d == long[-1] else "m" for d in range(len(shape))
        )
    order = [a for a in axes if a is not None and a in long]
    out = []
    for axis in axes:
        letter = "b" if axis is None or axis not in long else layout[axis]
        if axis is not None and letter != "b" and view.steps[axis] != 1:
            letter = "s"
        if letter == "m" and axis is not None:
            following = order[order.index(axis) + 1 :][:1]
            merges = following == long[long.index(axis) + 1 :][:1]
            letter = "m" if merges and all(view.starts[a] is None for a in following) else "s"
        out.append(letter)
    letters = [letter for letter in out if letter != "b"]
    is_dense = letters[:-1] == ["m"] * (len(letters) - 1) and letters[-1:] in ([], ["u"])
    return "C" if is_dense else "".join(out)


def access(
    operand: Operand, walk: Walk, *, is_dense: bool | None = None, may_be_none: bool = False
) -> Access:
    """The address of an operand along a walk.

    ``is_dense``: its elements lie as the walk goes, where it owns its dimensions; found out if
    left out.  False for what has dimensions besides those of the walk.
    """
    steps = _Strides(operand)
    dense = operand.layout == "C" and in_order(walk) if is_dense is None else is_dense
    whole = bool(walk.dense_row()) and dense and steps.owns((*walk.outer, *walk.inner))
    base = walk.dense_row() if whole else steps.offset(walk.row_coordinates(), walk.outer)
    if not any(steps.owns([dims]) for dims in walk.inner):
        found = Access("splat", base)
    elif dense and steps.owns(walk.inner):
        found = Access("chunk", base)
    elif len(walk.inner) > 1:
        found = _by_division(steps, walk, base, may_be_none=may_be_none)
    else:
        step = steps.along(walk.inner[0][-1])
        found = Access("chunk" if step == "1" else "strided", base, step)
    return replace(found, strides=steps.strides, rows_aligned=not base)


def _by_division(steps: _Strides, walk: Walk, base: str, *, may_be_none: bool) -> Access:
    """The access of an operand for which several dimensions are the columns."""
    offset = steps.offset(walk.column_coordinates("j", may_be_none=may_be_none), walk.inner)
    along = [steps.along(dims[-1]) for dims in walk.inner]
    if len(along) == 2 and along[0] and along[1] == "1" and not may_be_none:
        extent = walk.extent_name(walk.inner[1])
        return Access("runs", base, along[0], offset, extent=extent)
    return Access("gather", base, gather=offset)
