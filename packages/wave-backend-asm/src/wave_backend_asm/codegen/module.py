"""A whole kernel: instructions, registers, text, and what a launch needs to know."""

from __future__ import annotations

from dataclasses import dataclass
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
)
from wave_backend_asm.machine.instruction import Source
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
    made = partial(_generated, graph, target, table, fast_math=fast_math, waves=waves)
    try:
        return made(hoists=True)
    except NoRoomError:
        return made(hoists=False)


def _generated(
    graph: Graph, target: Target, table: LoweringTable, *, fast_math: bool | None,
    waves: int | None, hoists: bool,
) -> Generated:  # fmt: skip
    """The assembly; values that loops do not change are kept, or computed again.

    Raises:
        NoRoomError: registers do not suffice; if they are computed again, they may.
        UserError: as `generate`.
    """
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    constants = constants_of(graph, geometry)
    words = sum(row.words for row in constants)
    parameters = [p for p in graph.parameters if isinstance(p.type, MemoryType)]
    emit = Emitter(
        graph, target, facts_of(graph, geometry, constants), table,
        pointers=len(parameters), words=words, fast_math=fast_math,
    )  # fmt: skip
    emit.geometry, emit.b.hoists = geometry, hoists
    emit.b.locate(graph.location)
    bind_constants(emit, constants)
    bind_machine(emit, geometry)
    # All addresses are asked for before one is waited for.
    starts = [address_of(emit, p, n) for n, p in enumerate(parameters)]
    written = {memory.ident for memory in written_memories(graph.body)}
    bindings = tuple(map(partial(_bound, emit, written), parameters, starts))
    emit.lower(graph.body)
    emit.b.say("s_endpgm")
    budget = Budget.of_waves(waves or -(-geometry.waves_per_workgroup // 4))
    lines = emit.b.blocks[0].lines
    try:
        begins = Source.of(graph.location)
        program = assembled_program(lines, target.name, budget, emit.fixed, begins)
    except NoRoomError as error:
        if hoists and emit.b.asked:
            raise
        raise _no_room(error, graph, target) from None
    kernel = Kernel(
        graph.name, target.name,
        (Argument(pointer=True),) * len(bindings) + (Argument(pointer=False),) * words,
        program.lines, program.allocation.used, geometry.threads,
        rounded_lds_bytes(graph), program.files, emit.start,
        program.begins,
    )  # fmt: skip
    return Generated(
        kernel, bindings, constants, geometry.grid, geometry.devices,
        geometry.threads, geometry.lanes,
    )  # fmt: skip


def _bound(
    emit: Emitter, written: Collection[int], parameter: Parameter, start: Descriptor
) -> Binding:
    if not reaches(emit, parameter):
        raise emit.missing(parameter, "a buffer reaches less than 2 GiB")
    emit.memories[parameter.ident] = buffer_of(emit, parameter, start)
    kind = parameter.memory_type
    return Binding(
        parameter.label, kind.dtype.name, extents(emit.graph, kind),
        parameter.ident in written, BUFFER_LIMIT,
    )  # fmt: skip


def _no_room(error: NoRoomError, graph: Graph, target: Target) -> Exception:
    """The refusal of a kernel whose values do not fit, with what is live and where."""
    return user_error(
        "WV0611",
        f"registers of {target.name} do not hold the values of `{graph.name}`",
        at=graph.location,
        label="this kernel",
        notes=str(error),
        help=("choose a smaller tile, or a schedule with fewer stages", MLIR_PATH),
        # Those of another kind may be too few, or lie too far apart.
        needed=error.peak.vectors,
        limit=error.budget.vector,
    )
