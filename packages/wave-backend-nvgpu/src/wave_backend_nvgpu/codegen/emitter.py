"""The state of one code generation: that of core, and what is NVIDIA's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.boxes import RING, WORD, Boxes
from wave_backend_nvgpu.codegen.debug import Lines
from wave_backend_nvgpu.codegen.instructions import LlvmInstructions
from wave_backend_nvgpu.codegen.memories import (
    SharedLayout,
    address,
    has_boxes,
    has_copies,
    is_box,
)
from wave_backend_nvgpu.codegen.pieces import lower_in_pieces, runs
from wave_backend_nvgpu.codegen.under_way import UnderWay
from wave_core.analysis.dependences.accesses import touched_buffers
from wave_core.backends.emission import (
    Emission,
    Kind,
    Value,
    sliced,
    unsupported as refused,
)
from wave_core.constraints import fast_math_of
from wave_core.ir import resolve
from wave_core.ops.structure import Argument
from wave_core.ops.sync import MemoryCounterWait
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Generator

    from wave_backend_nvgpu.codegen.memories import Memory
    from wave_backend_nvgpu.codegen.options import CodeOptions
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target

BACKEND = "nvgpu"

WIDE = 32
"""Registers of a value that are worth some effort, as sums of products are."""

ALL_LANES = "-1"
"""The mask of all lanes of a wave."""


class Emitter(Emission):
    """The state that lowering rules work with.

    Attributes:
        options: The knobs.
        builder: Where text goes; it is ``instructions`` as well.
        shared: Where buffers lie in shared memory.
        memories: By the key of the defining op.
        has_copies: Whether threads copy something to shared memory past the registers,
            so that barriers have to wait for it.
        boxes: Copies of boxes to shared memory, if there are any.
        lanes: The mask of the lanes that execute the open region.
        under_way: Matrix products that go on after they are issued.
        has_products: Whether there are any.
        shows: Whether there are, and threads touch shared memory, so that barriers
            have to show them what was written there.
        has_waits: Whether the graph says where they are awaited.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        options: CodeOptions,
        facts: Facts,
        table: LoweringTable,
    ) -> None:
        builder = LlvmInstructions(Lines(graph.location, graph.name))
        fast = fast_math_of(options.fast_math, graph.constraints)
        super().__init__(graph, target, facts, table, builder, fast_math=fast)
        self.options = options
        self.builder = builder
        self._cut: tuple[int, int, int] | None = None
        self.shared = SharedLayout(graph)
        self.memories: dict[int, Memory] = {}
        self.has_copies = has_copies(graph)
        ring = self.shared.reserve(RING * WORD) if has_boxes(graph) else ""
        self.boxes = Boxes(builder, ring) if ring else None
        self.lanes = ALL_LANES
        self.under_way = UnderWay(builder, target)
        self.has_products = any(map(self.under_way.is_asynchronous, graph.walk()))
        self.shows = self.has_products and any(map(self._touches, graph.walk()))
        self.has_waits = any(
            isinstance(op, MemoryCounterWait) and op.mma is not None
            for op in graph.walk()
        )

    def _touches(self, op: Op) -> bool:
        """Whether threads touch shared memory: copies of boxes and products are not."""
        if is_box(op):
            return False
        return bool(touched_buffers(op)) and not self.under_way.is_asynchronous(op)

    def lower(self, region: Region) -> None:
        """Lower a region; where sums of products are finished, in pieces."""
        if region.parent is not None or not self.has_products:
            super().lower(region)
            return
        for width, ops in runs(region, self):
            if width:
                lower_in_pieces(ops, width, self, self.lower_op)
            else:
                for op in ops:
                    self.lower_op(op)

    def lower_op(self, op: Op) -> None:
        """Lower one op; what is computed of sums stays behind products under way."""
        computes = op.has(Trait.PURE) and not self.under_way.is_asynchronous(op)
        if self.has_products and computes:
            for value in filter(self._is_carried_sum, op.operands):
                self.under_way.keep_behind(self.value(value))
        super().lower_op(op)

    def _is_carried_sum(self, value: Op) -> bool:
        """Whether a loop carries a value that is as large as sums of products are."""
        carried = isinstance(resolve(value), Argument)
        wide = isinstance(value.type, RegisterType) and self.registers(value) >= WIDE
        return carried and wide

    @contextmanager
    def cut(self, width: int, start: int, count: int) -> Generator[None]:
        """Have values of ``width`` registers be ``count`` of these, from ``start``."""
        self._cut = width, start, count
        try:
            yield
        finally:
            self._cut = None

    def registers(self, op: Op) -> int:
        """Elements of the value that each lane holds, in the piece that is emitted."""
        found = super().registers(op)
        if self._cut is None or found != self._cut[0]:
            return found
        return self._cut[2]

    def value(self, op: Op) -> Value:
        """The value that ``op`` defines, as the last wait left it; a piece of it."""
        found = self.under_way.current(super().value(op))
        if self._cut is None or found.registers != self._cut[0]:
            return found
        _, start, count = self._cut
        return Value(sliced(self, found, start, count), found.item, count)

    def word(self, position: int) -> str:
        """A word by its place behind the pointers."""
        return f"%k{position}"

    def thread(self, threads: int) -> str:
        """The number of the thread; its bound is an attribute of the kernel."""
        del threads
        return self.builder.call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", ())

    def workgroup(self, axis: int) -> str:
        """A coordinate of the workgroup."""
        name = f"llvm.nvvm.read.ptx.sreg.ctaid.{'xyz'[axis]}"
        return self.builder.call(name, "i32", ())

    def uniform(self, name: str, kind: Kind) -> str:
        """The value itself: it is the same in all lanes, and here lanes are threads."""
        del kind
        return name

    def address(self, memory: Memory, offset: Expr) -> str:
        """A pointer to the element of a memory at an offset."""
        return address(self.builder, self.indices, memory, offset)


def unsupported(op: Op, why: str, *help_text: str) -> Exception:
    """The error that an op cannot be lowered in this form."""
    return refused(BACKEND, op, why, *help_text)
