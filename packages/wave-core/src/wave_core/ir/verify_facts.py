"""Rules that ops obey for each fact that a graph claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.ir.facts import ACCESS, BOX, LANDING, PLACEMENT
from wave_core.ops.atomic import Atomic
from wave_core.ops.control import Iterate, Loop, While
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.ops.shape import Broadcast, Permute, Relayout, Reshape, Squeeze
from wave_core.ops.structure import Argument, GetResult
from wave_core.ops.traits import Trait
from wave_core.types import MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.ir.facts import Access, Placement
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.targets import Target

_WAVE_LEVEL = (Broadcast, Permute, Squeeze, Reshape, Relayout)
"""Ops on whole tiles that expansion replaces."""

_REGISTER_BY_REGISTER = frozenset({Trait.ELEMENTWISE, Trait.FOLLOWS_OPERANDS})
"""Traits of ops whose operands have the registers of the result, or one for all."""


class FactRules:
    """The rules of the facts that one graph claims."""

    def __init__(
        self,
        graph: Graph,
        target: Target | None,
        report: Callable[[Op, str, str], None],
    ) -> None:
        """Rules for ``graph``; ``report`` takes what is wrong with an op."""
        facts = graph.facts_present
        self._send = report
        self._target = target
        self._placements = graph.facts.table(PLACEMENT)
        self._accesses = graph.facts.table(ACCESS)
        self._landings = graph.facts.table(LANDING)
        self._boxes = graph.facts.table(BOX)
        self._indexed = "indexed" in facts
        self._expanded = "expanded" in facts
        self._at_top = True

    def _report(self, op: Op, message: str) -> None:
        self._send(op, message, "WV9903")

    def enter(self, region: Region) -> None:
        """The next ops are those of ``region``."""
        self._at_top = region.parent is None

    def check(self, op: Op) -> None:
        """Report what ``op`` lacks."""
        if not self._indexed:
            return
        row = self._placements.get(op.ident)
        if row is not None:
            self._placement(op, row)
        elif self._needs_placement(op):
            self._report(op, "a register value has no placement")
        if self._expanded:
            self._lowered(op)

    def _needs_placement(self, op: Op) -> bool:
        if isinstance(op, Argument) and op.role == "capture":
            return False
        return isinstance(op.type, RegisterType) and bool(op.type.shape)

    def _placement(self, op: Op, row: Placement) -> None:
        if not isinstance(op.type, RegisterType):
            self._report(op, "has a placement and is no register value")
            return
        extra = {dim for dim, _ in row.layout.table} - set(op.type.dims)
        if extra:
            names = ", ".join(sorted(extra))
            self._report(op, f"the layout has digits for {names}, the value has not")
        if self._expanded and row.steps:
            self._report(op, "an expanded value still has steps")

    def _lowered(self, op: Op) -> None:
        if isinstance(op, _WAVE_LEVEL):
            self._report(op, "an op on whole tiles is left after expansion")
        elif not op.traits.isdisjoint(_REGISTER_BY_REGISTER):
            self._elementwise(op)
        elif isinstance(op, (Read, Write, Atomic)):
            self._access(op)
        elif isinstance(op, GatherToLDS):
            self._gather(op)
        elif isinstance(op, SharedTile):
            self._shared_tile(op)
        elif isinstance(op, Mma):
            self._mma(op)
        elif isinstance(op, GetResult):
            self._result(op)
        elif isinstance(op, Iterate | While):
            self._loop(op)
        elif isinstance(op, Allocate):
            self._allocation(op)

    def _allocation(self, op: Allocate) -> None:
        if not self._at_top:
            self._report(op, "a buffer is not at the top of the kernel")
        if op.offset is not None and (op.offset < 0 or op.offset % op.dtype.bytes):
            self._report(op, "the offset of a buffer is no multiple of its elements")

    def registers(self, op: Op) -> int:
        """Elements of ``op`` that each lane holds."""
        row = self._placements.get(op.ident)
        if row is None and isinstance(op, Argument) and op.role == "capture":
            return self._captured(op)
        return 1 if row is None else row.layout.registers

    def _captured(self, argument: Argument) -> int:
        region: Any = argument.owner
        inner = [a for a in region.arguments if a.role == "capture"]
        outer = () if region.parent is None else region.parent.captures
        position = inner.index(argument)
        return self.registers(outer[position]) if position < len(outer) else 1

    def _elementwise(self, op: Op) -> None:
        expected = self.registers(op)
        for value in op.operands:
            found = self.registers(value)
            if found not in (expected, 1):
                self._report(
                    op, f"an operand has {found} registers, the result {expected}"
                )

    def _access(self, op: Read | Write | Atomic) -> None:
        row = self._accesses.get(op.ident)
        if row is None:
            self._report(op, "a memory access has no coordinates")
            return
        self._coordinates(op, op.memory, row)
        found = self.registers(op if isinstance(op, Read) else op.value)
        allowed = (row.registers,) if isinstance(op, Read) else (row.registers, 1)
        if found not in allowed:
            self._report(
                op, f"accesses {row.registers} elements a lane, its value has {found}"
            )

    def _gather(self, op: GatherToLDS) -> None:
        row, landing = self._accesses.get(op.ident), self._landings.get(op.ident)
        if row is None or landing is None:
            self._report(op, "a direct copy has no coordinates of both memories")
            return
        self._coordinates(op, op.source, row)
        self._coordinates(op, op.destination, landing)
        if row.registers != landing.registers:
            self._report(
                op, f"reads {row.registers} elements a lane, lands {landing.registers}"
            )
        for position, value in enumerate(op.indices):
            found = self.registers(value)
            if found != 1:
                self._report(
                    op, f"index register {position} has {found} elements a lane, not 1"
                )

    def _shared_tile(self, op: SharedTile) -> None:
        row, box = self._accesses.get(op.ident), self._boxes.get(op.ident)
        if row is None or box is None:
            self._report(op, "a shared tile has no coordinates, or no box")
            return
        self._coordinates(op, op.memory, row)
        if not len(box.origin) == len(box.extents) == len(row.coordinates):
            self._report(op, f"its box has not the {len(row.coordinates)} dims")
        if any(
            not isinstance(user, Mma) or user.owner is not op.owner for user in op.users
        ):
            self._report(op, "a shared tile is an operand of products of its region")

    def _coordinates(self, op: Op, where: Op, row: Access) -> None:
        memory = where.type
        if not isinstance(memory, MemoryType):
            return
        rank = len(memory.storage_shape)
        if len(row.coordinates) != rank:
            self._report(
                op, f"has {len(row.coordinates)} coordinates, the memory {rank} dims"
            )
        if row.mask is not None and not row.mask.is_boolean:
            self._report(op, f"the mask `{row.mask}` is not a condition")

    def _mma(self, op: Mma) -> None:
        if op.mma_type is None:
            self._report(op, "the matrix instruction is not chosen")
            return
        if self._target is None:
            return
        dtype = op.lhs.register_type.dtype
        row = self._target.matrix_instruction(op.mma_type, op.location, dtype)
        wanted = [("lhs", row.lhs), ("rhs", row.rhs), ("acc", row.acc)]
        if row.scales is not None:
            wanted += [("lhs_scale", row.scales), ("rhs_scale", row.scales)]
        for value, (name, layout) in zip(op.operands, wanted, strict=False):
            found = self.registers(value)
            if found != layout.registers:
                self._report(
                    op,
                    f"{name} has {found} registers, {row.name} takes"
                    f" {layout.registers}",
                )

    def _result(self, op: GetResult) -> None:
        terminator = op.source.regions[0].terminator if op.source.regions else None
        values = () if terminator is None else terminator.operands
        if op.position < len(values):
            self._same(op, values[op.position], "the yielded value")

    def _loop(self, op: Loop) -> None:
        if isinstance(op, Iterate) and (op.induction is None or op.count is None):
            self._report(op, "the loop has no induction symbol or count")
        region: Any = op.body
        values = () if region.terminator is None else region.terminator.operands
        for argument, first, last in zip(
            region.arguments, op.inits, values, strict=False
        ):
            self._same(argument, first, "the initial value")
            self._same(argument, last, "the yielded value")

    def _same(self, op: Op, value: Op, what: str) -> None:
        expected, found = self.registers(op), self.registers(value)
        if found not in (expected, 1):
            self._report(op, f"has {expected} registers, {what} {found}")
