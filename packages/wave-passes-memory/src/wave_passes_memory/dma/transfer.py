"""Tiles to be brought to LDS: what it costs now, and why it cannot be done directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.runs import access_count
from wave_core.ir import ACCESS

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.prove import Box


@dataclass(frozen=True)
class Transfer:
    """A tile to be brought to LDS.

    Attributes:
        copy: The reads and writes that do it now.
        box: What they have been proved to do.
        known: What is known where they stand.
        target: The machine.
    """

    copy: Copy
    box: Box
    known: RegionFacts
    target: Target

    @property
    def bits(self) -> int:
        """The width of an element."""
        return self.copy.buffer.dtype.bits

    @property
    def threads(self) -> int:
        """Threads of the workgroup."""
        geometry = self.known.geometry
        return geometry.waves_per_workgroup * geometry.lanes

    @property
    def storage(self) -> tuple[int, ...]:
        """The extents of the buffer as stored; the proof needs them static."""
        shape = self.copy.buffer.memory_type.storage_shape
        return tuple(extent.constant_value for extent in shape)

    @property
    def memory_shape(self) -> tuple[Expr, ...]:
        """The extents of the memory that is copied from."""
        shape = self.copy.memory.memory_type.storage_shape
        return tuple(self.known.geometry.bind(extent) for extent in shape)

    @property
    def cost(self) -> Cost:
        """The cost now: loads and stores, of elements side by side at once."""
        facts = self.copy.region.graph.facts
        widest = self.target.memory.max_access_bits // self.bits
        issued = held = 0
        for op in self.copy.members:
            row = facts.get(ACCESS, op)
            assert row is not None, "the proof has looked at it"
            issued += access_count(row, widest)
            held += row.registers * self.bits
        return Cost(issued, held // 2)

    def brings_lines(self, rows: int) -> bool:
        """Whether it brings all or nothing of each ``rows`` rows of the buffer.

        Elements that change rows within such a line then stay within the copy.
        """
        if rows == 1:
            return True
        start, count = self.box.shared[-2], self.box.extents[-2]
        return count % rows == 0 and self.facts().prove_divisible(start, rows)

    def facts(self, registers: int = 1) -> Facts:
        """Facts for vectors of ``registers`` elements a lane."""
        return self.known.facts(self.copy.region, registers)


@dataclass(frozen=True, order=True)
class Cost:
    """Accesses that each thread issues.

    Attributes:
        instructions: Accesses of global memory and of LDS together.
        registers: Registers that hold the tile on its way. Units: bits.
    """

    instructions: int
    registers: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.instructions + other.instructions, self.registers + other.registers
        )


NOTHING = Cost(0, 0)


@dataclass(frozen=True)
class Refusal:
    """Why a transfer cannot be done directly.

    Attributes:
        why: For messages: "it is not ... because ``why``".
        layout: Whether the layout that the author gave the buffer is the reason.
    """

    why: str
    layout: bool = False
