"""Layout rules: what an op's value follows from, and what it demands of operands.

Layouts are keyed by dimension name, so a permutation changes nothing and a value
with fewer dimensions takes the projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.matrix import dims_of
from wave_core.builtin.distribute.placements import project
from wave_core.ir import Placement, Region, resolve, walk
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce
from wave_core.ops.relayout import Relayout
from wave_core.ops.structure import Argument, GetResult, Yield
from wave_core.ops.traits import Trait
from wave_core.symbols import Layout
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wave_core.builtin.distribute.matrix import MatrixPlacements
    from wave_core.ops.base import Op

    Known = Callable[[Op], Placement | None]


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


def supply(
    op: Op, known: Known, matrix: Mapping[Mma, MatrixPlacements]
) -> Placement | None:
    """The placement that ``op`` gives its value, from what is known of operands."""
    if isinstance(op, Mma):
        return matrix[op].acc
    if isinstance(op, Reduce):
        return _reduced(op, known)
    if isinstance(op, Relayout):
        return None
    if spreads(op):
        return _from_operands(op, known)
    if isinstance(op, GetResult) and isinstance(op.source, Conditional):
        terminator = op.source.body.terminator
        return None if terminator is None else known(terminator.operands[op.position])
    if isinstance(op, Argument) and op.role == "carried":
        return _from_yield(op, known)
    return None


def _reduced(op: Reduce, known: Known) -> Placement | None:
    for source in op.sources:
        placement = known(source)
        if placement is not None:
            return project(placement, set(dims_of(source)) - {str(op.dim)})
    return None


def _from_operands(op: Op, known: Known) -> Placement | None:
    dims = set(dims_of(op))
    for value in op.operands:
        if is_tile(value) and set(dims_of(value)) == dims:
            placement = known(value)
            if placement is not None:
                return placement
    return None


def _from_yield(argument: Argument, known: Known) -> Placement | None:
    region = argument.owner
    assert isinstance(region, Region), "an argument belongs to a region"
    terminator = region.terminator
    if terminator is None:
        return None
    return known(terminator.operands[region.arguments.index(argument)])


def demands(
    op: Op, known: Known, matrix: Mapping[Mma, MatrixPlacements]
) -> Iterator[tuple[int, Placement]]:
    """What ``op`` needs of its operands: position in ``operands``, and placement."""
    if isinstance(op, Mma):
        rows = matrix[op]
        yield from enumerate((rows.lhs, rows.rhs, rows.acc))
    elif isinstance(op, Reduce):
        yield from _reduce_demands(op, known)
    elif spreads(op):
        yield from _spread_demands(op.operands, known(op), 0)
    elif isinstance(op, Read):
        yield from _spread_demands(op.indices, known(op), 1)
    elif isinstance(op, Write):
        yield from _spread_demands(op.indices, known(op.value), 2)
    elif isinstance(op, Iterate):
        yield from _matching(op.inits, op.body.arguments, known, 0)
    elif isinstance(op, Yield):
        yield from _yield_demands(op, known)
    elif isinstance(op, Conditional):
        yield from _condition_demand(op, known)
        first = len(op.operands) - len(op.else_values)
        yield from _matching(op.else_values, _results(op), known, first)


def acting_values(op: Conditional) -> Iterator[Op]:
    """What lanes act on where the condition holds: values written, and results."""
    yield from (each.value for each in walk(op.body) if isinstance(each, Write))  # pyright: ignore[reportArgumentType] - a Region
    terminator = op.body.terminator
    if terminator is not None:
        yield from terminator.operands


def _condition_demand(op: Conditional, known: Known) -> Iterator[tuple[int, Placement]]:
    """A lane decides about the elements that it acts on itself."""
    condition = op.condition
    if condition is None or not dims_of(condition):
        return
    for value in acting_values(op):
        placement = known(value)
        if placement is not None:
            yield 0, project(placement, dims_of(condition))
            return


def _spread_demands(
    values: tuple[Op, ...], placement: Placement | None, first: int
) -> Iterator[tuple[int, Placement]]:
    if placement is None:
        return
    for position, value in enumerate(values, first):
        if is_tile(value):
            yield position, project(placement, dims_of(value))


def _reduce_demands(op: Reduce, known: Known) -> Iterator[tuple[int, Placement]]:
    first = next((p for s in op.sources if (p := known(s)) is not None), None)
    if first is not None:
        yield from ((position, first) for position in range(len(op.sources)))
    result = known(op)
    if op.init is not None and result is not None:
        yield len(op.sources), result


def _matching(
    values: tuple[Op, ...], targets: tuple[Op, ...], known: Known, first: int
) -> Iterator[tuple[int, Placement]]:
    """Each value needs the placement of the target that receives it."""
    pairs = zip(values, targets, strict=False)
    for position, (value, target) in enumerate(pairs, first):
        placement = known(target)
        if placement is not None and is_tile(value):
            yield position, placement


def _yield_demands(op: Yield, known: Known) -> Iterator[tuple[int, Placement]]:
    region = op.owner
    assert isinstance(region, Region), "a terminator belongs to a region"
    if isinstance(region.parent, Iterate):
        yield from _matching(op.values, region.arguments, known, 0)
    elif isinstance(region.parent, Conditional):
        yield from _matching(op.values, _results(region.parent), known, 0)


def _results(op: Conditional) -> tuple[Op, ...]:
    """The results of ``op`` that anything uses, in order of position."""
    found = {user.position: user for user in op.users if isinstance(user, GetResult)}
    return tuple(found.get(i, op) for i in range(len(op.else_values)))
