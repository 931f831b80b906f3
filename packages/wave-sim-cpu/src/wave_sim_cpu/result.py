"""Results of simulations: totals, findings, snapshots."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Severity, SimulationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from wave_core.diagnostics import Diagnostic, Location


def _counter() -> Counter[str]:
    return Counter()


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

    instructions: Counter[str] = field(default_factory=_counter)
    bytes_moved: Counter[str] = field(default_factory=_counter)
    cache_lines: Counter[str] = field(default_factory=_counter)
    cache_lines_minimum: Counter[str] = field(default_factory=_counter)
    lds_conflict_cycles: Counter[str] = field(default_factory=_counter)
    steps: int = 0
    units: int = 0

    def to_json(self) -> dict[str, object]:
        """The totals as JSON values, keys sorted."""
        return {
            "instructions": dict(sorted(self.instructions.items())),
            "bytes": dict(sorted(self.bytes_moved.items())),
            "cache_lines": dict(sorted(self.cache_lines.items())),
            "cache_lines_minimum": dict(sorted(self.cache_lines_minimum.items())),
            "lds_conflict_cycles": dict(sorted(self.lds_conflict_cycles.items())),
            "steps": self.steps,
            "waves": self.units,
        }


@dataclass(frozen=True)
class Snapshot:
    """The registers that a breakpoint names, as logical tensors.

    Attributes:
        tensors: By label, an array over the whole dimensions; elements that no
            lane holds are zero.
        present: By label, which elements some lane holds.
        dims: By label, the dimension names, outermost first.
        loops: The induction values at the breakpoint, by symbol name.
        workgroups: First and last linear workgroup that the snapshot covers.
        location: The user's line.
    """

    tensors: Mapping[str, npt.NDArray[Any]]
    present: Mapping[str, npt.NDArray[Any]]
    dims: Mapping[str, tuple[str, ...]]
    loops: Mapping[str, int]
    workgroups: tuple[int, int]
    location: Location | None


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
