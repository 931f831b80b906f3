"""Results of simulations: totals, findings, snapshots."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_core.diagnostics import Severity, SimulationError

if TYPE_CHECKING:
    from wave_core.diagnostics import Diagnostic
    from wave_core.executors import Snapshot


@dataclass
class Counters:
    """Exact totals over all waves.

    Attributes:
        instructions: Wave instructions by kind; memory accesses carry their width
            in bits, as ``global_read.b128``.
        bytes_moved: Bytes by kind of access, masked lanes left out.
        cache_lines: Lines touched by global accesses, wave by wave.
        cache_lines_minimum: Lines that the same bytes would fill.
        lds_conflict_cycles: Cycles beyond the first of each LDS access phase.
        steps: Ops executed, each for all waves at once.
        units: Waves simulated.
    """

    instructions: Counter[str] = field(default_factory=Counter[str])
    bytes_moved: Counter[str] = field(default_factory=Counter[str])
    cache_lines: Counter[str] = field(default_factory=Counter[str])
    cache_lines_minimum: Counter[str] = field(default_factory=Counter[str])
    lds_conflict_cycles: Counter[str] = field(default_factory=Counter[str])
    steps: int = 0
    units: int = 0

    def to_json(self) -> dict[str, object]:
        """The totals as JSON values, keys sorted."""
        kinds = {
            "instructions": self.instructions,
            "bytes": self.bytes_moved,
            "cache_lines": self.cache_lines,
            "cache_lines_minimum": self.cache_lines_minimum,
            "lds_conflict_cycles": self.lds_conflict_cycles,
        }
        totals = {name: dict(sorted(found.items())) for name, found in kinds.items()}
        return {**totals, "steps": self.steps, "waves": self.units}


@dataclass(frozen=True)
class SimulationResult:
    """Totals, reports in the order they were found, and breakpoint snapshots."""

    counters: Counters
    reports: tuple[Diagnostic, ...] = ()
    suppressed: int = 0
    """Reports beyond ``SimulationOptions.report_limit``."""
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no error was reported."""
        return not any(r.severity is Severity.ERROR for r in self.reports)

    def raise_reports(self) -> None:
        """Raise the reported errors, if there are any.

        Raises:
            SimulationError: WV09xx.
        """
        if not self.ok:
            raise SimulationError(self.reports)
