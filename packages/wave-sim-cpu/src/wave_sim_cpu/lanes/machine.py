"""The state of the waves that are simulated together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu.lanes.epochs import Epochs

if TYPE_CHECKING:
    from collections.abc import Generator

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.expressions import Environment
    from wave_sim_cpu.journal import Journal, Reporter
    from wave_sim_cpu.lanes.addressing import Cells
    from wave_sim_cpu.lanes.value import Value
    from wave_sim_cpu.launch import Units
    from wave_sim_cpu.memory import Buffer
    from wave_sim_cpu.result import Counters


class Machine:
    """Registers, symbols and memories of one chunk of workgroups.

    Attributes:
        active: The lanes that run, broadcasting to ``[units, lanes, 1]``; ``None``
            for all.
        values: Register values by the ``ident`` of the op that defines them.
        results: Results of loops and conditions by the op's ``ident``.
        buffers: Memories by ``ident``.
        loops: The present induction values, by symbol.
        parted: By workgroup, the barrier at which its waves began to differ in how
            many they have passed, and the waves that came there.
    """

    def __init__(
        self,
        units: Units,
        lanes: int,
        env: Environment,
        buffers: dict[int, Buffer],
        journal: Journal,
    ) -> None:
        self.units = units
        self.env = env
        self.buffers = buffers
        self.journal = journal
        self.lanes = lanes
        self.epochs = Epochs(units)
        self.active: Bits | None = None
        self.values: dict[int, Value] = {}
        self.results: dict[int, tuple[Value, ...]] = {}
        self.loops: dict[Expr, int] = {}
        self.parted: dict[int, tuple[Op, Bits]] = {}
        shape = (units.count, 1, 1)
        self.wave = units.wave.reshape(shape)
        self.group = (units.first + units.local_workgroup).reshape(shape)
        self._scratch: dict[int, Array] = {}
        self._distinct: dict[int, Array] = {}

    @property
    def counters(self) -> Counters:
        """The totals."""
        return self.journal.counters

    @property
    def reporter(self) -> Reporter:
        """Where findings go."""
        return self.journal.reporter

    @property
    def shape(self) -> tuple[int, int]:
        """Units and lanes."""
        return self.units.count, self.lanes

    def value(self, op: Op) -> Value:
        """The present value of ``op``."""
        return self.values[op.ident]

    def next_access(self) -> int:
        """A number for a memory access, above all earlier ones."""
        self.journal.access_number += 1
        return self.journal.access_number

    def last_writer(self, buffer: Buffer, cells: Array) -> Array:
        """For each element of one write the position of the last one to its cell."""
        scratch = self._scratch.get(id(buffer))
        if scratch is None:
            scratch = self._scratch[id(buffer)] = np.zeros(buffer.cells.size, np.int32)
        scratch[cells] = np.arange(cells.size, dtype=np.int32)
        return scratch[cells]

    def is_known_distinct(self, op: Op, touched: Cells) -> bool:
        """Whether ``op`` touched these very cells before, none of them twice."""
        return touched.mask is None and self._distinct.get(op.ident) is touched.cells

    def note_distinct(self, op: Op, touched: Cells) -> None:
        """Remember that ``op`` touches none of these cells twice."""
        self._distinct[op.ident] = touched.cells

    @contextmanager
    def restricted(self, condition: Bits | None) -> Generator[None]:
        """Run with the lanes that are active and fulfil ``condition``."""
        before = self.active
        if condition is not None:
            self.active = condition if before is None else before & condition
        try:
            yield
        finally:
            self.active = before

    def active_units(self) -> Array:
        """For each unit whether any of its lanes runs."""
        if self.active is None:
            return np.ones(self.units.count, np.bool_)
        any_lane = self.active.any(axis=(1, 2))
        return np.broadcast_to(any_lane, (self.units.count,))

    @property
    def active_waves(self) -> int:
        """Number of waves that run."""
        if self.active is None:
            return self.units.count
        return int(np.count_nonzero(self.active_units()))
