"""Op-codes with their operands bound: from a node of the graph to lines of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from opweave.compiler.codegen.device_functions import device_function, running_call
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.running import running_type
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel_parts import Line, Reduction
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.products import Product
from opweave.opcodes.codes import OpCode, Phase
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
        return self._comment(self.node.operator.name, self.node.result)

    def _comment(self, name: str, value: Value) -> str:
        at = f", line {line}" if (line := self.node.where.relative) > 0 else ""
        return f"{name}: {value.type}{at}"

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
        where, slots = self.node.where, self.node.operator.cost.slots
        made = Line(phase, name, text, self.comment, tuple(results), code, self.index, where)
        return replace(made, slots=slots)

    def named_line(self, phase: Phase, text: str, code: OpCode, dtype: DType) -> Line:
        """A line of an op-code whose result only later op-codes of its operator know."""
        name = f"{self.node.operator.name}.{code.name}"
        comment = self._comment(name, replace(self.node.result, dtype=dtype))
        return replace(self.line(phase, text, (), code, name), comment=comment)

    def value(self, phase: Phase, name: str, text: str, code: OpCode | None = None) -> Line:
        """A line that gives the result a register of that name."""
        declared = f"const {self.node.result.dtype.register} {name} = {text};"
        return self.line(phase, declared, (name,), code)


@dataclass(frozen=True)
class Each:
    """Values that are arrays of registers.

    Attributes:
        extent, loop, index: their number, the macro that walks them, its index.
        place: of each along the axis that it walks.
    """

    extent: str
    loop: str
    index: str
    place: str


CHANNEL = Each("CHANNELS", "EACH_CHANNEL", "h", "h")
COLUMN = Each("COLUMNS", "EACH_COLUMN", "l", "(j0 + l)")


def bind_map(
    origin: Origin,
    phase: Phase,
    operands: Sequence[str],
    results: Sequence[str],
    fresh: Callable[[str], str],
    each: Each | None = None,
) -> tuple[list[Line], str]:
    """A line for each op-code, and the function of a statement fragment that they call, or "".

    x * scale  ->  const float v1 = x_v[l] * scale;  // multiply: f32[n0], line 2
    hue(x, c)  ->  float v1[3]; op_hue(v1, v0, c);

    A named result is a register like that of an operator of its own, rounded as its is; ``fresh``
    makes its name.  With ``each`` results are arrays, such as of channels, and operands name
    channel ``h``.
    """
    row, types = origin.node.operator, [r.dtype for r in origin.node.results]
    loop = [o.dtype for o in origin.node.operands]
    known = dict(zip(row.params, zip(operands, loop, strict=True), strict=True))
    lines = []
    for code in row.opcodes[:-1]:
        register, dtype = fresh(f"{results[0]}_{code.name}"), row.named_dtype(loop)
        text, _ = _value(origin, code, [known[p] for p in code.params], [dtype], [register])
        text = _one(text, dtype, register, code, each)
        lines.append(origin.named_line(phase, text, code, dtype))
        known[code.name] = (f"{register}[{each.index}]" if each else register, dtype)
    code = row.opcodes[-1]
    given = [*known.values()] if row.mixes else [known[p] for p in code.params]
    targets = [f"{r}[{each.index}]" if each and not row.mixes else r for r in results]
    expression, function = _value(origin, code, given, types, targets)
    if code.results > 1:
        text = _several(expression, types, results, each, whole=bool(row.mixes))
    else:
        text = _one(expression, types[0], results[0], code, each)
    return [*lines, origin.line(phase, text, results, code)], function


def _value(
    origin: Origin,
    code: OpCode,
    operands: Sequence[tuple[str, DType]],
    types: Sequence[DType],
    targets: Sequence[str],
) -> tuple[str, str]:
    """An op-code over texts of its operands, and the function that it calls, or ""."""
    row, mixes = origin.node.operator, origin.node.operator.mixes
    fragment = code.row(row.kinds(code, [o.dtype for o in origin.node.operands]))
    texts, loop = [text for text, _ in operands], [dtype for _, dtype in operands]
    if fragment.is_statement:
        name = f"op_{row.name}_{(*loop, *types)[0]}_{types[0]}"
        called = [*(targets if code.results > 1 else ()), *texts]
        made = device_function(code, fragment.text, name, loop, types, mixes)
        return f"{name}({', '.join(called)})", made
    if mixes:
        texts = [*(f"{texts[0]}[{h}]" for h in range(mixes[0])), *texts[1:]]
    site = f"here, faults, {origin.index}"  # whether, where and as what a fault is noted
    slots = {"T": types[0].register, "S": types[0].storage, "SITE": site}
    names = dict(zip(code.params, texts, strict=True)) | slots
    return code.branched(fragment.text, lambda text: rename(text, names)), ""


def _one(expression: str, dtype: DType, result: str, code: OpCode, each: Each | None) -> str:
    """A result, or an array of them: rounded to its dtype where registers are wider.

    float v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] * 2;

    Where toggles choose, in each branch.
    """
    if expression.startswith("#"):
        parts = expression.split("\n")
        made = (p if p.startswith("#") else _one(p, dtype, result, code, each) for p in parts)
        return "\n".join(made)
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
    axes = zip(indices, table.extents, (s or "0" for s in table.strides), strict=True)
    code, operands = origin.node.operator.opcodes[0], [table.pointer, *chain.from_iterable(axes)]
    slots = {"T": origin.node.result.dtype.register}
    text = rename(code.rows[0].text, dict(zip(code.params, operands, strict=True)) | slots)
    return replace(origin.value(Phase.LOAD, result, text), name=f"gather {table.pointer}")


def bind_coordinate(origin: Origin, place: Access, result: str, each: Each | None = None) -> Line:
    """The place of an element along one axis; with ``each`` of each of those side by side.

    const int v0 = j;
    int v0[COLUMNS]; EACH_COLUMN v0[l] = (j0 + l);
    """
    column = each.place if each else "j"
    terms = [t for t in (place.at("", column), place.gather) if t and t != "0"]
    text = " + ".join(terms) or "0"
    if each is None:
        return origin.value(Phase.INDEX, result, text)
    declared = f"{origin.node.result.dtype.register} {result}[{each.extent}];"
    line = f"{declared} {each.loop} {result}[{each.index}] = {text};"
    return origin.line(Phase.INDEX, line, (result,))


ZERO_PADDING = "0 * -0, which adds nothing, not even a sign of zero"


def bind_product(origin: Origin, name: str, x: Factor, y: Factor) -> Product:
    """Accumulate and result op-codes of a product.

    x @ w  ->  acc[i][q][l] = fma(left[i], right[q][l], acc[i][q][l]);  and  v0 = acc[i][q][l];
    """
    operator, dtype = origin.node.operator, origin.node.result.dtype
    assert operator.accumulator is not None
    acc = operator.accumulator(dtype)
    code = operator.opcode(Phase.ACCUMULATE)
    row = code.row(dtype.kind)
    text, function = running_call(code, dtype.kind, operator.name, (acc,) * 3, acc)
    slots = {"acc": "acc[i][q][l]", "x": "left[i]", "y": "right[q][l]", "T": acc.register}
    step = f"acc[i][q][l] = {rename(text, slots)};"
    start = rename(row.start, slots)
    outside, padding = "" if dtype.is_complex else "-0.0f", ZERO_PADDING
    if operator.law != "matmul":  # a user's
        outside, padding = start, f"0 and {start}, which change nothing"
    return Product(
        x,
        y,
        acc.register,
        start,
        replace(origin.line(Phase.ACCUMULATE, step, code=code), function=function),
        product_result(origin, name),
        dtype.register,
        origin.node.values[0].shape[-1],
        outside,
        padding,
    )


def product_result(origin: Origin, name: str) -> Line:
    """The rounded value of an element of a product."""
    dtype, code = origin.node.result.dtype, origin.node.operator.opcode(Phase.REDUCE)
    assert origin.node.operator.accumulator is not None
    acc = origin.node.operator.accumulator(dtype)
    text, function = running_call(code, dtype.kind, origin.node.operator.name, (acc,), dtype)
    value = rename(text, {"acc": "acc[i][q][l]", "T": dtype.register})
    value = f"{dtype.round}({value})" if dtype.round else value
    return replace(origin.value(Phase.REDUCE, name, value, code), function=function)


def bind_reduction(
    origin: Origin, operand: str, name: str, lane: str, place: str = "j", *, chooses: bool = False
) -> Reduction:
    """Accumulate and reduce op-codes of a reduction; ``lane`` takes its running value.

    sum  ->  sum0_acc[l] = sum0_acc[l] + x_v[l];  and  sum0 = sum0 + other;

    ``place`` is where the element stands in its row.  With ``chooses`` it counts where it is
    ``inside``.
    """
    node = origin.node
    operator, taken = node.operator, node.operands[0].dtype
    acc = running_type(node)
    slots = {"T": acc.register}
    accumulate, join = operator.opcode(Phase.ACCUMULATE), operator.opcode(Phase.REDUCE)
    text, takes = running_call(accumulate, taken.kind, operator.name, (acc, taken), acc)
    running = f"{name}_acc{lane}"
    value = rename(text, {"acc": running, "x": operand, "place": place} | slots)
    if chooses:
        value = f"chosen(inside, {value}, {running})"
    text, joins = running_call(join, taken.kind, operator.name, (acc, acc), acc)
    line = origin.line(Phase.ACCUMULATE, f"{running} = {value};", code=accumulate)
    joined = origin.line(Phase.REDUCE, rename(text, slots), (name,), join)
    return Reduction(
        name,
        acc.register,
        rename(accumulate.row(taken.kind).start, slots),
        replace(line, function=takes),
        replace(joined, comment=f"{operator.name}: {node.plan or ''}", function=joins),
        node.result.dtype.round,
        f"{operator.name}_{acc}",
        operator.finish,
        node.result.dtype.register if operator.finish else "",
    )
