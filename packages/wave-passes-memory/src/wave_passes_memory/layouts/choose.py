"""The pass that gives each buffer in LDS the layout with the fewest bank conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.storage import buffers_of, lds_bytes
from wave_core.analysis.effects import touched_memories
from wave_core.analysis.loops import enclosing_loops
from wave_core.analysis.runs import contiguous_run
from wave_core.constraints.machine import REGISTER
from wave_core.diagnostics import user_error
from wave_core.ir import ACCESS, region_of
from wave_core.ir.rewrite import redeclare
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.passes import Pass, option
from wave_core.symbols import Kind, constant, product
from wave_passes_memory.copies.lane_points import LanePoints
from wave_passes_memory.hoisting.pressure import crowded_loops
from wave_passes_memory.layouts.patterns import (
    Pattern,
    conflict_cycles,
    patterns,
    row_of,
    split_accesses,
)
from wave_passes_memory.layouts.schemes import Scheme, schemes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Access, Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr
    from wave_core.targets import MemorySpec


@dataclass(frozen=True)
class ChooseLdsLayouts(Pass):
    """Lay buffers out so that the lanes of an access meet in as few banks as may be.

    Needs accesses of one instruction each. Tries a swizzle (chunks of a row permuted
    by the number of the row) and longer rows, counts the conflicts of all accesses of
    a buffer by the target's access phases, and takes the simplest layout with the
    fewest; every access of the buffer changes with it. Rows that do not start at
    multiples of the widest access cost the narrower accesses that are needed then.
    Rows grow only while all buffers fit. In a loop whose values take more registers
    than the target can spare, by the estimate of `hoisting.pressure`, a layout may
    need few more addresses than plain rows do. A buffer whose author asked for padding
    keeps its layout.

    Example::

          kernel "k" target "gfx942" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            %t = allocate {shape = [M, N], distributed_shape = [`16`, `16`],
                dtype = !f16} : mem<M, N, shared, f16, physical[16, 16]>
        -   %x = read %t, [] : reg<M, N, f16>
        -       @access(coordinates = [$LANE % 16, $REG + 4*($LANE // 16)],
        -       registers = 4)
        -   write %x, %t, []
        -       @access(coordinates = [$LANE // 4, $REG + 4*($LANE % 4)], registers = 4)
        +   %x = read %t, [] : reg<M, N, f16>
        +       @access(coordinates = [$LANE % 16, $REG + 4*xor($LANE // 16,
        +       $LANE // 4 % 4)], registers = 4)
        +   write %x, %t, []
        +       @access(coordinates = [$LANE // 4, $REG + 4*xor($LANE // 16,
        +       $LANE % 4)], registers = 4)
            yield []
          }

    Raises:
        UserError: WV0416 where a swizzle is asked for and a buffer has padding.
    """

    padding: bool = option(True, "whether rows may become longer")
    swizzle: bool | None = option(
        None, "whether chunks of a row may, or must be free to, change places"
    )

    def should_run(self, graph: Graph) -> bool:
        """There is a buffer."""
        return any(isinstance(op, Allocate) for op in graph.body.ops)

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Choose a layout for every buffer."""
        if self.swizzle:
            _refuse_padding(graph)
        known = context.region_facts(graph)
        points = LanePoints.of(known.geometry)
        room = context.target.memory.lds_bytes
        room -= lds_bytes(buffers_of(graph), graph.bindings)
        crowded = crowded_loops(graph, context.target.registers)
        changed = False
        for buffer, accesses in accesses_by_buffer(graph).items():
            chooser = Chooser(buffer, accesses, known, context.target.memory)
            if not chooser.may_change():
                continue
            few = any(
                not crowded.isdisjoint(enclosing_loops(region_of(op)))
                for op in accesses
            )
            scheme, before, after = chooser.choose(
                points, self._wanted, room, few_addresses=few
            )
            context.count("conflict_weight_before", before)
            context.count("conflict_weight", after)
            if not scheme.is_plain:
                chooser.apply(scheme)
                room -= chooser.growth(scheme)
                changed = True
        return changed

    def _wanted(self, scheme: Scheme) -> bool:
        return (self.padding or not scheme.padding) and (
            self.swizzle is not False or scheme.ways == 1
        )


_HEAVIEST = 1 << 62
"""More than any conflicts weigh."""

MORE_ADDRESSES = 4
"""Registers that a layout may take for addresses where registers are few."""


def _refuse_padding(graph: Graph) -> None:
    for op in graph.walk():
        if isinstance(op, Allocate) and op.padding:
            raise user_error(
                "WV0416",
                f"a buffer of {op.type} is to be padded and swizzled",
                at=op.location,
                label=f"asks for {op.padding} elements of padding",
                help=(
                    "leave `padding` out: the compiler swizzles the buffer",
                    "leave `enable_swizzle` out: the buffer keeps its padding",
                ),
            )


def accesses_by_buffer(graph: Graph) -> dict[Allocate, list[Read | Write]]:
    """The accesses of each buffer of its own that only reads and writes touch."""
    found: dict[Allocate, list[Read | Write]] = {}
    foreign: set[Op] = set()
    for op in graph.walk():
        if isinstance(op, Allocate):
            found[op] = []
            if op.offset is not None:
                foreign.add(op)
            continue
        for memory, _ in touched_memories(op):
            if isinstance(op, Read | Write) and isinstance(memory, Allocate):
                found[memory].append(op)
            else:
                foreign.add(memory)
    return {buffer: rows for buffer, rows in found.items() if buffer not in foreign}


def is_swizzled(access: Access) -> bool:
    """Whether the place of an access is permuted already."""
    return any(term.kind is Kind.XOR for term, _ in access.coordinates[-1].linear()[1])


class Chooser:
    """Chooses and applies the layout of one buffer."""

    def __init__(
        self,
        buffer: Allocate,
        accesses: list[Read | Write],
        known: RegionFacts,
        memory: MemorySpec,
    ) -> None:
        self._buffer = buffer
        self._accesses = accesses
        self._known = known
        self._memory = memory
        kind = buffer.memory_type
        self._kind = kind
        self._facts = region_of(buffer).graph.facts

    def may_change(self) -> bool:
        """Whether every access keeps within an aligned chunk of its own width."""
        static = all(extent.is_constant for extent in self._kind.storage_shape)
        many = len(self._kind.storage_shape) > 1
        if self._buffer.padding or not static or not many or not self._accesses:
            return False
        return all(
            self._aligned(op) and not is_swizzled(self._row(op))
            for op in self._accesses
        )

    def choose(
        self,
        points: LanePoints,
        wanted: Callable[[Scheme], bool],
        room: int,
        *,
        few_addresses: bool = False,
    ) -> tuple[Scheme, int, int]:
        """The layout, and the weight of conflicts before and with it.

        With ``few_addresses`` it may take `MORE_ADDRESSES` more than plain rows do.

        Units: ``room`` bytes that the buffer may grow by.
        """
        found = patterns(self._buffer, self._accesses, points)
        tried: list[tuple[int, Scheme]] = []
        rows = self._kind.storage_shape[-2].constant_value
        for scheme in schemes(self._row_bytes, self._widest, rows):
            if not scheme.is_plain and not wanted(scheme):
                continue
            if scheme.padding and self.growth(scheme) > room:
                continue
            least = min((weight for weight, _ in tried), default=_HEAVIEST)
            enough = _HEAVIEST if few_addresses else least
            tried.append((self._weight(scheme, found, enough), scheme))
            if not tried[-1][0] and not few_addresses:
                break
        before, plain = tried[0]
        ordered = sorted(tried, key=lambda row: row[0])
        most = len({*self._addresses(plain)}) + MORE_ADDRESSES if few_addresses else 0
        weight, best = next(
            row
            for row in ordered
            if not few_addresses or at_most(most, self._addresses(row[1]))
        )
        return best, before, weight

    def apply(self, scheme: Scheme) -> None:
        """Give the buffer the layout."""
        for op in self._accesses:
            access = self._row(op)
            facts = self._known.facts(region_of(op), access.registers)
            new = scheme.apply(access, self._kind, facts)
            self._facts.put(ACCESS, op, new)
        if scheme.padding:
            elements = scheme.padding // self._buffer.dtype.bytes
            redeclare(self._buffer, padding=elements)

    def growth(self, scheme: Scheme) -> int:
        """Bytes that the layout adds to the buffer."""
        rows = product([constant(1), *self._kind.storage_shape[:-1]])
        return scheme.padding * rows.constant_value

    @property
    def _row_bytes(self) -> int:
        return self._kind.storage_shape[-1].constant_value * self._buffer.dtype.bytes

    @property
    def _widest(self) -> int:
        return max(self._width(op) for op in self._accesses)

    def _width(self, op: Read | Write) -> int:
        return self._row(op).registers * self._buffer.dtype.bytes

    def _row(self, op: Read | Write) -> Access:
        return self._facts.known(ACCESS, op)

    def _aligned(self, op: Read | Write) -> bool:
        access = self._row(op)
        registers = access.registers
        if registers & (registers - 1) or contiguous_run(access) != registers:
            return registers == 1
        facts = self._known.facts(region_of(op), registers)
        start = access.coordinates[-1].subs({REGISTER: constant(0)})
        return facts.prove_divisible(start, registers)

    def _weight(self, scheme: Scheme, found: list[Pattern], enough: int) -> int:
        """The weight of conflicts; a part of it, where that is ``enough`` already."""
        total = 0
        for pattern in found:
            if total >= enough:
                break
            places = scheme.places(pattern.rows, pattern.columns, self._row_bytes)
            cycles = conflict_cycles(
                places, pattern.alive, pattern.width, self._memory, reads=pattern.reads
            )
            cycles = cycles + split_accesses(places, pattern.alive, pattern.width)
            total += int((cycles * pattern.weights).sum())
        return total

    def _addresses(self, scheme: Scheme) -> Iterator[Expr]:
        """Those of the accesses, less constants: equal ones share a register."""
        row = self._row_bytes + scheme.padding
        for op in self._accesses:
            access = self._row(op)
            facts = self._known.facts(region_of(op), access.registers)
            moved = scheme.apply(access, self._kind, facts)
            column = moved.coordinates[-1].subs({REGISTER: constant(0)})
            size = self._buffer.dtype.bytes
            place = row_of(moved, self._kind) * row + column * size
            yield place - place.linear()[0]


def at_most(count: int, values: Iterable[Hashable]) -> bool:
    """Whether so many of the values differ, or fewer; looks at no more than it must."""
    found: set[Hashable] = set()
    for value in values:
        found.add(value)
        if len(found) > count:
            return False
    return True
