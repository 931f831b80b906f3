"""Kinds of operations by the units that they occupy, and cost profiles of machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import region_of, resolve, walk
from wave_core.ops.control import Conditional, Iterate, While
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.reduce import Shuffle
from wave_core.ops.traits import EffectKind, Trait
from wave_core.passes.selection import unknown_name
from wave_passes_scheduling.files.text import MAX_INTERVAL
from wave_passes_scheduling.problem import Resource, Use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.targets import RegisterFile, Target


class OpKind(StrEnum):
    """Kinds of operations in a schedule; the value is the name in files."""

    READ_GLOBAL = "ReadGlobal"
    WRITE_GLOBAL = "WriteGlobal"
    READ_SHARED = "ReadShared"
    WRITE_SHARED = "WriteShared"
    GLOBAL_TO_SHARED = "GlobalToShared"
    MMA = "MMA"
    VALU = "VALU"
    SHUFFLE = "Shuffle"
    NESTED = "Nested"
    """A loop, or a conditional with accesses of several kinds, as one piece."""
    ORDERED = "Ordered"
    """A barrier, wait or priority that the author placed."""
    NOOP = "NoOp"
    """Registers are renamed; no instruction."""


RESOURCES = (
    "GLOBAL_MEMORY_UNITS",
    "SHARED_MEMORY_UNITS",
    "MMA_UNITS",
    "VALU_UNITS",
    "SHUFFLE_UNITS",
)
"""The resources of a schedule, in the order of the file format."""

OCCUPIES: dict[OpKind, tuple[int, ...]] = {
    OpKind.READ_GLOBAL: (0,),
    OpKind.WRITE_GLOBAL: (0,),
    OpKind.READ_SHARED: (1,),
    OpKind.WRITE_SHARED: (1,),
    OpKind.GLOBAL_TO_SHARED: (0,),
    OpKind.MMA: (2,),
    OpKind.VALU: (3,),
    OpKind.SHUFFLE: (4,),
    OpKind.NESTED: (0, 1, 2, 3, 4),
    OpKind.ORDERED: (),
    OpKind.NOOP: (),
}
"""The resources of each kind, as indices of `RESOURCES`.

A copy to LDS holds the path from memory: LDS is free until it lands, and nobody knows
when that is.
"""

_CLASSES = {
    Iterate: OpKind.NESTED,
    While: OpKind.NESTED,
    Mma: OpKind.MMA,
    Shuffle: OpKind.SHUFFLE,
}

ACCESSES = {
    (True, False): OpKind.READ_GLOBAL,
    (False, False): OpKind.WRITE_GLOBAL,
    (True, True): OpKind.READ_SHARED,
    (False, True): OpKind.WRITE_SHARED,
}
"""The kinds of accesses, by whether they read, and whether LDS."""

FREE = frozenset(
    {
        "assemble",
        "bitcast",
        "broadcast",
        "get_result",
        "lane_expr",
        "permute",
        "reshape",
        "scalar",
        "splat",
    }
)
"""Ops that only rename registers."""


def kind_of(op: Op) -> OpKind:
    """The kind of an op of a lowered loop body in a schedule."""
    for cls, kind in _CLASSES.items():
        if isinstance(op, cls):
            return kind
    if isinstance(op, Conditional):
        return _of_body(op)
    if isinstance(op, Read | Write):
        shared = isinstance(resolve(op.memory), Allocate)
        return ACCESSES[isinstance(op, Read), shared]
    if any(effect.kind is EffectKind.DMA_WRITE for effect in op.effects()):
        return OpKind.GLOBAL_TO_SHARED
    if op.has(Trait.PURE):
        return OpKind.NOOP if op.op_name in FREE else OpKind.VALU
    return OpKind.ORDERED


def _of_body(op: Conditional) -> OpKind:
    """The one kind of accesses that a conditional has, if it has no other."""
    silent = {Trait.PURE, Trait.TERMINATOR}
    found = {kind_of(each) for each in walk(op.body) if silent.isdisjoint(each.traits)}
    only = found.pop() if len(found) == 1 else OpKind.NESTED
    return only if only in ACCESSES.values() else OpKind.NESTED


@dataclass(frozen=True)
class CostProfile:
    """Latencies, occupancies and units of a machine, by kind of operation.

    Attributes:
        name: What schedules and files call it.
        latencies: Cycles until a result can be used; 1 for kinds that are not named.
        occupancies: Cycles that one operation holds its resources; 1 if not named.
        resources: The machine.
        registers: Its registers, where they are known.
    """

    name: str
    latencies: Mapping[OpKind, int]
    occupancies: Mapping[OpKind, int]
    resources: tuple[Resource, ...]
    registers: RegisterFile | None = None

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
    """The profile ``unit``, or that of ``target`` for a loop; with the author's costs.

    Raises:
        UserError: WV0801 for another name than ``unit``, ``target`` or that of the
            target; WV0822 for costs that no machine has.
    """
    if name not in {"unit", "target", target.name}:
        raise unknown_name("cost profile", name, ("unit", "target", target.name))
    found = unit_profile() if name == "unit" else _of_target(loop, target)
    found = replace(found, registers=target.registers)
    return _with_own_costs(found, region_of(loop).graph)


def _of_target(loop: Iterate, target: Target) -> CostProfile:
    """The profile of a machine, for the matrix instruction that a loop uses."""
    cycles = target.costs.mma_cycles
    for op in loop.body.ops:
        if isinstance(op, Mma) and op.mma_type is not None:
            dtype = op.lhs.register_type.dtype
            row = target.matrix_instruction(op.mma_type, op.location, dtype)
            cycles = row.issues * row.cycles if row.cycles else cycles
    return target_profile(target, cycles)


def _with_own_costs(profile: CostProfile, graph: Graph) -> CostProfile:
    """A profile with what the author binds `MMA_DELAY`, `MMA_UNITS` and the like to."""
    bound = {str(symbol): value for symbol, value in graph.bindings.items()}
    names = {kind: f"${kind.name}_DELAY" for kind in OpKind}
    latencies = {
        kind: _checked(name, bound[name], 0, graph)
        for kind, name in names.items()
        if name in bound
    }
    machine = tuple(
        replace(row, units=_checked(f"${row.name}", bound[f"${row.name}"], 1, graph))
        if f"${row.name}" in bound
        else row
        for row in profile.resources
    )
    return replace(
        profile, latencies={**profile.latencies, **latencies}, resources=machine
    )


def _checked(name: str, value: int, least: int, graph: Graph) -> int:
    """A cost that the author gives.

    Raises:
        UserError: WV0822 outside ``least`` to `MAX_INTERVAL`.
    """
    if least <= value <= MAX_INTERVAL:
        return value
    raise user_error(
        "WV0822",
        f"`{name.lstrip('$')}` is bound to {value}",
        at=graph.location,
        label="this kernel",
        help=f"schedulers take costs from {least} to {MAX_INTERVAL}",
    )


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
