"""At which points of a program each register of a value is live.

A point lies behind each operation. What is live at one point cannot share registers:
what an operation defines is live behind it, whether somebody uses it or not, and so is
what an operation reads that writes before it has read.

Registers of a value that operations touch one by one are live one by one: a tuple that
takes another's place, register by register, can have its registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Bits, Flow, Touch
    from wave_backend_asm.code import Operation, Part, Value

Span: TypeAlias = tuple[tuple[int, int], ...]
"""Points, as the first and the last of each row of them."""


@dataclass(frozen=True)
class Ranges:
    """Live ranges.

    Attributes:
        operations: all of a program; point n lies behind operation n.
        spans: the points of each register of each value, or of all of them together.
        changes: registers of a wave and of lanes that are live at each point more than
            at the one before.
    """

    operations: tuple[Operation, ...]
    spans: dict[Value, tuple[Span, ...]]
    changes: dict[bool, list[int]]

    @classmethod
    def of(cls, flow: Flow) -> Ranges:
        """Where the values of a program live."""
        operations = tuple([o for block in flow.blocks for o in block.operations])
        units, start = _Units(flow.bits), 0
        held: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for block, behind in zip(flow.touched, flow.behind, strict=True):
            _hold(held, units, block, start, behind)
            start += len(block)
        spans: dict[Value, tuple[Span, ...]] = {}
        changes = {scalar: [0] * (len(operations) + 1) for scalar in (True, False)}
        for value in flow.bits.first:
            found = tuple([joined(held[unit]) for unit in units.all(value)])
            spans[value] = found
            change = changes[value.files == ("s",)]
            width = 1 if len(found) > 1 else value.width
            for first, last in chain.from_iterable(found):
                change[first] += width
                change[last + 1] -= width
        return cls(operations, spans, changes)

    def live(self, *, scalar: bool) -> list[int]:
        """Registers that are live at each point, of the wave or of lanes."""
        return list(accumulate(self.changes[scalar][:-1]))

    def at(self, point: int) -> list[Value]:
        """The values of which a register is live at a point."""
        return [
            value
            for value, spans in self.spans.items()
            if any(a <= point <= b for span in spans for a, b in span)
        ]

    def registers(self, value: Value, point: int) -> int:
        """How many registers of a value are live at a point."""
        spans = self.spans[value]
        width = 1 if len(spans) > 1 else value.width
        return width * sum(any(a <= point <= b for a, b in span) for span in spans)


def joined(rows: Sequence[tuple[int, int]]) -> Span:
    """Rows of points in their order, as few as there may be."""
    if len(rows) < 2:
        return tuple(rows)
    found: list[tuple[int, int]] = []
    for first, last in sorted(rows):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


class _Units:
    """Registers that are live one by one, or all of a value together.

    A unit is known by the bit of its first register.
    """

    def __init__(self, bits: Bits) -> None:
        self._bits, self._split = bits, bits.split
        self._of: dict[Part, tuple[int, ...]] = {}

    def all(self, value: Value) -> Sequence[int]:
        """Those of a value."""
        first = self._bits.first[value]
        return range(first, first + (value.width if value in self._split else 1))

    def of(self, parts: Sequence[Part]) -> list[int]:
        """Those of some registers."""
        found: list[int] = []
        for part in parts:
            units = self._of.get(part)
            if units is None:
                value, number, width = part
                first = self._bits.first[value] + number
                alone = width if value in self._split else 1
                units = self._of[part] = tuple(range(first, first + alone))
            found += units
        return found

    def live(self, bits: int) -> list[int]:
        """Those of a set of bits."""
        return [
            unit
            for value in self._bits.values(bits)
            for unit in self.all(value)
            if bits >> unit & 1
        ]


def _hold(
    held: defaultdict[int, list[tuple[int, int]]],
    units: _Units,
    block: Sequence[Touch],
    start: int,
    behind: int,
) -> None:
    """Follow what is live from the end of a block to its start, where it has a point.

    Args:
        held: the rows of points of each unit, to which are added those of the block.
        units: which there are.
        block: its operations.
        start: the point of the first.
        behind: what is live behind the last.
    """
    point = start + len(block)
    last = dict.fromkeys(units.live(behind), point - 1)
    for operation, _, _ in reversed(block):
        point -= 1
        used = units.of(operation.uses)
        for unit in {*units.of(operation.defines)}:
            here = last.pop(unit, point)
            if unit in used:
                last[unit] = here
            else:
                held[unit].append((point, here))
        before = point if operation.early else point - 1
        for unit in used:
            last.setdefault(unit, before)
    for unit, here in last.items():
        if here >= start:
            held[unit].append((start, here))
