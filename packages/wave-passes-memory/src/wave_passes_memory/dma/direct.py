"""Straight from global memory to LDS: the hardware writes the lanes side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from wave_core.analysis.runs import access_count
from wave_core.analysis.waves import thread_number
from wave_core.constraints.machine import REGISTER
from wave_core.ir import ACCESS, LANDING, Access, capture, erase, insert_before
from wave_core.ops.memory import GatherToLDS
from wave_core.symbols import constant, logical_and, lt, symbol
from wave_core.targets import BufferBounds
from wave_passes_memory.copies.gathered import Source, drop_unused, index_reads
from wave_passes_memory.copies.share import flat_offset

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_passes_memory.copies.find import Copy
    from wave_passes_memory.copies.gathered import Gathers
    from wave_passes_memory.copies.prove import Box
    from wave_passes_memory.layouts.schemes import Scheme


@dataclass(frozen=True)
class Transfer:
    """A tile to be brought to LDS.

    Attributes:
        copy: The reads and writes that do it now.
        box: What they have been proved to do.
        known: What is known where they stand.
        target: The machine.
    """

    copy: Copy
    box: Box
    known: RegionFacts
    target: Target

    @property
    def bits(self) -> int:
        """The width of an element."""
        return self.copy.buffer.dtype.bits

    @property
    def threads(self) -> int:
        """Threads of the workgroup."""
        geometry = self.known.geometry
        return geometry.waves_per_workgroup * geometry.lanes

    @property
    def storage(self) -> tuple[int, ...]:
        """The extents of the buffer as stored; the proof needs them static."""
        shape = self.copy.buffer.memory_type.storage_shape
        return tuple(extent.constant_value for extent in shape)

    @property
    def memory_shape(self) -> tuple[Expr, ...]:
        """The extents of the memory that is copied from."""
        shape = self.copy.memory.memory_type.storage_shape
        return tuple(self.known.geometry.bind(extent) for extent in shape)

    @property
    def cost(self) -> Cost:
        """The cost now: loads and stores, of elements side by side at once."""
        facts = self.copy.region.graph.facts
        widest = self.target.memory.max_access_bits // self.bits
        issued, held = len(index_reads(self.copy.pairs)), 0
        for op in self.copy.members:
            row = facts.known(ACCESS, op)
            issued += access_count(row, widest)
            held += row.registers * self.bits
        return Cost(issued, held // 2)

    def brings_lines(self, rows: int) -> bool:
        """Whether it brings all or nothing of each ``rows`` rows of the buffer.

        Elements that change rows within such a line then stay within the copy.
        """
        if rows == 1:
            return True
        start, count = self.box.shared[-2], self.box.extents[-2]
        return count % rows == 0 and self.facts().prove_divisible(start, rows)

    def facts(self, registers: int = 1) -> Facts:
        """Facts for vectors of ``registers`` elements a lane."""
        return self.known.facts(self.copy.region, registers)


@dataclass(frozen=True, order=True)
class Cost:
    """Accesses that each thread issues.

    Attributes:
        instructions: Accesses of global memory and of LDS together.
        registers: Registers that hold the tile on its way. Units: bits.
    """

    instructions: int
    registers: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.instructions + other.instructions, self.registers + other.registers
        )


NOTHING = Cost(0, 0)


@dataclass(frozen=True)
class Refusal:
    """Why a transfer cannot be done directly.

    Attributes:
        why: For messages: "it is not ... because ``why``".
        layout: Whether the layout that the author gave the buffer is the reason.
    """

    why: str
    layout: bool = False


WORD_BYTES = 4
"""The alignment of addresses of direct copies. Source: AMD CDNA3 ISA, buffer load
to LDS: M0[1:0] are ignored, data moves in words."""

REACH_BYTES = 1 << 31
"""Memories of at least so many bytes are out of reach of buffer instructions."""

_FIRST = {REGISTER: constant(0)}

RUN = symbol("$RUN")
"""The number of a run in an op."""


def direct_plan(transfer: Transfer) -> DirectPlan | Refusal:
    """The fewest copies of a width that the machine has, if one fits."""
    refusal = _never(transfer)
    if refusal is not None:
        return refusal
    found: list[DirectPlan] = []
    reasons: list[Refusal] = []
    for bits in transfer.target.direct_to_lds_bits:
        if bits % transfer.bits:
            reasons.append(Refusal(f"an element has {transfer.bits} bits"))
            continue
        plan = DirectPlan(transfer, bits // transfer.bits)
        why = plan.refusal()
        if why is None:
            found.append(plan)
        else:
            reasons.append(why)
    if not found:
        return reasons[0]
    return min(found, key=lambda plan: (plan.count, -plan.width))


def _never(transfer: Transfer) -> Refusal | None:
    """The reason against direct copies of any width, if there is one."""
    target, copy = transfer.target, transfer.copy
    buffers = target.buffer_bounds is BufferBounds.RAW
    if not target.direct_to_lds_bits or not (buffers or target.direct_by_pointer):
        return Refusal(f"target `{target.name}` has no direct copies to LDS")
    if copy.buffer.dtype.is_bool:
        return Refusal("truth values are stored otherwise than computed with")
    if copy.pairs[0][0].flags != "none":
        return Refusal(f"the read is {copy.pairs[0][0].flags}")
    size = prod(e.constant_value for e in transfer.memory_shape if e.is_constant)
    if buffers and size * copy.buffer.dtype.bytes >= REACH_BYTES:
        return Refusal(f"`{copy.memory.label}` is out of reach of buffer instructions")
    box = transfer.box
    if not box.fills and not box.skips:
        return Refusal("it is not known what becomes of elements that do not exist")
    return None


@dataclass(frozen=True)
class DirectPlan:
    """Copies of ``width`` elements a lane.

    Each lane names elements of global memory; those of a wave arrive side by side.
    An op has ``runs`` of them, one behind the other.
    """

    transfer: Transfer
    width: int
    runs: int = 1

    @property
    def chunk_bytes(self) -> int:
        """Bytes that one lane copies: they stay together, whatever the layout is."""
        return self.width * self.transfer.copy.buffer.dtype.bytes

    @property
    def chunks(self) -> int:
        """Runs of elements that one lane copies at once, over all threads."""
        return self.transfer.box.elements // self.width

    @property
    def count(self) -> int:
        """Ops; with a run in each they are the copies of each thread."""
        return -(-self.chunks // (self.transfer.threads * self.runs))

    @property
    def together(self) -> int:
        """Elements that all lanes move in an op, if there are as many."""
        return self.width * self.runs * self.transfer.threads

    def with_runs(self, runs: int) -> DirectPlan:
        """The same copies, so many in an op."""
        return replace(self, runs=runs)

    @property
    def cost(self) -> Cost:
        """No access of LDS, and nothing is held on the way."""
        own = index_reads(self.transfer.copy.pairs[:1])
        return Cost(self.count * (1 + len(own)), 0)

    def refusal(self) -> Refusal | None:
        """Why this width does not do."""
        box, width = self.transfer.box, self.width
        if box.extents[-1] % width:
            return Refusal(f"rows of {box.extents[-1]} elements are no multiple of it")
        if not self._lands_side_by_side():
            return Refusal(
                "the rows of the buffer are longer than what is copied, and a wave "
                "writes beyond a row's end",
                layout=self.transfer.copy.buffer.padding > 0,
            )
        if not box.ends_between(width, self._facts):
            return Refusal("elements that one lane copies may exist in part")
        row = self._source(0, self._places(0))
        if not _neighbours(row):
            return Refusal(
                "neighbours in the buffer are no neighbours in memory", layout=True
            )
        if not self._aligned(row):
            return Refusal("rows of the memory do not start at multiples of a word")
        return None

    def _lands_side_by_side(self) -> bool:
        """Whether what a wave writes at once has no gap."""
        box, storage = self.transfer.box, self.transfer.storage
        run, whole = 1, True
        for extent, stored in zip(
            reversed(box.extents), reversed(storage), strict=True
        ):
            run *= extent if whole else 1
            whole = whole and extent == stored
        lanes = self.transfer.known.geometry.lanes
        return run == box.elements or run % (lanes * self.width) == 0

    def _aligned(self, row: Access) -> bool:
        first = flat_offset(row.coordinates, self.transfer.memory_shape).subs(_FIRST)
        start = flat_offset(
            self.transfer.box.shared, tuple(map(constant, self.transfer.storage))
        )
        size = self.transfer.copy.buffer.dtype.bytes
        facts = self.transfer.facts()
        pointers = self.transfer.target.direct_by_pointer
        unit = self.chunk_bytes if pointers else WORD_BYTES
        return all(
            facts.divisor(offset) * size % unit == 0 for offset in (first, start)
        )

    @cached_property
    def _facts(self) -> Facts:
        facts = self.transfer.facts(self.width)
        return facts.with_range(RUN, 0, self.runs - 1) if self.runs > 1 else facts

    def _chunk(self, number: int) -> Expr:
        """The number of the chunk that each lane moves in a run of op ``number``."""
        first = thread_number(self.transfer.known.geometry)
        if self.runs == 1:
            return first + number * self.transfer.threads
        return first + (number * self.runs + RUN) * self.transfer.threads

    def _places(self, number: int) -> Access:
        """Where a run of op ``number`` arrives, in each lane.

        Lanes beyond the last chunk go on counting: the machine does so, too.
        """
        facts, box = self._facts, self.transfer.box
        *outer, inner = box.extents
        rest = self._chunk(number)
        found: list[Expr] = []
        for position, extent in enumerate([inner // self.width, *reversed(outer)]):
            last = prod(box.extents[: len(outer) - position]) == 1
            found.append(facts.simplify(rest if last else rest % extent))
            rest = constant(0) if last else facts.simplify(rest // extent)
        within = REGISTER if self.width > 1 else constant(0)
        found[0] = found[0] * self.width + within
        places = zip(box.shared, reversed(found), strict=True)
        return Access(tuple(shared + place for shared, place in places), self.width)

    def _index(self, elements: Access) -> tuple[Expr, ...]:
        """The logical index of elements of the buffer."""
        rows = zip(self.transfer.box.base, elements.coordinates, strict=True)
        return tuple(base + place for base, place in rows)

    def _landing(self, number: int, places: Access, elements: Access) -> Access:
        """Where ``elements`` arrive; some lanes may have none to write."""
        conditions = [lt(self._chunk(number), self.chunks)]
        if not self.transfer.box.fills:
            conditions += self._exists(elements)
        return Access(places.coordinates, self.width, self._all_of(conditions))

    def _source(self, number: int, elements: Access) -> Access:
        """The elements of the buffer that a run of op ``number`` reads."""
        transfer, box = self.transfer, self.transfer.box
        named = dict(zip(box.dims, self._index(elements), strict=True))
        source = Source(transfer.copy.pairs[0][0], transfer.known)
        found = source.addresses(named)
        mask = self._all_of(
            [
                lt(self._chunk(number), self.chunks),
                *self._exists(elements),
                *source.bounds({d: p.subs(_FIRST) for d, p in named.items()}),
            ]
        )
        simple = tuple(self._facts.simplify(c) for c in found)
        return Access(simple, self.width, mask)

    def _exists(self, elements: Access) -> list[Expr]:
        """The conditions under which the elements of a run exist."""
        index = self._index(elements)
        return self.transfer.box.exists(tuple(place.subs(_FIRST) for place in index))

    def _all_of(self, conditions: list[Expr]) -> Expr | None:
        """The conditions that do not always hold; ``None`` where all do."""
        left = [c for c in conditions if not self._facts.prove(c)]
        return logical_and(*left) if left else None

    def emit(self, scheme: Scheme, gathers: Gathers, box: tuple[int, ...] = ()) -> None:
        """Copies where the last write of the tile was; each of a ``box``, if given."""
        copy = self.transfer.copy
        region, front = copy.region, copy.pairs[0][0]
        kind = copy.buffer.memory_type
        for number in range(self.count):
            places = self._places(number)
            elements = scheme.undo(places, kind, self._facts)
            index = self._index(elements)
            tail = self._all_of([lt(self._chunk(number), self.chunks)])
            op = GatherToLDS(
                capture(region, copy.memory),
                capture(region, copy.buffer),
                gathers.indices(copy, self.transfer.box, index, tail, front),
                copy.mapping,
                self.width,
                box,
            )
            op.tags = front.tags
            insert_before(copy.pairs[-1][1], op, front)
            landing = self._landing(number, places, elements)
            source = self._source(number, elements)
            region.graph.facts.put(ACCESS, op, self._of_all(source))
            region.graph.facts.put(LANDING, op, self._of_all(landing))

    def _of_all(self, row: Access) -> Access:
        """The row of all runs of an op, by that of each."""
        if self.runs == 1:
            return row
        part = {RUN: REGISTER // self.width, REGISTER: REGISTER % self.width}
        found = row.mapped(lambda expr: expr.subs(part))
        return replace(found, registers=self.width * self.runs)

    def replaced(self) -> None:
        """Take what did it before out of the kernel."""
        for read, write in self.transfer.copy.pairs:
            indices = read.indices
            erase(write)
            erase(read)
            drop_unused(indices)


def _neighbours(row: Access) -> bool:
    """Whether the elements of a lane lie side by side in memory."""
    *outer, inner = row.coordinates
    if row.registers == 1:
        return True
    moving = [c for c in (*outer, inner - REGISTER) if REGISTER in c.free_symbols]
    return REGISTER in inner.free_symbols and not moving
