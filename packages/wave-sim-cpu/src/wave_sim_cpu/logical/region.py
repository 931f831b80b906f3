"""Executes the ops of a region on whole tiles, each by the rule of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.base import Op
from wave_core.ops.traits import Trait
from wave_sim_cpu import codes
from wave_sim_cpu.logical import tile_rules

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_sim_cpu.logical.state import State, TileRule


def run_region(region: Region, state: State) -> None:
    """Execute the ops of ``region`` in order, its terminator left out."""
    for op in region.ops:
        if not op.has(Trait.TERMINATOR):
            state.shared.count_step(op)
            _rule(op, state)(op, state)


def _rule(op: Op, state: State) -> TileRule:
    rules = state.shared.rules
    found = rules.find(op)
    if found is None and type(op).evaluate is not Op.evaluate:
        return tile_rules.evaluated
    if found is None:
        raise user_error(
            codes.UNSUPPORTED_OP,
            f"whole tiles cannot execute `{op.op_name}`",
            at=op.location,
            notes=rules.reasons(op),
            help=("simulate the lowered graph on lanes",),
        )
    return found
