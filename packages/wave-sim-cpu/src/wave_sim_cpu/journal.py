"""The record of a simulation: totals, findings, snapshots, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from wave_core.diagnostics import (
    Diagnostic,
    Severity,
    make_diagnostic,
    simulation_error,
)
from wave_core.executors import Snapshot
from wave_sim_cpu import codes
from wave_sim_cpu.result import Counters, SimulationResult

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.control import Breakpoint
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.launch import Units
    from wave_sim_cpu.options import Check, SimulationOptions


class Reporter:
    """Findings in the order they were made; one for each code and pair of lines."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[tuple[object, ...]] = set()
        self._found: list[Diagnostic] = []
        self.suppressed = 0

    @property
    def reports(self) -> tuple[Diagnostic, ...]:
        """The findings kept."""
        return tuple(self._found)

    def add(  # noqa: PLR0913 - one keyword for each part of a message
        self,
        code: str,
        message: str,
        op: Op,
        *,
        label: str = "",
        other: Op | None = None,
        other_label: str = "",
        notes: Iterable[str] | str = (),
        help: Iterable[str] | str = (),  # noqa: A002 - the word that is printed
        severity: Severity = Severity.ERROR,
        **data: object,
    ) -> None:
        """Keep a finding about ``op``, and about ``other`` where two take part."""
        key = (code, severity, _place(op), None if other is None else _place(other))
        if key in self._seen:
            return
        self._seen.add(key)
        if len(self._found) >= self._limit:
            self.suppressed += 1
            return
        secondary = [] if other is None else [(other.location, other_label)]
        self._found.append(
            make_diagnostic(
                code,
                message,
                op.location,
                label,
                secondary,
                notes,
                help,
                severity,
                **data,
            )
        )


def _place(op: Op) -> object:
    """The user's line, or the op itself where it comes from none."""
    location = op.location
    return location if location is not None and location.is_known else op.ident


@dataclass
class Journal:
    """The record of one simulation.

    Attributes:
        options: What to look for, and limits.
        counters: Totals.
        reporter: Where findings go.
        snapshots: Those of breakpoints.
        access_number: How many accesses of memory there were.
        cost: Lane-steps that were executed.
    """

    options: SimulationOptions
    counters: Counters = field(default_factory=Counters)
    snapshots: list[Snapshot] = field(default_factory=list[Snapshot])
    access_number: int = 0
    cost: int = 0

    def __post_init__(self) -> None:
        self.reporter = Reporter(self.options.report_limit)

    def looks_for(self, check: Check) -> bool:
        """Whether ``check`` is on."""
        return self.options.looks_for(check)

    def count_step(self, op: Op, lanes: int = 0) -> None:
        """Account for one op on so many lanes.

        Raises:
            SimulationError: WV0908 or WV0909 beyond a limit of the options.
        """
        self.counters.steps += 1
        self.cost += lanes
        steps, cost = self.options.step_limit, self.options.cost_limit
        if steps is not None and self.counters.steps > steps:
            raise simulation_error(
                codes.STEP_LIMIT,
                f"the simulation stopped after {steps} steps",
                at=op.location,
                label="was next",
                help=("raise SimulationOptions(step_limit=...) if it should go on",),
            )
        if cost is not None and self.cost > cost:
            raise simulation_error(
                codes.COST_LIMIT,
                f"the simulation exceeds the cost limit of {cost} lane-steps",
                at=op.location,
                label="was next",
                help=("use smaller sizes, or raise SimulationOptions(cost_limit=...)",),
            )

    def stop(
        self,
        op: Breakpoint,
        tensors: Mapping[str, Tensor],
        loops: Mapping[str, int],
        units: Units,
    ) -> None:
        """Keep a snapshot, and show it to the handler of the options."""
        snapshot = Snapshot(
            tensors={label: tensor.elements for label, tensor in tensors.items()},
            present={label: tensor.present for label, tensor in tensors.items()},
            dims={label: tensor.dims for label, tensor in tensors.items()},
            loops=loops,
            workgroups=(units.first, units.first + units.workgroups - 1),
            location=op.location,
        )
        self.snapshots.append(snapshot)
        self.reporter.add(
            codes.BREAKPOINT,
            "a breakpoint was reached",
            op,
            label="here",
            severity=Severity.NOTE,
        )
        if self.options.breakpoint is not None:
            self.options.breakpoint(snapshot)

    def result(self) -> SimulationResult:
        """Totals and findings."""
        return SimulationResult(
            self.counters,
            self.reporter.reports,
            self.reporter.suppressed,
            tuple(self.snapshots),
        )


class Tensor:
    """A logical tensor, put together from what the waves hold of it."""

    def __init__(
        self,
        dims: tuple[str, ...],
        extents: tuple[int, ...],
        dtype: np.dtype[np.generic],
    ) -> None:
        """Nothing is held yet."""
        self.dims = dims
        self.elements = np.zeros(extents, dtype)
        self.present = np.zeros(extents, np.bool_)

    def enter(self, index: Sequence[Array], data: Array, held: Bits) -> None:
        """Enter elements at the places of their ``index``, as far as they are ``held``.

        Shapes: all broadcast to that of ``data``; one index for each dim.
        """
        for along, extent in zip(index, self.elements.shape, strict=True):
            held = held & (along < extent)
        chosen = np.broadcast_to(held, data.shape)
        places = tuple(np.broadcast_to(i, data.shape)[chosen] for i in index)
        self.elements[places] = data[chosen]
        self.present[places] = True


def named_values(op: Breakpoint) -> list[tuple[str, Op]]:
    """The values of a breakpoint with their labels; an expanded value has several."""
    labels = op.labels or tuple(f"value{i}" for i in range(len(op.values)))
    return list(zip(labels, op.values, strict=True))
