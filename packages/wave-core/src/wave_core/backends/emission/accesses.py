"""Which elements an access touches, cut into pieces that one instruction moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Protocol

from wave_core.backends.emission.elements import bind_element
from wave_core.constraints.machine import REGISTER
from wave_core.diagnostics import internal_error
from wave_core.ir import ACCESS
from wave_core.symbols import Expr, Facts, combine, dot, eq
from wave_core.types import dynamic_symbol

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Read, Write
    from wave_core.types import DType

ALIGNMENT = 16
"""Bytes that the start of every memory is a multiple of, at least."""


class FlatArray(Protocol):
    """A memory as one flat array: a backend's records have this."""

    @property
    def dtype(self) -> DType:
        """The element type."""
        ...

    @property
    def strides(self) -> tuple[Expr, ...]:
        """Elements between neighbours along each dimension."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring elements that are touched together, or not at all.

    Attributes:
        register: The first register of the lane's vector.
        count: How many registers.
        offset: The element of the memory that the first one is.
        mask: Where the elements are touched; ``None`` is everywhere.
        alignment: Bytes that the address is a multiple of.
    """

    register: int
    count: int
    offset: Expr
    mask: Expr | None
    alignment: int


def pieces(op: Read | Write, emit: Emission, memory: FlatArray) -> list[Piece]:
    """The pieces of an access, in order of registers."""
    access = emit.graph.facts.get(ACCESS, op)
    if access is None:
        raise internal_error(
            "WV9905", f"`{op.op_name}` has no access row", at=op.location
        )
    rows = zip(access.coordinates, memory.strides, strict=True)
    offset = emit.expr(dot(rows))
    mask = None if access.mask is None else emit.expr(access.mask)
    known = [*by_register(op.indices, emit, access.registers)]
    steady, moving = _parts(offset, known[0])
    offsets = [moving.subs(each) for each in known]
    masks = _masks(emit.facts, mask, known)
    runs = _runs(emit.facts, offsets, masks)
    widest = emit.target.memory.max_access_bits // max(memory.dtype.bits, 8)
    found: list[Piece] = []
    for start, length in runs:
        for first, count in _powers(start, length, widest):
            where = steady + offsets[first]
            aligned = _alignment(emit.facts, where, memory.dtype.bytes, count)
            found.append(Piece(first, count, where, masks[first], aligned))
    return found


def _parts(offset: Expr, known: Mapping[Expr, Expr | int]) -> tuple[Expr, Expr]:
    """The terms of an offset that all registers share, and those of a register."""
    _, terms = offset.linear()
    moving = [row for row in terms if not row[0].free_symbols.isdisjoint(known)]
    found = combine(moving)
    return offset - found, found


def _masks(
    facts: Facts, mask: Expr | None, known: Sequence[Mapping[Expr, Expr | int]]
) -> list[Expr | None]:
    """The mask of each register."""
    if mask is None:
        return [None] * len(known)
    if mask.free_symbols.isdisjoint(known[0]):
        return [simple(facts, mask)] * len(known)
    return [simple(facts, mask.subs(each)) for each in known]


def by_register(
    indices: Sequence[Op], emit: Emission, registers: int
) -> Iterator[dict[Expr, Expr | int]]:
    """The symbols of an access with index registers, by register."""
    values = [(emit.value(v), emit.dtype(v)) for v in indices]
    for register in range(registers):
        known: dict[Expr, Expr | int] = {REGISTER: register}
        for position, (value, dtype) in enumerate(values):
            stand_in = bind_element(emit, value, register, dtype)
            known[dynamic_symbol(position)] = stand_in
        yield known


def simple(facts: Facts, mask: Expr) -> Expr | None:
    """A mask; ``None`` where it always holds."""
    if mask.is_constant and mask.constant_value:
        return None
    return None if facts.prove(mask) else mask


def _runs(
    facts: Facts, offsets: list[Expr], masks: list[Expr | None]
) -> list[tuple[int, int]]:
    """Neighbouring registers that touch neighbouring elements under one mask."""
    found: list[tuple[int, int]] = []
    start = 0
    for register in range(1, len(offsets) + 1):
        if register < len(offsets):
            step = offsets[register] - offsets[register - 1]
            if masks[register] is masks[start] and _is_one(facts, step):
                continue
        found.append((start, register - start))
        start = register
    return found


def _is_one(facts: Facts, step: Expr) -> bool:
    if step.is_constant:
        return step.constant_value == 1
    return facts.prove(eq(step, 1))


def _powers(start: int, length: int, widest: int) -> list[tuple[int, int]]:
    """A run as pieces whose lengths are powers of two."""
    found: list[tuple[int, int]] = []
    while length:
        count = min(widest, 1 << (length.bit_length() - 1))
        found.append((start, count))
        start, length = start + count, length - count
    return found


def _alignment(facts: Facts, offset: Expr, size: int, count: int) -> int:
    bytes_ = facts.divisor(offset) * size
    known = gcd(bytes_, ALIGNMENT) if bytes_ else ALIGNMENT
    return max(size, min(known, size * count, ALIGNMENT))
