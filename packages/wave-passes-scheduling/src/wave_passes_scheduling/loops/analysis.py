"""Loops of the lowered graph, and a loop as a scheduling problem."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import ACCESS, PLACEMENT, region_of, resolve
from wave_core.ops.control import Iterate, While
from wave_core.ops.matrix import SharedTile
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.structure import Argument
from wave_core.types import RegisterType
from wave_passes_scheduling.loops.costs import OpKind, kind_of, unit_profile
from wave_passes_scheduling.loops.order import accesses_in, order_rows
from wave_passes_scheduling.modulo.schedule import Schedule
from wave_passes_scheduling.problem import Dependence, LoopProblem, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wave_core.analysis.dependences.accesses import SharedAccess
    from wave_core.analysis.dependences.derive import Dependences
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_passes_scheduling.loops.costs import CostProfile

FAR = 8
"""Iterations over which dependences through LDS are told apart one by one."""


ADDRESSES = 24
"""Registers of a lane for addresses, and for what else loops need beside values."""


@dataclass(frozen=True)
class ScheduledLoop:
    """A loop and its problem; task ``i`` is ``ops[i]``."""

    loop: Iterate
    ops: tuple[Op, ...]
    kinds: tuple[OpKind, ...]
    problem: LoopProblem


def analyse(
    graph: Graph,
    loop: Iterate,
    known: Dependences,
    profile: CostProfile,
    spare: int = 0,
) -> ScheduledLoop:
    """The problem of scheduling a loop's body.

    Values depend on what makes them, over as many iterations as they are carried;
    accesses of LDS on those that `Dependences` cannot tell apart; accesses of one
    global memory on each other if one writes; what the author ordered stays where it
    is, but for fences between reads of what nobody writes. Of the registers, ``spare``
    are left to others.
    """
    body = loop.body
    ops = tuple(op for op in body.ops if op is not body.terminator)
    kinds = tuple(kind_of(op) for op in ops)
    number = {op: i for i, op in enumerate(ops)}
    names = op_names(ops)
    tasks = tuple(
        _task(graph, op, names[op], kind, profile)
        for op, kind in zip(ops, kinds, strict=True)
    )
    latencies = [profile.latency(kind) for kind in kinds]
    edges = [
        *_values(loop, ops, number, latencies),
        *_shared(graph, loop, known, number, latencies),
        *_ordered(graph, ops),
    ]
    rows = _strongest(edges)
    file, waves = profile.registers, known.geometry.groups_in_step
    held = _held(graph, loop)
    if file is not None and file.conditions:
        held += _conditions(graph, loop)
    # Values take neighbours: of a full file, some registers stay without use.
    room = None if file is None else file.limit(waves) - file.granule - spare
    (move,) = profile.uses(OpKind.VALU)
    problem = LoopProblem(
        tasks, profile.resources, rows, profile.name, held=held, room=room, move=move
    )
    return ScheduledLoop(loop, ops, kinds, problem)


def registers_in_order(graph: Graph, loop: Iterate, ops: Sequence[Op]) -> int:
    """Registers of a lane that are alive at once where a body has this order."""
    numbers = {op: i for i, op in enumerate(ops)}
    profile = unit_profile()
    tasks = [_task(graph, op, op.op_name, kind_of(op), profile) for op in ops]
    rows = tuple(_values(loop, tuple(ops), numbers, [0] * len(ops)))
    problem = LoopProblem(
        tuple(tasks), profile.resources, rows, held=_held(graph, loop)
    )
    return Schedule(problem, len(ops), tuple(range(len(ops)))).pressure()


def _held(graph: Graph, loop: Iterate) -> int:
    """Registers that are taken throughout a loop."""
    return ADDRESSES + sum(_registers(graph, op) for op in _from_before(loop))


def _conditions(graph: Graph, loop: Iterate) -> int:
    """Registers for the conditions under which a body's accesses touch memory.

    One that changes with the iteration takes two: what stays of it, and what it is now.
    Of a box the machine knows what exists.
    """
    rows = (graph.facts.get(ACCESS, op) for op in loop.body.ops if not _is_box(op))
    masks = {row.mask for row in rows if row is not None and row.mask is not None}
    return sum(1 + (loop.induction in mask.free_symbols) for mask in masks)


def _is_box(op: Op) -> bool:
    return isinstance(op, GatherToLDS) and bool(op.box)


def _task(graph: Graph, op: Op, name: str, kind: OpKind, profile: CostProfile) -> Task:
    view = kind is OpKind.NOOP
    return Task(name, str(kind), profile.uses(kind), _registers(graph, op), view)


def _from_before(loop: Iterate) -> dict[Op, None]:
    """The values that a loop uses and does not change; views as what they show."""
    found: dict[Op, None] = {}
    waiting = [resolve(value) for value in loop.captures]
    while waiting:
        op = waiting.pop()
        if kind_of(op) is OpKind.NOOP:
            waiting += [resolve(value) for value in op.operands]
        else:
            found[op] = None
    return found


def op_names(ops: Iterable[Op]) -> dict[Op, str]:
    """A name for each op: what it is, and which of these it is: ``read_3``."""
    seen: Counter[str] = Counter()
    found: dict[Op, str] = {}
    for op in ops:
        found[op] = f"{op.op_name}_{seen[op.op_name]}"
        seen[op.op_name] += 1
    return found


def _registers(graph: Graph, op: Op) -> int:
    """Registers of 32 bits a lane that the value of ``op`` takes.

    A tile that products read where it is in LDS takes none.
    """
    placement = graph.facts.get(PLACEMENT, op)
    if placement is None or not isinstance(op.type, RegisterType):
        return 0
    if isinstance(op, SharedTile):
        return 0
    return -(-placement.layout.registers * op.type.dtype.bits // 32)


def _values(
    loop: Iterate,
    ops: tuple[Op, ...],
    number: Mapping[Op, int],
    latencies: list[int],
) -> Iterator[Dependence]:
    for op in ops:
        for value in op.operands:
            source, distance = _origin(loop, value)
            if source is not None and source in number:
                reason = "carried" if distance else "data"
                first = number[source]
                yield Dependence(first, number[op], latencies[first], distance, reason)


def _origin(loop: Iterate, value: Op) -> tuple[Op | None, int]:
    """The op of the body that makes a value, and how many iterations earlier."""
    arguments = loop.body.arguments
    for distance in range(len(arguments) + 1):
        if not isinstance(value, Argument):
            return value, distance
        position = arguments.index(value)
        if position >= len(loop.inits):
            return None, 0
        value = loop.body.end.operands[position]
    # Values that only go round: they come from before the loop.
    return None, 0


def _shared(
    graph: Graph,
    loop: Iterate,
    known: Dependences,
    number: Mapping[Op, int],
    latencies: list[int],
) -> Iterator[Dependence]:
    """Dependences through LDS: the order of accesses that may touch one byte."""
    inside = [(access, number[op]) for access, op in accesses_in(graph, number)]
    for source, first in inside:
        for sink, second in inside:
            if not source.conflicts(sink):
                continue
            latency = latencies[first] if source.writes else 0
            if first < second and known.reach(source, sink):
                yield Dependence(first, second, latency, 0, "memory")
            distance = _distance(known, source, sink, loop)
            if distance:
                yield Dependence(first, second, latency, distance, "memory")


def _distance(
    known: Dependences, source: SharedAccess, sink: SharedAccess, loop: Iterate
) -> int:
    """The nearest later iteration in which ``sink`` depends on ``source``; or 0."""
    if not (known.moves(source, loop) or known.moves(sink, loop)):
        # Both touch the same bytes in every iteration.
        return 1 if known.reach(source, sink, loop, 1) else 0
    for distance in range(1, FAR):
        if known.reach(source, sink, loop, distance):
            return distance
    return 2 if known.reach_beyond(source, sink, loop) else 0


def _ordered(graph: Graph, ops: tuple[Op, ...]) -> Iterator[Dependence]:
    """The order of what touches one global memory, or was ordered by the author."""
    bound = [(i, row) for i, row in enumerate(order_rows(graph, ops)) if row.bound]
    for first, one in bound:
        for second, other in bound:
            if one.keeps(other):
                distance = 0 if first < second else 1
                yield Dependence(first, second, int(first != second), distance, "order")


def _strongest(edges: list[Dependence]) -> tuple[Dependence, ...]:
    """One dependence for each pair and distance: the longest."""
    found: dict[tuple[int, int, int], Dependence] = {}
    for edge in edges:
        key = edge.source, edge.target, edge.distance
        if key not in found or found[key].latency < edge.latency:
            found[key] = edge
    return tuple(found.values())


def innermost_loops(graph: Graph) -> list[Iterate]:
    """The counted loops without a loop in them."""
    loops = [op for op in graph.walk() if isinstance(op, Iterate | While)]
    outer = {op for loop in loops for op in region_of(loop).around}
    return [op for op in loops if isinstance(op, Iterate) and op not in outer]
