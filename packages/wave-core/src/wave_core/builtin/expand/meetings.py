"""Barriers, shuffles and waits that lanes, waves and workgroups cannot do together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.loops import looks_at_others
from wave_core.analysis.waves import wave_number
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, region_of, resolve
from wave_core.ops.control import Conditional, While
from wave_core.ops.memory import Allocate, Read
from wave_core.ops.reduce import Shuffle
from wave_core.ops.traits import EffectKind
from wave_core.symbols import constant, product, symbol

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.diagnostics import Collector
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.targets import Target

OF_WAVES = symbol("$WAVE")
"""The first dim of buffers in which each wave has a place."""


def check_shuffles(graph: Graph, lanes: int) -> None:
    """Refuse shuffles between lanes of different waves.

    Raises:
        UserError: WV0216.
    """
    for op in graph.walk():
        if isinstance(op, Shuffle):
            op.check_wave(lanes)


def check_scans(graph: Graph, geometry: Geometry) -> None:
    """Refuse scans that need what waves have which may not come along.

    Raises:
        UserError: WV0412.
    """
    own = wave_number(geometry)
    for op in graph.walk():
        row = graph.facts.get(ACCESS, op) if isinstance(op, Read) else None
        if row is not None and row.coordinates and row.coordinates[0] != own:
            memory = resolve(op.operands[0])
            if isinstance(memory, Allocate) and memory.shape[0] == OF_WAVES:
                check_together(graph, op)


def check_together(graph: Graph, op: Op) -> None:
    """Refuse an op that needs what waves have which may not come along.

    Raises:
        UserError: WV0412.
    """
    around = region_of(op).around
    choices = [each for each in around if isinstance(each, Conditional | While)]
    uniformity = Uniformity(graph) if choices else None
    for choice in choices:
        if uniformity is not None and not uniformity.together(choice):
            raise user_error(
                "WV0412",
                "waves need what others have, where not all of them may come along",
                at=op.location,
                label="each wave needs what the others have",
                secondary=[(choice.location, "waves may differ in entering this")],
                help=("move it out, and what it needs",),
            )


def check_meetings(graph: Graph) -> None:
    """Refuse a barrier in a while loop that waves may leave one by one.

    Raises:
        UserError: WV0145.
    """
    inside = [
        (op, loop)
        for op in graph.walk()
        if any(effect.kind is EffectKind.BARRIER for effect in op.effects())
        for loop in region_of(op).around
        if isinstance(loop, While) and not loop.by_lane
    ]
    uniformity = Uniformity(graph) if inside else None
    for op, loop in inside:
        if uniformity is not None and not uniformity.together(loop):
            raise user_error(
                "WV0145",
                f"`{op.op_name}` in a while loop that each wave may leave by itself",
                at=op.location,
                label="a wave waits here for all others",
                secondary=((loop.location, "waves may differ in this condition"),),
                help=(
                    "decide by what is the same in all waves, such as sizes",
                    "or move the barrier out of the loop",
                ),
            )


def warn_of_waiting(
    graph: Graph, geometry: Geometry, target: Target, collector: Collector
) -> None:
    """Warn where workgroups wait, and there are more than the chip holds at once."""
    loop = next(
        (op for op in graph.walk() if isinstance(op, While) and looks_at_others(op)),
        None,
    )
    file, peaks = target.registers, target.peaks
    workgroups = product([constant(1), *geometry.grid])
    if loop is None or file is None or peaks is None or not workgroups.is_constant:
        return
    waves = file.simds * file.max_waves * peaks.compute_units
    most = waves // geometry.groups_in_step
    if workgroups.constant_value > most:
        collector.warn(
            "WV0344",
            f"{workgroups} workgroups look at what others write, and "
            f"`{target.name}` holds at most {most} at once",
            at=loop.location,
            label="may wait for one that cannot start",
            help=(
                "fix their number: `GridConstraint(...)`, and let each do more",
                "or let each wait only for those that have started",
            ),
        )
