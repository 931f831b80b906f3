"""Names of a kernel: where registers, variables and special registers are found."""

from __future__ import annotations

from collections import defaultdict
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
    Sum,
    Tuple,
)
from wave_emulator_ptx.types import TYPES, Type, bits_of, fits

PENDING = "an asynchronous product uses this register, and nothing waited for it"

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
        f"%clusterid.{letter}": workgroup,
        f"%nclusterid.{letter}": lambda batch: np.array([batch.shape.grid[axis]]),
        f"%cluster_ctaid.{letter}": lambda _: np.zeros(1),
        f"%cluster_nctaid.{letter}": lambda _: np.ones(1),
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
    "%cluster_ctarank": lambda _: np.zeros(1),
    "%cluster_nctarank": lambda _: np.ones(1),
    "%is_explicit_cluster": lambda _: np.zeros(1),
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
        watched: rows of the registers that asynchronous products may use, by slot.
    """

    kernel: Kernel
    addresses: dict[str, int]
    slots: dict[str, int] = field(default_factory=dict[str, int])
    types: list[Type] = field(default_factory=list[Type])
    watched: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        """Give each register a slot."""
        for slot, (name, kind) in enumerate(self.kernel.registers.items()):
            self.slots[name] = slot
            self.types.append(TYPES[kind])
        names = [each for each in used_by_products(self.kernel) if each in self.slots]
        self.watched = {self.slots[name]: row for row, name in enumerate(names)}

    def fresh(self, threads: int, watched: Array) -> list[Array]:
        """Registers of so many threads, all zero; those of products are its rows."""
        return [
            watched[self.watched[slot]]
            if slot in self.watched
            else np.zeros(threads, each.words)
            for slot, each in enumerate(self.types)
        ]

    # ------------------------------------------------------------------ reading

    def read(self, operand: Operand, kind: Type, at: Instruction) -> Reader:
        """The bits of an operand as a type; wider registers are cut off."""
        if isinstance(operand, Number):
            if not fits(operand, kind):
                raise _mismatch(at, "a number", kind)
            return _constant(bits_of(operand, kind), kind)
        if isinstance(operand, Not):
            inner = self.read(operand.name, kind, at)
            return lambda batch, chosen: ~inner(batch, chosen)
        if isinstance(operand, Tuple):
            return self._read_packed(operand, kind, at)
        if isinstance(operand, Address | Sum):
            return self._read_sum(operand, kind, at)
        if not isinstance(operand, Name):
            raise UnknownInstructionError(f"{at}: no value can be read here", at.line)
        return self._read_name(operand.text, kind, at)

    def _read_name(self, name: str, kind: Type, at: Instruction) -> Reader:
        if name in self.slots:
            slot = self.slots[name]
            if not _holds(self.types[slot], kind, at):
                raise _mismatch(at, f"`{name}`", kind)
            read = _register(slot, kind)
            return _watching(read, self.watched.get(slot), at)
        if name in SPECIAL:
            return _special(SPECIAL[name], kind)
        if name in self.addresses:
            return _constant(self.addresses[name], kind)
        raise UnknownInstructionError(f"{at}: nothing is called `{name}`", at.line)

    def _read_sum(self, operand: Address | Sum, kind: Type, at: Instruction) -> Reader:
        base = self._read_base(operand.base, kind, at)
        offset = np.array([operand.offset & ((1 << kind.width) - 1)], kind.words)
        return lambda batch, chosen: base(batch, chosen) + offset

    def _read_base(self, base: Name | Number, kind: Type, at: Instruction) -> Reader:
        """What an address is counted from; narrower registers are widened."""
        if isinstance(base, Name) and base.text in self.slots:
            own = self.types[self.slots[base.text]]
            if own.kind not in {"p", "f"} and own.width <= kind.width:
                narrow = self.read(base, own, at)
                return lambda batch, chosen: narrow(batch, chosen).astype(kind.words)
        return self.read(base, kind, at)

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
        if not _holds(wide, kind, at):
            raise _mismatch(at, f"`{operand.text}`", kind)
        return _guarding(_into(slot, kind, wide), self.watched.get(slot), at)

    def _write_packed(self, operand: Tuple, kind: Type, at: Instruction) -> Writer:
        part = TYPES[f"b{kind.width // len(operand.parts)}"]
        writers = [self.write(each, part, at) for each in operand.parts]

        def unpack(batch: Batch, chosen: Selection, bits: Array) -> None:
            parts = np.ascontiguousarray(bits).view(part.words)
            parts = parts.reshape(-1, len(writers))
            for number, write in enumerate(writers):
                write(batch, chosen, parts[:, number])

        return unpack


WIDENING = frozenset({"ld", "ldu", "st", "cvt"})
"""Opcodes whose registers may be wider than what they hold."""


def _holds(register: Type, kind: Type, at: Instruction) -> bool:
    """Whether a register may be where a type is expected.

    Source: section 9.4 of the PTX ISA: sizes agree, and floats are no integers; bits
    are either.
    """
    if "p" in {register.kind, kind.kind}:
        return register.kind == kind.kind
    if register.width != kind.width:
        return register.width > kind.width and at.opcode in WIDENING
    return "b" in {register.kind, kind.kind} or (
        (register.kind == "f") == (kind.kind == "f")
    )


def _mismatch(at: Instruction, what: str, kind: Type) -> UnknownInstructionError:
    return UnknownInstructionError(str(at), at.line, f"{what} is no .{kind.name}")


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


# ------------------------------------------------------------------ products


def used_by_products(kernel: Kernel) -> list[str]:
    """Registers of asynchronous products, and those to which they are moved on."""
    products = [each for each in kernel.body if each.opcode == "wgmma"]
    found = {
        part.text: None
        for each in products
        for operand in each.operands[:2]
        if isinstance(operand, Tuple)
        for part in operand.parts
        if isinstance(part, Name)
    }
    moves = [each for each in kernel.body if _is_plain_move(each)] if found else []
    onward: dict[str, list[int]] = defaultdict(list)
    for at, each in enumerate(moves):
        onward[_text(each, 1)].append(at)
    new = list(found)
    while new:
        places = sorted(at for name in new for at in onward.pop(name, ()))
        moved = dict.fromkeys(_text(moves[at], 0) for at in places)
        new = [name for name in moved if name not in found]
        found |= dict.fromkeys(new)
    return list(found)


def _text(instruction: Instruction, number: int) -> str:
    operand = instruction.operands[number]
    return operand.text if isinstance(operand, Name) else ""


def _is_plain_move(instruction: Instruction) -> bool:
    """Whether an instruction copies a register of 32 bits to another one."""
    return (
        instruction.opcode == "mov"
        and len(instruction.operands) == 2
        and instruction.modifiers[-1:] in {("b32",), ("f32",), ("u32",), ("s32",)}
        and all(isinstance(each, Name) for each in instruction.operands)
    )


def carried(instruction: Instruction, scope: Scope) -> tuple[int, int] | None:
    """The rows of a copy from a watched register to another: to, from."""
    if not _is_plain_move(instruction):
        return None
    slots = [scope.slots.get(_text(instruction, number), -1) for number in range(2)]
    to, source = (scope.watched.get(slot) for slot in slots)
    return None if to is None or source is None else (to, source)


def _watching(read: Reader, row: int | None, at: Instruction) -> Reader:
    """A reader of a register that reports a use before the wait for a product."""
    if row is None:
        return read

    def watched(batch: Batch, chosen: Selection) -> Array:
        _use(batch, chosen, row, at)
        return read(batch, chosen)

    return watched


def _guarding(write: Writer, row: int | None, at: Instruction) -> Writer:
    """A writer, likewise."""
    if row is None:
        return write

    def guarded(batch: Batch, chosen: Selection, bits: Array) -> None:
        _use(batch, chosen, row, at)
        write(batch, chosen, bits)

    return guarded


def _use(batch: Batch, chosen: Selection, row: int, at: Instruction) -> None:
    if not batch.checks:
        return
    pending = batch.products.pending(row, chosen)
    if pending.any():
        batch.report(at, "EP0504", PENDING, batch.ordinals(chosen)[pending])
    batch.products.touch(row, chosen)
