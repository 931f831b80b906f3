"""Layout rules: what an op's value follows from, and what it demands of operands.

Two tables by op class, which plugins extend: a rule under `supplies` gives the
placement of the op's value, from what the solver knows of its operands, or ``None``
while they are unknown; one under `demands` gives what the op needs of its operands,
each as position in ``operands`` and placement.

Layouts are keyed by dimension name, so a permutation changes nothing and a value
with fewer dimensions takes the projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.builtin.distribute.placements import project
from wave_core.builtin.distribute.widths import operand_of, result_of
from wave_core.ir import Placement, region_of, resolve, walk
from wave_core.ops.atomic import Atomic
from wave_core.ops.base import Op
from wave_core.ops.control import Conditional, Iterate, Loop, While
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce
from wave_core.ops.scan import Along
from wave_core.ops.shape import Bitcast, Squeeze
from wave_core.ops.structure import Argument, GetResult, Yield
from wave_core.ops.traits import Trait
from wave_core.passes.tile_rules import demands, supplies
from wave_core.symbols import Layout
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.builtin.distribute.solve import Solver

    Demands = Iterator[tuple[int, Placement]]


def is_tile(op: Op) -> bool:
    """Whether ``op`` defines a register value."""
    return isinstance(op.type, RegisterType)


def variable(op: Op) -> Op:
    """The op that stands for the layout of ``op``.

    A captured value is the value itself; the results of a loop have the layout
    of the values it carries, all of an op along a dim that of its first source.
    """
    op = resolve(op)
    if isinstance(op, GetResult) and isinstance(op.source, Iterate | While):
        return op.source.body.arguments[op.position]
    along = op.source if isinstance(op, GetResult) else None
    if isinstance(op, Argument) and op.role == "carried":
        along = region_of(op).parent
    return variable(along.sources[0]) if isinstance(along, Along) else op


def spreads(op: Op) -> bool:
    """Whether the layout of the value follows its operands' by dimension name."""
    return op.has(Trait.ELEMENTWISE) or op.has(Trait.FOLLOWS_OPERANDS)


def trivial(op: Op, lanes: int) -> Placement | None:
    """The placement of a value without dimensions: every lane holds it."""
    if is_tile(op) and not op.register_type.dims:
        return Placement(Layout.make(lanes, 1, {}))
    return None


def _is_carried(op: Op) -> bool:
    carried = isinstance(op, Argument) and op.role == "carried"
    return carried and not isinstance(region_of(op).parent, Along)


@supplies(Mma)
def supply_matrix(op: Mma, solver: Solver) -> Placement:
    """The accumulator's row of the instruction, whatever the operands are."""
    return solver.matrix[op].acc


@supplies(Reduce)
def supply_reduced(op: Reduce, solver: Solver) -> Placement | None:
    """The sources' placement without the reduced dimension."""
    for source in op.sources:
        placement = solver.known(source)
        if placement is not None:
            return project(placement, set(source.register_type.dims) - {str(op.dim)})
    return None


@supplies(Atomic)
def supply_before(op: Atomic, solver: Solver) -> Placement | None:
    """The old elements sit where the new ones do."""
    return solver.known(op.value)


@supplies(Op, when=spreads)
def supply_from_operands(op: Op, solver: Solver) -> Placement | None:
    """That of the first operand with all the dimensions of the value."""
    dims = set(op.register_type.dims)
    for value in op.operands:
        if is_tile(value) and set(value.register_type.dims) == dims:
            placement = solver.known(value)
            if placement is not None:
                return placement
    return None


@supplies(Squeeze)
def supply_squeezed(op: Squeeze, solver: Solver) -> Placement | None:
    """That of the value: the dims that go have one element."""
    placement = solver.known(op.value)
    return None if placement is None else project(placement, op.register_type.dims)


@supplies(Bitcast)
def supply_bits(op: Bitcast, solver: Solver) -> Placement | None:
    """That of the value, of which each register holds parts or is one."""
    placement = solver.known(op.value)
    return None if placement is None else result_of(op, placement)


@supplies(GetResult)
def supply_result(op: GetResult, solver: Solver) -> Placement | None:
    """That of the value which the conditional yields; loops are `variable`."""
    if not isinstance(op.source, Conditional):
        return None
    terminator = op.source.body.terminator
    if terminator is None:
        return None
    return solver.known(terminator.operands[op.position])


@supplies(Argument, when=_is_carried)
def supply_carried(op: Argument, solver: Solver) -> Placement | None:
    """That of the value which the next iteration gets."""
    region = region_of(op)
    terminator = region.terminator
    if terminator is None:
        return None
    return solver.known(terminator.operands[region.arguments.index(op)])


@demands(Mma)
def demand_matrix(op: Mma, solver: Solver) -> Demands:
    """The rows of the instruction."""
    rows = solver.matrix[op]
    yield from enumerate((rows.lhs, rows.rhs, rows.acc, *rows.scales))


@demands(Reduce)
def demand_reduced(op: Reduce, solver: Solver) -> Demands:
    """All sources sit alike, and the first value where the result does."""
    known = (solver.known(source) for source in op.sources)
    first = next((placement for placement in known if placement is not None), None)
    if first is not None:
        yield from ((position, first) for position in range(len(op.sources)))
    result = solver.known(op)
    if op.init is not None and result is not None:
        yield len(op.sources), result


@demands(Along)
def demand_along(op: Along, solver: Solver) -> Demands:
    """All sources sit where the first one does."""
    yield from _matching(op.sources, op.sources[:1] * len(op.sources), solver, 0)


@demands(Op, when=spreads)
def demand_spread(op: Op, solver: Solver) -> Demands:
    """The value's placement, projected on the dimensions of each operand."""
    yield from _spread(op.operands, solver.known(op), 0)


@demands(Bitcast)
def demand_bits(op: Bitcast, solver: Solver) -> Demands:
    """The value where whole elements of it make the registers of the result."""
    placement = solver.known(op)
    found = None if placement is None else operand_of(op, placement)
    if found is not None:
        yield 0, found


@demands(Read)
def demand_read(op: Read, solver: Solver) -> Demands:
    """Index registers sit where the elements do that they address."""
    yield from _spread(op.indices, solver.known(op), 1)


@demands(Write)
def demand_write(op: Write, solver: Solver) -> Demands:
    """Index registers sit where the elements do that they address."""
    yield from _spread(op.indices, solver.known(op.value), 2)


@demands(Atomic)
def demand_atomic(op: Atomic, solver: Solver) -> Demands:
    """All operands sit where the old elements do."""
    yield from _spread(op.operands, solver.known(op), 0)


@demands(Iterate, While)
def demand_inits(op: Loop, solver: Solver) -> Demands:
    """First values sit where the carried ones do."""
    yield from _matching(op.inits, op.body.arguments, solver, 0)


@demands(Yield)
def demand_yielded(op: Yield, solver: Solver) -> Demands:
    """Yielded values sit where the next iteration, or the result, has them."""
    region = region_of(op)
    if isinstance(region.parent, Iterate | While):
        yield from _matching(op.values, region.arguments, solver, 0)
    elif isinstance(region.parent, Conditional):
        yield from _matching(op.values, _results(region.parent), solver, 0)


@demands(Conditional)
def demand_conditional(op: Conditional, solver: Solver) -> Demands:
    """A lane decides about the elements that it acts on itself."""
    condition = op.condition
    if condition is not None and condition.register_type.dims:
        acting = (solver.known(value) for value in acting_values(op))
        placement = next((each for each in acting if each is not None), None)
        if placement is not None:
            yield 0, project(placement, condition.register_type.dims)
    first = len(op.operands) - len(op.else_values)
    yield from _matching(op.else_values, _results(op), solver, first)


def acting_values(op: Conditional) -> Iterator[Op]:
    """Values that lanes act on where the condition holds: written ones, and results."""
    for each in walk(op.body):
        if isinstance(each, Write | Atomic):
            yield each.value
    terminator = op.body.terminator
    if terminator is not None:
        yield from terminator.operands


def _spread(values: tuple[Op, ...], placement: Placement | None, first: int) -> Demands:
    if placement is None:
        return
    for position, value in enumerate(values, first):
        if is_tile(value):
            yield position, project(placement, value.register_type.dims)


def _matching(
    values: tuple[Op, ...], targets: tuple[Op, ...], solver: Solver, first: int
) -> Demands:
    """Each value needs the placement of the target that receives it."""
    pairs = zip(values, targets, strict=False)
    for position, (value, target) in enumerate(pairs, first):
        placement = solver.known(target)
        if placement is not None and is_tile(value):
            yield position, placement


def _results(op: Conditional) -> tuple[Op, ...]:
    """The results of ``op`` that anything uses, in order of position."""
    found = {user.position: user for user in op.users if isinstance(user, GetResult)}
    return tuple(found.get(i, op) for i in range(len(op.else_values)))
