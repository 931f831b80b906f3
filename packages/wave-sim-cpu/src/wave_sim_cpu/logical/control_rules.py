"""Regions on whole tiles: their ops, loops, conditions, symbols and breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints.machine import induction_symbol
from wave_core.diagnostics import user_error
from wave_core.ops.base import Op
from wave_core.ops.traits import Trait
from wave_core.symbols import as_expr
from wave_sim_cpu import codes
from wave_sim_cpu.journal import Tensor, named_values
from wave_sim_cpu.lanes.control import still_going
from wave_sim_cpu.logical import tile_rules
from wave_sim_cpu.logical.memory_rules import shape_of
from wave_sim_cpu.logical.state import condition_over, spread

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol
    from wave_core.ops.structure import GetResult
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.logical.state import Dims, State, TileRule


def run_body(
    op: Iterate | Conditional,
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
    dims: Dims = ()
    if op.condition is not None:
        dims = shape_of(op.condition)
        bits = state.values[op.condition.ident] != 0
    else:
        assert op.expr is not None, "a condition or a relation"
        bits = np.atleast_1d(np.asarray(state.uniform(op.expr)) != 0)
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
    data = state.values[op.value.ident].astype(np.int64)
    value = np.broadcast_to(data.reshape(data.shape[0], -1)[:, 0], state.units.count)
    active = state.active(())
    before = state.get(op.symbol)
    if active is not None and before is not None:
        value = np.where(active, value, spread(before, 1))
    state.set(op.symbol, value)


def ignore(op: Op, state: State) -> None:
    """Barriers and hints: tiles of all waves advance together."""


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
    extents = tuple(_extent(dim, state) for dim in dims)
    tensor = Tensor(tuple(map(str, dims)), extents, data.dtype)
    tensor.enter(index, data, held)
    return tensor


def _extent(dim: Expr, state: State) -> int:
    return int(np.max(state.uniform(state.launch.geometry.extent(str(dim)))))
