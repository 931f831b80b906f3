"""Costs of a wave's accesses: phases of LDS, and cycles of its vector memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_passes_memory.layouts.conflicts import phases_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.ir import Access
    from wave_core.targets import Target


LANES_A_CYCLE = 16
"""Addresses that vector memory takes in a cycle. Source: AMD CDNA3 ISA: a wave is
issued in quarters."""

BYTES_A_CYCLE = 64
"""Bytes that the first cache gives in a cycle. Source: AMD CDNA3 white paper."""


@dataclass(frozen=True)
class Costs:
    """Counts cycles of coalesced accesses without conflicts.

    Units: ``bits`` of an element; widths in elements of a lane.
    """

    target: Target
    bits: int

    def loads(self, count: int, width: int) -> int:
        """Cycles of ``count`` loads from global memory."""
        lanes = self.target.wave_size
        moved = lanes * width * self.bits // (8 * BYTES_A_CYCLE)
        return count * max(moved, lanes // LANES_A_CYCLE)

    def writes(self, count: int, width: int) -> int:
        """Cycles of ``count`` writes."""
        return count * self._cycles(width, reads=False)

    def reads(self, rows: Iterable[Access]) -> int:
        """Cycles of reads, cut where elements do not lie side by side."""
        most = max(1, self.target.memory.max_access_bits // self.bits)
        total = 0
        for row in rows:
            run = min(contiguous_run(row), most)
            total += row.registers // run * self._cycles(run, reads=True)
        return total

    def _cycles(self, width: int, *, reads: bool) -> int:
        size = width * self.bits // 8
        phases = phases_of(self.target.memory, size, reads=reads)
        return 1 if phases is None else len(phases.phases)
