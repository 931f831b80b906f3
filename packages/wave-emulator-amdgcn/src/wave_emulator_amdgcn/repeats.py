"""Tells when waves repeat themselves, so that a lock nobody writes ends the launch.

Execution follows from the state. If one comes back, all that came between comes again.
A state is kept for as many looks as there were before it, then another one: whatever
the number of states that take turns, one of them is met again (Brent's method).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array
    from wave_emulator_amdgcn.run import Loop


class Repeats:
    """Compares states of a loop; the large ones only where the small ones agree."""

    def __init__(self) -> None:
        """No state is known."""
        self._small = self._large = b""
        self._looks = self._left = 1

    def found(self, loop: Loop) -> bool:
        """Whether the waves are where they were before."""
        small = _digest(_small(loop))
        if small == self._small:
            large = _digest(_large(loop))
            if large == self._large:
                return True
            self._large = self._large or large
        self._left -= 1
        if self._left == 0:
            self._looks = self._left = 2 * self._looks
            self._small, self._large = small, b""
        return False


def _digest(parts: list[Array]) -> bytes:
    digest = blake2b()
    for part in parts:
        digest.update(part.tobytes())
    return digest.digest()


def _small(loop: Loop) -> list[Array]:
    """Where the waves are, and what scalar registers hold."""
    machine = loop.machine
    rows = [
        row for pc in sorted(loop.groups) for row in (np.array(pc), loop.groups[pc])
    ]
    states = [loop.waiting, loop.resume, loop.ended, loop.signalled]
    numbers = np.array([loop.favoured, machine.mode])
    return [*rows, *states, machine.scc, machine.S, numbers]


def _large(loop: Loop) -> list[Array]:
    """All else that instructions read."""
    machine = loop.machine
    memories = (machine.lds, machine.private, machine.memory.cells)
    return [machine.V, *(memory.data for memory in memories)]
