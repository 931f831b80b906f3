"""The state of one code generation: that of core, and what is AMD's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import Builder
from wave_backend_amdgpu.codegen.index import index_of
from wave_backend_amdgpu.codegen.instructions import MlirInstructions
from wave_backend_amdgpu.codegen.interface import constant_argument
from wave_core.backends.emission import Emission, Kind, unsupported as refused
from wave_core.backends.emission.copies import copies_are_left, copies_are_marked
from wave_core.constraints import fast_math_of
from wave_core.ir import LANDING
from wave_core.ops.memory import GatherToLDS
from wave_core.targets import Float8

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.interface import Interface
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_backend_amdgpu.codegen.options import CodeOptions
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_core.types import DType

BACKEND = "amdgpu"

CONVERTED = {
    Float8.NONE: frozenset[str](),
    Float8.FNUZ: frozenset({"f8e4m3fnuz", "f8e5m2fnuz"}),
    Float8.OCP: frozenset({"f8e4m3fn", "f8e5m2"}),
}
"""Floats of 8 bits that a chip has instructions to convert."""


class Emitter(Emission):
    """The state that lowering rules work with.

    Attributes:
        options: The knobs.
        interface: How arguments are read.
        builder: Where text goes.
        memories: By the key of the defining op.
        marks_copies: Whether copies to LDS are waited for by marks.
        leaves_copies: Whether some barrier leaves groups of copies on their way.
        masks_copies: Whether some lanes take no part in some copy to LDS.
        probes: What the probes of the code look at, in order of their addresses.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        options: CodeOptions,
        facts: Facts,
        table: LoweringTable,
        interface: Interface,
    ) -> None:
        builder = Builder()
        fast = fast_math_of(options.fast_math, graph.constraints)
        instructions = MlirInstructions(builder)
        super().__init__(graph, target, facts, table, instructions, fast_math=fast)
        self.options = options
        self.interface = interface
        self.builder = builder
        self.memories: dict[int, Memory] = {}
        self.marks_copies = copies_are_marked(graph)
        self.leaves_copies = copies_are_left(graph)
        self.masks_copies = any(
            (landing := graph.facts.get(LANDING, op)) and landing.mask is not None
            for op in graph.walk()
            if isinstance(op, GatherToLDS)
        )
        self.probes: list[str] = []

    def converts(self, dtype: DType) -> bool:
        """Whether the chip has instructions for a float of 8 bits."""
        return dtype.name in CONVERTED[self.target.float8]

    def word(self, position: int) -> str:
        """A word by its place behind the pointers."""
        text = self.interface.constant(position)
        return constant_argument(position) if text is None else self.builder.op(text)

    def thread(self, threads: int) -> str:
        """The number of the thread, with its bound for the compiler."""
        thread = self.builder.op(f"gpu.thread_id x upper_bound {threads}")
        return self.builder.op(f"arith.index_castui {thread} : index to i32")

    def workgroup(self, axis: int) -> str:
        """A coordinate of the workgroup."""
        name = self.builder.op(f"gpu.block_id {'xyz'[axis]}")
        return self.builder.op(f"arith.index_castui {name} : index to i32")

    def uniform(self, name: str, kind: Kind) -> str:
        """The value in a scalar register."""
        return self.builder.op(f"rocdl.readfirstlane {name} : {kind.item}")

    def index(self, value: Expr) -> str:
        """The name of an exact value of type ``index``."""
        return index_of(self.builder, self.indices, self.facts, value)


def unsupported(op: Op, why: str, *help_text: str) -> Exception:
    """The error that an op cannot be lowered in this form."""
    return refused(BACKEND, op, why, *help_text)
