"""Which registers of which values are live at each point.

Every register of a value has a bit of its own, so that a value that is put together
from parts is live from its first part on, and no earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_asm.code import Block, Operation, Part, Value


@dataclass(frozen=True)
class Bits:
    """Where the registers of values stand in a set of bits.

    Attributes:
        first: the bit of the first register, by value.
        owners: the value that each bit belongs to.
    """

    first: dict[Value, int]
    owners: tuple[Value, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Bits:
        """Places for all values of a program, in the order of their appearance."""
        first: dict[Value, int] = {}
        owners: list[Value] = []
        for operation in (o for block in blocks for o in block.operations):
            for part in (*operation.defines, *operation.uses):
                if part.value not in first:
                    first[part.value] = len(owners)
                    owners += [part.value] * part.value.width
        return cls(first, tuple(owners))

    def part(self, part: Part) -> int:
        """The bits of some registers of a value."""
        return ((1 << part.width) - 1) << (self.first[part.value] + part.first)

    def parts(self, parts: Sequence[Part]) -> int:
        """The bits of several."""
        bits = 0
        for part in parts:
            bits |= self.part(part)
        return bits

    def values(self, bits: int) -> list[Value]:
        """Values of which some register is in a set."""
        found: list[Value] = []
        while bits:
            value = self.owners[(bits & -bits).bit_length() - 1]
            found.append(value)
            end = self.first[value] + value.width
            bits = bits >> end << end
        return found


def live_out(blocks: Sequence[Block], bits: Bits) -> list[int]:
    """What is live behind each block."""
    into = [0] * len(blocks)
    out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            block = blocks[number]
            for following in block.following:
                out[number] |= into[following]
            found = _before(block.operations, out[number], bits)
            changed |= found != into[number]
            into[number] = found
    return out


def _before(operations: Sequence[Operation], live: int, bits: Bits) -> int:
    for operation in reversed(operations):
        live = live & ~bits.parts(operation.defines) | bits.parts(operation.uses)
    return live


def backwards(
    operations: Sequence[Operation], live: int, bits: Bits
) -> Iterator[tuple[Operation, int]]:
    """The operations from the last to the first, with what is live behind each."""
    for operation in reversed(operations):
        yield operation, live
        live = live & ~bits.parts(operation.defines) | bits.parts(operation.uses)
