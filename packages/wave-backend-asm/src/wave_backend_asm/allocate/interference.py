"""Which values cannot share registers, and which become one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.liveness import Bits, backwards, live_out

if TYPE_CHECKING:
    from wave_backend_asm.code import Block, Operation, Value


def _meetings(blocks: Sequence[Block], bits: Bits) -> dict[Value, int]:
    """By value: bits of what is live where it is defined."""
    met = dict.fromkeys(bits.first, 0)
    for block, live in zip(blocks, live_out(blocks, bits), strict=True):
        for operation, behind in backwards(block.operations, live, bits):
            others = behind
            if _copies_all(operation):
                others &= ~bits.parts(operation.uses)
            if operation.early:
                others |= bits.parts(operation.uses)
            others |= bits.parts(operation.defines)
            for part in operation.defines:
                met[part.value] |= others
    return met


class Interference:
    """Values, joined into webs; webs that are live together interfere.

    Attributes:
        webs: the values of each web by its first.
        start: number of the first operation that touches a value, by web.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        """Every value is a web of its own."""
        bits = Bits.of(blocks)
        self._web: dict[Value, Value] = {v: v for v in bits.first}
        self._near: dict[Value, set[Value]] = {v: set() for v in bits.first}
        self.webs: dict[Value, list[Value]] = {v: [v] for v in bits.first}
        self.start = {value: n for n, value in enumerate(bits.first)}
        for value, met in _meetings(blocks, bits).items():
            for other in bits.values(met):
                if other is not value:
                    self._near[value].add(other)
                    self._near[other].add(value)

    def web(self, value: Value) -> Value:
        """The first value of the web that a value belongs to."""
        return self._web[value]

    def near(self, web: Value) -> set[Value]:
        """The webs that interfere with one."""
        return {self._web[value] for value in self._near[web]}

    def files(self, web: Value) -> tuple[str, ...]:
        """Where all values of a web may live."""
        first, *others = self.webs[web]
        return tuple(f for f in first.files if all(f in v.files for v in others))

    def align(self, web: Value) -> int:
        """The alignment of a web."""
        return max(value.align for value in self.webs[web])

    def join(self, one: Value, two: Value) -> bool:
        """Make one web of the webs of two values, if that is possible."""
        one, two = self._web[one], self._web[two]
        if one is two:
            return True
        common = set(self.files(one)) & set(self.files(two))
        if not common or one.width != two.width or two in self.near(one):
            return False
        for value in self.webs[two]:
            self._web[value] = one
        self.webs[one] += self.webs.pop(two)
        self._near[one] |= self._near[two]
        self.start[one] = min(self.start[one], self.start[two])
        return True


def coalesce(
    blocks: Sequence[Block], found: Interference, fixed: Collection[Value] = ()
) -> None:
    """Join what copies connect, those of inner loops first.

    A copy whose two sides are one web afterwards has nothing to do. Values whose
    registers are given stay alone: joined to others they might meet each other.
    """
    copies = [
        (block.depth, operation)
        for block in blocks
        for operation in block.operations
        if operation.copies
    ]
    for _, operation in sorted(copies, key=lambda row: -row[0]):
        result, operand = operation.defines[0].value, operation.uses[0].value
        if _copies_all(operation) and result not in fixed and operand not in fixed:
            found.join(result, operand)


def _copies_all(operation: Operation) -> bool:
    """Both values hold the same behind it, and in all of their registers."""
    if not operation.copies:
        return False
    sides = (operation.defines[0], operation.uses[0])
    return all(side.width == side.value.width for side in sides)
