"""Bank conflicts of access patterns, by the access phases of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wave_core.targets import BankPhases, MemorySpec

    Array = np.ndarray[Any, Any]

_NOWHERE = -1


def conflict_cycles(
    places: Array, alive: Array, width: int, memory: MemorySpec, *, reads: bool
) -> Array:
    """Cycles beyond the first of each phase, for each access.

    Shapes: ``places`` (byte offsets) and ``alive`` ``[accesses, lanes]``; the result
    ``[accesses]``. Units: ``width`` bytes a lane.
    """
    phases = phases_of(memory, width, reads=reads)
    found = np.zeros(len(places), dtype=np.int64)
    if phases is None:
        return found
    words = max(1, width // memory.bank_bytes)
    first = np.where(alive, places // memory.bank_bytes, _NOWHERE)
    for lanes in phases.phases:
        members = [lane for lane in lanes if lane < places.shape[1]]
        start = first[:, members, None]
        touched = np.where(start < 0, _NOWHERE, start + np.arange(words))
        found += _extra(touched.reshape(len(places), -1), phases.banks)
    return found


def split_accesses(places: Array, alive: Array, width: int) -> int:
    """How many accesses more each one needs, since a wide one must be aligned.

    Shapes: as in `conflict_cycles`. The generated code is the same for all lanes.
    """
    aligned = int(np.gcd.reduce(np.append(places[alive], width)))
    return width // aligned - 1


def phases_of(memory: MemorySpec, width: int, *, reads: bool) -> BankPhases | None:
    """The phases of an access of ``width`` bytes a lane."""
    table = memory.read_phases if reads else memory.write_phases
    fitting = [row for row in table if row[0] >= width] or list(table[-1:])
    return min(fitting, key=lambda row: row[0])[1] if fitting else None


def _extra(words: Array, banks: int) -> Array:
    """The most different words of one bank, less one."""
    words = np.sort(words, axis=1)
    new = np.ones(words.shape, dtype=np.bool_)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    new &= words != _NOWHERE
    row = np.arange(len(words), dtype=np.int64)[:, None] * banks
    slots = (row + words % banks)[new]
    counts = np.bincount(slots, minlength=len(words) * banks)
    worst = counts.reshape(-1, banks).max(axis=1)
    return np.maximum(worst - 1, 0)
