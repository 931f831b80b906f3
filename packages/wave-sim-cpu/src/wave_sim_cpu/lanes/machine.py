"""The state of the waves that are simulated together."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import PLACEMENT
from wave_core.ops.structure import region_of
from wave_core.types import RegisterType
from wave_sim_cpu import codes
from wave_sim_cpu.arrays import misfit
from wave_sim_cpu.epochs import PRODUCTS, Epochs
from wave_sim_cpu.lanes.value import Value
from wave_sim_cpu.meetings import Meetings
from wave_sim_cpu.options import Check

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.expressions import Environment
    from wave_sim_cpu.journal import Journal, Reporter
    from wave_sim_cpu.lanes.clocks import Clocks
    from wave_sim_cpu.launch import Units
    from wave_sim_cpu.memory import Buffer
    from wave_sim_cpu.result import Counters
    from wave_sim_cpu.together import Strand


class Machine:
    """Registers, symbols and memories of one chunk of workgroups.

    Attributes:
        active: The lanes that run, broadcasting to ``[units, lanes, 1]``; ``None``
            for all.
        values: Register values by the ``ident`` of the op that defines them.
        results: Results of loops and conditions by the op's ``ident``.
        buffers: Memories by ``ident``.
        loops: The present induction values, by symbol.
        distinct: Cells that an op was seen to touch, none twice, by its ``ident``.
        meetings: Who came to barriers.
        strand: The only workgroup, where others wait for what it does.
        clocks: What its waves know of others, in a kernel with fences.
        width: Groups of a wave whose lanes run in step.
        who: The group that each lane is in, counted through the chunk.
    """

    def __init__(
        self,
        units: Units,
        size: tuple[int, int],
        env: Environment,
        buffers: dict[int, Buffer],
        journal: Journal,
    ) -> None:
        """``size`` is the lanes of a wave, and how many of them run in step."""
        self.units = units
        self.env = env
        self.buffers = buffers
        self.journal = journal
        self.lanes, in_step = size
        self.width = self.lanes // in_step
        self.epochs = Epochs(units, self.width)
        self.active: Bits | None = None
        self.values: dict[int, Value] = {}
        self.results: dict[int, tuple[Value, ...]] = {}
        self.loops: dict[Expr, int] = {}
        self.meetings = Meetings(units, journal.reporter)
        shape = (units.count, 1, 1)
        self.wave = units.wave.reshape(shape)
        self.group = (units.first + units.local_workgroup).reshape(shape)
        self.who = np.arange(units.count).reshape(shape)
        if self.width > 1:
            within = np.arange(self.lanes).reshape(1, -1, 1) // in_step
            self.who = self.who * self.width + within
        self.strand: Strand | None = None
        self.clocks: Clocks | None = None
        self._scratch: dict[int, Array] = {}
        self.distinct: dict[int, Array] = {}

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

    def fault_of(self, op: Op, found: object) -> str:
        """The fault of the value that a step of ``op`` has left."""
        del found
        if not isinstance(op.type, RegisterType):
            return ""
        value = self.values.get(op.ident)
        if not isinstance(value, Value):
            return f"it leaves {value!r:.40} as the value"
        placement = region_of(op).graph.facts.get(PLACEMENT, op)
        registers = 1 if placement is None else placement.layout.registers
        return misfit(op, value.data, (*self.shape, registers))

    def value(self, op: Op) -> Value:
        """The present value of ``op``."""
        return self.values[op.ident]

    def check_awaited(self, op: Op, product: int) -> None:
        """Report a use of the result of a product that may not be done."""
        early = (self.epochs.own(PRODUCTS) <= product) & self.active_units()
        if not early.any() or not self.journal.looks_for(Check.RACES):
            return
        unit = int(np.flatnonzero(early)[0])
        self.reporter.add(
            codes.RACE,
            "the result of a matrix product is used before it was awaited",
            op,
            label=f"{self.units.describe(unit)} uses it here",
            help=("wait for the product (`mma=0`) before",),
        )

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

    def describe(self, who: int) -> str:
        """Where a group of lanes in step stands, for messages."""
        return self.units.describe(who // self.width) + self._lanes_of(who)

    def describe_strand(self, strand: int, group: str) -> str:
        """The same of a group by its position in a workgroup with that name."""
        lanes = self._lanes_of(strand)
        return f"wave {strand // self.width}{lanes}{',' * bool(lanes)} of {group}"

    def _lanes_of(self, who: int) -> str:
        if self.width == 1:
            return ""
        step = self.lanes // self.width
        first = who % self.width * step
        return f", lanes {first} to {first + step - 1}"

    @property
    def active_waves(self) -> int:
        """Number of waves that run."""
        if self.active is None:
            return self.units.count
        return int(np.count_nonzero(self.active_units()))
