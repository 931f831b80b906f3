"""From when to when a buffer of LDS holds something that is read later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ops.control import Iterate
from wave_core.ops.traits import EffectKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.analysis.dependences.footprint import Footprint
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op


class Lifetimes:
    """Spans of time, counted in ops of the graph in program order."""

    def __init__(self, graph: Graph, dependences: Dependences) -> None:
        """Number the ops."""
        self._dependences = dependences
        self._position = {op: i for i, op in enumerate(graph.walk())}
        self._end: dict[Op, int] = {}
        _note_ends(graph.body, self._position, self._end)

    def of(
        self, accesses: Sequence[SharedAccess], *, within_loops: bool
    ) -> tuple[int, int]:
        """First and last op between which the buffer of these accesses is needed.

        A loop counts as a whole, unless (with ``within_loops``) each of its iterations
        writes all that it reads before it reads it.
        """
        places = [self._position[a.op] for a in accesses]
        first, last = min(places), max(places)
        around = dict.fromkeys(op for a in accesses for op in a.around)
        # Inner loops first: what an outer one needs depends on them.
        for loop in reversed(around):
            if not isinstance(loop, Iterate):
                continue
            start, end = self._position[loop], self._end[loop]
            inside = start < first and last <= end
            if inside and within_loops and self._renewed(accesses, loop):
                continue
            first, last = min(first, start), max(last, end)
        return first, last

    def _renewed(self, accesses: Sequence[SharedAccess], loop: Iterate) -> bool:
        """Whether no iteration reads what another one wrote."""
        return all(
            self._written_before(access, accesses, loop)
            for access in accesses
            if access.kind is not EffectKind.WRITE
        )

    def _written_before(
        self, read: SharedAccess, accesses: Sequence[SharedAccess], loop: Iterate
    ) -> bool:
        if read.asynchronous:
            return False
        wanted = self._dependences.footprint(read)
        missing = wanted.touched.any(axis=0)
        for write in accesses:
            if not write.writes or write.asynchronous or write.order >= read.order:
                continue
            inner = write.around[write.around.index(loop) :]
            if all(op in read.around for op in inner):
                missing = missing & ~_covered(
                    self._dependences.footprint(write), wanted
                )
        return not missing.any()


def _covered(write: Footprint, read: Footprint) -> npt.NDArray[np.bool_]:
    """Columns of ``read`` that ``write`` writes for sure."""
    columns = read.owners.shape[1]
    found = np.zeros(columns, np.bool_)
    shift = read.base - write.base
    if not write.exact or write.unit != read.unit or not shift.is_constant:
        return found
    moved = read.low + shift.constant_value - write.low
    if moved % read.unit:
        return found
    written: npt.NDArray[np.bool_] = np.any(write.touched, axis=0)
    start = moved // read.unit
    first, last = max(0, -start), min(columns, len(written) - start)
    if first < last:
        found[first:last] = written[first + start : last + start]
    return found


def _note_ends(region: Region, position: dict[Op, int], end: dict[Op, int]) -> int:
    """Note the last position within each op with regions; the last of ``region``."""
    last = 0
    for op in region.ops:
        last = position[op]
        for nested in op.regions:
            last = end[op] = _note_ends(nested, position, end)
    return last
