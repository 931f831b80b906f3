"""The waves that are simulated together, and their coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints import device_symbol, wave_symbol, workgroup_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array


@dataclass(frozen=True)
class Units:
    """Waves of the workgroups ``first`` to ``first + workgroups - 1``.

    The workgroups of all devices are numbered through, device by device.
    Unit ``u`` is wave ``u % waves_per_workgroup`` of workgroup
    ``first + u // waves_per_workgroup``; axis 0 varies fastest in both.
    """

    grid: tuple[int, ...]
    waves: tuple[int, ...]
    first: int
    workgroups: int
    devices: tuple[int, ...] = ()

    @property
    def waves_per_workgroup(self) -> int:
        """Waves of one workgroup."""
        return int(np.prod(self.waves, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of units."""
        return self.workgroups * self.waves_per_workgroup

    @cached_property
    def local_workgroup(self) -> Array:
        """For each unit its workgroup's position among those simulated here."""
        return np.arange(self.count, dtype=np.int64) // self.waves_per_workgroup

    @cached_property
    def wave(self) -> Array:
        """For each unit its linear position in the workgroup."""
        return np.arange(self.count, dtype=np.int64) % self.waves_per_workgroup

    def symbols(self, rank: int) -> dict[Expr, int | Array]:
        """Coordinates by symbol: arrays of ``rank`` axes, all but the first 1.

        An axis of extent 1 is the number 0.
        """
        found: dict[Expr, int | Array] = {}
        groups = self.first + self.local_workgroup
        device = groups // max(1, int(np.prod(self.grid, dtype=np.int64)))
        for rows, index, name in (
            (self.grid, groups, workgroup_symbol),
            (self.devices, device, device_symbol),
            (self.waves, self.wave, wave_symbol),
        ):
            rest = index
            for axis, extent in enumerate(rows):
                shape = (self.count,) + (1,) * (rank - 1)
                value = (rest % extent).reshape(shape)
                found[name(axis)] = value if extent > 1 else 0
                rest = rest // extent
        return found

    def describe(self, unit: int) -> str:
        """Where a unit stands, for messages."""
        group = self.first + unit // self.waves_per_workgroup
        wave = unit % self.waves_per_workgroup
        return f"workgroup {coordinates(group, self.grid)}, wave {wave}"


def coordinates(linear: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates of a linear position, axis 0 fastest."""
    found: list[int] = []
    for extent in extents:
        found.append(int(linear % extent))
        linear //= extent
    return tuple(found)


def chunks(
    grid: tuple[int, ...],
    waves: tuple[int, ...],
    devices: tuple[int, ...],
    lanes: int,
    limit: int,
) -> Iterator[Units]:
    """Cut the grid into parts of at most ``limit`` lanes, whole workgroups each."""
    total = int(np.prod((*grid, *devices), dtype=np.int64))
    per_group = int(np.prod(waves, dtype=np.int64)) * lanes
    size = max(1, limit // per_group)
    for first in range(0, total, size):
        yield Units(grid, waves, first, min(size, total - first), devices)
