"""How many registers are live, where most are, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.allocate.ranges import Ranges


@dataclass(frozen=True)
class Peak:
    """The point where most vector registers are live.

    Attributes:
        vectors: VGPRs and AGPRs that are live there.
        scalars: SGPRs that are live there.
        point: its number.
        source: the line of the author.
    """

    vectors: int
    scalars: int
    point: int
    source: str


def peak_of(ranges: Ranges) -> Peak:
    """Where most vector registers are live."""
    if not ranges.operations:
        return Peak(0, 0, 0, "")
    scalars = ranges.live(scalar=True)
    vectors, rest, before = max(
        (here, scalars[point], -point)
        for point, here in enumerate(ranges.live(scalar=False))
    )
    return Peak(vectors, rest, -before, ranges.operations[-before].source)


class NoRoomError(Exception):
    """The values of a program have no room in the registers of a wave.

    Attributes:
        peak: where most are live.
        budget: what there is.
    """

    def __init__(self, peak: Peak, ranges: Ranges, budget: Budget) -> None:
        """Says how many are live where, and whose they are."""
        self.peak, self.budget = peak, budget
        widest = sorted(ranges.at(peak.point), key=lambda value: -value.width)
        holders = ", ".join(f"{value} ({value.width})" for value in widest[:8])
        super().__init__(
            f"{peak.vectors} vector and {peak.scalars} scalar registers "
            f"are live at {peak.source or 'a point without a line'}; a wave has "
            f"{budget.vector} and {budget.scalar}; most have {holders}"
        )
