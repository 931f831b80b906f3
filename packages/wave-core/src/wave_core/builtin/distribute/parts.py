"""Elements that are parts of wider ones: a lane has all parts of one, or none.

`bitcast` cuts elements: bytes into numbers of 4 bits, above all. Where an instruction
wants fewer parts in a lane than an element has, the lane takes those of several
instructions at once. The order of a product's K is free, and they lie side by side in
one that gives each lane a run of K.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

from wave_core.builtin.distribute.permute import in_runs
from wave_core.builtin.distribute.placements import project
from wave_core.builtin.distribute.rules import is_tile, spreads, variable
from wave_core.builtin.distribute.widths import operand_of
from wave_core.ir import Placement
from wave_core.ops.shape import Bitcast
from wave_core.symbols import Digit, Layout
from wave_core.targets import REGISTER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.builtin.distribute.matrix import MatrixPlacements
    from wave_core.ops.base import Op


class Parts:
    """Which values have their elements from others that were cut."""

    def __init__(self, ops: Iterable[Op]) -> None:
        """Look at ``ops``, in program order."""
        self._cuts: dict[Op, tuple[Bitcast, ...]] = {}
        for op in ops:
            found = self._behind(op)
            if found:
                self._cuts[op] = found

    def _behind(self, op: Op) -> tuple[Bitcast, ...]:
        """The ops that cut what ``op`` computes with, element by element."""
        if isinstance(op, Bitcast):
            times, parts = op.ratio
            return (op,) if times > parts else ()
        if not self._cuts or not spreads(op):
            return ()
        rows = (self._of(v) for v in op.operands if is_tile(v))
        return tuple(dict.fromkeys(cut for row in rows for cut in row))

    def together(self, value: Op) -> int:
        """How many elements of ``value`` a lane has at least, or a multiple of it."""
        return lcm(*(cut.ratio[0] for cut in self._of(value)))

    def has_whole(self, value: Op, at: Placement) -> bool:
        """Whether lanes that have ``value`` in ``at`` have no element in part."""
        return all(
            operand_of(cut, project(at, cut.register_type.dims)) is not None
            for cut in self._of(value)
        )

    def whole(self, value: Op, wanted: Placement) -> Placement:
        """Where ``value`` is to sit for a use that wants it in ``wanted``.

        That is ``wanted``, or what several steps have of a dim in registers of one, if
        lanes have whole elements only so.
        """
        if self.has_whole(value, wanted):
            return wanted
        dims = dict.fromkeys(cut.register_type.dims[-1] for cut in self._of(value))
        joined = (_joined(wanted, dim) for dim in dims)
        return next((at for at in joined if self.has_whole(value, at)), wanted)

    def rows_of(self, op: Op, rows: MatrixPlacements) -> MatrixPlacements:
        """What matrix op ``op`` is to demand: ``rows``, or K in runs where those help.

        Blocks that scales belong to fix the order of K, and instructions that read LDS
        by themselves take elements as they are stored.
        """
        row = rows.row
        if rows.scales or not all(REGISTER in p for p in (row.lhs_in, row.rhs_in)):
            return rows
        lhs, rhs, *_ = op.operands
        if self.has_whole(lhs, rows.lhs) and self.has_whole(rhs, rows.rhs):
            return rows
        runs = in_runs(rows, lcm(self.together(lhs), self.together(rhs)))
        return runs if runs and self._suits(lhs, rhs, runs) else rows

    def _suits(self, lhs: Op, rhs: Op, rows: MatrixPlacements) -> bool:
        """Whether lanes have whole elements of both operands for these demands."""
        pairs = ((lhs, rows.lhs), (rhs, rows.rhs))
        return all(self.has_whole(value, self.whole(value, at)) for value, at in pairs)

    def _of(self, value: Op) -> tuple[Bitcast, ...]:
        return self._cuts.get(variable(value), ())


def _joined(placement: Placement, dim: str) -> Placement:
    """All that a lane has along ``dim`` in its first registers, as one step."""
    layout = placement.layout
    runs = [(d.coeff, d.mod) for d in layout.reg_digits(dim)]
    runs += [(extent, count) for name, count, extent in placement.steps if name == dim]
    registers = [(dim, coeff, count) for coeff, count in sorted(runs)]
    others = [(d.div, name, d) for name in layout.dims for d in layout.reg_digits(name)]
    registers += [(n, d.coeff, d.mod) for _, n, d in sorted(others) if n != dim]
    digits = {name: list(layout.lane_digits(name)) for name in (*layout.dims, dim)}
    position = 1
    for name, coeff, count in registers:
        digits[name].append(Digit(coeff, "reg", position, count))
        position *= count
    steps = tuple(step for step in placement.steps if step[0] != dim)
    return Placement(Layout.make(layout.lanes, position, digits), steps)
