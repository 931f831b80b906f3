"""First fit: blocks in address space, by size and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Block:
    """Something that needs ``size`` units from time ``first`` to ``last``, both in."""

    size: int
    first: int
    last: int

    def overlaps(self, other: Block) -> bool:
        """Whether both are needed at some time."""
        return self.first <= other.last and other.first <= self.last


def first_fit(
    blocks: Sequence[Block],
    alignment: int = 1,
    apart: Callable[[int, int], bool] | None = None,
    *,
    by_size: bool = True,
) -> list[int]:
    """An offset for each block; blocks needed at one time do not overlap.

    Large blocks come first, equal ones in the order given, as all of them without
    ``by_size``. Each goes to the lowest
    multiple of ``alignment`` where no placed block is in the way; ``apart`` names
    further pairs, by position, that must not overlap.
    """
    offsets: dict[int, int] = {}
    order = sorted(range(len(blocks)), key=lambda i: -blocks[i].size * by_size)
    for position in order:
        block = blocks[position]
        in_the_way = sorted(
            (offset, offset + blocks[other].size)
            for other, offset in offsets.items()
            if block.overlaps(blocks[other])
            or (apart is not None and apart(position, other))
        )
        offsets[position] = _lowest(block.size, in_the_way, alignment)
    return [offsets[i] for i in range(len(blocks))]


def _lowest(size: int, in_the_way: Sequence[tuple[int, int]], alignment: int) -> int:
    """The lowest free offset; taken ranges come sorted."""
    offset = 0
    for start, end in in_the_way:
        if offset + size <= start:
            break
        offset = max(offset, -(-end // alignment) * alignment)
    return offset


def peak(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Units that all blocks reach up to."""
    ends = [o + b.size for o, b in zip(offsets, blocks, strict=True)]
    return max(ends, default=0)
