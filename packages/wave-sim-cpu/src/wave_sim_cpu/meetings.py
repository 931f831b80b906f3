"""Barriers, and the threads that come to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import region_of
from wave_sim_cpu import codes
from wave_sim_cpu.launch import coordinates

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Bits
    from wave_sim_cpu.journal import Reporter
    from wave_sim_cpu.launch import Units


class Meetings:
    """Who came to the barriers of one chunk of workgroups.

    All threads of a wave come, or none. Hardware counts the barriers of each wave:
    waves may pass one that others leave out, if these make up for it.
    """

    def __init__(self, units: Units, reporter: Reporter) -> None:
        self._units = units
        self._reporter = reporter
        self._passed = np.zeros(units.count, np.int64)
        self._parted: dict[int, tuple[Op, Bits]] = {}

    def met(self, op: Op, threads: Bits | None) -> None:
        """``threads`` come to a barrier: for each unit a row; ``None`` for all."""
        units, waves = self._units, self.in_waves(op, threads)
        self._passed += waves
        passed = self._passed.reshape(-1, units.waves_per_workgroup)
        apart = (passed != passed[:, :1]).any(axis=1)
        for group in [g for g in self._parted if not apart[g]]:
            del self._parted[group]
        for group in np.flatnonzero(apart).tolist():
            here = waves.reshape(passed.shape)[group]
            self._parted.setdefault(group, (op, here))

    def in_waves(self, op: Op, threads: Bits | None) -> Bits:
        """Lanes come to where all of their wave meet: the waves of which any do."""
        present = np.ones((1, 1), np.bool_)
        if threads is not None:
            present = threads.reshape(threads.shape[0], -1)
        waves = np.broadcast_to(present.any(axis=1), (self._units.count,))
        split = waves & ~present.all(axis=1)
        if split.any():
            unit = int(np.flatnonzero(split)[0])
            self._report_wave(op, unit, present[unit % len(present)])
        return waves

    def finish(self) -> None:
        """At the end of a program: report waves that wait for others for ever."""
        units = self._units
        for group, (op, here) in self._parted.items():
            where = coordinates(units.first + group, units.grid)
            what = f"{int(here.sum())} of {here.size} waves of workgroup {where}"
            self._report(op, what, f"present: waves {np.flatnonzero(here).tolist()}")

    def _report_wave(self, op: Op, unit: int, here: Bits) -> None:
        what = f"{int(here.sum())} of {here.size} threads of a wave"
        first, left_out = int(here.argmax()), int(here.argmin())
        where = self._units.describe(unit)
        note = f"of {where} thread {first} comes here, thread {left_out} does not"
        self._report(op, what, note)

    def _report(self, op: Op, what: str, note: str) -> None:
        around = next(region_of(op).around, None)
        self._reporter.add(
            codes.DIVERGENT_BARRIER,
            f"{what} reach a barrier",
            op,
            label="the others never come here",
            other=around,
            other_label="decides who comes",
            notes=(note,),
            help=("move the barrier out of what only some of them execute",),
        )
