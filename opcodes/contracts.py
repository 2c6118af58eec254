"""Contracts of the structural phases: what index, guard, load and store must bind and may name.

``CONTRACTS`` is what is checked here, by the text of an op-code.  What a text does not say (that
each element has one thread, that nothing lies outside) the SIMT checker finds.

    index   first = ((index_t)blockIdx.x * BLOCK + threadIdx.x) * VECTOR
            for (index_t first = ...; first < cols; first += ...)
    guard   end = cols
    load    __ldg(p)
    store   __stcs(p, x)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import Phase
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.fragments import check_fragment
from opweave.opcodes.tokens import is_c_name, tokens


class Contract(NamedTuple):
    """What an op-code of a phase must do.

    Attributes:
        binds: the name that it gives a value, for later phases; "" where it is an expression.
        names: what it must name.
        may: what it may name besides; functions and types anyway.
        says: what it is for, as an error says it.
        holds: what must hold, and who finds out.
    """

    binds: str
    names: tuple[str, ...]
    may: tuple[str, ...]
    says: str
    holds: str


POLICIES = ("ReadOnly", "Streaming")  # of opweave.cuh: how words of memory are read and written
SIZES = ("BLOCK", "VECTOR", "CHUNKS")
CONTRACTS: dict[Phase, Contract] = {
    Phase.INDEX: Contract(
        "first", (), ("cols", "index_t", "blockIdx", "threadIdx", "blockDim", "gridDim", *SIZES),
        "the first element of a thread, which loads and stores count from",
        "each element in one chunk of one thread, c * BLOCK * VECTOR from first: the SIMT checker",
    ),
    Phase.GUARD: Contract(
        "end", ("cols",), ("index_t", *SIZES),
        "the element that loads and stores end before",
        "no more than cols: the text for the name, the SIMT checker for the number",
    ),
    Phase.LOAD: Contract(
        "", ("p",), POLICIES,
        "an expression that reads the element at p",
        "reads what p points at and nothing else: the SIMT checker; its value: check",
    ),
    Phase.STORE: Contract(
        "", ("p", "x"), POLICIES,
        "an expression that writes the value x to the element at p",
        "writes what p points at and nothing else: the SIMT checker; its value: check",
    ),
}  # fmt: skip
ATOMICS = """atomicAdd atomicSub atomicMax atomicMin atomicExch atomicCAS atomicAnd atomicOr
    atomicXor atomicInc atomicDec""".split()
COMPOUND = ("-=", "*=", "/=", "%=", "&=", "|=", "^=")
KNOWN_BY = "these the template binds"


def check_text(at: str, phase: Phase, text: Any) -> None:
    """Hold the text of a structural op-code to the contract of its phase.

    Raises:
        FragmentError: says what it must bind or name.
    """
    if type(text) is not str:
        raise FragmentError(f"{at}: expected CUDA C as text, found {shown(text)}")
    if phase is Phase.INDEX and is_loop(text):
        _check_loop(at, text)
        return
    binds = CONTRACTS[phase].binds
    _check_expression(at, bound(at, phase, text) if binds else text, phase)
    if phase is Phase.STORE:
        _check_store(at, text)


def is_loop(text: str) -> bool:
    """An index op-code by which a thread takes more than one set of chunks."""
    return tokens(text)[:1] == ["for"]


def adds(text: str) -> bool:
    """A store that adds to what is there, instead of writing over it."""
    found = tokens(text)
    again = found.count("p") > 1 and "+" in found
    return bool({"atomicAdd", "add_to", "+="} & {*found}) or again


def bound(at: str, phase: Phase, text: str) -> str:
    """The expression behind ``first =`` or ``end =``.

    Raises:
        FragmentError: it binds another name, or none.
    """
    name, says = CONTRACTS[phase].binds, CONTRACTS[phase].says
    begin = tokens(text)[:2]
    if begin == [name, "="]:
        return text.partition("=")[2].strip()
    what = shown(begin[0]) if begin[1:] == ["="] and is_c_name(begin[0]) else "no name"
    loop = f", or 'for (index_t {name} = ...; {name} < cols; ...)'" * (phase is Phase.INDEX)
    raise FragmentError(
        f"{at}: expected it to bind {name!r}, {says}; found one that binds {what}: write "
        f"'{name} = ...'{loop}"
    )


def _check_expression(at: str, text: str, phase: Phase) -> None:
    """Hold an expression to the rules for fragments, and to the names of its contract."""
    contract = CONTRACTS[phase]
    if ";" in tokens(text):
        raise FragmentError(f"{at}: expected one expression, found statements: {shown(text)}")
    check_fragment(at, text, (*contract.names, *contract.may), 1, KNOWN_BY)
    for name in contract.names:
        if name not in tokens(text):
            raise FragmentError(
                f"{at}: expected {contract.says}, which names {name!r}; found {shown(text)}"
            )


def _check_loop(at: str, text: str) -> None:
    """Hold a loop to the contract of an index: it binds ``first``, has a guard, and ends."""
    begin, condition, step = _head(at, text)
    if tokens(begin)[:3] != ["index_t", "first", "="]:
        raise FragmentError(
            f"{at}: expected a loop that binds 'first', {CONTRACTS[Phase.INDEX].says}: write "
            f"'for (index_t first = ...', found {shown(begin)}"
        )
    if not {"first", "cols"} <= {*tokens(condition)}:
        raise FragmentError(
            f"{at}: the guard is left out: expected a condition that holds 'first' against "
            f"'cols', the number of elements; found {shown(condition)}: write 'first < cols'"
        )
    if "first" not in tokens(step):
        raise FragmentError(
            f"{at}: expected a step that changes 'first', else the loop never ends; found "
            f"{shown(step)}"
        )
    known = ("first", *CONTRACTS[Phase.INDEX].may)
    for part in (begin.partition("=")[2].strip(), condition, step):
        check_fragment(at, part, known, 1, KNOWN_BY)


def _head(at: str, text: str) -> tuple[str, str, str]:
    """The three parts of a loop's head."""
    head = text.strip().removeprefix("for").strip()
    if not head.startswith("(") or not head.endswith(")") or tokens(text).count(";") != 2:
        raise FragmentError(
            f"{at}: expected the head of a loop, 'for (index_t first = ...; first < cols; "
            f"first += ...)', without what it repeats; found {shown(text)}"
        )
    begin, condition, step = (part.strip() for part in head[1:-1].split(";"))
    return begin, condition, step


def _check_store(at: str, text: str) -> None:
    """Refuse a store that neither writes nor adds: NumPy has no meaning for it."""
    found = tokens(text)
    other = next((t for t in found if t in {*ATOMICS, *COMPOUND} - {"atomicAdd"}), None)
    if other or (found.count("p") > 1 and not adds(text)):
        raise FragmentError(
            f"{at}: expected a store that writes x, or that adds it to what is there (atomicAdd); "
            f"found {other or 'one that reads what is there'}: its result has no meaning in NumPy "
            "that check could hold it to"
        )
