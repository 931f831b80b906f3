"""Hints that state the order of a loop's body: barriers, and groups of instructions.

Between two ops that code generators keep in place the body is a list of runs: so many
instructions of one kind, then so many of another. That list, as it is, becomes one
scheduling-group barrier at the end of the stretch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.analysis.runs import contiguous_run
from wave_core.ir import ACCESS, insert_before
from wave_core.ops.matrix import Mma
from wave_core.ops.sync import SchedulingBarrier, SchedulingGroupBarrier
from wave_core.ops.traits import Trait
from wave_core.types import MemoryType
from wave_passes_scheduling.loops.costs import OCCUPIES, OpKind, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.targets import Target

Group = tuple[str, int]
"""A kind of instruction, as scheduling ops name it, and how many."""

NAMES = {
    OpKind.MMA: "mma",
    OpKind.READ_GLOBAL: "read_global",
    OpKind.WRITE_GLOBAL: "write_global",
    OpKind.READ_SHARED: "read_shared",
    OpKind.WRITE_SHARED: "write_shared",
    OpKind.GLOBAL_TO_SHARED: "read_global",
}
"""The kinds of ops whose instructions can be counted. Vector instructions are not
among them: only the code generator knows their number, and it may put them anywhere."""


def place_groups(graph: Graph, loop: Iterate, target: Target) -> int:
    """State the order of a loop's body; how many groups that took."""
    stretch: list[Op] = []
    placed = number = 0
    for op in list(loop.body.ops):
        if not (op.has(Trait.ORDERED) or op.has(Trait.TERMINATOR)):
            stretch.append(op)
            continue
        rows = groups_of(graph, stretch, target)
        stretch = []
        if len(rows) > 1:
            barrier = SchedulingGroupBarrier(instructions=rows, sync_id=number)
            insert_before(op, barrier)
            number += 1
            placed += len(rows)
    return placed


def groups_of(graph: Graph, ops: Sequence[Op], target: Target) -> tuple[Group, ...]:
    """The instructions of ops in a row, by runs of one kind."""
    found: list[Group] = []
    for op in ops:
        name = NAMES.get(kind_of(op))
        if name is None:
            continue
        count = instructions_of(graph, op, target)
        if found and found[-1][0] == name:
            count += found.pop()[1]
        found.append((name, count))
    return tuple(found)


def instructions_of(graph: Graph, op: Op, target: Target) -> int:
    """How many instructions a matrix op or an access of memory takes."""
    if isinstance(op, Mma):
        assert op.mma_type is not None, "a lowered product names its instruction"
        return target.matrix_instruction(op.mma_type, op.location).issues
    row = graph.facts.get(ACCESS, op)
    memory = op.operands[-1] if op.op_name == "write" else op.operands[0]
    if row is None or not isinstance(memory.type, MemoryType):
        return 1
    widest = max(1, target.memory.max_access_bits // memory.type.dtype.bits)
    return -(-row.registers // min(contiguous_run(row), widest))


def keep_order(kernel: Iterate) -> int:
    """Put a scheduling barrier wherever the kernel turns to other units.

    Within a run of ops on the same units the code generator stays free. Ops without
    an instruction belong to the run that they stand in.

    Returns:
        How many barriers there are now.
    """
    ops = [op for op in kernel.body.ops if OCCUPIES[kind_of(op)]]
    switches = [
        after
        for before, after in pairwise(ops)
        if OCCUPIES[kind_of(before)] != OCCUPIES[kind_of(after)]
    ]
    for op in switches:
        barrier = SchedulingBarrier()
        barrier.location = op.location
        insert_before(op, barrier)
    return len(switches)
