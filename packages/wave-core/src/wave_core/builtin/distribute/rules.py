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

from wave_core.analysis.matrix import dims_of
from wave_core.builtin.distribute.placements import project
from wave_core.ir import Placement, region_of, resolve, walk
from wave_core.ops.base import Op
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce
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
    of the values it carries.
    """
    op = resolve(op)
    if isinstance(op, GetResult) and isinstance(op.source, Iterate):
        return op.source.body.arguments[op.position]
    return op


def spreads(op: Op) -> bool:
    """Whether the layout of the value follows its operands' by dimension name."""
    return op.has(Trait.ELEMENTWISE) or op.has(Trait.FOLLOWS_OPERANDS)


def trivial(op: Op, lanes: int) -> Placement | None:
    """The placement of a value without dimensions: every lane holds it."""
    if is_tile(op) and not dims_of(op):
        return Placement(Layout.make(lanes, 1, {}))
    return None


def _is_carried(op: Op) -> bool:
    return isinstance(op, Argument) and op.role == "carried"


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
            return project(placement, set(dims_of(source)) - {str(op.dim)})
    return None


@supplies(Op, when=spreads)
def supply_from_operands(op: Op, solver: Solver) -> Placement | None:
    """That of the first operand with all the dimensions of the value."""
    dims = set(dims_of(op))
    for value in op.operands:
        if is_tile(value) and set(dims_of(value)) == dims:
            placement = solver.known(value)
            if placement is not None:
                return placement
    return None


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
    yield from enumerate((rows.lhs, rows.rhs, rows.acc))


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


@demands(Op, when=spreads)
def demand_spread(op: Op, solver: Solver) -> Demands:
    """The value's placement, projected on the dimensions of each operand."""
    yield from _spread(op.operands, solver.known(op), 0)


@demands(Read)
def demand_read(op: Read, solver: Solver) -> Demands:
    """Index registers sit where the elements do that they address."""
    yield from _spread(op.indices, solver.known(op), 1)


@demands(Write)
def demand_write(op: Write, solver: Solver) -> Demands:
    """Index registers sit where the elements do that they address."""
    yield from _spread(op.indices, solver.known(op.value), 2)


@demands(Iterate)
def demand_inits(op: Iterate, solver: Solver) -> Demands:
    """First values sit where the carried ones do."""
    yield from _matching(op.inits, op.body.arguments, solver, 0)


@demands(Yield)
def demand_yielded(op: Yield, solver: Solver) -> Demands:
    """Yielded values sit where the next iteration, or the result, has them."""
    region = region_of(op)
    if isinstance(region.parent, Iterate):
        yield from _matching(op.values, region.arguments, solver, 0)
    elif isinstance(region.parent, Conditional):
        yield from _matching(op.values, _results(region.parent), solver, 0)


@demands(Conditional)
def demand_conditional(op: Conditional, solver: Solver) -> Demands:
    """A lane decides about the elements that it acts on itself."""
    condition = op.condition
    if condition is not None and dims_of(condition):
        acting = (solver.known(value) for value in acting_values(op))
        placement = next((each for each in acting if each is not None), None)
        if placement is not None:
            yield 0, project(placement, dims_of(condition))
    first = len(op.operands) - len(op.else_values)
    yield from _matching(op.else_values, _results(op), solver, first)


def acting_values(op: Conditional) -> Iterator[Op]:
    """Values that lanes act on where the condition holds: written ones, and results."""
    yield from (each.value for each in walk(op.body) if isinstance(each, Write))
    terminator = op.body.terminator
    if terminator is not None:
        yield from terminator.operands


def _spread(values: tuple[Op, ...], placement: Placement | None, first: int) -> Demands:
    if placement is None:
        return
    for position, value in enumerate(values, first):
        if is_tile(value):
            yield position, project(placement, dims_of(value))


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
