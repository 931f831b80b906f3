"""A whole kernel: instructions, registers, text, and what a launch needs to know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.pressure import NoRoomError
from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.codegen.emitter import MLIR_PATH, Emitter
from wave_backend_asm.codegen.memories import (
    BUFFER_LIMIT,
    address_of,
    buffer_of,
    reaches,
    steady_memories,
)
from wave_backend_asm.machine.instruction import Source
from wave_backend_asm.machine.plain_addresses import by_addresses
from wave_backend_asm.machine.program import assembled_program
from wave_core.analysis.capacity import rounded_lds_bytes
from wave_core.analysis.effects import written_memories
from wave_core.backends.emission import Binding, Constant
from wave_core.backends.emission.memories import extents
from wave_core.backends.emission.symbols import (
    bind_constants,
    bind_machine,
    constants_of,
    facts_of,
)
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.types import MemoryType

if TYPE_CHECKING:
    from collections.abc import Collection

    from wave_backend_asm.codegen.memories import Descriptor
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.ops.structure import Argument as Parameter
    from wave_core.symbols import Expr
    from wave_core.targets import Target


@dataclass(frozen=True)
class Generated:
    """The assembly of a kernel, and its interface.

    Attributes:
        kernel: Code, registers, descriptor.
        bindings: The pointer arguments in order.
        constants: The words after them in order.
        grid: Workgroups on each axis.
        devices: Devices on each axis.
        threads: Threads of a workgroup.
        wave_size: Lanes of a wave.
    """

    kernel: Kernel
    bindings: tuple[Binding, ...]
    constants: tuple[Constant, ...]
    grid: tuple[Expr, ...]
    devices: tuple[Expr, ...]
    threads: int
    wave_size: int

    @property
    def text(self) -> str:
        """What the assembler takes."""
        return document(self.kernel)


def generate(
    graph: Graph,
    target: Target,
    table: LoweringTable,
    *,
    fast_math: bool | None = None,
    waves: int | None = None,
) -> Generated:
    """The assembly of a lowered graph.

    Args:
        graph: The kernel.
        target: The machine.
        table: The rules.
        fast_math: Whether floats may be reordered and approximated.
        waves: Waves that should fit on a SIMD; as few as a workgroup has by default.

    Raises:
        UserError: WV0610 for an op without a rule, WV0611 where registers do not
            suffice.
    """
    start, way = Beginning.of(graph, target), Way()
    while True:
        emit = start.emitter(graph, target, table, way, fast_math=fast_math)
        try:
            return start.generated(emit, graph, target, waves, parks=way.parks)
        except NoRoomError as error:
            less = way.with_less(emit, error)
            if less is None:
                raise _no_room(error, graph, target) from None
            way = less


@dataclass(frozen=True)
class Way:
    """How registers are spent.

    Attributes:
        hoists: Values that loops do not change are kept, and not computed again.
        writes_out: Short loops are written out turn by turn.
        loads_scalars: What all lanes load is in a register of the wave, of which there
            are fewer.
        saves_early: What a load takes the place of is saved in front of it, so that
            nothing waits for it; else behind it, in AGPRs where VGPRs do not suffice.
        keeps_descriptors: Descriptors of parameters are in registers of the wave all
            the time, and not made where they are used.
        makes_tuples: Words that are made one by one lie side by side, for one
            instruction on two of them.
        parks: Masks wait in registers of lanes, and words of lanes in AGPRs.
    """

    hoists: bool = True
    writes_out: bool = True
    loads_scalars: bool = True
    saves_early: bool = True
    keeps_descriptors: bool = True
    makes_tuples: bool = True
    parks: bool = False

    def with_less(self, emit: Emitter, lacking: NoRoomError) -> Way | None:
        """One for fewer registers, if it would have made another program."""
        if lacking.of_scalars and self.keeps_descriptors:
            return replace(self, keeps_descriptors=False)
        if emit.b.saved_early:
            return replace(self, saves_early=False)
        if emit.wrote_out:
            return replace(self, writes_out=False)
        if self.hoists and emit.b.asked:
            return replace(self, hoists=False)
        if emit.loaded_scalars:
            return replace(self, loads_scalars=False)
        if self.makes_tuples and emit.b.made_tuples:
            return replace(self, makes_tuples=False)
        return None if self.parks else replace(self, parks=True)


@dataclass(frozen=True)
class Beginning:
    """What a kernel starts with.

    Attributes:
        geometry: Its waves and its grid.
        parameters: Its memories.
        constants: The words behind their addresses.
    """

    geometry: Geometry
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]

    @classmethod
    def of(cls, graph: Graph, target: Target) -> Beginning:
        """That of a lowered graph."""
        geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
        parameters = [p for p in graph.parameters if isinstance(p.type, MemoryType)]
        return cls(geometry, tuple(parameters), constants_of(graph, geometry))

    @property
    def words(self) -> int:
        """How many words are behind the addresses."""
        return sum(row.words for row in self.constants)

    def emitter(
        self, graph: Graph, target: Target, table: LoweringTable, way: Way, *,
        fast_math: bool | None,
    ) -> Emitter:  # fmt: skip
        """The state of a code generation that knows all of it."""
        emit = Emitter(
            graph, target, facts_of(graph, self.geometry, self.constants), table,
            pointers=len(self.parameters), words=self.words, fast_math=fast_math,
        )  # fmt: skip
        emit.geometry, emit.b.hoists = self.geometry, way.hoists
        emit.b.saves_early = way.saves_early
        emit.b.makes_tuples = way.makes_tuples
        emit.writes_out, emit.loads_scalars = way.writes_out, way.loads_scalars
        emit.keeps_descriptors = way.keeps_descriptors
        emit.b.locate(graph.location)
        bind_constants(emit, self.constants)
        bind_machine(emit, self.geometry)
        return emit

    def generated(
        self, emit: Emitter, graph: Graph, target: Target, waves: int | None, *,
        parks: bool,
    ) -> Generated:  # fmt: skip
        """The assembly.

        Raises:
            NoRoomError: registers do not suffice.
            UserError: as `generate`.
        """
        # All addresses are asked for before one is waited for.
        starts = [address_of(emit, p, n) for n, p in enumerate(self.parameters)]
        written = {memory.ident for memory in written_memories(graph.body)}
        bind = partial(_bound, emit, written, steady_memories(graph, written))
        bindings = tuple(map(bind, self.parameters, starts))
        emit.lower(graph.body)
        emit.b.say("s_endpgm")
        geometry, lds = self.geometry, rounded_lds_bytes(graph)
        most, _ = target.occupancy(1, lds, geometry.threads)
        least = waves or -(-geometry.waves_per_workgroup // 4)
        budget = replace(
            Budget.of_waves(least, least if most is None else most),
            sharing=geometry.waves_per_workgroup,
        )
        lines = by_addresses(emit.b.blocks[0].lines, emit.unbounded)
        program = assembled_program(
            lines, target.name, budget, emit.fixed,
            Source.of(graph.location), parks=parks,
        )  # fmt: skip
        arguments = (Argument(pointer=True),) * len(bindings)
        kernel = Kernel(
            graph.name, target.name,
            arguments + (Argument(pointer=False),) * self.words,
            program.lines, program.allocation.used, geometry.threads,
            lds, program.files, emit.start, program.begins,
        )  # fmt: skip
        return Generated(
            kernel, bindings, self.constants, geometry.grid, geometry.devices,
            geometry.threads, geometry.lanes,
        )  # fmt: skip


def _bound(
    emit: Emitter, written: Collection[int], steady: Collection[int],
    parameter: Parameter, start: Descriptor,
) -> Binding:  # fmt: skip
    if not reaches(emit, parameter):
        raise emit.missing(parameter, "a buffer reaches less than 2 GiB")
    emit.memories[parameter.ident] = buffer_of(
        emit, parameter, start, steady=parameter.ident in steady
    )
    kind = parameter.memory_type
    return Binding(
        parameter.label, kind.dtype.name, extents(emit.graph, kind),
        parameter.ident in written, BUFFER_LIMIT,
    )  # fmt: skip


_FEWER_VECTORS = "choose a smaller tile, or a schedule with fewer stages"
_FEWER_SCALARS = "use fewer memories, symbols and values of the wave at once"


def _no_room(error: NoRoomError, graph: Graph, target: Target) -> Exception:
    """The refusal of a kernel whose values do not fit, with what is live and where."""
    return user_error(
        "WV0611",
        f"registers of {target.name} do not hold the values of `{graph.name}`",
        at=graph.location,
        label="this kernel",
        notes=error.rows,
        help=(_FEWER_SCALARS if error.of_scalars else _FEWER_VECTORS, MLIR_PATH),
        # Those of another kind may be too few, or lie too far apart.
        needed=error.peak.vectors,
        limit=error.budget.vector,
    )
