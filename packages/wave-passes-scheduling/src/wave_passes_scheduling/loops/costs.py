"""Cost profiles: how long an operation takes, and what it occupies for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ops.matrix import Mma
from wave_core.passes.selection import unknown_name
from wave_passes_scheduling.loops.kinds import OCCUPIES, RESOURCES, OpKind
from wave_passes_scheduling.problem import Resource, Use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ops.control import Iterate
    from wave_core.targets import Target


@dataclass(frozen=True)
class CostProfile:
    """Latencies, occupancies and units of a machine, by kind of operation.

    Attributes:
        name: What schedules and files call it.
        latencies: Cycles until a result can be used; 1 for kinds that are not named.
        occupancies: Cycles that one operation holds its resources; 1 if not named.
        resources: The machine.
    """

    name: str
    latencies: Mapping[OpKind, int]
    occupancies: Mapping[OpKind, int]
    resources: tuple[Resource, ...]

    def latency(self, kind: OpKind) -> int:
        """Cycles until a result of this kind can be used."""
        return self.latencies.get(kind, 1)

    def uses(self, kind: OpKind) -> tuple[Use, ...]:
        """The resources that one operation of this kind occupies."""
        cycles = self.occupancies.get(kind, 1)
        return tuple(Use(resource, cycles=cycles) for resource in OCCUPIES[kind])


def unit_profile() -> CostProfile:
    """Profile ``unit``: reads of global memory take 2, everything else 1.

    Source: the latencies and units of the schedule in the documentation of the file
    format.
    """
    latencies = {OpKind.READ_GLOBAL: 2, OpKind.NOOP: 0}
    units = (2, 4, 4, 4, 2)
    machine = tuple(Resource(n, u) for n, u in zip(RESOURCES, units, strict=True))
    return CostProfile("unit", latencies, {}, machine)


def profile_of(name: str, loop: Iterate, target: Target) -> CostProfile:
    """The profile ``unit``, or that of ``target`` for a loop.

    Raises:
        UserError: WV0801 for another name than ``unit``, ``target`` or that of the
            target.
    """
    if name == "unit":
        return unit_profile()
    if name not in {"target", target.name}:
        raise unknown_name("cost profile", name, ("unit", "target", target.name))
    cycles = target.costs.mma_cycles
    for op in loop.body.ops:
        if isinstance(op, Mma) and op.mma_type is not None:
            row = target.matrix_instruction(op.mma_type, op.location)
            cycles = row.cycles or cycles
    return target_profile(target, cycles)


def target_profile(target: Target, mma_cycles: int) -> CostProfile:
    """The profile of a machine, in issue cycles of one SIMD.

    Args:
        target: Whose costs.
        mma_cycles: Cycles of the matrix instruction that the loop uses.
    """
    costs = target.costs
    lds, matrix = (costs.lds_latency, costs.lds_issue), mma_cycles + costs.mma_forward
    rows = {
        OpKind.READ_GLOBAL: (costs.global_latency, costs.global_issue),
        OpKind.WRITE_GLOBAL: (1, costs.global_issue),
        OpKind.GLOBAL_TO_SHARED: (costs.global_latency, costs.global_issue),
        OpKind.READ_SHARED: lds,
        OpKind.WRITE_SHARED: lds,
        OpKind.MMA: (matrix, mma_cycles),
        OpKind.VALU: (costs.valu_cycles, costs.valu_cycles),
        OpKind.SHUFFLE: lds,
        OpKind.NOOP: (0, 1),
    }
    latencies = {kind: latency for kind, (latency, _) in rows.items()}
    occupancies = {kind: issue for kind, (_, issue) in rows.items()}
    machine = tuple(Resource(name, 1) for name in RESOURCES)
    return CostProfile(target.name, latencies, occupancies, machine)
