"""What bounds a kernel at best: its work beside the peaks of the target."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.loops import trips
from wave_core.compile.launch.prepare import launch_grid
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, PLACEMENT
from wave_core.ops.control import Iterate, While
from wave_core.ops.matrix import Mma
from wave_core.ops.traits import Trait
from wave_core.symbols import symbol
from wave_core.types import AddressSpace, MemoryType, RegisterType, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.compile.compiled import Compiled
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.targets import Peaks, Target


@dataclass
class Work:
    """What the lowered graph does, counted as if no lane were masked.

    Attributes:
        lanes: Lanes of a wave.
        matrix: FLOPs of matrix instructions, by element type of the operands.
        vector: Elementwise operations on floats, each one FLOP.
        global_bytes: Bytes that accesses of global memory ask for.
        lds_bytes: Bytes that accesses of LDS move.
        open_loops: Loops whose iterations nobody knows; each is counted as one.
    """

    lanes: int
    matrix: Counter[str] = field(default_factory=Counter[str])
    vector: int = 0
    global_bytes: int = 0
    lds_bytes: int = 0
    open_loops: int = 0


@dataclass(frozen=True)
class Roof:
    """One limit of the machine, and how long the kernel takes at least under it.

    Attributes:
        name: ``matrix f16``, ``vector``, ``memory``, ``L2`` or ``LDS``.
        unit: ``FLOP`` or ``B``.
        work: In that unit.
        peak_per_ns: The peak rate of the chip, in units a nanosecond.
        ns: The least time, with the compute units that have work.
    """

    name: str
    unit: str
    work: float
    peak_per_ns: float
    ns: float

    def to_json(self) -> dict[str, object]:
        """The limit as JSON values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Roofline:
    """A kernel under the roofs of a target.

    Attributes:
        kernel: Its name.
        target: The machine.
        peaks: Of the target.
        workgroups: Of the launch.
        busy: The share of the compute units that have work, over the whole launch.
        least_bytes: Each tensor that the kernel touches, moved once.
        work: What the lowered graph does.
        roofs: The limits, the tightest first.
    """

    kernel: str
    target: str
    peaks: Peaks
    workgroups: int
    busy: float
    least_bytes: int
    work: Work
    roofs: tuple[Roof, ...]

    @property
    def bound(self) -> Roof:
        """The limit that binds."""
        return self.roofs[0]

    @property
    def flops(self) -> float:
        """All FLOPs."""
        return self.work.matrix.total() + self.work.vector

    @property
    def intensity(self) -> float:
        """FLOPs for each byte that has to come from memory or go there."""
        return self.flops / max(1, self.least_bytes)

    @property
    def ridge(self) -> float:
        """The intensity from which the units of the chip bind, and no longer memory."""
        compute = [roof for roof in self.roofs if roof.unit == "FLOP"]
        fastest = max((roof.peak_per_ns for roof in compute), default=0.0)
        return fastest / self.peaks.memory_bytes_per_ns

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "workgroups": self.workgroups,
            "compute_units": self.peaks.compute_units,
            "compute_units_busy": self.busy,
            "matrix_flops": dict(self.work.matrix),
            "vector_flops": self.work.vector,
            "least_bytes": self.least_bytes,
            "global_bytes": self.work.global_bytes,
            "lds_bytes": self.work.lds_bytes,
            "loops_counted_once": self.work.open_loops,
            "intensity": self.intensity,
            "ridge": self.ridge,
            "bound_by": self.bound.name,
            "least_us": self.bound.ns / 1e3,
            "roofs": [roof.to_json() for roof in self.roofs],
        }


def roofline(compiled: Compiled, sizes: Mapping[str, int]) -> Roofline:
    """The least times of a compiled kernel; nothing is run.

    Args:
        compiled: The kernel.
        sizes: Values of symbols that a launch binds.

    Raises:
        UserError: WV0829 for a target without published peaks.
        LaunchError: WV0717 where a symbol has no value.
    """
    target = compiled.target
    if target.peaks is None:
        raise user_error(
            "WV0829",
            f"target `{target.name}` has no published peaks to compare with",
            help="name a chip, such as `--target gfx942`; `wave plugins` lists them",
        )
    known = {symbol(name): value for name, value in sizes.items()}
    workgroups = prod(launch_grid(compiled.shape, known))
    values = {**compiled.shape.bindings, **known}
    waves = workgroups * compiled.geometry.waves_per_workgroup
    work = Work(compiled.geometry.lanes)
    _count(compiled.lowered, compiled.lowered.body, target, values, waves, work)
    units = target.peaks.compute_units
    rounds = -(-workgroups // units)
    busy = workgroups / (rounds * units) if rounds else 0.0
    least = _least_bytes(compiled, values)
    roofs = sorted(_roofs(work, least, target.peaks, busy), key=lambda roof: -roof.ns)
    name = compiled.lowered.name
    return Roofline(
        name, target.name, target.peaks, workgroups, busy, least, work, tuple(roofs)
    )


def _count(
    graph: Graph,
    region: Region,
    target: Target,
    sizes: Mapping[Expr, int],
    times: int,
    work: Work,
) -> None:
    """Add the work of a region that waves run ``times`` times, all together."""
    for op in region.ops:
        _count_op(graph, op, target, times, work)
        repeat = trips(op, sizes) if isinstance(op, Iterate) else 1
        work.open_loops += isinstance(op, While)
        for nested in op.regions:
            _count(graph, nested, target, sizes, times * repeat, work)


def _count_op(graph: Graph, op: Op, target: Target, times: int, work: Work) -> None:
    lanes = times * work.lanes
    placement = graph.facts.get(PLACEMENT, op)
    if isinstance(op, Mma) and op.mma_type is not None:
        row = target.matrix_instruction(op.mma_type)
        kind = op.lhs.register_type.dtype.name
        work.matrix[kind] += 2 * prod(row.shape) * times
    elif Trait.ELEMENTWISE in op.traits and placement is not None:
        kind = op.type
        if isinstance(kind, RegisterType) and kind.dtype.is_float:
            work.vector += placement.layout.registers * lanes
    access = graph.facts.get(ACCESS, op)
    if access is None:
        return
    for effect in op.effects():
        memory = None if effect.memory is None else effect.memory.type
        if isinstance(memory, MemoryType):
            moved = access.registers * memory.dtype.bytes * lanes
            if memory.space is AddressSpace.SHARED:
                work.lds_bytes += moved
            else:
                work.global_bytes += moved


def _least_bytes(compiled: Compiled, sizes: Mapping[Expr, int]) -> int:
    """The bytes of all tensors that the kernel reads or writes."""
    return sum(
        prod(extent.subs(sizes).constant_value for extent in row.extents)
        * row.dtype.bytes
        for row in compiled.shape.signature.tensors
        if row.usage is not Usage.NONE
    )


def _roofs(work: Work, least: int, peaks: Peaks, busy: float) -> Iterator[Roof]:
    cycles = peaks.compute_units * peaks.clock_ghz
    rates = dict(peaks.matrix)
    units = [
        *(
            (f"matrix {kind}", "FLOP", flops, rates[kind])
            for kind, flops in work.matrix.items()
            if kind in rates
        ),
        ("vector", "FLOP", work.vector, peaks.vector),
        ("L2", "B", work.global_bytes, peaks.l2_bytes),
        ("LDS", "B", work.lds_bytes, peaks.lds_bytes),
    ]
    for name, unit, amount, rate in units:
        peak = rate * cycles
        yield Roof(name, unit, amount, peak, amount / (peak * busy) if busy else 0.0)
    memory = peaks.memory_bytes_per_ns
    yield Roof("memory", "B", least, memory, least / memory)
