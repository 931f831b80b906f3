"""Expansion of scans: along registers, then lanes, then waves.

The index along the scanned dimension is a sum of digits, each of the register (or
the step), of the lane or of the wave. They are taken from the smallest coefficient
to the greatest. Before each, the tile is in blocks of consecutive elements: every
element is combined with those before it in its block, and each lane knows the total
of its blocks. A digit joins blocks: an element takes in the total of the blocks
that come before its own. So any layout is scanned in the order of the indices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.waves import wave_number
from wave_core.builtin.distribute.placements import free_lane_digits
from wave_core.builtin.expand.exchange import capture_buffer
from wave_core.builtin.expand.lines import Line, Values, doubling, lines_of
from wave_core.constraints import wave_symbol
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import ACCESS, Access
from wave_core.ops.arithmetic import Or
from wave_core.ops.compare import Select
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.scan import Scan
from wave_core.passes.tile_rules import expands
from wave_core.symbols import Layout, constant, eq, ge, le, logical_and, symbol
from wave_core.types import AccessMapping

if TYPE_CHECKING:
    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op
    from wave_core.symbols import Digit, Expr


@dataclass
class _Block:
    """Consecutive elements: what each stands for by now, by offset, and all."""

    elements: dict[int, Values]
    total: Values


@expands(Scan)
def expand_scan(expander: Expander, op: Scan, scope: Scope) -> None:
    """Scan line by line."""
    for line in lines_of(expander, op):
        _Scanned(expander, op, line, scope).run()


class _Scanned(Line):
    """The scan of the pieces of one line."""

    def __init__(
        self, expander: Expander, op: Scan, line: list[Ids], scope: Scope
    ) -> None:
        super().__init__(expander, op, line, scope)
        self._op = op

    def run(self) -> None:
        """Define the pieces of all results."""
        blocks = {at: self._block(at, v) for at, v in self._elements().items()}
        axis = self._geometry.split_among_waves(self._dim)
        levels = self._levels()
        for number, (coefficient, digit) in enumerate(levels, 1):
            if isinstance(digit, int):
                blocks = self._registers(blocks, coefficient, digit)
                continue
            for block in blocks.values():
                block.total = self._lanes(block, digit)
                if number < len(levels) or axis is not None:
                    block.total = self._last(block.total, digit)
        (block,) = blocks.values()
        if axis is not None:
            self._waves(block, axis)
        self._define(block.elements)

    def _block(self, at: int, value: Values) -> _Block:
        """One element, alone."""
        return _Block({at: self._filled() if self._op.exclusive else value}, value)

    def _registers(
        self, blocks: dict[int, _Block], coefficient: int, count: int
    ) -> dict[int, _Block]:
        """Join the blocks that differ in one digit of the registers."""
        joined: dict[int, _Block] = {}
        for at in sorted(blocks, reverse=self._op.reverse):
            first = at - at // coefficient % count * coefficient
            if first in joined:
                self._append(joined[first], blocks[at])
            else:
                joined[first] = blocks[at]
        return joined

    def _append(self, block: _Block, other: _Block) -> None:
        total = self._combined(block.total, other.total)
        for at, value in other.elements.items():
            # The only element of a block is its total.
            same = value is other.total
            block.elements[at] = total if same else self._combined(block.total, value)
        block.total = total

    def _lanes(self, block: _Block, digit: Digit) -> Values:
        """Join the blocks of lanes that differ in one digit.

        Gives the total of each lane's block and of those before it.
        """
        place, last = LANE // digit.div % digit.mod, digit.mod - 1
        mode = "down" if self._op.reverse else "up"
        total = block.total
        for distance in doubling(digit.mod):
            other = self._moved(total, distance * digit.div, mode)
            total = self._where(
                self._beyond(place, distance, last), self._combined(other, total), total
            )
        before, inner = None, self._beyond(place, 1, last)
        for at, value in block.elements.items():
            if value is block.total:
                block.elements[at] = total
                continue
            before = before or self._moved(total, digit.div, mode)
            both = self._combined(before, value)
            block.elements[at] = self._where(inner, both, value)
        return total

    def _beyond(self, place: Expr, distance: int, last: int) -> Expr:
        """Whether there is something ``distance`` before a place from 0 to ``last``."""
        if self._op.reverse:
            return le(place, last - distance)
        return ge(place, distance)

    def _last(self, total: Values, digit: Digit) -> Values:
        """The value of the lane that is last in the order of the scan, in all lanes."""
        lanes = self._geometry.lanes
        last = 0 if self._op.reverse else digit.mod - 1
        if digit.mod == lanes:
            return self._moved(total, last, "idx")
        for distance in doubling(digit.mod):
            other = self._moved(total, distance * digit.div, "xor")
            bit = LANE // (distance * digit.div) % 2
            total = self._where(eq(bit, min(last, 1)), total, other)
        return total

    def _waves(self, block: _Block, axis: int) -> None:
        """Take in the totals of the waves that come before, through LDS."""
        own, count = wave_symbol(axis), self._geometry.waves[axis]
        parts = [self._parts(value, axis) for value in block.total]
        order = range(count - 1, 0, -1) if self._op.reverse else range(count - 1)
        carry: Values | None = None
        for number, wave in enumerate(order):
            part = tuple(each[wave] for each in parts)
            if carry is None:
                carry = part
                continue
            after = self._beyond(own, number + 1, count - 1)
            carry = self._where(after, self._combined(carry, part), carry)
        assert carry is not None, "there are several waves"
        inner = self._beyond(own, 1, count - 1)
        for at, value in block.elements.items():
            block.elements[at] = self._where(inner, self._combined(carry, value), value)

    def _parts(self, value: Op, axis: int) -> list[Op]:
        """The total of each wave; one lane writes it for all that have the same."""
        kind, registers = value.register_type, self._row.layout.registers
        digits = self._layout.lane_digits(self._dim)
        others = free_lane_digits(Layout.make(self._layout.lanes, 1, {"": digits}))
        slot, size = constant(0), 1
        for div, mod in others:
            slot, size = slot + LANE // div % mod * size, size * mod
        names = (symbol("$WAVE"), symbol("$LANE_SLOT"), symbol("$REG_SLOT"))
        extents = (self._geometry.waves_per_workgroup, size, registers)
        sizes = tuple(constant(extent) for extent in extents)
        buffer = self._expander.hoist(self._op, Allocate(names, sizes, kind.dtype))
        memory = capture_buffer(self._expander, buffer, self._scope)
        mapping = AccessMapping(kind.dims, names)
        first = [eq(LANE // d.div % d.mod, 0) for d in digits]
        write = Write(value, memory, (), mapping)
        self._access(write, (wave_number(self._geometry), slot, REGISTER), first)
        found: list[Op] = []
        for wave in range(self._geometry.waves[axis]):
            number = wave_number(self._geometry, {axis: constant(wave)})
            read = Read(memory, (), mapping, kind.shape)
            found.append(self._access(read, (number, slot, REGISTER), []))
        return found

    def _access(self, op: Op, place: tuple[Expr, ...], mask: list[Expr]) -> Op:
        if isinstance(op, Read):
            self._emit(op)
        else:
            self._expander.emit(self._op, op, self._scope)
        condition = logical_and(*mask) if mask else None
        row = Access(place, self._row.layout.registers, condition)
        self._expander.graph.facts.put(ACCESS, op, row)
        return op

    def _combined(self, first: Values, second: Values) -> Values:
        """The value that stands for ``first`` and then ``second``."""
        count = len(self._op.sources)
        both = self._inlined((*first[:count], *second[:count]))
        if len(first) == count:
            return both
        here, there = first[count], second[count]
        chosen = [
            self._emit(Select(there, self._emit(Select(here, one, b)), a))
            for one, a, b in zip(both, first, second, strict=False)
        ]
        return (*chosen, self._emit(Or(here, there)))
