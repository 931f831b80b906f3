"""The pass that brings tiles to LDS directly, or says why they take a detour."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.operands import (
    order_of_tile,
    takes_shared,
    tiles_by_buffer,
)
from wave_core.diagnostics import user_error
from wave_core.ir import resolve
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import Argument
from wave_core.passes import Pass, option
from wave_passes_memory.copies.find import copies
from wave_passes_memory.copies.gathered import Gathers
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.copies.prove import prove
from wave_passes_memory.dma.boxes import as_boxes
from wave_passes_memory.dma.direct import (
    NOTHING,
    DirectPlan,
    Refusal,
    Transfer,
    direct_plan,
)
from wave_passes_memory.layouts.choose import Chooser, accesses_by_buffer
from wave_passes_memory.layouts.schemes import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.types import BufferLayout


@dataclass(frozen=True)
class CopyDirectToLds(Pass):
    """Bring tiles to LDS without going through registers, where that is proved right.

    Needs accesses of one instruction each. A tile that reads and writes are proved to
    copy whole is brought by copies that the machine does by itself: each lane names
    what to read, and what a wave reads arrives side by side. So the layout of the
    buffer is in which element each lane names, and a swizzle that takes bank
    conflicts away from the reads costs nothing. Elements that do not exist become
    zeros, or are left out, as before. A copy is waited for where barriers are placed.
    Where a table that nobody writes says which rows are copied, each lane reads the
    entry of what it names, before its copy and once for all copies that need it.

    With ``cheaper`` that happens where a thread issues less than it does now, with
    ``demanded`` wherever it is possible, with a warning where it is not. With
    ``boxes``, copies that are proved to bring a box to a buffer that matrix
    instructions read say so, and are as few as the machine allows; a machine that
    copies boxes does. Does nothing for targets without such copies, and by default.

    Example, as `copy-direct-to-lds{demanded=true}`::

          kernel "k" target "gfx950" {
            bind M = 64
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `64`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %t = allocate {shape = [M], distributed_shape = [`64`], dtype = !f32} :
                mem<M, shared, f32, physical[64]>
        -   %x = read %a, [] : reg<M, f32>
        -       @access(coordinates = [$LANE], registers = 1)
        -       @placement(layout = #layout(64x1 {M: (lane/1%64)}), origin = [["M",
        -       `0`]])
        -   write %x, %t, [] @access(coordinates = [$LANE], registers = 1)
        +   gather_to_lds %a, %t, [] {elements_per_thread = 4}
        +       @access(coordinates = [4*$LANE + $REG], registers = 4,
        +       mask = $LANE < 16)
        +       @landing(coordinates = [4*$LANE + $REG], registers = 4,
        +       mask = $LANE < 16)
            %y = read %t, [] : reg<M, f32>
                @access(coordinates = [63 - $LANE], registers = 1)
            write %y, %b, [] @access(coordinates = [$LANE], registers = 1)
            yield []
          }

    Raises:
        UserError: WV0415 where the author's layout of a buffer does not allow what
            is demanded.
    """

    demanded: bool = option(
        False, "copy directly wherever it is possible, and say where it is not"
    )
    cheaper: bool = option(False, "copy directly where that takes fewer instructions")
    boxes: bool = option(
        False, "say which copies are boxes, where the machine copies boxes at once"
    )
    swizzle: bool = option(True, "whether chunks of a row may change places")

    def should_run(self, graph: Graph) -> bool:
        """Somebody wants it, and there is a buffer."""
        wanted = self.demanded or self.cheaper
        return wanted and any(isinstance(op, Allocate) for op in graph.body.ops)

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Choose for each buffer."""
        known = context.region_facts(graph)
        points = LanePoints.of(known.geometry)
        by_buffer: dict[Allocate, list[Transfer]] = {}
        for copy in copies(graph, gathered=True):
            if copy.pairs[0][0].flags != "none":
                why = Refusal("its flags have no form in a direct copy")
                self._refused(copy.pairs[0][0], copy.buffer, why, context)
                continue
            box = prove(copy, points, known)
            if box is None:
                why = Refusal("no proof says what it copies")
                self._refused(copy.pairs[0][0], copy.buffer, why, context)
                continue
            transfer = Transfer(copy, box, known, context.target)
            by_buffer.setdefault(copy.buffer, []).append(transfer)
        for buffer, read in detours(graph).items():
            why = Refusal("its elements change order on the way", layout=True)
            self._refused(read, buffer, why, context)
        changed, gathers = False, Gathers(known)
        for buffer, transfers in by_buffer.items():
            plans = self._chosen(transfers, context)
            if plans:
                self._replace(buffer, plans, gathers, points, context)
                changed = True
        return changed

    def _chosen(
        self, transfers: list[Transfer], context: PassContext
    ) -> list[DirectPlan]:
        """The copies of one buffer that become direct."""
        before, after = NOTHING, NOTHING
        chosen: list[DirectPlan] = []
        for transfer in transfers:
            direct = direct_plan(transfer)
            if isinstance(direct, Refusal):
                copy = transfer.copy
                self._refused(copy.pairs[0][0], copy.buffer, direct, context)
                continue
            chosen.append(direct)
            before, after = before + transfer.cost, after + direct.cost
        if self.demanded or after < before:
            return chosen
        context.count("direct_copies_not_cheaper", len(chosen))
        return []

    def _replace(
        self,
        buffer: Allocate,
        plans: list[DirectPlan],
        gathers: Gathers,
        points: LanePoints,
        context: PassContext,
    ) -> None:
        order = _order(buffer, plans, context)
        if order is None:
            scheme = self._layout(buffer, plans, points, context)
        else:
            scheme = Scheme(order.chunk, order.step, order.ways)
        for plan in plans:
            parts, box = as_boxes(plan, order) if self.boxes else ([plan], ())
            for part in parts:
                part.emit(scheme, gathers, box)
                context.count("boxes_copied", part.count if box else 0)
                context.count("direct_copies", part.count)
            plan.replaced()
        context.count("tiles_copied_directly", len(plans))

    def _layout(
        self,
        buffer: Allocate,
        plans: list[DirectPlan],
        points: LanePoints,
        context: PassContext,
    ) -> Scheme:
        """The layout with the fewest conflicts of those that the copies can write."""
        together = max(plan.chunk_bytes for plan in plans)
        plain = Scheme(together)
        replaced = {op for plan in plans for op in plan.transfer.copy.members}
        graph = plans[0].transfer.copy.region.graph
        rows = accesses_by_buffer(graph).get(buffer)
        if rows is None or not self.swizzle:
            return plain
        others = [op for op in rows if op not in replaced]
        known, memory = plans[0].transfer.known, context.target.memory
        chooser = Chooser(buffer, others, known, memory)
        if not chooser.may_change():
            return plain

        *outer, inner = plans[0].transfer.storage
        row_bytes = inner * buffer.dtype.bytes

        def possible(scheme: Scheme) -> bool:
            if scheme.chunk % together or not scheme.can_undo(prod(outer), row_bytes):
                return False
            return all(plan.transfer.brings_lines(scheme.fold) for plan in plans)

        scheme, before, after = chooser.choose(points, possible, 0)
        context.count("conflict_weight_before", before)
        context.count("conflict_weight", after)
        chooser.apply(scheme)
        return scheme

    def _refused(
        self, read: Read, buffer: Allocate, refusal: Refusal, context: PassContext
    ) -> None:
        context.count("tiles_not_copied_directly")
        if not self.demanded:
            return
        label = resolve(read.memory).attributes["label"]
        if refusal.layout and buffer.location != read.location:
            raise user_error(
                "WV0415",
                f"`{label}` cannot be copied directly to this buffer: {refusal.why}",
                at=buffer.location,
                label="this layout",
                secondary=((read.location, "copied here"),),
                help=(
                    "give the buffer the order of the memory, and no padding",
                    "or leave `use_global_to_shared` out",
                ),
            )
        context.collector.warn(
            "WV0414",
            f"`{label}` goes through registers: {refusal.why}",
            at=read.location,
            label="copied here",
            help=("`use_global_to_shared` copies directly where it can",),
        )


def _order(
    buffer: Allocate, plans: list[DirectPlan], context: PassContext
) -> BufferLayout | None:
    """The order in which matrix instructions take operands from the buffer, if any do.

    Core gives it to the other accesses, in `order-matrix-operands`.
    """
    if not takes_shared(context.target):
        return None
    graph = plans[0].transfer.copy.region.graph
    tiles = tiles_by_buffer(graph).get(buffer)
    if tiles is None:
        return None
    return order_of_tile(*next(iter(tiles.items())), context.target)


def detours(graph: Graph) -> dict[Allocate, Read]:
    """By buffer, a read of global memory whose elements it gets in another order.

    Buffers that the compiler made to exchange values between lanes do not count.
    """
    found: dict[Allocate, Read] = {}
    for op in graph.walk():
        if not isinstance(op, Write) or not isinstance(op.value, Assemble):
            continue
        buffer = resolve(op.memory)
        if isinstance(buffer, Allocate) and not _exchanges(buffer):
            for read in _reads(op.value):
                found.setdefault(buffer, read)
    return found


def _exchanges(buffer: Allocate) -> bool:
    return any(dim.startswith("$") for dim in buffer.memory_type.dims)


def _reads(value: Op) -> Iterator[Read]:
    """The reads of parameters that a value is put together from."""
    if isinstance(value, Assemble):
        for source in value.sources:
            yield from _reads(source)
    elif isinstance(value, Read) and isinstance(resolve(value.memory), Argument):
        yield value
