"""Wide values behind loops, computed a piece at a time.

Elementwise ops on all sums of a product would have an intermediate value of as many
registers for each op, and neither LLVM nor the assembler reorders so many. So runs of
such ops are emitted for a few registers, then for the next few.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from wave_core.backends.emission import Kind, Value
from wave_core.ops.constant import Splat
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.ir import Region
    from wave_core.ops.base import Op

WIDE = 64
"""Registers of a value from which on it is cut."""

PIECE = 8
"""Registers of a piece: a vector of 16 bytes of the narrowest result of a product."""


def runs(region: Region, emit: Emitter) -> Iterator[tuple[int, list[Op]]]:
    """Ops that follow one another, by the registers in which they are cut; 0: whole."""
    for width, ops in groupby(region.ops, lambda op: _width(op, emit)):
        yield width, list(ops)


def _width(op: Op, emit: Emitter) -> int:
    if not isinstance(op.type, RegisterType):
        return 0
    if not (op.has(Trait.ELEMENTWISE) or isinstance(op, Splat)):
        return 0
    count = emit.registers(op)
    return count if count >= WIDE and count % PIECE == 0 else 0


def lower_in_pieces(
    ops: list[Op], width: int, emit: Emitter, lower: Callable[[Op], None]
) -> None:
    """Lower ops on ``width`` registers for one piece of these after the other."""
    parts: dict[Op, list[Value]] = {op: [] for op in ops}
    for start in range(0, width, PIECE):
        with emit.cut(width, start, PIECE):
            for op in ops:
                lower(op)
                parts[op].append(emit.value(op))
    for op, values in parts.items():
        if any(user not in parts for user in op.users):
            emit.define(op, _joined(values, width, emit))


def _joined(values: list[Value], width: int, emit: Emitter) -> Value:
    kind, total = Kind(values[0].item, width), "poison"
    for place, value in enumerate(values):
        name = emit.spread(value, PIECE)
        total = emit.builder.insert(kind, total, name, place * PIECE, PIECE)
    return Value(total, *kind)
