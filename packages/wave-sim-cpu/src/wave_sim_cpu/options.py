"""Options of simulations: checks and limits."""

from __future__ import annotations

from collections.abc import Callable, Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.executors import Snapshot


class Check(StrEnum):
    """One kind of defect that the lane simulator looks for."""

    RACES = "races"
    BOUNDS = "bounds"
    POISON = "poison"
    ALIGNMENT = "alignment"


@dataclass(frozen=True)
class SimulationOptions:
    """Options of one simulation; immutable.

    Attributes:
        checks: What to look for: a set of checks, or all (``True``) or none.
        poison_outputs: Whether what output buffers hold at the start counts as
            never written: all written parameters, or those with these labels.
        step_limit: Most ops to execute, loops unrolled; ``None`` for no limit.
        cost_limit: Most lane-steps (ops times lanes) to execute.
        report_limit: Reports kept; later ones are only counted.
        chunk_lanes: Lanes that are simulated together.
        breakpoint: Called at each ``breakpoint`` op with its snapshot.
    """

    checks: bool | AbstractSet[Check | str] = True
    poison_outputs: bool | AbstractSet[str] = False
    step_limit: int | None = None
    cost_limit: int | None = None
    report_limit: int = 32
    chunk_lanes: int = 16384
    breakpoint: Callable[[Snapshot], None] | None = None

    def looks_for(self, check: Check) -> bool:
        """Whether ``check`` is on."""
        if isinstance(self.checks, bool):
            return self.checks
        return check in {Check(name) for name in self.checks}

    def poisons(self, label: str) -> bool:
        """Whether the parameter ``label`` starts as poison, where it is written."""
        if isinstance(self.poison_outputs, bool):
            return self.poison_outputs
        return label in self.poison_outputs
