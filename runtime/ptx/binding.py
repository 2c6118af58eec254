"""Operands of instructions as readers and writers of a machine's registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.opcodes.errors import PtxSyntaxError, UnknownInstructionError
from opweave.runtime.isa.instruction import (
    TYPES,
    Array,
    Immediate,
    Instruction,
    Name,
    Not,
    Vector,
    storage,
)
from opweave.runtime.ptx.machine import Active, Machine
from opweave.runtime.ptx.special import SPECIAL

Reader = Callable[[Machine, Active], Array]
Writer = Callable[[Machine, Active, Array], None]


class Scope:
    """What the names in a function stand for.

    Attributes:
        slots: numbers of registers.
        kinds: PTX types of registers.
        places: addresses of shared and local variables, and of parameters of functions.
        spaces: the space of each variable.
        parameters: where the parameters of the kernel lie among the bytes of all.
    """

    def __init__(self, slots: Mapping[str, int], kinds: Mapping[str, str],
                 places: dict[str, int], spaces: Mapping[str, str],
                 parameters: Mapping[str, int]):  # fmt: skip
        self.slots, self.kinds, self.places, self.spaces = slots, kinds, places, spaces
        self.parameters = parameters

    def reader(self, operand: Any, kind: str, one: Instruction) -> Reader:
        """A function that gives an operand's values as a PTX type.

        Raises:
            PtxSyntaxError: a name that nobody has declared.
        """
        if isinstance(operand, Immediate):
            value = _constant(operand, kind, one)
            return lambda machine, active: value
        if isinstance(operand, Not):
            inner = self.reader(operand.of, "pred", one)
            return lambda machine, active: ~inner(machine, active)
        if not isinstance(operand, Name):
            raise UnknownInstructionError(
                f"PTX line {one.line}: {one.opcode}: an operand of this form is not executed"
            )
        if operand.text in self.slots:
            return _register(self.slots[operand.text], TYPES[kind], operand.offset)
        if operand.text.startswith("%") or operand.text == "WARP_SZ":
            return _special(operand.text, TYPES[kind], one)
        return self._address(operand, TYPES[kind], one)

    def _address(self, operand: Name, dtype: np.dtype[Any], one: Instruction) -> Reader:
        name, offset = operand.text, operand.offset
        if name in self.places:
            value = np.array([self.places[name] + offset]).astype(dtype)
            return lambda machine, active: value
        if self.spaces.get(name) not in ("global", "const", "param"):
            raise PtxSyntaxError(f"PTX line {one.line}: {one.opcode}: {name!r} is not declared")
        return lambda machine, active: np.array([machine.symbols[name] + offset]).astype(dtype)

    def writer(self, operand: Any, kind: str, one: Instruction, widens: bool = False) -> Writer:
        """A function that writes values of a PTX type to a register.

        Args:
            widens: a wider register is extended, by zeros or the sign.

        Raises:
            UnknownInstructionError: the register has another width.
        """
        if isinstance(operand, Name) and operand.text == "_":
            return lambda machine, active, values: None
        slot, held, made = self._result(operand, kind, one)
        if held != made and not (widens and held.itemsize > made.itemsize and made.kind != "b"):
            raise UnknownInstructionError(
                f"PTX line {one.line}: {one.opcode}: a result of .{kind} in a register of {held}"
            )
        signed = TYPES[kind] if TYPES[kind].kind == "i" else made

        def write(machine: Machine, active: Active, values: Array) -> None:
            if held != made:
                values = values.view(signed).astype(held)
            elif values.dtype != held:
                values = values.view(held)
            put(machine, slot, active, values)

        return write

    def _result(
        self, operand: Any, kind: str, one: Instruction
    ) -> tuple[int, np.dtype[Any], np.dtype[Any]]:
        """A register's number, its dtype, and the dtype of what is written to it."""
        if not isinstance(operand, Name) or operand.offset:
            raise UnknownInstructionError(
                f"PTX line {one.line}: {one.opcode}: a result of this form is not executed"
            )
        if operand.text not in self.slots:
            raise PtxSyntaxError(
                f"PTX line {one.line}: {one.opcode}: {operand.text!r} is not declared"
            )
        return self.slots[operand.text], storage(self.kinds[operand.text]), storage(kind)

    def vector(self, operand: Any) -> tuple[Any, ...]:
        """The parts of ``{a, b}``, or the operand alone."""
        return operand.parts if isinstance(operand, Vector) else (operand,)


def put(machine: Machine, slot: int, active: Active, values: Array) -> None:
    """Values of the active threads in a register; a whole array becomes the register."""
    if active is None:
        machine.registers[slot] = values
        return
    held = machine.registers[slot]
    if len(held) != machine.count:
        held = machine.registers[slot] = np.repeat(held, machine.count)
    held[active] = values


def _register(slot: int, dtype: np.dtype[Any], offset: int) -> Reader:
    def read(machine: Machine, active: Active) -> Array:
        held = machine.registers[slot]
        if active is not None and len(held) != 1:
            held = held[active]
        if held.dtype.itemsize != dtype.itemsize:
            held = held.astype(f"u{dtype.itemsize}")
        made = held.view(dtype)
        return made + dtype.type(offset) if offset else made

    return read


def _special(name: str, dtype: np.dtype[Any], one: Instruction) -> Reader:
    function = SPECIAL.get(name)
    if function is None:
        raise UnknownInstructionError(
            f"PTX line {one.line}: {one.opcode}: the special register {name} is not known"
        )
    found = function

    def read(machine: Machine, active: Active) -> Array:
        values = found(machine)
        if active is not None and len(values) != 1:
            values = values[active]
        return values.astype(dtype)

    return read


def _constant(operand: Immediate, kind: str, one: Instruction) -> Array:
    dtype = TYPES[kind]
    if operand.kind == "int":
        if kind == "pred":
            return np.array([operand.bits != 0])
        bits = operand.bits % (1 << 8 * dtype.itemsize)
    elif operand.kind == "f64" and kind == "f32":
        value = np.array([operand.bits], np.uint64).view(np.float64)
        return value.astype(np.float32)
    elif dtype.itemsize != int(operand.kind[1:]) // 8:
        raise PtxSyntaxError(
            f"PTX line {one.line}: {one.opcode}: a constant of .{operand.kind} as .{kind}"
        )
    else:
        bits = operand.bits
    return np.array([bits], f"u{dtype.itemsize}").view(dtype)
