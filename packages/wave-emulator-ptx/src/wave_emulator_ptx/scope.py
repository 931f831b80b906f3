"""Names of a kernel: where registers, variables and special registers are found."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wave_emulator_ptx.arrays import Array, Selection
from wave_emulator_ptx.batch import LANES, Batch, Reader, Writer
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.syntax import (
    SINK,
    Address,
    Instruction,
    Kernel,
    Name,
    Not,
    Number,
    Operand,
    Tuple,
)
from wave_emulator_ptx.types import TYPES, Type

Special = Callable[[Batch], Array]


def _index(axis: int) -> dict[str, Special]:
    letter = "xyz"[axis]

    def thread(batch: Batch) -> Array:
        x, y, _ = batch.shape.block
        return batch.within // (1, x, x * y)[axis] % batch.shape.block[axis]

    def workgroup(batch: Batch) -> Array:
        x, y, _ = batch.shape.grid
        ordinals = batch.shape.workgroups[batch.workgroup(batch.all)]
        return ordinals // (1, x, x * y)[axis] % batch.shape.grid[axis]

    return {
        f"%tid.{letter}": thread,
        f"%ctaid.{letter}": workgroup,
        f"%ntid.{letter}": lambda batch: np.array([batch.shape.block[axis]]),
        f"%nctaid.{letter}": lambda batch: np.array([batch.shape.grid[axis]]),
    }


def _lane(batch: Batch) -> Array:
    return batch.all % LANES


SPECIAL: dict[str, Special] = {
    **_index(0),
    **_index(1),
    **_index(2),
    "%laneid": _lane,
    "%warpid": lambda batch: batch.within // LANES,
    "%nwarpid": lambda batch: np.array([batch.shape.warps]),
    "%lanemask_eq": lambda batch: 1 << _lane(batch),
    "%lanemask_lt": lambda batch: (1 << _lane(batch)) - 1,
    "%lanemask_le": lambda batch: (2 << _lane(batch)) - 1,
    "%lanemask_gt": lambda batch: 0xFFFFFFFF & -(2 << _lane(batch)),
    "%lanemask_ge": lambda batch: 0xFFFFFFFF & -(1 << _lane(batch)),
    "%dynamic_smem_size": lambda batch: np.array([batch.shared.size]),
    "WARP_SZ": lambda _: np.array([LANES]),
}
"""Registers that the machine fills (section 10)."""


@dataclass
class Scope:
    """What names of a kernel mean.

    Attributes:
        kernel: whose names these are.
        addresses: of variables and parameters.
        slots: of registers.
        types: of registers, by slot.
    """

    kernel: Kernel
    addresses: dict[str, int]
    slots: dict[str, int] = field(default_factory=dict[str, int])
    types: list[Type] = field(default_factory=list[Type])

    def __post_init__(self) -> None:
        """Give each register a slot."""
        for slot, (name, kind) in enumerate(self.kernel.registers.items()):
            self.slots[name] = slot
            self.types.append(TYPES[kind])

    def fresh(self, threads: int) -> list[Array]:
        """Registers of so many threads, all zero."""
        return [np.zeros(threads, each.words) for each in self.types]

    # ------------------------------------------------------------------ reading

    def read(self, operand: Operand, kind: Type, at: Instruction) -> Reader:
        """The bits of an operand as a type; wider registers are cut off."""
        if isinstance(operand, Number):
            return _constant(_bits_of(operand, kind), kind)
        if isinstance(operand, Not):
            inner = self.read(operand.name, kind, at)
            return lambda batch, chosen: ~inner(batch, chosen)
        if isinstance(operand, Tuple):
            return self._read_packed(operand, kind, at)
        if isinstance(operand, Address):
            return self._read_sum(operand, kind, at)
        if not isinstance(operand, Name):
            raise UnknownInstructionError(f"{at}: no value can be read here", at.line)
        return self._read_name(operand.text, kind, at)

    def _read_name(self, name: str, kind: Type, at: Instruction) -> Reader:
        if name in self.slots:
            return _register(self.slots[name], kind)
        if name in SPECIAL:
            return _special(SPECIAL[name], kind)
        if name in self.addresses:
            return _constant(self.addresses[name], kind)
        raise UnknownInstructionError(f"{at}: nothing is called `{name}`", at.line)

    def _read_sum(self, operand: Address, kind: Type, at: Instruction) -> Reader:
        base = self.read(operand.base, kind, at)
        offset = np.array([operand.offset]).astype(kind.words)
        return lambda batch, chosen: base(batch, chosen) + offset

    def _read_packed(self, operand: Tuple, kind: Type, at: Instruction) -> Reader:
        """Several registers in the bits of one, the first one lowest."""
        width = kind.width // len(operand.parts)
        part = TYPES[f"b{width}"]
        readers = [self.read(each, part, at) for each in operand.parts]

        def packed(batch: Batch, chosen: Selection) -> Array:
            parts = np.broadcast_arrays(*(each(batch, chosen) for each in readers))
            return np.stack(parts, axis=-1).view(kind.words)[..., 0]

        return packed

    # ------------------------------------------------------------------ writing

    def write(self, operand: Operand, kind: Type, at: Instruction) -> Writer:
        """Where bits of a type go; wider registers are filled with sign or zeros."""
        if operand == SINK:
            return lambda _batch, _chosen, _bits: None
        if isinstance(operand, Tuple):
            return self._write_packed(operand, kind, at)
        if not isinstance(operand, Name) or operand.text not in self.slots:
            raise UnknownInstructionError(f"{at}: the result is no register", at.line)
        slot = self.slots[operand.text]
        wide = self.types[slot]
        if wide.width < kind.width:
            raise UnknownInstructionError(
                f"{at}: {kind.name} does not fit `{operand.text}`", at.line
            )
        return _into(slot, kind, wide)

    def _write_packed(self, operand: Tuple, kind: Type, at: Instruction) -> Writer:
        part = TYPES[f"b{kind.width // len(operand.parts)}"]
        writers = [self.write(each, part, at) for each in operand.parts]

        def unpack(batch: Batch, chosen: Selection, bits: Array) -> None:
            parts = np.ascontiguousarray(bits).view(part.words)
            parts = parts.reshape(-1, len(writers))
            for number, write in enumerate(writers):
                write(batch, chosen, parts[:, number])

        return unpack


def _bits_of(number: Number, kind: Type) -> int:
    """The bits of a literal where a type is expected."""
    if number.width and number.width != kind.width:
        letter, word = {32: ("f", "I"), 64: ("d", "Q")}[number.width]
        (value,) = struct.unpack(letter, struct.pack(word, number.value))
        return int(kind.encode(np.array([value]))[0])
    return number.value & ((1 << kind.width) - 1)


def _constant(value: int, kind: Type) -> Reader:
    bits = np.array([value & ((1 << kind.width) - 1)], np.uint64).astype(kind.words)
    return lambda _batch, _chosen: bits


def _register(slot: int, kind: Type) -> Reader:
    def read(batch: Batch, chosen: Selection) -> Array:
        return batch.registers[slot][chosen].astype(kind.words, copy=False)

    return read


def _special(of: Special, kind: Type) -> Reader:
    def read(batch: Batch, chosen: Selection) -> Array:
        values = of(batch).astype(kind.words)
        return values if len(values) == 1 else values[chosen]

    return read


def _into(slot: int, kind: Type, wide: Type) -> Writer:
    signed = kind.kind == "s" and wide.width > kind.width

    def write(batch: Batch, chosen: Selection, bits: Array) -> None:
        if signed:
            bits = bits.view(kind.values).astype(f"i{wide.bytes}").view(wide.words)
        batch.registers[slot][chosen] = bits

    return write
