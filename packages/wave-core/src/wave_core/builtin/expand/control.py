"""Expansion of loops and conditionals: values travel piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.loops import induction_range, stands_at
from wave_core.builtin.distribute.placements import ids_of, project
from wave_core.builtin.distribute.rules import acting_values
from wave_core.builtin.expand.scope import Scope
from wave_core.diagnostics import user_error
from wave_core.ops.control import (
    Breakpoint,
    Conditional,
    Iterate,
    Loop,
    SetSymbol,
    While,
)
from wave_core.ops.scan import Along
from wave_core.ops.structure import GetResult, Yield
from wave_core.passes.tile_rules import expands

if TYPE_CHECKING:
    from wave_core.builtin.expand.expander import Expander
    from wave_core.ops.base import Op


@expands(Iterate)
def expand_iterate(expander: Expander, op: Iterate, scope: Scope) -> None:
    """The same loop, carrying pieces."""
    assert op.induction is not None, "loops are numbered before"
    body = expander.graph.region()
    inits = [p for value in op.inits for p in expander.pieces(value, scope)]
    new = Iterate(
        tuple(inits),
        (),
        op.axis,
        op.induction,
        op.count,
        op.start,
        op.step,
        body,
    )
    expander.emit(op, new, scope)
    values = induction_range(op, expander.geometry.bind)
    assert values is not None, "loops are numbered before"
    facts = scope.facts.with_range(*values)
    inner = Scope(body, facts, {**scope.loops, str(op.axis): op.induction})
    _expand_body(expander, op, new, inner)


@expands(While)
def expand_while(expander: Expander, op: While, scope: Scope) -> None:
    """The same loop, carrying pieces; named values are scalars, of one piece."""
    body = expander.graph.region()
    inits = [p for value in op.inits for p in expander.pieces(value, scope)]
    if op.by_lane:
        _check_single(expander, op, op.inits[0])
    asked = op.condition
    condition = None if asked is None else expander.geometry.bind(asked)
    new = While(tuple(inits), (), condition, op.symbols, op.axis, body)
    expander.emit(op, new, scope)
    where = stands_at(op)
    own = {} if where is None else {str(op.axis): where}
    _expand_body(expander, op, new, Scope(body, scope.facts, {**scope.loops, **own}))


def _expand_body(expander: Expander, op: Loop, new: Loop, inner: Scope) -> None:
    for argument in op.body.arguments:
        if argument.role == "carried":
            _carry(expander, argument, inner)
    expander.region(op.body, inner)
    _record_results(expander, op, new)


def _carry(expander: Expander, argument: Op, inner: Scope) -> None:
    assert argument.type is not None, "carried values have types"
    for number, ids in enumerate(ids_of(expander.placement(argument))):
        label = f"{argument.attributes['label']}_{number}"
        new = inner.region.add_argument(
            "carried", label, argument.type, argument.location
        )
        expander.define(argument, ids, new, inner)


@expands(Conditional)
def expand_conditional(expander: Expander, op: Conditional, scope: Scope) -> None:
    """The same conditional, with pieces as results."""
    condition = op.condition
    if condition is not None:
        _check_lanes(expander, op, condition)
        condition = _condition(expander, op, condition, scope)
    body = expander.graph.region()
    others = [p for value in op.else_values for p in expander.pieces(value, scope)]
    expr = None if op.expr is None else expander.geometry.bind(op.expr)
    new = Conditional(condition, (), tuple(others), expr, body)
    expander.emit(op, new, scope)
    inner = Scope(body, scope.facts, scope.loops)
    expander.region(op.body, inner)
    _record_results(expander, op, new)


def _check_lanes(expander: Expander, op: Conditional, condition: Op) -> None:
    """Each lane has to decide about what it acts on itself.

    Raises:
        UserError: WV0321 where something is written, or results, in other lanes.
    """
    dims = condition.register_type.dims
    have = expander.placement(condition)
    for value in acting_values(op) if dims else ():
        fits = set(dims) <= set(value.register_type.dims)
        if not fits or project(expander.placement(value), dims) != have:
            raise user_error(
                "WV0321",
                "the condition sits in other lanes than what depends on it",
                at=op.location,
                label="a lane cannot decide for another one",
                secondary=[(value.location, "depends on the condition")],
                help=("use `select`, or a condition without dimensions",),
            )


def _condition(expander: Expander, op: Op, condition: Op, scope: Scope) -> Op:
    _check_single(expander, op, condition)
    return expander.piece(condition, (), scope)


def _check_single(expander: Expander, op: Op, condition: Op) -> None:
    """A lane has one element of what it decides by.

    Raises:
        UserError: WV0321.
    """
    placement = expander.placement(condition)
    if placement.steps or placement.layout.registers != 1:
        raise user_error(
            "WV0321",
            "the condition has several elements in a lane",
            at=op.location,
            label="a lane cannot both run and not run",
            secondary=[(condition.location, "this is a whole tile")],
            help=("reduce the condition, or use `select`",),
        )


@expands(Yield)
def expand_yield(expander: Expander, op: Yield, scope: Scope) -> None:
    """All pieces of all yielded values, in order."""
    pieces = [p for value in op.operands for p in expander.pieces(value, scope)]
    expander.emit(op, Yield(tuple(pieces)), scope)


def _record_results(expander: Expander, old: Op, new: Op) -> None:
    """Note at which result of ``new`` the pieces of each result of ``old`` start."""
    terminator = old.regions[0].terminator
    assert terminator is not None, "regions end with a yield"
    first: list[int] = []
    position = 0
    for value in terminator.operands:
        first.append(position)
        position += sum(1 for _ in ids_of(expander.placement(value)))
    expander.results[old] = (new, tuple(first))


@expands(GetResult)
def expand_result(expander: Expander, op: GetResult, scope: Scope) -> None:
    """One result of the new op for each piece; scans and sorts define their own."""
    if isinstance(op.source, Along):
        return
    new, first = expander.results[op.source]
    for number, ids in enumerate(ids_of(expander.placement(op))):
        position = first[op.position] + number
        result = expander.emit(op, GetResult(new, position), scope)
        expander.define(op, ids, result, scope)


@expands(SetSymbol)
def expand_set_symbol(expander: Expander, op: SetSymbol, scope: Scope) -> None:
    """The value is one register."""
    piece = expander.pieces(op.value, scope)[0]
    expander.emit(op, SetSymbol(piece, op.symbol), scope)


@expands(Breakpoint)
def expand_breakpoint(expander: Expander, op: Breakpoint, scope: Scope) -> None:
    """All pieces, each under the label of its value."""
    values: list[Op] = []
    labels: list[str] = []
    for value, label in zip(op.values, op.labels, strict=True):
        pieces = expander.pieces(value, scope)
        values.extend(pieces)
        labels.extend([label] * len(pieces))
    expander.emit(op, Breakpoint(tuple(values), tuple(labels)), scope)
