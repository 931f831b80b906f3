"""Executes the ops of a region on whole tiles, each by the rule of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.traits import Trait
from wave_sim_cpu import codes

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_sim_cpu.logical.state import State
    from wave_sim_cpu.logical.state import TileRule


def run_region(region: Region, state: State) -> None:
    """Execute the ops of ``region`` in order, its terminator left out."""
    for op in region.ops:
        if not op.has(Trait.TERMINATOR):
            state.shared.count_step(op)
            _rule(op, state)(op, state)


def _rule(op: Op, state: State) -> TileRule:
    rules = state.shared.rules
    for cls in type(op).__mro__:
        if cls in rules:
            return rules[cls]
    raise user_error(
        codes.UNSUPPORTED_OP,
        f"whole tiles cannot execute `{op.op_name}`",
        at=op.location,
        help=("simulate the lowered graph on lanes",),
    )
