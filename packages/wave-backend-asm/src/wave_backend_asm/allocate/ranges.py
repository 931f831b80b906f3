"""At which points of a program each register of a value is live.

A point lies behind each operation. What is live at one point cannot share registers:
what an operation defines is live behind it, whether somebody uses it or not, and so is
what an operation reads that writes before it has read.

Registers of a value that operations touch one by one are live one by one: a tuple that
takes another's place, register by register, can have its registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from wave_backend_asm.code import Part, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_backend_asm.allocate.liveness import Bits, Flow, Touch
    from wave_backend_asm.code import Block, Operation, Value


@dataclass(frozen=True)
class Ranges:
    """Live ranges, as bits of points.

    Attributes:
        operations: all of a program; point n lies behind operation n.
        spans: the points of each register of each value.
        changes: registers of a wave and of lanes that are live at each point more than
            at the one before.
    """

    operations: tuple[Operation, ...]
    spans: dict[Value, list[int]]
    changes: dict[bool, list[int]]

    @classmethod
    def of(cls, flow: Flow) -> Ranges:
        """Where the values of a program live."""
        operations = tuple([o for block in flow.blocks for o in block.operations])
        changes = {scalar: [0] * (len(operations) + 1) for scalar in (True, False)}
        spans = {value: [0] * value.width for value in flow.bits.first}
        found = cls(operations, spans, changes)
        split, start = _split(flow.blocks), 0
        for block, behind in zip(flow.touched, flow.behind, strict=True):
            _Stretch(found, flow.bits, split, start).go(block, behind)
            start += len(block)
        return found

    def live(self, *, scalar: bool) -> list[int]:
        """Registers that are live at each point, of the wave or of lanes."""
        return list(accumulate(self.changes[scalar][:-1]))

    def at(self, point: int) -> list[Value]:
        """The values of which a register is live at a point."""
        return [
            v for v, s in self.spans.items() if any(each >> point & 1 for each in s)
        ]

    def hold(self, unit: Part, first: int, last: int) -> None:
        """Note that registers are live from one point to another."""
        if last < first:
            return
        value, start, width = unit
        points = (2 << last) - (1 << first)
        spans = self.spans[value]
        for number in range(start, start + width):
            spans[number] |= points
        changes = self.changes[value.files == ("s",)]
        changes[first] += width
        changes[last + 1] -= width


def _split(blocks: Sequence[Block]) -> set[Value]:
    """Values of which some operation touches a part."""
    return {
        part.value
        for block in blocks
        for operation in block.operations
        for part in (*operation.defines, *operation.uses)
        if part.width != part.value.width
    }


@dataclass(frozen=True)
class _Stretch:
    """Operations of a block, from a point on."""

    ranges: Ranges
    bits: Bits
    split: set[Value]
    start: int

    def go(self, block: Sequence[Touch], behind: int) -> None:
        """Follow what is live from the end of the block to its start."""
        first, end = self.bits.first, self.start + len(block)
        last = dict.fromkeys(self._live(behind), end - 1)
        live = behind
        for point in reversed(range(self.start, end)):
            operation, defined, used = block[point - self.start]
            live = live & ~defined | used
            for unit in dict.fromkeys(self._units(operation.defines)):
                here = last.setdefault(unit, point)
                if not live >> (first[unit.value] + unit.first) & 1:
                    self.ranges.hold(unit, point, here)
                    del last[unit]
            before = point if operation.early else point - 1
            for unit in self._units(operation.uses):
                last.setdefault(unit, before)
        for unit, here in last.items():
            self.ranges.hold(unit, self.start, here)

    def _units(self, parts: Iterable[Part]) -> Iterable[Part]:
        """Registers that are live one by one, or all together."""
        for part in parts:
            value, first, width = part
            if value in self.split:
                yield from (Part(value, n, 1) for n in range(first, first + width))
            else:
                yield part

    def _live(self, bits: int) -> Iterable[Part]:
        for value in self.bits.values(bits):
            for unit in self._units([whole(value)]):
                if bits >> (self.bits.first[value] + unit.first) & 1:
                    yield unit
