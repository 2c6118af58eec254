"""Toggles that a user's operators declare, as rows: their values for one kernel.

A value is the user's, or what the declaration's rule says of the device and of what the operator
makes, or the first that can hold.  So it is the same for an operator alone and in any kernel,
but where all values give the same bits: there the operator that makes most decides for its kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Extents, count, extent_of
from opweave.compiler.toggles.facts import Declared
from opweave.opcodes.allowed import shown
from opweave.opcodes.defines import Define, shared, whole_number
from opweave.opcodes.errors import ToggleError
from opweave.opcodes.handwritten.cuda_kernel import Shaped
from opweave.opcodes.tokens import tokens

# By the id of a node's result the values of toggles that its bits may depend on.
Choices = Mapping[int, tuple[tuple[str, int], ...]]


def declared_for(
    nodes: Sequence[Node], extents: Extents, device: Device, overrides: Mapping[str, int]
) -> tuple[Declared, ...]:
    """What the nodes of a kernel declare, with the values for it.

    Raises:
        ToggleError: a rule fails, no value can hold, or operators need different ones.
    """
    made = []
    for toggle in _all_of(nodes):
        those = [node for node in nodes if toggle in node.operator.toggles]
        those.sort(key=lambda node: -count(node.result.shape, extents))
        refused = _refused(toggle, those, extents, device)
        if toggle.name in overrides:
            value = overrides[toggle.name]
        else:
            value = _decided(toggle, those, extents, device, refused)
        holding = tuple(v for v in toggle.values if v not in refused)
        made.append(Declared(toggle, value, holding, refused))
    return tuple(made)


def choices_of(
    graph: FunctionGraph, extents: Extents, device: Device, overrides: Mapping[str, int]
) -> Choices:
    """Values that bits may depend on, for each node that has such toggles.

    Those for which they differ share no kernel.

    Raises:
        ToggleError: as of ``declared_for``; operators declare one toggle differently, or its name
            means something else in the function.
    """
    _check_names(graph)
    found = {}
    for node in graph.nodes:
        toggles = [t for t in node.operator.toggles if not t.same_bits and t.name not in overrides]
        if toggles:
            made = declared_for([node], extents, device, overrides)
            names = {t.name for t in toggles}
            values = ((d.name, d.value) for d in made if d.name in names)
            found[node.result.id] = tuple(sorted(values))
    return found


def _all_of(nodes: Iterable[Node]) -> tuple[Define, ...]:
    """The toggles of some nodes.

    Raises:
        ToggleError: two declare one differently.
    """
    pairs = ((f"{n.operator.name}{_at(n)}", t) for n in nodes for t in n.operator.toggles)
    return tuple(shared(pairs).values())


def _at(node: Node) -> str:
    return f" ({node.where})" if node.where.file else ""


def _check_names(graph: FunctionGraph) -> None:
    """Hold the names of a function's toggles to its other names.

    Raises:
        ToggleError: says whose a name is.
    """
    names = {toggle.name for toggle in _all_of(graph.nodes)}
    if not names:
        return
    for taken in names & {*graph.scalars, *(i.name for i in graph.inputs)}:
        raise ToggleError(f"{taken} is a toggle, and an argument of {graph.name}: rename one")
    for node in graph.nodes:
        for code in node.operator.opcodes:
            own = {*code.params, *(toggle.name for toggle in code.toggles)}
            found = {token for row in code.rows for token in tokens(row.text)}
            for taken in (names - own) & found:
                raise ToggleError(
                    f"{taken} is a toggle of {graph.name}, and something else in a fragment of "
                    f"{node.operator.name}{_at(node)}: rename one, or declare it there too"
                )


def _decided(
    toggle: Define, nodes: Sequence[Node], extents: Extents, device: Device,
    refused: Mapping[int, str],
) -> int:  # fmt: skip
    """The compiler's choice; the first of the nodes makes most elements.

    Raises:
        ToggleError: there is none.
    """
    holding = [value for value in toggle.values if value not in refused]
    if not holding:
        reasons = "; ".join(f"{value}: {reason}" for value, reason in refused.items())
        raise ToggleError(f"no value of {toggle.name} can hold here: {reasons}")
    if toggle.rule is None:
        return holding[0]
    found = [_ruled(toggle, node, extents, device) for node in nodes]
    if toggle.same_bits or len({*found}) == 1:
        return found[0]
    wants = [f"{n.operator.name}{_at(n)} {v}" for n, v in zip(nodes, found, strict=True)]
    raise ToggleError(
        f"{toggle.name}: its rule chooses {', '.join(wants)} for one kernel, and bits may differ: "
        f"set it, as in with_toggles({toggle.name}={found[0]})"
    )


def _ruled(toggle: Define, node: Node, extents: Extents, device: Device) -> int:
    given = _asked(toggle, "rule", (device, _seen(node, extents)), node)
    value = whole_number(given)
    if value not in toggle.values:
        raise ToggleError(
            f"{toggle.name}: its rule gives {shown(given)} for {node.operator.name}{_at(node)}: "
            f"expected one of {', '.join(map(str, toggle.values))}"
        )
    assert value is not None
    return value


def _refused(
    toggle: Define, nodes: Sequence[Node], extents: Extents, device: Device
) -> dict[int, str]:
    """The values that cannot hold for one of the nodes, and why."""
    found: dict[int, str] = {}
    for node in nodes if toggle.check is not None else ():
        for value in toggle.values:
            reason = _asked(toggle, "check", (value, device, _seen(node, extents)), node)
            if reason is not None and type(reason) is not str:
                raise ToggleError(
                    f"{toggle.name}: its check gives {shown(reason)} for {value}: expected the "
                    'reason why it cannot hold as text, or ""'
                )
            if reason:
                found.setdefault(value, reason)
    return found


def _seen(node: Node, extents: Extents) -> Shaped:
    """What a rule sees of an operator: the array that it makes."""
    shape = tuple(extent_of(e, extents) for e in node.result.shape)
    return Shaped(shape, node.result.dtype.numpy)


def _asked(toggle: Define, what: str, given: tuple[Any, ...], node: Node) -> Any:
    """What a user's function says.

    Raises:
        ToggleError: it raises something.
    """
    try:
        return getattr(toggle, what)(*given)
    except Exception as error:  # the user's function may raise anything
        text = f"{type(error).__name__}: {error}"
        raise ToggleError(
            f"{toggle.name}: its {what} raised {text}, asked for {node.operator.name}{_at(node)}"
        ) from error
