"""Loops, conditions, results of both, symbols that change, and breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.analysis.loops import deciding_values, looks_at_others
from wave_core.diagnostics import simulation_error
from wave_core.ir.facts import PLACEMENT
from wave_core.ops.control import symbols_set_by
from wave_core.symbols import as_expr
from wave_sim_cpu import codes
from wave_sim_cpu.journal import Tensor, named_values
from wave_sim_cpu.lanes.access import report_poison
from wave_sim_cpu.lanes.program import Program, Step, not_lowered, run_steps
from wave_sim_cpu.lanes.value import Value, where
from wave_sim_cpu.launch import coordinates
from wave_sim_cpu.together import stay

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.ops.control import (
        Breakpoint,
        Conditional,
        Iterate,
        Loop,
        SetSymbol,
        While,
    )
    from wave_core.ops.structure import GetResult
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.expressions import Linear, Number
    from wave_sim_cpu.lanes.machine import Machine


class _Body:
    """The region of a loop or a condition; symbols set in it hold to its end."""

    def __init__(self, op: Loop | Conditional, program: Program) -> None:
        region = op.body
        self._sets = {s for each in region.ops for s in symbols_set_by(each)}
        arguments = region.arguments
        self._steps = program.steps(region)
        self._carried = [a.ident for a in arguments if a.role == "carried"]
        captured = [a.ident for a in arguments if a.role == "capture"]
        self._captures = list(zip(captured, op.captures, strict=True))
        self._yields = region.end.operands

    def capture(self, machine: Machine) -> None:
        """Show the body the values that it captures."""
        for ident, outer in self._captures:
            if outer.ident in machine.values:
                machine.values[ident] = machine.values[outer.ident]

    def run(self, machine: Machine, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        """Execute once; the values yielded."""
        for ident, value in zip(self._carried, carried, strict=True):
            machine.values[ident] = value
        env = machine.env
        before = {s: env.value(s) for s in self._sets if s in env}
        run_steps(self._steps, machine)
        for symbol, number in before.items():
            env.set(symbol, number)
        return tuple([machine.value(v) for v in self._yields])


def iterate(op: Iterate, program: Program) -> Step:
    """A loop; waves whose trip count is reached keep their values."""
    if op.count is None or op.induction is None:
        raise not_lowered(op)
    body = _Body(op, program)
    count, start = program.linear(op.count), program.linear(as_expr(op.start))
    inits, induction, advance = op.inits, op.induction, op.step

    def step(machine: Machine) -> None:
        trips = count.array(machine.env, {})
        first = start.array(machine.env, {})
        values = tuple([machine.value(v) for v in inits])
        body.capture(machine)
        for iteration in range(_most(trips, machine)):
            going = still_going(trips, iteration)
            tile = first + iteration * advance
            machine.env.set(induction, tile)
            machine.loops[induction] = int(np.ravel(tile)[0])
            with machine.restricted(going):
                new = body.run(machine, values)
            values = new if going is None else _kept(going, new, values)
        machine.loops.pop(induction, None)
        machine.results[op.ident] = values

    return step


def while_loop(op: While, program: Program) -> Step:
    """A loop; waves, or lanes, whose condition fails keep their values."""
    body = _Body(op, program)
    relation = None if op.condition is None else program.linear(op.condition)
    inits, symbols, looks = op.inits, op.symbols, looks_at_others(op)
    deciding = None if looks else deciding_values(op)

    def step(machine: Machine) -> None:
        values = tuple([machine.value(v) for v in inits])
        body.capture(machine)
        waits = stay(machine.strand if looks else None, op, machine.buffers)
        while True:
            for symbol, value in zip(symbols, values, strict=False):
                _set(op, symbol, value, machine)
            going = _holds(op, machine, relation, values[0] if values else None)
            with machine.restricted(going):
                if machine.active is not None and not machine.active.any():
                    break
                waits([value.data for value in values])
                machine.journal.count_step(op, machine.units.count * machine.lanes)
                new = body.run(machine, values)
                if deciding is not None and all(
                    _is_equal(new[i], values[i]) for i in deciding
                ):
                    raise endless(op)
            values = _kept(going, new, values)
        machine.results[op.ident] = values

    return step


def endless(op: While) -> Exception:
    """The error that a loop stays where it is: the next iteration decides the same."""
    return simulation_error(
        "WV0140",
        "a while loop cannot end: an iteration changes nothing that decides",
        at=op.location,
        label="still holds",
        help="every iteration has to bring the condition closer to its end",
    )


def _is_equal(new: Value, old: Value) -> bool:
    return new is old or np.array_equal(new.data, old.data)


def _most(trips: Number, machine: Machine) -> int:
    """Iterations until every active wave is through."""
    if not isinstance(trips, np.ndarray):
        return max(0, int(trips))
    active = machine.active_units()
    counts = np.broadcast_to(trips.reshape(-1), active.shape)[active]
    return max(0, int(counts.max())) if counts.size else 0


def still_going(trips: Number, iteration: int) -> Bits | None:
    """The waves with so many iterations left; ``None`` if all have."""
    if not isinstance(trips, np.ndarray):
        return None
    going = trips > iteration
    return None if going.all() else going


def _kept(
    going: Bits, new: tuple[Value, ...], old: tuple[Value, ...]
) -> tuple[Value, ...]:
    return tuple([where(going, n, o) for n, o in zip(new, old, strict=True)])


def conditional(op: Conditional, program: Program) -> Step:
    """A body for the lanes where the condition holds."""
    body = _Body(op, program)
    relation = None if op.expr is None else program.linear(op.expr)
    condition, otherwise = op.condition, op.else_values

    def step(machine: Machine) -> None:
        value = None if condition is None else machine.value(condition)
        bits = _holds(op, machine, relation, value)
        values = tuple([machine.value(v) for v in otherwise])
        body.capture(machine)
        with machine.restricted(None if bits.all() else bits):
            runs = machine.active is None or bool(machine.active.any())
            new = body.run(machine, ()) if runs else ()
        machine.results[op.ident] = _kept(bits, new, values) if runs else values

    return step


def _holds(
    op: Op, machine: Machine, relation: Linear | None, value: Value | None
) -> Bits:
    """Where a relation of symbols holds or, without one, a value of each lane does."""
    if relation is not None:
        bits = np.asarray(relation.array(machine.env, {})) != 0
        return bits.reshape(bits.shape if bits.ndim else (1, 1, 1))
    assert value is not None, "a condition or a relation"
    _check_known(op, machine, value)
    return value.data[..., :1] != 0


def _check_known(op: Op, machine: Machine, value: Value) -> None:
    poison = value.poison
    if poison is None:
        return
    bits = poison.bits if machine.active is None else poison.bits & machine.active
    if bits.any():
        report_poison(op, machine, poison, "decides a condition")


def get_result(op: GetResult, _program: Program) -> Step:
    """A result of a loop or a condition."""
    source, position = op.source.ident, op.position

    def step(machine: Machine) -> None:
        machine.values[op.ident] = machine.results[source][position]

    return step


def set_symbol(op: SetSymbol, _program: Program) -> Step:
    """A symbol takes the value of a scalar, wave by wave."""

    def step(machine: Machine) -> None:
        _set(op, op.symbol, machine.value(op.value), machine)

    return step


def _set(op: Op, symbol: Expr, value: Value, machine: Machine) -> None:
    _check_known(op, machine, value)
    data = np.broadcast_to(value.data[..., :1], (*machine.shape, 1))
    active, first = None, np.zeros((1, 1, 1), np.int64)
    if machine.active is not None:
        active = np.broadcast_to(machine.active, data.shape)
        first = active.argmax(axis=1, keepdims=True)
    chosen = np.take_along_axis(data, first, axis=1)
    _check_uniform(op, machine, data, chosen, active)
    if active is not None and symbol in machine.env:
        runs = active.any(axis=1, keepdims=True)
        chosen = np.where(runs, chosen, machine.env.value(symbol))
    machine.env.set(symbol, chosen.astype(np.int64))


def _check_uniform(
    op: Op, machine: Machine, data: Bits, chosen: Bits, active: Bits | None
) -> None:
    differ = data != chosen
    if active is not None:
        differ &= active
    if not differ.any():
        return
    at = int(np.flatnonzero(differ)[0])
    _, lane, unit = coordinates(at, data.shape[::-1])
    machine.reporter.add(
        codes.NOT_UNIFORM,
        f"`{op.op_name}` needs one value for the whole wave",
        op,
        label="differs between lanes",
        notes=(f"lane {lane} of {machine.units.describe(unit)} has another value",),
        help=("reduce the value over the wave first",),
    )


class _Piece:
    """A register value and the logical index of each of its elements."""

    def __init__(self, op: Op, program: Program) -> None:
        self.op = op
        self.dims = op.register_type.dims
        placement = program.graph.facts.get(PLACEMENT, op)
        geometry = program.geometry
        self._extents = [program.linear(geometry.extent(dim)) for dim in self.dims]
        self._origins: list[Linear] = []
        self._offsets: list[Array] = []
        for dim in self.dims:
            origin = None if placement is None else placement.origin_of(dim)
            self._origins.append(
                program.linear(as_expr(0) if origin is None else origin)
            )
            offset = np.zeros((1, 1), np.int64)
            if placement is not None and dim in placement.layout.dims:
                offset = placement.layout.offsets(dim)
            self._offsets.append(offset[None])

    def extents(self, machine: Machine) -> tuple[int, ...]:
        """The extent of each dimension."""
        return tuple(int(np.max(e.array(machine.env, {}))) for e in self._extents)

    def index(self, machine: Machine) -> list[Array]:
        """For each dimension the index of every element."""
        pairs = zip(self._origins, self._offsets, strict=True)
        return [np.asarray(o.array(machine.env, {}) + shift) for o, shift in pairs]


def breakpoint_op(op: Breakpoint, program: Program) -> Step:
    """Keep a snapshot, and show it to the handler of the options."""
    pieces: dict[str, list[_Piece]] = {}
    for label, value in named_values(op):
        pieces.setdefault(label, []).append(_Piece(value, program))

    def step(machine: Machine) -> None:
        tensors = {label: _tensor(found, machine) for label, found in pieces.items()}
        loops = {str(induction): tile for induction, tile in machine.loops.items()}
        machine.journal.stop(op, tensors, loops, machine.units)

    return step


def _tensor(pieces: list[_Piece], machine: Machine) -> Tensor:
    """All pieces of one label in one tensor, and which elements it has."""
    first = pieces[0]
    dtype = machine.value(first.op).data.dtype
    tensor = Tensor(first.dims, first.extents(machine), dtype)
    everywhere = np.ones((1, 1, 1), np.bool_)
    held = everywhere if machine.active is None else machine.active
    for piece in pieces:
        index, data = piece.index(machine), machine.value(piece.op).data
        shape = np.broadcast_shapes(data.shape, *[i.shape for i in index])
        full = (machine.units.count, *shape[1:])
        tensor.enter(index, np.broadcast_to(data, full), held)
    return tensor
