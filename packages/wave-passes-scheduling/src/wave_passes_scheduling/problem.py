"""A loop to schedule: tasks, what they occupy, and what has to wait for what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Resource:
    """Units of the machine that tasks occupy.

    Attributes:
        name: Its name in tables and files.
        units: How many there are in every cycle; at least 1.
    """

    name: str
    units: int


@dataclass(frozen=True, slots=True)
class Use:
    """A task occupies a resource.

    Attributes:
        resource: Index of the resource.
        offset: First cycle, counted from the task's own.
        cycles: How many cycles.
        units: How many units in each of them.
    """

    resource: int
    offset: int = 0
    cycles: int = 1
    units: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """One node of the loop's body.

    Attributes:
        name: Unique in the loop.
        kind: Its class of operation, as tables print it.
        uses: What it occupies.
        registers: Registers of a lane that its result takes; 0 for none.
        view: Whether its result is in the registers of what it uses.
        queued: Whether it is issued behind what it adds to, ahead of its time: its unit
            takes it when that is done.
    """

    name: str
    kind: str
    uses: tuple[Use, ...] = ()
    registers: int = 0
    view: bool = False
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Dependence:
    """``target`` of iteration ``i + distance`` waits for ``source`` of iteration ``i``.

    Attributes:
        source: Index of a task.
        target: Index of a task.
        latency: Cycles from the start of one to the start of the other, at least.
        distance: Iterations between them; 0 within one.
        reason: What it comes from: data, carried, memory, order.
    """

    source: int
    target: int
    latency: int
    distance: int = 0
    reason: str = "data"


@dataclass(frozen=True)
class LoopProblem:
    """A loop's body as numbers.

    Attributes:
        tasks: In program order.
        resources: The machine.
        dependences: In any order.
        profile: The name of the cost profile that latencies and uses come from.
        held: Registers of a lane that are taken all the time: by values from before the
            loop, and by addresses.
        room: Registers that a lane can have; ``None`` for any number.
        move: What it occupies to move a register; ``None`` for nothing.
    """

    tasks: tuple[Task, ...]
    resources: tuple[Resource, ...]
    dependences: tuple[Dependence, ...]
    profile: str = "unit"
    held: int = 0
    room: int | None = None
    move: Use | None = None

    @property
    def size(self) -> int:
        """How many tasks there are."""
        return len(self.tasks)

    @cached_property
    def values(self) -> tuple[Dependence, ...]:
        """Who uses which registers: uses of a view are uses of what it shows."""
        users: list[list[Dependence]] = [[] for _ in self.tasks]
        for row in self.dependences:
            if row.reason in {"data", "carried"}:
                users[row.source].append(row)
        found: dict[Dependence, None] = {}
        for source, task in enumerate(self.tasks):
            waiting = [] if task.view else [(source, 0)]
            seen = set(waiting)
            while waiting:
                value, far = waiting.pop()
                for row in users[value]:
                    use = row.target, far + row.distance
                    if not self.tasks[row.target].view:
                        found[replace(row, source=source, distance=use[1])] = None
                    elif use not in seen and use[1] <= self.size:
                        seen.add(use)
                        waiting.append(use)
        return tuple(found)

    @cached_property
    def sources(self) -> Array:
        """The source of each dependence."""
        return self._column("source")

    @cached_property
    def targets(self) -> Array:
        """The target of each dependence."""
        return self._column("target")

    @cached_property
    def latencies(self) -> Array:
        """The latency of each dependence."""
        return self._column("latency")

    @cached_property
    def distances(self) -> Array:
        """The distance of each dependence."""
        return self._column("distance")

    @cached_property
    def units(self) -> Array:
        """The units of each resource."""
        return np.array([each.units for each in self.resources], np.int64)

    @cached_property
    def totals(self) -> Array:
        """Units times cycles that all tasks together occupy, by resource."""
        found = np.zeros(len(self.resources), np.int64)
        for task in self.tasks:
            for use in task.uses:
                found[use.resource] += use.cycles * use.units
        return found

    @cached_property
    def grain(self) -> int:
        """The largest number of cycles that divides all latencies and uses."""
        uses = [use for task in self.tasks for use in task.uses]
        cycles = [n for use in uses for n in (use.offset, use.cycles)]
        return gcd(*self.latencies.tolist(), *cycles) or 1

    def coarser(self, by: int) -> LoopProblem:
        """The loop with ``by`` cycles as one; ``by`` divides `grain`."""
        tasks = [
            replace(
                task,
                uses=tuple(
                    replace(use, offset=use.offset // by, cycles=use.cycles // by)
                    for use in task.uses
                ),
            )
            for task in self.tasks
        ]
        rows = [replace(row, latency=row.latency // by) for row in self.dependences]
        move = self.move and replace(self.move, cycles=-(-self.move.cycles // by))
        return replace(self, tasks=tuple(tasks), dependences=tuple(rows), move=move)

    def weights(self, interval: int) -> Array:
        """Cycles that each dependence demands at an initiation interval."""
        return self.latencies - self.distances * interval

    def describe(self, dependence: Dependence) -> str:
        """A dependence as text: ``a -> b (latency 2, distance 1)``."""
        source, target = self.tasks[dependence.source], self.tasks[dependence.target]
        far = f", distance {dependence.distance}" if dependence.distance else ""
        return f"{source.name} -> {target.name} (latency {dependence.latency}{far})"

    def _column(self, field: str) -> Array:
        return np.array([getattr(row, field) for row in self.dependences], np.int64)


Array = NDArray[np.int64]
"""Integers: cycles, delays, distances, counts."""

NO_PATH = np.int64(-(1 << 40))
"""The length of a path that is not there; sums of two stay far below any real one."""
