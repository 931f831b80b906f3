"""Results that lanes hold in short runs are exchanged, so that stores are wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import PLACEMENT, insert_before, region_of, resolve, set_operands
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Write
from wave_core.ops.shape import Relayout
from wave_core.ops.structure import Argument
from wave_core.passes import Pass
from wave_core.symbols import Digit, Layout

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Placement
    from wave_core.passes import PassContext
    from wave_core.targets import MemorySpec


@dataclass(frozen=True)
class FillSectors(Pass):
    """Let neighbouring lanes exchange results before they write short runs of a row.

    Needs layouts. Lanes that follow one another along a row of the memory, with a run
    of elements each, write less than a sector of it together, and the next pieces of
    the row with their other registers. They exchange these by shuffles, so that each
    lane writes a run as long as that of all of them was: one store in place of as many
    as there are lanes, and whole sectors. Happens where rows of the memory are proved
    to begin at multiples of such a run. Does nothing for targets that say of no sector
    that stores should fill it.

    Example::

          kernel "k" target "sm_90" {
            bind N = 64
            constraint #HardwareConstraint(threads_per_wave = 32)
            %a = argument parameter "a" : mem<M, N, global, f16>
            %x = register {shape = [M, N], dtype = !f16, value = 1.0} : reg<M, N, f16>
                @placement(layout = #layout(32x16 {M: (lane/4%8), N:
                8*(reg/2%8) + 2*(lane/1%4) + (reg/1%2)}))
        -   write %x, %a, []
        +   %0 = relayout %x {near = true} : reg<M, N, f16>
        +       @placement(layout = #layout(32x16 {M: (lane/4%8), N:
        +       32*(reg/8%2) + 8*(lane/1%4) + (reg/1%8)}))
        +   write %0, %a, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Exchange what is written to parameters."""
        geometry, spec = context.geometry(graph), context.target.memory
        filled = bool(spec.sector_bytes)
        writes = [op for op in graph.walk() if isinstance(op, Write) and filled]
        changed = 0
        for op in writes:
            row = graph.facts.get(PLACEMENT, resolve(op.value))
            wanted = None if row is None else _wider(op, row, spec, geometry)
            if wanted is not None:
                moved = insert_before(op, Relayout(op.value, near=True))
                graph.facts.put(PLACEMENT, moved, wanted)
                set_operands(op, (moved, *op.slots[1:]))
                changed += 1
        context.count("writes_exchanged", changed)
        return changed > 0


def _wider(
    op: Write, row: Placement, spec: MemorySpec, geometry: Geometry
) -> Placement | None:
    """The layout in which lanes hold longer runs, where that helps and is proved."""
    memory, parents = op.memory.memory_type, region_of(op).around
    plain = isinstance(resolve(op.memory), Argument) and op.mapping is None
    if not plain or any(isinstance(each, Conditional) for each in parents):
        return None
    dim = memory.dims[-1]
    found = _runs(row.layout, dim)
    if found is None or any(name == dim for name, _, _ in row.steps):
        return None
    run, lanes, pieces = found
    size = run.mod * memory.dtype.bytes
    wide = size * lanes.mod
    length = geometry.bind(memory.storage_shape[-1])
    fits = (
        size < wide < spec.sector_bytes
        and wide * 8 <= spec.max_access_bits
        and lanes.div * lanes.mod <= geometry.in_reach
        and pieces.mod % lanes.mod == 0
        and length.is_constant
        and length.constant_value * memory.dtype.bytes % wide == 0
    )
    return _exchanged(row, dim, found) if fits else None


def _runs(layout: Layout, dim: str) -> tuple[Digit, Digit, Digit] | None:
    """The digits of ``dim``: a run of a lane, lanes side by side, and what follows."""
    digits = layout.digits(dim)
    if [each.source for each in digits] != ["reg", "lane", "reg"]:
        return None
    run, lanes, pieces = digits
    dense = run.coeff == 1 == run.div and lanes.coeff == run.mod
    follow = pieces.coeff == lanes.coeff * lanes.mod
    return (run, lanes, pieces) if dense and follow else None


def _exchanged(
    row: Placement, dim: str, found: tuple[Digit, Digit, Digit]
) -> Placement:
    """Lanes and as many of the pieces change places; runs come first in registers."""
    layout, (run, lanes, pieces) = row.layout, found
    wide = run.mod * lanes.mod
    digits = {
        other: list(layout.lane_digits(other)) for other in layout.dims if other != dim
    }
    div = wide
    others = [(d, other) for other in digits for d in layout.reg_digits(other)]
    for digit, other in sorted(others, key=lambda each: each[0].div):
        digits[other].append(Digit(digit.coeff, "reg", div, digit.mod))
        div *= digit.mod
    digits[dim] = [
        Digit(1, "reg", 1, wide),
        Digit(wide, "lane", lanes.div, lanes.mod),
        Digit(wide * lanes.mod, "reg", div, pieces.mod // lanes.mod),
    ]
    return type(row)(
        Layout.make(layout.lanes, layout.registers, digits), row.steps, row.origin
    )
