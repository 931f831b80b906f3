"""How many registers are live, where most are, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.liveness import Bits, backwards, live_out

if TYPE_CHECKING:
    from wave_backend_asm.allocate.budget import Budget
    from wave_backend_asm.code import Block, Operation, Value


@dataclass(frozen=True)
class Peak:
    """The point where most vector registers are live.

    Attributes:
        registers: that are live there, by file that values prefer.
        holders: values that are live there, the widest first.
        source: the line of the author.
    """

    registers: dict[str, int]
    holders: tuple[Value, ...]
    source: str

    @property
    def vectors(self) -> int:
        """VGPRs and AGPRs."""
        return self.registers.get("v", 0) + self.registers.get("a", 0)


def peak_of(blocks: Sequence[Block]) -> Peak:
    """Where most vector registers are live; no allocation needs fewer there."""
    bits = Bits.of(blocks)
    peak = Peak({}, (), "")
    for block, live in zip(blocks, live_out(blocks, bits), strict=True):
        for operation, behind in backwards(block.operations, live, bits):
            found = _at(operation, bits.values(behind))
            if (found.vectors, _sum(found)) > (peak.vectors, _sum(peak)):
                peak = found
    return peak


def _sum(peak: Peak) -> int:
    return sum(peak.registers.values())


def _at(operation: Operation, behind: list[Value]) -> Peak:
    values = dict.fromkeys([*behind, *(part.value for part in operation.defines)])
    registers: dict[str, int] = {}
    for value in values:
        file = value.files[0]
        registers[file] = registers.get(file, 0) + value.width
    widest = sorted(values, key=lambda value: -value.width)
    return Peak(registers, tuple(widest), operation.source)


class NoRoomError(Exception):
    """The values of a program have no room in the registers of a wave.

    Attributes:
        peak: where most are live.
        budget: what there is.
    """

    def __init__(self, peak: Peak, budget: Budget) -> None:
        """Says how many are live where, and whose they are."""
        self.peak, self.budget = peak, budget
        holders = ", ".join(f"{value} ({value.width})" for value in peak.holders[:8])
        super().__init__(
            f"{peak.vectors} vector and {peak.registers.get('s', 0)} scalar registers "
            f"are live at {peak.source or 'a point without a line'}; a wave has "
            f"{budget.vector} and {budget.scalar}; most have {holders}"
        )
