"""Values that become one, because a copy between them would have nothing to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.liveness import backwards
from wave_backend_asm.allocate.ranges import joined

if TYPE_CHECKING:
    from wave_backend_asm.allocate.liveness import Flow
    from wave_backend_asm.allocate.ranges import Span
    from wave_backend_asm.code import Block, Operation, Value


@dataclass(eq=False)
class Web:
    """Values that get the same registers.

    Attributes:
        values: they are all as wide.
        width: registers of each.
        files: where all of them may live.
        align: that of the one that asks for most.
        spans: the points at which each register of one of them is live, or at which
            all of them are.
        start: which of the program's values comes first in it.
        bits: their registers, as bits of values; of those that copies connect.
        met: what is live where one of them is defined; of the same.
    """

    values: list[Value]
    width: int
    files: tuple[str, ...]
    align: int
    spans: tuple[Span, ...]
    start: int
    bits: int = 0
    met: int = 0

    @property
    def split(self) -> bool:
        """Whether they are live one by one."""
        return len(self.spans) > 1

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
        self.spans = _both(self.spans, other.spans)
        self.start = min(self.start, other.start)
        self.bits |= other.bits
        self.met |= other.met


def _both(one: tuple[Span, ...], two: tuple[Span, ...]) -> tuple[Span, ...]:
    """The points of one or the other."""
    count = max(len(one), len(two))
    pairs = [spans * count if len(spans) == 1 else spans for spans in (one, two)]
    return tuple([joined(a + b) for a, b in zip(*pairs, strict=True)])


def _common(one: Web, two: Web) -> tuple[str, ...]:
    return tuple([file for file in one.files if file in two.files])


def webs_of(
    flow: Flow,
    spans: Mapping[Value, tuple[Span, ...]],
    fixed: Collection[Value] = (),
    spread: Collection[Value] = (),
) -> list[Web]:
    """The values of a program, joined where copies connect them.

    Copies of inner loops come first. Values whose registers are given stay alone:
    joined to others they might meet each other.

    Args:
        flow: the program.
        spans: where each of its values lives, in the order of the first definitions;
            for those who do not place them, nowhere.
        fixed: values whose registers are given.
        spread: values of lanes that may live in AGPRs, too.
    """
    found = {
        value: Web(
            [value],
            value.width,
            (*value.files, "a") if value in spread else value.files,
            value.align,
            here,
            start,
        )
        for start, (value, here) in enumerate(spans.items())
    }
    pairs = [each for each in _copied(flow.blocks) if not {*each} & {*fixed}]
    connected = {value: found[value] for pair in pairs for value in pair}
    for value, web in connected.items():
        web.bits = _bits(flow, value)
    _meet(flow, connected)
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
    every = 0
    for web in webs.values():
        every |= web.bits
    if not every:
        return
    for block, behind in zip(flow.touched, flow.behind, strict=True):
        for (operation, defined, used), live in backwards(block, behind):
            if not defined & every:
                continue
            others = live
            if operation.copies and _copies_all(operation):
                others &= ~used
            if operation.early:
                others |= used
            for part in operation.defines:
                if part.value in webs:
                    webs[part.value].met |= others | defined
