"""Values that become one, because a copy between them would have nothing to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.liveness import backwards

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Flow
    from wave_backend_asm.allocate.ranges import Ranges
    from wave_backend_asm.code import Block, Operation, Value


@dataclass(eq=False)
class Web:
    """Values that get the same registers.

    Attributes:
        values: they are all as wide.
        files: where all of them may live.
        align: that of the one that asks for most.
        spans: the points at which each register of one of them is live.
        start: which of the program's values comes first in it.
        bits: their registers, as bits of values.
        met: what is live where one of them is defined; of those that copies connect.
    """

    values: list[Value]
    files: tuple[str, ...]
    align: int
    spans: list[int]
    start: int
    bits: int
    met: int = 0

    @property
    def width(self) -> int:
        """Registers."""
        return self.values[0].width

    def may_take(self, other: Web) -> bool:
        """Whether one set of registers can hold both.

        Both are live where a copy of one to the other is not the last use; there both
        hold the same.
        """
        apart = not (self.met & other.bits or other.met & self.bits)
        return apart and bool(_common(self, other))

    def take(self, other: Web) -> None:
        """Add the values of another web."""
        self.values += other.values
        self.files = _common(self, other)
        self.align = max(self.align, other.align)
        pairs = zip(self.spans, other.spans, strict=True)
        self.spans = [one | two for one, two in pairs]
        self.start = min(self.start, other.start)
        self.bits |= other.bits
        self.met |= other.met


def _common(one: Web, two: Web) -> tuple[str, ...]:
    return tuple([file for file in one.files if file in two.files])


def webs_of(
    flow: Flow,
    ranges: Ranges,
    fixed: Collection[Value] = (),
    spread: Collection[Value] = (),
) -> list[Web]:
    """The values of a program, joined where copies connect them.

    Copies of inner loops come first. Values whose registers are given stay alone:
    joined to others they might meet each other.

    Args:
        flow: the program.
        ranges: where its values live.
        fixed: values whose registers are given.
        spread: values of lanes that may live in AGPRs, too.
    """
    found = {
        value: Web(
            [value],
            (*value.files, "a") if value in spread else value.files,
            value.align,
            spans,
            start,
            _bits(flow, value),
        )
        for start, (value, spans) in enumerate(ranges.spans.items())
    }
    pairs = [each for each in _copied(flow.blocks) if not {*each} & {*fixed}]
    _meet(flow, {value: found[value] for pair in pairs for value in pair})
    for result, operand in pairs:
        one, two = found[result], found[operand]
        if one is not two and one.may_take(two):
            one.take(two)
            found |= dict.fromkeys(two.values, one)
    return [*dict.fromkeys(found.values())]


def _bits(flow: Flow, value: Value) -> int:
    return ((1 << value.width) - 1) << flow.bits.first[value]


def _copied(blocks: Sequence[Block]) -> list[tuple[Value, Value]]:
    """Results and operands of copies of whole values, those of inner loops first."""
    return [
        (operation.defines[0].value, operation.uses[0].value)
        for block in sorted(blocks, key=lambda block: -block.depth)
        for operation in block.operations
        if operation.copies and _copies_all(operation)
    ]


def _copies_all(operation: Operation) -> bool:
    """Both values hold the same behind it, and in all of their registers."""
    sides = (operation.defines[0], operation.uses[0])
    return all(side.width == side.value.width for side in sides)


def _meet(flow: Flow, webs: dict[Value, Web]) -> None:
    """Take note of what is live where values are defined."""
    for block, behind in zip(flow.touched, flow.behind, strict=True):
        for (operation, defined, used), live in backwards(block, behind):
            others = live
            if operation.copies and _copies_all(operation):
                others &= ~used
            if operation.early:
                others |= used
            for part in operation.defines:
                if part.value in webs:
                    webs[part.value].met |= others | defined
