"""Which registers of which values are live at each point.

Every register of a value has a bit of its own, so that a value that is put together
from parts is live from its first part on, and no earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.code import whole

if TYPE_CHECKING:
    from wave_backend_asm.code import Block, Operation, Part, Value


class Touch(NamedTuple):
    """An operation, and the bits of what it defines and uses."""

    operation: Operation
    defined: int
    used: int


@dataclass(frozen=True)
class Bits:
    """Where the registers of values stand in a set of bits, in order of appearance.

    Attributes:
        first: the bit of the first register, by value.
        owners: the value that each bit belongs to.
        split: values of which some operation touches a part.
        known: the bits of registers that were asked for, by these.
    """

    first: dict[Value, int] = field(default_factory=dict["Value", int])
    owners: list[Value] = field(default_factory=list["Value"])
    split: set[Value] = field(default_factory=set["Value"])
    known: dict[Part, int] = field(default_factory=dict["Part", int])

    def parts(self, parts: Sequence[Part]) -> int:
        """The bits of some registers of values; those of new values come last."""
        known, bits = self.known, 0
        for part in parts:
            found = known.get(part)
            if found is None:
                found = known[part] = self._new(part)
            bits |= found
        return bits

    def _new(self, part: Part) -> int:
        """The bits of registers that nobody has asked for."""
        value, first, width = part
        begin = self.first.get(value)
        if begin is None:
            begin = self.first[value] = len(self.owners)
            self.owners.extend([value] * value.width)
        if width != value.width:
            self.split.add(value)
        return ((1 << width) - 1) << (begin + first)

    def values(self, bits: int) -> list[Value]:
        """Values of which some register is in a set."""
        found: list[Value] = []
        while bits:
            value = self.owners[(bits & -bits).bit_length() - 1]
            found.append(value)
            end = self.first[value] + value.width
            bits = bits >> end << end
        return found

    def touched(self, operations: Sequence[Operation]) -> list[Touch]:
        """What each operation defines and uses."""
        return [Touch(o, self.parts(o.defines), self.parts(o.uses)) for o in operations]


@dataclass(frozen=True)
class Flow:
    """A program, and what is live in it.

    Attributes:
        blocks: the program.
        bits: places of its values.
        touched: the operations of each block.
        behind: what is live behind each block.
    """

    blocks: Sequence[Block]
    bits: Bits
    touched: Sequence[Sequence[Touch]]
    behind: Sequence[int]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Flow:
        """What is live in a program, the first block of which comes first."""
        bits = Bits()
        touched = [bits.touched(block.operations) for block in blocks]
        return cls(blocks, bits, touched, _live_out(blocks, touched))


def most_live(flow: Flow) -> tuple[int, int]:
    """Registers of a wave and of lanes that are live at once, at the most.

    Behind each operation; what it defines is live there, whether somebody uses it or
    not, and so is what it reads if it writes before it has read.
    """
    mask = flow.bits.parts(
        [whole(value) for value in flow.bits.first if value.files == ("s",)]
    )
    scalars = lanes = 0
    for block, behind in zip(flow.touched, flow.behind, strict=True):
        for (operation, defined, used), live in backwards(block, behind):
            here = live | defined | (used if operation.early else 0)
            count = (here & mask).bit_count()
            scalars = max(scalars, count)
            lanes = max(lanes, here.bit_count() - count)
    return scalars, lanes


def _live_out(blocks: Sequence[Block], touched: Sequence[Sequence[Touch]]) -> list[int]:
    """What is live behind each block."""
    sums = [_summed(block) for block in touched]
    into = [0] * len(blocks)
    out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            for following in blocks[number].following:
                out[number] |= into[following]
            used, kept = sums[number]
            found = out[number] & kept | used
            changed |= found != into[number]
            into[number] = found
    return out


def _summed(block: Sequence[Touch]) -> tuple[int, int]:
    """What a block uses of what comes before, and what it does not define."""
    used, defined = 0, 0
    for _, here, read in reversed(block):
        used = used & ~here | read
        defined |= here
    return used, ~defined


def backwards(block: Sequence[Touch], live: int) -> Iterator[tuple[Touch, int]]:
    """The operations from the last to the first, with what is live behind each."""
    for touch in reversed(block):
        yield touch, live
        live = live & ~touch.defined | touch.used
