"""The loop: groups of waves at one address execute together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import EmulatorError, StepLimitError, StuckError
from wave_emulator_amdgcn.isa.control import FIRST, Jump
from wave_emulator_amdgcn.repeats import Repeats

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound, Program

_PATIENCE = 1024
"""Group steps after which a group that others wait behind gives way: spin locks."""


class Loop:
    """Executes all waves of a machine to their end."""

    def __init__(self, machine: Machine, program: Program, entry: int) -> None:
        """All waves start at ``entry``."""
        self.machine = machine
        self.program = program
        self.waves = machine.shape.waves
        self.groups: dict[int, Ints] = {entry: np.arange(self.waves)}
        self.waiting: Bools = np.zeros(self.waves, np.bool_)
        self.resume: Ints = np.zeros(self.waves, np.int64)
        self.ended: Bools = np.zeros(self.waves, np.bool_)
        self.signalled: Ints = np.zeros(self.waves, np.int64)
        self.favoured = entry
        self.polled = False
        self.steps = 0
        self.executed = 0

    def run(self, step_limit: int) -> None:
        """Run to the end.

        Raises:
            StepLimitError: EM0303, after ``step_limit`` wave-instructions.
            EmulatorError: EM0304, all waves wait; and what instructions raise.
            StuckError: EM0305, waves go around a loop and nothing changes.
        """
        stale, repeats = 0, Repeats()
        while self.groups:
            pc = min(self.groups)
            if stale >= _PATIENCE and repeats.found(self):
                raise self._stuck(pc)
            if stale >= _PATIENCE or self.polled:
                # All get their chance: the one waited for may stand between others.
                behind = [other for other in self.groups if other > self.favoured]
                pc = self.favoured = min(behind, default=pc)
            stale = 0 if stale >= _PATIENCE else stale
            stale += self._advance(pc, step_limit)
        if not self.ended.all():
            raise EmulatorError(
                "EM0304", "waves wait at a barrier that nobody completes"
            )

    def _stuck(self, pc: int) -> StuckError:
        machine = self.machine
        groups = np.unique(machine.group[~self.ended]) + machine.shape.first_group
        return StuckError(groups.tolist(), self.program.place(pc))

    def _selection(self, waves: Ints) -> Selection:
        return slice(None) if len(waves) == self.waves else waves

    def _advance(self, pc: int, step_limit: int) -> int:
        """Run one group until it splits, stops, polls, or another one is behind it."""
        m, program = self.machine, self.program
        waves = self.groups.pop(pc)
        g = self._selection(waves)
        count = len(waves)
        other = min(self.groups, default=1 << 62)
        polled, self.polled, steps = False, False, 0
        while True:
            bound = program.at(pc)
            bound.count += count
            steps += 1
            self.executed += count
            m.clock += 1
            if self.executed > step_limit:
                raise StepLimitError.at(step_limit)
            if m.checks is not None:
                m.checks.before(bound, g)
            if m.meter is not None:
                m.meter.step(bound, waves)
            jump = bound.execute(m, g)
            if m.checks is not None:
                m.checks.after(bound, g)
            following = self._following(bound, jump, waves)
            if following is None:
                break
            polled = polled or bound.kind == "poll"
            self.polled = polled and following <= pc and bool(self.groups)
            pc = following
            if pc >= other or steps >= _PATIENCE or self.polled:
                self._join(pc, waves)
                break
        self.steps += steps
        return steps

    def _following(self, bound: Bound, jump: Jump | None, waves: Ints) -> int | None:
        """Where waves go on; None where they stop or part."""
        if bound.kind and self._special(bound, waves):
            return None
        if jump is None:
            return bound.following
        if self._jump(jump, bound.following, waves):
            return None
        everyone = jump.taken is None or bool(jump.taken.all())
        return int(jump.target) if everyone else bound.following

    def _join(self, pc: int, waves: Ints) -> None:
        there = self.groups.get(pc)
        if there is not None:
            waves = np.sort(np.concatenate([there, waves]))
        self.groups[pc] = waves

    def _jump(self, jump: Jump, following: int, waves: Ints) -> bool:
        """Split the group if its waves go different ways; whether it was split."""
        target = jump.target
        if not isinstance(target, int):
            for address in np.unique(target):
                self._join(int(address), waves[target == address])
            return True
        if jump.taken is None or jump.taken.all() or not jump.taken.any():
            return False
        self._join(target, waves[jump.taken])
        self._join(following, waves[~jump.taken])
        return True

    def _special(self, bound: Bound, waves: Ints) -> bool:
        """Barriers and ends; whether the group stops here."""
        if bound.kind == "end":
            self.ended[waves] = True
            self.signalled[waves] = 0
            self._release()
            return True
        if bound.kind == "signal":
            self._signal(bound, waves)
            self._release()
            return False
        if bound.kind != "barrier":
            return False
        self.waiting[waves] = True
        self.resume[waves] = bound.following
        if bound.instruction.name == "S_BARRIER":
            self.signalled[waves] += 1
        self._check_divergence(bound, waves)
        self._release()
        return True

    def _signal(self, bound: Bound, waves: Ints) -> None:
        """Half a barrier: what a wave does after it is not ordered by it."""
        m = self.machine
        if bound.instruction.name == FIRST:
            group = m.group[waves]
            signals = self.signalled.reshape(-1, m.shape.waves_per_group)
            first = np.zeros(len(waves), np.bool_)
            first[np.unique(group, return_index=True)[1]] = True
            m.scc[waves] = first & (signals.max(axis=1) == 0)[group]
        self.signalled[waves] += 1
        if m.checks is not None:
            m.checks.signal(waves)

    def _check_divergence(self, bound: Bound, waves: Ints) -> None:
        if not self.ended.any():
            return
        m = self.machine
        gone = np.zeros(int(m.group[-1]) + 1, np.bool_)
        gone[m.group[self.ended]] = True
        late = waves[gone[m.group[waves]]]
        if len(late):
            m.report(
                "EM0502",
                "a wave of the workgroup ended without this barrier",
                bound.instruction,
                wave=int(late[0]),
                count=len(late),
            )

    def _release(self) -> None:
        """Let workgroups go on whose waves all came to their barrier."""
        if not self.waiting.any():
            return
        m = self.machine
        per_group = m.shape.waves_per_group
        shape = (-1, per_group)
        live, waiting = ~self.ended.reshape(shape), self.waiting.reshape(shape)
        signals = np.where(live, self.signalled.reshape(shape), 1 << 60)
        ready = (signals.min(axis=1) >= 1) & waiting.any(axis=1)
        ready &= live.any(axis=1) & (waiting | ~live).all(axis=1)
        waves = np.flatnonzero(np.repeat(ready, per_group) & self.waiting)
        if not len(waves):
            return
        if m.checks is not None:
            m.checks.barrier(np.unique(m.group[waves]))
        self.waiting[waves] = False
        self.signalled[waves] -= 1
        for address in np.unique(self.resume[waves]):
            self._join(int(address), waves[self.resume[waves] == address])
