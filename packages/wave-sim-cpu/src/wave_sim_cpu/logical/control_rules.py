"""Regions on whole tiles: their ops, loops, conditions, symbols and breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.loops import deciding_values, looks_at_others, stands_at
from wave_core.constraints.machine import induction_symbol
from wave_core.diagnostics import user_error
from wave_core.ops.base import Op
from wave_core.ops.control import symbols_set_by
from wave_core.ops.traits import Trait
from wave_core.symbols import as_expr
from wave_sim_cpu import codes
from wave_sim_cpu.journal import Tensor, named_values
from wave_sim_cpu.lanes.control import endless, still_going
from wave_sim_cpu.logical import tile_rules
from wave_sim_cpu.logical.memory_rules import shape_of
from wave_sim_cpu.logical.state import Dims, State, TileRule, condition_over, spread
from wave_sim_cpu.together import stay

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.ops.control import (
        Breakpoint,
        Conditional,
        Iterate,
        Loop,
        SetSymbol,
        While,
    )
    from wave_core.ops.scan import Along
    from wave_core.ops.structure import GetResult
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits


def run_body(
    op: Loop | Conditional | Along,
    carried: tuple[Array, ...],
    state: State,
) -> tuple[Array, ...]:
    """Execute the region of ``op`` once; what it yields."""
    body = op.body
    arguments = body.arguments
    own = [a for a in arguments if a.role == "carried"]
    captured = [a for a in arguments if a.role == "capture"]
    for argument, value in zip(own, carried, strict=True):
        state.values[argument.ident] = value
    for argument, outer in zip(captured, op.captures, strict=True):
        if outer.ident in state.values:
            state.values[argument.ident] = state.values[outer.ident]
    with state.own({s for each in body.ops for s in symbols_set_by(each)}):
        run_region(body, state)
    return tuple(state.values[v.ident] for v in body.end.operands)


def iterate(op: Iterate, state: State) -> None:
    """A loop; units whose trip count is reached keep their values."""
    axis = str(op.axis)
    depth = sum(1 for name in state.loops if name == axis)
    induction = op.induction
    if induction is None:
        induction = induction_symbol(axis, depth)
    geometry = state.launch.geometry
    count = op.count if op.count is not None else geometry.trip_count(axis, op.location)
    trips = state.uniform(geometry.bind(count))
    first = state.uniform(as_expr(op.start))
    values = tuple(state.values[v.ident] for v in op.inits)
    most = int(np.max(trips)) if state.units.count else 0
    for iteration in range(max(0, most)):
        state.set(induction, first + iteration * op.step)
        going = still_going(trips, iteration)
        with state.inside(axis, induction), state.where(going, ()):
            new = run_body(op, values, state)
        values = _kept(going, (), new, values, [shape_of(v) for v in op.inits])
    state.results[op.ident] = values


def while_loop(op: While, state: State) -> None:
    """A loop; units, or elements, whose condition fails keep their values."""
    where = stands_at(op)
    relation = op.condition
    if relation is not None:
        relation = state.launch.geometry.bind(relation)
    dims = () if relation is not None else shape_of(op.inits[0])
    values = tuple(state.values[v.ident] for v in op.inits)
    shapes = [shape_of(v) for v in op.inits]
    looks = looks_at_others(op)
    deciding = None if looks else deciding_values(op)
    waits = stay(state.strand if looks else None, op, state.buffers)
    while True:
        for symbol, value in zip(op.symbols, values, strict=False):
            _set(symbol, value, state)
        going = _holds(relation, values[0] if values else None, state)
        with (
            state.inside(str(op.axis), where),
            state.where(None if going.all() else going, dims),
        ):
            active = state.active(dims)
            if not going.any() or (active is not None and not active.any()):
                break
            waits(values)
            state.journal.count_step(op)
            new = run_body(op, values, state)
            if deciding is not None and all(
                np.array_equal(new[i], values[i]) for i in deciding
            ):
                raise endless(op)
        values = _kept(going, dims, new, values, shapes)
    state.results[op.ident] = values


def _holds(relation: Expr | None, value: Array | None, state: State) -> Bits:
    """Where a relation of symbols holds or, without one, a value does."""
    if relation is not None:
        return np.atleast_1d(np.asarray(state.uniform(relation)) != 0)
    assert value is not None, "a condition or a relation"
    return value != 0


def _kept(
    bits: Bits | None,
    dims: Dims,
    new: tuple[Array, ...],
    old: tuple[Array, ...],
    shapes: list[Dims],
) -> tuple[Array, ...]:
    if bits is None:
        return new
    return tuple(
        np.where(condition_over(bits, dims, shape), n, o)
        for n, o, shape in zip(new, old, shapes, strict=True)
    )


def conditional(op: Conditional, state: State) -> None:
    """A body for the elements where a condition holds."""
    condition = op.condition
    dims: Dims = () if condition is None else shape_of(condition)
    value = None if condition is None else state.values[condition.ident]
    bits = _holds(op.expr, value, state)
    otherwise = tuple(state.values[v.ident] for v in op.else_values)
    if not bits.any():
        state.results[op.ident] = otherwise
        return
    with state.where(None if bits.all() else bits, dims):
        new = run_body(op, (), state)
    shapes = [shape_of(v) for v in op.else_values]
    state.results[op.ident] = _kept(bits, dims, new, otherwise, shapes)


def get_result(op: GetResult, state: State) -> None:
    """A result of a loop or a condition."""
    state.values[op.ident] = state.results[op.source.ident][op.position]


def set_symbol(op: SetSymbol, state: State) -> None:
    """A symbol takes the value of a scalar, unit by unit."""
    _set(op.symbol, state.values[op.value.ident], state)


def _set(symbol: Expr, given: Array, state: State) -> None:
    data = given.astype(np.int64)
    value = np.broadcast_to(data.reshape(data.shape[0], -1)[:, 0], state.units.count)
    active = state.active(())
    before = state.get(symbol)
    if active is not None and before is not None:
        value = np.where(active, value, spread(before, 1))
    state.set(symbol, value)


def ignore(op: Op, state: State) -> None:
    """Waits and hints: tiles of all waves advance together."""


def barrier(op: Op, state: State) -> None:
    """All waves have come; only whether they did is looked at."""
    dims = dict.fromkeys(dim for _, dims in state.conditions for dim in dims)
    state.meetings.met(op, state.active(tuple(dims)))


def run_region(region: Region, state: State) -> None:
    """Execute the ops of ``region`` in order, its terminator left out."""
    for op in region.ops:
        if not op.has(Trait.TERMINATOR):
            state.journal.count_step(op)
            _rule(op, state)(op, state)


def _rule(op: Op, state: State) -> TileRule:
    found = state.rules.find(op)
    if found is None and type(op).evaluate is not Op.evaluate:
        return tile_rules.evaluated
    if found is None:
        raise user_error(
            codes.UNSUPPORTED_OP,
            f"whole tiles cannot execute `{op.op_name}`",
            at=op.location,
            notes=state.rules.reasons(op),
            help=("simulate the lowered graph on lanes",),
        )
    return found


def breakpoint_op(op: Breakpoint, state: State) -> None:
    """Keep a snapshot, and show it to the handler of the options."""
    tensors = {label: _tensor(value, state) for label, value in named_values(op)}
    iterations = {str(s): state.get(s) for s in state.loops.values()}
    loops = {name: int(i) for name, i in iterations.items() if i is not None}
    state.journal.stop(op, tensors, loops, state.units)


def _tensor(value: Op, state: State) -> Tensor:
    dims = shape_of(value)
    rank = 1 + len(dims)
    index = [state.index(dim, rank, 1 + axis) for axis, dim in enumerate(dims)]
    full = (state.units.count, *(state.tile(dim) for dim in dims))
    data = np.broadcast_to(state.values[value.ident], full)
    active = state.active(dims)
    held = np.ones((1,) * rank, np.bool_) if active is None else active
    known = [state.launch.geometry.extent(str(dim)) for dim in dims]
    extents = tuple(int(np.max(state.uniform(extent))) for extent in known)
    tensor = Tensor(tuple(map(str, dims)), extents, data.dtype)
    tensor.enter(index, data, held)
    return tensor
