"""Op-codes with their operands bound: from a node of the graph to lines of the kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from opweave.compiler.codegen.kernel_parts import Line, Reduction
from opweave.compiler.codegen.layout import Access
from opweave.compiler.ir.graph import Node
from opweave.compiler.toggles.choose import KNOWN
from opweave.opcodes.core import OpCode, Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.tokens import rename
from opweave.templates import TEMPLATES

# Columns from which the parameters of a function take a line each.
WIDEST = 110


@cache
def macros() -> frozenset[str]:
    """Every toggle, and every macro of the helpers: nothing else may be called like that."""
    text = "\n".join(p.read_text() for p in TEMPLATES.rglob("*.cuh"))
    return frozenset(re.findall(r"#define\s+([A-Za-z_]\w*)", text)) | frozenset(KNOWN)


@dataclass(frozen=True)
class Each:
    """Values that are arrays of registers: their extent, the macro that walks them, its index."""

    extent: str
    loop: str
    index: str


CHANNEL = Each("CHANNELS", "EACH_CHANNEL", "h")
COLUMN = Each("COLUMNS", "EACH_COLUMN", "l")


@dataclass(frozen=True)
class Bound:
    """A line, and the device function that it calls, if its fragment is statements."""

    line: Line
    function: str = ""
    function_name: str = ""


def comment_for(node: Node) -> str:
    """Such as ``multiply: f32[n0, n1], line 3``."""
    at = f", line {node.where.relative}" if node.where.relative > 0 else ""
    return f"{node.operator.name}: {node.result.type}{at}"


def bind_map(
    node: Node,
    index: int,
    phase: Phase,
    operands: Sequence[str],
    results: Sequence[str],
    each: Each | None = None,
) -> Bound:
    """Inline an expression, or call the function of a statement fragment.

    x * scale  ->  const float v1 = x_v[l] * scale;  // multiply: f32[n0], line 2
    hue(x, c)  ->  float v1[3]; op_hue(v1, v0, c);

    With ``each`` results are arrays, such as of channels, and operands name channel ``h``.
    """
    kinds = "".join(o.dtype.kind for o in node.operands)
    code = node.operator.opcode_for(kinds)
    types = [r.dtype for r in node.results]
    slots = {"T": types[0].register, "S": types[0].storage, "SITE": str(index)}
    function = ""
    mixes = node.operator.mixes
    if code.is_statement:
        name = f"op_{code.name}_{node.operands[0].dtype}_{types[0]}"
        types_of = [o.dtype for o in node.operands]
        function = device_function(code, name, types_of, types, node.operator.mixes)
        targets = [f"{r}[{each.index}]" for r in results] if each and not mixes else list(results)
        expression = f"{name}({', '.join([*(targets if code.results > 1 else ()), *operands])})"
    else:
        if mixes:
            operands = [*(f"{operands[0]}[{h}]" for h in range(mixes[0])), *operands[1:]]
        names = dict(zip(code.params, operands, strict=True))
        expression = rename(code.fragment, names | slots)
    if each:
        text = _arrays(expression, types, results, code, each, mixes=bool(mixes))
    elif code.results > 1:
        text = _several(expression, types, results)
    else:
        text = f"const {types[0].register} {results[0]} = {rounded(expression, types[0], code)};"
    line = Line(phase, code.name, text, comment_for(node), tuple(results), code, index, node.where)
    return Bound(line, function, code.name)


@dataclass(frozen=True)
class Table:
    """An array that is read at computed places; a stride is "" for an axis of extent 1."""

    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]


def bind_gather(node: Node, index: int, table: Table, indices: Sequence[str], result: str) -> Line:
    """Read a table where the indices lie inside of it, 0 elsewhere.

    const float v2 = read_at<float>(x, v1, n0, x_s0);
    """
    axes = zip(indices, table.extents, table.strides, strict=True)
    places = [f"{i}, {n}, {stride or 0}" for i, n, stride in axes]
    register = node.result.dtype.register
    text = (
        f"const {register} {result} = read_at<{register}>({', '.join([table.pointer, *places])});"
    )
    name = f"gather {table.pointer}"
    return Line(Phase.LOAD, name, text, comment_for(node), (result,), None, index, node.where)


def bind_coordinate(node: Node, index: int, place: Access, result: str) -> Line:
    """The place of an element along one axis.

    const int v0 = j;
    """
    terms = [t for t in (place.at("", "j"), place.gather) if t and t != "0"]
    text = f"const {node.result.dtype.register} {result} = {' + '.join(terms) or '0'};"
    return Line(
        Phase.INDEX, "coordinate", text, comment_for(node), (result,), None, index, node.where
    )


def _arrays(
    expression: str,
    types: Sequence[DType],
    results: Sequence[str],
    code: OpCode,
    each: Each,
    *,
    mixes: bool,
) -> str:
    """Results that are arrays: an expression for each element, or a call that makes all of them.

    float v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] * 2;
    """
    h = each.index
    declared = [f"{t.register} {r}[{each.extent}];" for t, r in zip(types, results, strict=True)]
    if not mixes and code.results == 1:
        assigned = f"{results[0]}[{h}] = {rounded(expression, types[0], code)};"
        return f"{declared[0]} {each.loop} {assigned}"
    fixed = [
        f"{r}[{h}] = {t.round}({r}[{h}]);" for t, r in zip(types, results, strict=True) if t.round
    ]
    body = [f"{expression};", *([f"{each.loop} {f}" for f in fixed] if mixes else fixed)]
    if not mixes:
        body = [f"{each.loop} {{", *body, "}"]
    return " ".join([*declared, *body])


def rounded(expression: str, dtype: DType, code: OpCode) -> str:
    """Round to the dtype after the operator, where its registers are wider."""
    if dtype.round and not code.exact:
        return f"{dtype.round}({expression})"
    return expression


def _several(call: str, types: Sequence[DType], results: Sequence[str]) -> str:
    declared = " ".join(f"{t.register} {r};" for t, r in zip(types, results, strict=True))
    fixed = [f"{r} = {t.round}({r});" for t, r in zip(types, results, strict=True) if t.round]
    return " ".join([declared, f"{call};", *fixed])


def device_function(
    code: OpCode,
    name: str,
    operands: Sequence[DType],
    results: Sequence[DType],
    mixes: tuple[int, int] | None = None,
) -> str:
    """A statement fragment as a function.

    float op_leaky_f32_f32(const float x) { if (x > 0) return x; return 0.1f * x; }

    An operator that mixes channels takes and makes arrays of them, and its fragment names each.
    """
    slots = {"T": results[0].register, "S": results[0].storage}
    free = {p: f"{p}_" if p in macros() else p for p in code.params}
    code = replace(code, params=tuple(free.values()), fragment=rename(code.fragment, free | slots))
    text = code.fragment
    body = [text] if "{" in text else text.replace("; ", ";\n").split("\n")
    returned = results[0].register if code.results == 1 else "void"
    if mixes:
        params, body = _over_channels(code, operands, results[0], mixes, body)
    else:
        params = [f"const {d.register} {p}" for d, p in zip(operands, code.params, strict=True)]
        if code.results > 1:
            params = [f"{d.register}& r{i}" for i, d in enumerate(results)] + params
    head = f"static __device__ __forceinline__ {returned} {name}("
    wide = len(head) + sum(map(len, params)) > WIDEST
    joined = "\n    " + ",\n    ".join(params) if wide else ", ".join(params)
    lines = "\n    ".join(body)
    return f"{head}{joined})\n{{\n    {lines}\n}}"


def _over_channels(
    code: OpCode,
    operands: Sequence[DType],
    result: DType,
    mixes: tuple[int, int],
    body: list[str],
) -> tuple[list[str], list[str]]:
    """Parameters and body of a fragment over channels: ``x`` and ``r`` are arrays of them."""
    taken, made = mixes
    channels, amounts = code.params[:taken], code.params[taken:]
    first, register = operands[0].register, result.register
    named = ", ".join(f"{c} = x[{h}]" for h, c in enumerate(channels))
    body = [f"const {first} {named};", *body]
    params = [f"const {first} (&x)[{taken}]"]
    params += [f"const {d.register} {a}" for d, a in zip(operands[1:], amounts, strict=True)]
    if made > 1:
        results = [f"r{h}" for h in range(made)]
        assigned = " ".join(f"r[{h}] = {r};" for h, r in enumerate(results))
        body = [f"{register} {', '.join(results)};", *body, assigned]
        params = [f"{register} (&r)[{made}]", *params]
    return params, body


@dataclass(frozen=True)
class BoundProduct:
    """The op-codes of a product: ``accumulate`` is a step, ``result`` its value in a register."""

    ctype: str
    identity: str
    accumulate: Line
    result: Line


def bind_product(node: Node, index: int, name: str) -> BoundProduct:
    """Accumulate and result op-codes of a product.

    x @ w  ->  acc[i][q][l] = fma(left[i], right[q][l], acc[i][q][l]);  and  v0 = acc[i][q][l];
    """
    operator, dtype = node.operator, node.result.dtype
    assert operator.accumulator is not None
    acc = operator.accumulator(dtype)
    code = operator.opcode_for(dtype.kind, Phase.ACCUMULATE)
    slots = {"acc": "acc[i][q][l]", "x": "left[i]", "y": "right[q][l]", "T": acc.register}
    step = f"acc[i][q][l] = {rename(code.fragment, slots)};"
    value = f"{dtype.round}(acc[i][q][l])" if dtype.round else "acc[i][q][l]"
    if dtype.is_complex:  # padding adds zeros of either sign: none is left negative
        value = f"{value} + {dtype.register}()"
    note = comment_for(node)
    accumulate = Line(Phase.ACCUMULATE, operator.name, step, note, (), code, index, node.where)
    text = f"const {dtype.register} {name} = {value};"
    result = Line(Phase.REDUCE, operator.name, text, note, (name,), code, index, node.where)
    return BoundProduct(
        acc.register, rename(operator.identity[dtype.kind], slots), accumulate, result
    )


def bind_reduction(
    node: Node, index: int, operand: str, name: str, lane: str, *, chooses: bool = False
) -> Reduction:
    """Accumulate and reduce op-codes of a reduction; ``lane`` takes its running value.

    sum  ->  sum0_acc[l] = sum0_acc[l] + x_v[l];  and  sum0 = sum0 + other;

    With ``chooses`` the element counts where it is ``inside``.
    """
    operator, dtype = node.operator, node.result.dtype
    assert operator.accumulator is not None
    acc = operator.accumulator(dtype)
    kind = node.operands[0].dtype.kind
    slots = {"T": acc.register}
    accumulate = operator.opcode_for(kind, Phase.ACCUMULATE)
    join = operator.opcode_for(kind, Phase.REDUCE)
    running = f"{name}_acc{lane}"
    value = rename(accumulate.fragment, {"acc": running, "x": operand} | slots)
    if chooses:
        value = f"chosen(inside, {value}, {running})"
    text = f"{running} = {value};"
    note = comment_for(node)
    plan = f"{node.plan}" if node.plan else ""
    return Reduction(
        name,
        acc.register,
        rename(operator.identity[kind], slots),
        Line(Phase.ACCUMULATE, operator.name, text, note, (), accumulate, index, node.where),
        Line(
            Phase.REDUCE,
            operator.name,
            rename(join.fragment, slots),
            f"{operator.name}: {plan}",
            (name,),
            join,
            index,
            node.where,
        ),
        dtype.round,
        f"{operator.name}_{acc}",
    )
