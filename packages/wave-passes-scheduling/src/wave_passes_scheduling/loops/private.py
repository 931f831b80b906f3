"""Buffers that each iteration of a loop fills before it reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.dependences.accesses import shared_accesses

if TYPE_CHECKING:
    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.control import Iterate
    from wave_core.ops.memory import Allocate


def private_buffers(
    graph: Graph, loop: Iterate, known: Dependences
) -> dict[Allocate, list[SharedAccess]]:
    """The buffers whose bytes do not outlive an iteration, with their accesses.

    Every access stands in the loop's own body; all writes come first, surely happen
    and cover what is read. Such a buffer can be given to several iterations at once,
    a copy for each. A buffer for which this cannot be proved is not listed.
    """
    found: dict[Allocate, list[SharedAccess]] = {}
    for access in shared_accesses(graph):
        found.setdefault(access.buffer, []).append(access)
    return {b: rows for b, rows in found.items() if _private(rows, loop, known)}


def _private(rows: list[SharedAccess], loop: Iterate, known: Dependences) -> bool:
    if any(not row.around or row.around[-1] is not loop for row in rows):
        return False
    writes = [row for row in rows if row.writes]
    reads = [row for row in rows if not row.writes]
    if not writes or not reads or writes[-1].order > reads[0].order:
        return False
    prints = [known.footprint(row) for row in rows]
    if any(p.base is not prints[0].base for p in prints):
        return False
    if not all(known.footprint(row).exact for row in writes):
        return False
    start = min(p.low for p in prints)
    size = max(p.high for p in prints) - start
    written, read = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for row in rows:
        touched = np.atleast_1d(known.footprint(row).finer(1).touched.any(axis=0))
        low = known.footprint(row).low - start
        target = written if row.writes else read
        target[low : low + len(touched)] |= touched
    return not bool((read & ~written).any())
