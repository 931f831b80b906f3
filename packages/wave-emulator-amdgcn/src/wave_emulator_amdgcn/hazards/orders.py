"""Runs a launch in a random order that the ISA permits, instead of checking it.

Waves are interleaved at random, operations complete at random times before the wait
that covers them, and what nobody wrote holds junk. A correct kernel gives the same
outputs for every seed.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import EmulatorError, StepLimitError
from wave_emulator_amdgcn.hazards.inflight import Late
from wave_emulator_amdgcn.run import Loop

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Ints
    from wave_emulator_amdgcn.isa.control import Jump
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound, Program

_GRAINS = (1, 4, 16, 256)
_EAGERNESS = (0.0, 0.02, 0.2, 0.8)
_STARVED = 512
"""Choices after which waves get other priorities, so that a spin lock ends."""


def scramble(machine: Machine, seed: int) -> None:
    """Fill what a launch leaves undefined: registers, LDS, scratch."""
    rng = np.random.default_rng([seed, 1])
    for words in (machine.V[:256], machine.S[:106]):
        words[...] = rng.integers(0, 1 << 32, words.shape, np.uint32)
    for cells in (machine.lds, machine.private):
        cells.data[...] = rng.integers(0, 256, cells.data.shape, np.uint8)


class RandomLoop(Loop):
    """Executes waves to their end in the order that a seed names.

    The seed chooses how far a wave runs at a time (1 to about 256 instructions), how
    eagerly operations complete (never before a wait, up to nearly at once), and whether
    some waves starve others.
    """

    def __init__(
        self, machine: Machine, program: Program, entry: int, seed: int
    ) -> None:
        """All waves start at ``entry``."""
        super().__init__(machine, program, entry)
        self.executed: int = 0
        self.rng = np.random.default_rng([seed, 0])
        self.late = Late(machine, self.rng)
        self.grain = _GRAINS[int(self.rng.integers(len(_GRAINS)))]
        self.eagerness = _EAGERNESS[int(self.rng.integers(len(_EAGERNESS)))]
        self.junk = bool(self.rng.integers(2))
        self.starve = bool(self.rng.integers(2))
        self.priority = self.rng.permutation(self.waves)

    def run(self, step_limit: int) -> None:
        """Run to the end.

        Raises:
            StepLimitError: EM0303, after ``step_limit`` wave-instructions.
            EmulatorError: EM0304, all waves wait; and what instructions raise.
        """
        for choices in count(1):
            if not self.groups:
                break
            if choices % _STARVED == 0:
                self.priority = self.rng.permutation(self.waves)
            pc, waves = self._choose()
            self._some(pc, waves, 1 + int(self.rng.geometric(1 / self.grain)))
            if self.executed > step_limit:
                raise StepLimitError.at(step_limit)
        self.late.finish()
        if not self.ended.all():
            raise EmulatorError(
                "EM0304", "waves wait at a barrier that nobody completes"
            )

    def _choose(self) -> tuple[int, Ints]:
        """Some waves that are together, taken out of their group."""
        addresses = sorted(self.groups)
        if self.starve:
            best = min(
                addresses, key=lambda p: int(self.priority[self.groups[p]].min())
            )
            waves = self.groups.pop(best)
            chosen = self.priority[waves] == self.priority[waves].min()
            pc = best
        else:
            pc = addresses[int(self.rng.integers(len(addresses)))]
            waves = self.groups.pop(pc)
            chosen = self.rng.random(len(waves)) < self.rng.choice((0.0, 0.3, 1.0))
            chosen[int(self.rng.integers(len(waves)))] = True
        if not chosen.all():
            self.groups[pc] = waves[~chosen]
        return pc, waves[chosen]

    def _some(self, pc: int, waves: Ints, steps: int) -> None:
        """Run waves for some steps, or until they part or stop."""
        while True:
            bound = self.program.at(pc)
            bound.count += len(waves)
            self.steps += 1
            self.executed += len(waves)
            self.machine.clock += 1
            jump = self._start(bound, waves)
            while self.rng.random() < self.eagerness:
                self.late.tick()
            following = self._following(bound, jump, waves)
            if following is None:
                return
            pc = following
            steps -= 1
            if steps <= 0:
                self._join(pc, waves)
                return

    def _start(self, bound: Bound, waves: Ints) -> Jump | None:
        if bound.usage.counter:
            self.late.issue(bound, waves, junk=self.junk)
            return None
        if bound.kind == "wait":
            self.late.wait(bound, waves)
        return bound.execute(self.machine, self._selection(waves))
