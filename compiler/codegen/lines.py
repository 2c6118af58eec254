"""Op-codes with their operands bound: from a node of the graph to lines of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opweave.compiler.codegen.device_functions import device_function
from opweave.compiler.codegen.kernel_parts import Factor, Line, Product, Reduction
from opweave.compiler.codegen.layout import Access
from opweave.compiler.ir.graph import Node
from opweave.opcodes.core import OpCode, Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.tokens import rename


@dataclass(frozen=True)
class Origin:
    """A node of the graph and its index, which every line that is made of it names."""

    node: Node
    index: int

    @property
    def comment(self) -> str:
        """Such as ``multiply: f32[n0, n1], line 3``."""
        at = f", line {line}" if (line := self.node.where.relative) > 0 else ""
        return f"{self.node.operator.name}: {self.node.result.type}{at}"

    def line(
        self,
        phase: Phase,
        text: str,
        results: Sequence[str] = (),
        code: OpCode | None = None,
        name: str = "",
    ) -> Line:
        """A line of the op-code of that name; without one, of the operator's."""
        name = name or self.node.operator.name
        where = self.node.where
        return Line(phase, name, text, self.comment, tuple(results), code, self.index, where)

    def value(self, phase: Phase, name: str, text: str, code: OpCode | None = None) -> Line:
        """A line that gives the result a register of that name."""
        declared = f"const {self.node.result.dtype.register} {name} = {text};"
        return self.line(phase, declared, (name,), code)


@dataclass(frozen=True)
class Each:
    """Values that are arrays of registers: their extent, the macro that walks them, its index."""

    extent: str
    loop: str
    index: str


CHANNEL = Each("CHANNELS", "EACH_CHANNEL", "h")
COLUMN = Each("COLUMNS", "EACH_COLUMN", "l")


def bind_map(
    origin: Origin,
    phase: Phase,
    operands: Sequence[str],
    results: Sequence[str],
    each: Each | None = None,
) -> tuple[Line, str]:
    """Inline an expression, or call the function of a statement fragment; that function, or "".

    x * scale  ->  const float v1 = x_v[l] * scale;  // multiply: f32[n0], line 2
    hue(x, c)  ->  float v1[3]; op_hue(v1, v0, c);

    With ``each`` results are arrays, such as of channels, and operands name channel ``h``.
    """
    node, function = origin.node, ""
    code = node.operator.opcode_for("".join(o.dtype.kind for o in node.operands))
    types, mixes = [r.dtype for r in node.results], node.operator.mixes
    at = f"[{each.index}]" if each else ""
    if code.is_statement:
        name = f"op_{code.name}_{node.operands[0].dtype}_{types[0]}"
        function = device_function(code, name, [o.dtype for o in node.operands], types, mixes)
        targets = [r if mixes else f"{r}{at}" for r in results] if code.results > 1 else []
        expression = f"{name}({', '.join([*targets, *operands])})"
    else:
        if mixes:
            operands = [*(f"{operands[0]}[{h}]" for h in range(mixes[0])), *operands[1:]]
        site = f"here, faults, {origin.index}"  # whether, where and as what a fault is noted
        slots = {"T": types[0].register, "S": types[0].storage, "SITE": site}
        expression = rename(code.fragment, dict(zip(code.params, operands, strict=True)) | slots)
    if code.results > 1:
        text = _several(expression, types, results, each, whole=bool(mixes))
    else:
        text = _one(expression, types[0], results[0], code, each)
    return origin.line(phase, text, results, code, code.name), function


def _one(expression: str, dtype: DType, result: str, code: OpCode, each: Each | None) -> str:
    """A result, or an array of them: rounded to its dtype where registers are wider.

    float v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] * 2;
    """
    rounds = dtype.round and not code.exact
    value = f"{dtype.round}({expression})" if rounds else expression
    if each is None:
        return f"const {dtype.register} {result} = {value};"
    declared = f"{dtype.register} {result}[{each.extent}];"
    return f"{declared} {each.loop} {result}[{each.index}] = {value};"


def _several(
    call: str, types: Sequence[DType], results: Sequence[str], each: Each | None, *, whole: bool
) -> str:
    """Results that a call assigns: one of each, arrays element by element, or ``whole`` arrays.

    float v1; float v2; op_modf(v1, v2, v0);
    """
    extent, at = (f"[{each.extent}]", f"[{each.index}]") if each else ("", "")
    pairs = list(zip(types, results, strict=True))
    declared = [f"{t.register} {r}{extent};" for t, r in pairs]
    fixed = [f"{r}{at} = {t.round}({r}{at});" for t, r in pairs if t.round]
    if each and whole:
        fixed = [f"{each.loop} {f}" for f in fixed]
    elif each:
        return " ".join([*declared, f"{each.loop} {{", f"{call};", *fixed, "}"])
    return " ".join([*declared, f"{call};", *fixed])


@dataclass(frozen=True)
class Table:
    """An array that is read at computed places; a stride is "" for an axis of extent 1."""

    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]


def bind_gather(origin: Origin, table: Table, indices: Sequence[str], result: str) -> Line:
    """Read a table where the indices lie inside of it, 0 elsewhere.

    const float v2 = read_at<float>(x, v1, n0, x_s0);
    """
    axes = zip(indices, table.extents, table.strides, strict=True)
    places = [f"{i}, {n}, {stride or 0}" for i, n, stride in axes]
    read = f"read_at<{origin.node.result.dtype.register}>"
    text = f"{read}({', '.join([table.pointer, *places])})"
    return replace(origin.value(Phase.LOAD, result, text), name=f"gather {table.pointer}")


def bind_coordinate(origin: Origin, place: Access, result: str) -> Line:
    """The place of an element along one axis.

    const int v0 = j;
    """
    terms = [t for t in (place.at("", "j"), place.gather) if t and t != "0"]
    return origin.value(Phase.INDEX, result, " + ".join(terms) or "0")


def bind_product(origin: Origin, name: str, x: Factor, y: Factor) -> Product:
    """Accumulate and result op-codes of a product.

    x @ w  ->  acc[i][q][l] = fma(left[i], right[q][l], acc[i][q][l]);  and  v0 = acc[i][q][l];
    """
    operator, dtype = origin.node.operator, origin.node.result.dtype
    assert operator.accumulator is not None
    acc = operator.accumulator(dtype)
    code = operator.opcode_for(dtype.kind, Phase.ACCUMULATE)
    slots = {"acc": "acc[i][q][l]", "x": "left[i]", "y": "right[q][l]", "T": acc.register}
    step = f"acc[i][q][l] = {rename(code.fragment, slots)};"
    return Product(
        x,
        y,
        acc.register,
        rename(operator.identity[dtype.kind], slots),
        origin.line(Phase.ACCUMULATE, step, code=code),
        product_result(origin, name),
        dtype.register,
        origin.node.values[0].shape[-1],
    )


def product_result(origin: Origin, name: str) -> Line:
    """The rounded value of an element of a product."""
    dtype = origin.node.result.dtype
    value = f"{dtype.round}(acc[i][q][l])" if dtype.round else "acc[i][q][l]"
    if dtype.is_complex:  # padding adds zeros of either sign: none is left negative
        value = f"{value} + {dtype.register}()"
    code = origin.node.operator.opcode_for(dtype.kind, Phase.ACCUMULATE)
    return origin.value(Phase.REDUCE, name, value, code)


def bind_reduction(
    origin: Origin, operand: str, name: str, lane: str, *, chooses: bool = False
) -> Reduction:
    """Accumulate and reduce op-codes of a reduction; ``lane`` takes its running value.

    sum  ->  sum0_acc[l] = sum0_acc[l] + x_v[l];  and  sum0 = sum0 + other;

    With ``chooses`` the element counts where it is ``inside``.
    """
    node = origin.node
    operator, kind = node.operator, node.operands[0].dtype.kind
    assert operator.accumulator is not None
    acc = operator.accumulator(node.result.dtype)
    slots = {"T": acc.register}
    accumulate = operator.opcode_for(kind, Phase.ACCUMULATE)
    join = operator.opcode_for(kind, Phase.REDUCE)
    running = f"{name}_acc{lane}"
    value = rename(accumulate.fragment, {"acc": running, "x": operand} | slots)
    if chooses:
        value = f"chosen(inside, {value}, {running})"
    joined = origin.line(Phase.REDUCE, rename(join.fragment, slots), (name,), join)
    return Reduction(
        name,
        acc.register,
        rename(operator.identity[kind], slots),
        origin.line(Phase.ACCUMULATE, f"{running} = {value};", code=accumulate),
        replace(joined, comment=f"{operator.name}: {node.plan or ''}"),
        node.result.dtype.round,
        f"{operator.name}_{acc}",
    )
