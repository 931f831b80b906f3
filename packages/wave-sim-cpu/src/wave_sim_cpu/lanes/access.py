"""Reads and writes of all lanes, with the checks of the memory model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.diagnostics import Severity
from wave_core.ir.facts import ACCESS, LANDING
from wave_core.ir.graph import resolve
from wave_core.ops.memory import Read, Write
from wave_core.types import dynamic_symbol
from wave_sim_cpu import codes
from wave_sim_cpu.epochs import COPIES, PRODUCTS
from wave_sim_cpu.lanes.addressing import AccessPlan, Cells
from wave_sim_cpu.lanes.collisions import check_collisions, element
from wave_sim_cpu.lanes.counting import AccessCounter
from wave_sim_cpu.lanes.program import Program, Step, not_lowered
from wave_sim_cpu.lanes.value import Poison, Value, spread
from wave_sim_cpu.launch import coordinates
from wave_sim_cpu.options import Check
from wave_sim_cpu.races import Conflict, Kind, Touch

if TYPE_CHECKING:
    from wave_core.ops.atomic import Atomic
    from wave_core.ops.base import Op
    from wave_core.ops.memory import Allocate, TransposedRead
    from wave_sim_cpu.arrays import Array, Bits, Index
    from wave_sim_cpu.copies import Copies, Early
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.memory import Buffer


def allocate(_op: Allocate, _program: Program) -> Step:
    """LDS exists from the start; nothing happens here."""
    return lambda _machine: None


def read(op: Read, program: Program) -> Step:
    """Gather the cells of every lane."""
    accessor = Accessor(op, op.memory, program, "read", op.indices)
    zero = np.zeros((1, 1, 1), op.register_type.dtype.numpy())

    def step(machine: Machine) -> None:
        touched = accessor.touch(machine)
        buffer = accessor.buffer(machine)
        machine.values[op.ident] = (
            Value(zero) if touched is None else gather(op, machine, buffer, touched)
        )

    return step


def transposed_read(op: TransposedRead, program: Program) -> Step:
    """Gather the cells of every lane, then exchange them among lanes."""
    fetch = read(op, program)
    access = program.graph.facts.get(ACCESS, op)
    registers = 1 if access is None else access.registers

    target, bits = program.target, op.register_type.dtype.bits
    form = dict(target.row_exchanges)[bits] if op.rows else target.exchange
    sources = np.argsort(np.array(form.places(registers)))

    def exchange(data: Array) -> Array:
        lanes = program.geometry.lanes
        data = np.broadcast_to(data, (data.shape[0], lanes, registers))
        groups = data.reshape(data.shape[0], -1, len(sources))
        return groups[:, :, sources].reshape(data.shape)

    def step(machine: Machine) -> None:
        fetch(machine)
        machine.values[op.ident] = machine.values[op.ident].rearranged(exchange)

    return step


def gather(op: Op, machine: Machine, buffer: Buffer, touched: Cells) -> Value:
    """The elements of a memory that an access touches; poison where none is."""
    data = buffer.take(touched.cells, touched.mask)
    if not machine.journal.looks_for(Check.POISON):
        return Value(data)
    held = buffer.holds(touched.cells, touched.mask)
    if held is None or held.all():
        return Value(data)
    reason = f"nothing was written to this part of {buffer.describe()}"
    return Value(data, Poison(~held, op, codes.POISON, reason))


def write(op: Write, program: Program) -> Step:
    """Scatter the value of every lane."""
    accessor = Accessor(op, op.memory, program, "write", op.indices)

    def step(machine: Machine) -> None:
        value = machine.value(op.value)
        touched = accessor.touch(machine)
        if touched is None:
            return
        buffer = accessor.buffer(machine)
        data = np.broadcast_to(value.data, (*machine.shape, accessor.plan.registers))
        bits = _poison_bits(op, machine, buffer, value, touched.mask)
        if machine.journal.looks_for(Check.RACES):
            check_collisions(op, machine, buffer, data, touched)
        held = None if bits is None else np.broadcast_to(~bits, data.shape)
        buffer.put(touched.cells, touched.mask, data, held)

    return step


def atomic(op: Atomic, program: Program) -> Step:
    """Update the cells, lane after lane; the value is what they held."""
    accessor = Accessor(op, op.memory, program, "atomic", op.indices)
    zero = np.zeros((1, 1, 1), op.register_type.dtype.numpy())

    def step(machine: Machine) -> None:
        touched = accessor.touch(machine)
        if touched is None:
            machine.values[op.ident] = Value(zero)
            return
        buffer = accessor.buffer(machine)
        full = (*machine.shape, accessor.plan.registers)
        value = machine.value(op.value)
        bits = _poison_bits(op, machine, buffer, value, touched.mask)
        before = gather(op, machine, buffer, touched)
        operands = [value.data]
        if op.expected is not None:
            operands.append(machine.value(op.expected).data)
        data = [np.broadcast_to(each, full) for each in operands]
        old = buffer.update(touched.cells, touched.mask, op.combined, data)
        if bits is not None:
            buffer.spoil(touched.cells, touched.mask, np.broadcast_to(bits, full))
        machine.values[op.ident] = Value(old, before.poison)

    return step


def _poison_bits(
    op: Op, machine: Machine, buffer: Buffer, value: Value, mask: Bits | None
) -> Bits | None:
    """Which elements written are poison; for an output they are reported."""
    poison = value.poison
    if poison is None:
        return None
    bits = poison.bits if mask is None else poison.bits & mask
    if not bits.any():
        return None
    if buffer.is_lds:
        return poison.bits
    report_poison(op, machine, poison, f"reaches {buffer.describe()}")
    return None


_REMEDIES = {
    codes.DIVISION_BY_ZERO: (
        "divide by `maximum(divisor, 1)`, or `select` another value where it is 0",
    ),
    codes.ABSENT_LANE: ("shuffle before the condition, where all lanes come along",),
    codes.POISON: ("write every element before it is read, or mask the read",),
}


def report_poison(op: Op, machine: Machine, poison: Poison, what: str) -> None:
    """Report that elements without a meaning matter at ``op``."""
    if not machine.journal.looks_for(Check.POISON):
        return
    full = np.broadcast_shapes(poison.bits.shape, (*machine.shape, 1))
    at = int(np.flatnonzero(np.broadcast_to(poison.bits, full))[0])
    _, lane, unit = coordinates(at, full[::-1])
    machine.reporter.add(
        poison.code,
        f"a value without a meaning {what}",
        op,
        label="used here",
        other=poison.origin,
        other_label=poison.reason,
        notes=(f"lane {lane} of {machine.units.describe(unit)}, among others",),
        help=_REMEDIES.get(poison.code, ()),
        lane=lane,
        unit=unit,
    )


_TOUCHES = {"write": Kind.WRITE, "landing": Kind.WRITE, "atomic": Kind.ATOMIC}
"""How the kinds of accesses that are no reads touch their cells."""

_LOCKS = {Kind.READ: Kind.READ_LOCK, Kind.WRITE: Kind.WRITE_LOCK}
"""How volatile accesses do."""


class Accessor:
    """Addresses, masks, races and counts of one access.

    ``kind`` is ``read``, ``write``, ``atomic``, ``to_lds`` for what a copy reads,
    ``landing`` for where it arrives, or ``tile`` for what a matrix instruction reads;
    the last two cost nothing of their own.
    """

    def __init__(
        self,
        op: Op,
        memory: Op,
        program: Program,
        kind: str,
        indices: tuple[Op, ...] = (),
    ) -> None:
        row = LANDING if kind == "landing" else ACCESS
        access = program.graph.facts.get(row, op)
        if access is None:
            raise not_lowered(op)
        self._op = op
        self._touches = _TOUCHES.get(kind, Kind.READ)
        if isinstance(op, Read | Write) and op.is_volatile:
            self._touches = _LOCKS[self._touches]
        self._counts = kind not in ("landing", "tile")
        self._spread = whole_waves if kind == "tile" else spread_cells
        self._memory = resolve(memory).ident
        self._indices = [(dynamic_symbol(i), v) for i, v in enumerate(indices)]
        self.plan = AccessPlan(op, access, program.storage[self._memory], program)
        self._counter = AccessCounter(
            self.plan, kind, program.target, program.geometry.in_step
        )

    def buffer(self, machine: Machine) -> Buffer:
        """The memory that is accessed."""
        return machine.buffers[self._memory]

    def touch(self, machine: Machine) -> Cells | None:
        """The cells, once checked, counted and noted for races."""
        buffer = self.buffer(machine)
        values = {s: machine.value(v) for s, v in self._indices}
        # Addresses need more bits than an index register may have.
        wide = {s: v.data.astype(np.int64) for s, v in values.items()}
        extra = self.plan.own_symbols(wide)
        touched = self.plan.touched(machine, buffer, extra)
        if touched is None:
            return None
        self._check_indices(machine, list(values.values()), touched.mask)
        if self._counts:
            cost = self._counter.count(machine, buffer, extra, touched.mask)
            if cost.misaligned and buffer.is_lds:
                self._report_misaligned(machine, buffer)
        if buffer.tracker is not None:
            self._note(machine, buffer, touched)
        if buffer.copies is not None and not buffer.copies.is_empty:
            self._check_copies(machine, buffer, buffer.copies, touched)
        return touched

    def _check_copies(
        self, machine: Machine, buffer: Buffer, copies: Copies, touched: Cells
    ) -> None:
        cells, who = self._spread(machine, buffer, touched)
        reads = self._touches in (Kind.READ, Kind.READ_LOCK)
        early = copies.early(cells, who, machine, writes=not reads)
        if early is not None:
            _report_early(machine, buffer, self._op, early)

    def _check_indices(
        self, machine: Machine, values: list[Value], mask: Bits | None
    ) -> None:
        poison = spread(values)
        if poison is None:
            return
        bits = poison.bits if mask is None else poison.bits & mask
        if bits.any():
            report_poison(self._op, machine, poison, "is used as an index")

    def _report_misaligned(self, machine: Machine, buffer: Buffer) -> None:
        if not machine.journal.looks_for(Check.ALIGNMENT):
            return
        machine.reporter.add(
            codes.MISALIGNED,
            f"a wide access to {buffer.describe()} does not start at a multiple of "
            "its width",
            self._op,
            label="is split by the hardware",
            help=("pad the rows to a multiple of the access's width",),
            severity=Severity.WARNING,
        )

    def _note(self, machine: Machine, buffer: Buffer, touched: Cells) -> None:
        tracker = buffer.tracker
        assert tracker is not None, "checked by the caller"
        epochs = machine.epochs
        cells, who = self._spread(machine, buffer, touched)
        width, clocks = machine.width, None if buffer.is_lds else machine.clocks
        unit = who if width == 1 else who // width
        strand = machine.wave.reshape(-1)[unit]
        touch = Touch(
            machine.next_access(),
            self._op,
            self._touches,
            cells,
            strand if width == 1 else strand * width + who % width,
            machine.group.reshape(-1)[unit],
            epochs.mark.reshape(-1)[unit],
            who,
            None if clocks is None else clocks.known,
            None if width == 1 else epochs.fenced[unit],
            width,
        )
        # What follows a copy that lands is told by `Copies`.
        conflict = tracker.access(touch, epochs.lowest, keep=self._counts)
        if conflict is not None:
            _report_race(machine, buffer, conflict)
        if clocks is not None:
            clocks.touch(self._touches, buffer, cells, who)


def spread_cells(
    machine: Machine, buffer: Buffer, touched: Cells
) -> tuple[Index, Index]:
    """The cells that a tracker follows, and the lanes in step that touch each.

    Shapes: the latter, as `Machine.who`, broadcast with the cells.
    """
    full = (*machine.shape, touched.cells.shape[2])
    cells = np.broadcast_to(touched.cells, full)
    who = machine.who
    if touched.mask is not None:
        full = np.broadcast_shapes(full, touched.mask.shape)
        chosen = np.broadcast_to(touched.mask, full)
        cells = np.broadcast_to(cells, full)[chosen]
        who = np.broadcast_to(who, full)[chosen]
    parts = buffer.tracked_parts
    if parts > 1:
        cells = cells[..., None] * parts + np.arange(parts)
        who = who[..., None]
    return cells, who


def whole_waves(
    machine: Machine, buffer: Buffer, touched: Cells
) -> tuple[Index, Index]:
    """As `spread_cells`, each cell once for every group of the wave in step.

    A matrix unit reads what it multiplies for all lanes of a wave.
    """
    cells, who = spread_cells(machine, buffer, touched)
    groups = np.arange(machine.width)
    first = np.broadcast_to(who, cells.shape) // machine.width * machine.width
    return np.repeat(cells[..., None], machine.width, -1), first[..., None] + groups


_UNDER_WAY = {COPIES: "a copy to LDS", PRODUCTS: "a matrix product"}
_WAITS = {
    COPIES: ("put `shared_memory_barrier(wait_async_ops=True)` between the two",),
    PRODUCTS: ("wait for the product (`mma=0`), then meet at a barrier",),
}


def _report_early(machine: Machine, buffer: Buffer, op: Op, early: Early) -> None:
    machine.reporter.add(
        codes.RACE,
        f"race on {buffer.describe()}: {_UNDER_WAY[early.kind]} that {early.what}"
        " is on its way",
        op,
        label=f"{machine.describe(early.who)} touches it here",
        other=early.copy,
        other_label=f"{machine.describe(early.owner)} starts it here",
        notes=(f"element {element(buffer, early.cell // buffer.tracked_parts)}",),
        help=_WAITS[early.kind],
        cell=early.cell // buffer.tracked_parts,
    )


_LOCK_HELP = (
    "or hand over by a lock that both access volatile or by atomics: `fence` with "
    '"release" before it is written, with "acquire" after it is read'
)


def _report_race(machine: Machine, buffer: Buffer, conflict: Conflict) -> None:
    first, second = conflict.first_kind.value, conflict.second_kind.value
    same = conflict.first_group == conflict.second_group
    grid = machine.units.grid
    cell = conflict.cell // buffer.tracked_parts
    strands = conflict.first_strand, conflict.second_strand
    groups = [
        f"workgroup {coordinates(g, grid)}"
        for g in (conflict.first_group, conflict.second_group)
    ]
    waves = [
        machine.describe_strand(strand, group)
        for strand, group in zip(strands, groups, strict=True)
    ]
    together = same and strands[0] // machine.width == strands[1] // machine.width
    who = "a lane of a wave {} what another of it {}" if together else _TWO_WAVES
    machine.reporter.add(
        codes.RACE,
        f"race on {buffer.describe()}: {who.format(second, first)}, and "
        "nothing orders them",
        conflict.second,
        label=f"{waves[1]} {second} it here",
        other=conflict.first,
        other_label=f"{waves[0]} {first} it here",
        notes=(f"element {element(buffer, cell)}, among others",),
        help=_race_help(same=same, together=together),
        cell=cell,
    )


_TWO_WAVES = "a wave {} what another {}"


def _race_help(*, same: bool, together: bool) -> tuple[str, ...]:
    """What to do about accesses of the same workgroup, or of one wave together."""
    if together:
        return ("not all lanes of a wave run in step: put `wave_fence()` between",)
    if same:
        return ("put a barrier between the two",)
    return ("workgroups run in any order: let each write its own elements", _LOCK_HELP)
