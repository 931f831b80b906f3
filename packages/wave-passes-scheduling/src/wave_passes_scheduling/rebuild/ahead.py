"""Iterations that a loop does not have: what makes running them harmless.

A pipelined loop without an epilogue runs to the full count. In its last iterations the
stages before the last work on iterations beyond the end, whose values nobody uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, LANDING, region_of
from wave_core.ops.arithmetic import FloorDiv, Mod
from wave_core.ops.control import Conditional
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule


@dataclass(frozen=True)
class Beyond:
    """How iterations beyond the last are run.

    Attributes:
        harmless: Accesses that may happen there: of buffers that each iteration fills
            before it reads them, at places that are the same in every iteration.
            All others are masked, and what these read of global memory.
        facts: What is known about the number of iterations.
    """

    harmless: frozenset[Op]
    facts: Facts


def unsafe_ahead(analysed: ScheduledLoop, schedule: Schedule) -> Op | None:
    """An op that cannot run in iterations beyond the last, or ``None``.

    Reads and writes can be masked, also those in conditionals. What only computes can
    run on anything, but for integer divisions, which zeros stop. Whatever else an
    early stage has is refused.
    """
    last = schedule.depth - 1
    early = (
        op
        for op, stage in zip(analysed.ops, schedule.stages, strict=True)
        if stage < last
    )
    return next((op for op in early if not all(map(_maskable, _parts(op)))), None)


def _parts(op: Op) -> Iterator[Op]:
    """The op itself, or the ops in the body of a conditional."""
    if isinstance(op, Conditional):
        for inner in op.regions[0].ops:
            yield from _parts(inner)
    elif not op.has(Trait.TERMINATOR):
        yield op


def _maskable(op: Op) -> bool:
    """Whether an op computes without faults, or touches memory under a mask."""
    divides = isinstance(op, FloorDiv | Mod) and not (
        isinstance(op.type, RegisterType) and op.type.dtype.is_float
    )
    computes = op.has(Trait.PURE) and not divides
    return computes or isinstance(op, Read | Write | GatherToLDS)


def mask_accesses(op: Op, condition: Expr, *, harmless: bool) -> None:
    """Let accesses happen only where ``condition`` holds, too.

    Args:
        op: What accesses memory.
        condition: Where it may.
        harmless: Whether what it does to LDS may happen anyway. Copies from global
            memory then land there as zeros.
    """
    facts = region_of(op).graph.facts
    for part in _parts(op):
        kinds = () if harmless else (ACCESS, LANDING)
        if harmless and isinstance(part, GatherToLDS):
            kinds = (ACCESS,)
        for kind in kinds:
            row = facts.get(kind, part)
            if row is not None:
                facts.put(kind, part, row.where(condition))
