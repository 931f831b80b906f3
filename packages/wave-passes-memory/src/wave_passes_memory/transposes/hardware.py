"""The pass that reads LDS transposed where the target has an instruction for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.analysis.runs import contiguous_run
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Access,
    Placement,
    insert_before,
    region_of,
    replace,
    resolve,
)
from wave_core.ops.memory import Allocate, Read, TransposedRead
from wave_core.ops.shape import Assemble
from wave_core.passes import Pass
from wave_core.symbols import Facts, Layout
from wave_core.targets.exchange import before_exchange, exchanged

if TYPE_CHECKING:
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.ir import Graph
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr
    from wave_core.targets import Exchange, Target

WHOLE_ROW = 16
"""Bytes of the widest transposed reads. Source: PTX ISA, ldmatrix: each row's address
is a multiple of them."""


@dataclass(frozen=True)
class UseTransposedReads(Pass):
    """Let the hardware transpose what is stored across and read along K.

    Needs expanded tiles. A read of LDS that takes single elements becomes reads that
    fetch neighbours and exchange them among lanes, if the layout after the exchange
    is proved to be the one that the read has: as digits of lane and
    register. All lanes have to take part, without a condition.

    Example::

          kernel "k" target "gfx950" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = N, tile_size = `16`,
                workgroup_dim = 0)
            %b = argument parameter "b" : mem<K, N, global, f16>
            %t = allocate {shape = [K, N], distributed_shape = [`16`, `16`],
                dtype = !f16} : mem<K, N, shared, f16, physical[16, 16]>
        -   %x = read %t, [] : reg<K, N, f16>
        -       @access(coordinates = [$REG + 4*($LANE // 16), $LANE % 16],
        -       registers = 4)
        -       @placement(layout = #layout(64x4 {K: 4*(lane/16%4) + (reg/1%4), N:
        -       (lane/1%16)}))
        -   write %x, %b, []
        -       @access(coordinates = [$REG + 4*($LANE // 16), $LANE % 16],
        -       registers = 4)
        +   %0 = transposed_read %t, [] {shape = [K, N]} : reg<K, N, f16>
        +       @access(coordinates = [$LANE // 4, $REG + 4*($LANE % 4)], registers = 4)
        +       @placement(layout = #layout(64x4 {K: 4*(lane/16%4) + (reg/1%4), N:
        +       (lane/1%16)}))
        +   %1 = assemble [%0] {picks = [[0, 0], [0, 1], [0, 2], [0, 3]], shape = [K,
        +       N]} : reg<K, N, f16>
        +       @placement(layout = #layout(64x4 {K: 4*(lane/16%4) + (reg/1%4), N:
        +       (lane/1%16)}))
        +   write %1, %b, []
        +       @access(coordinates = [$REG + 4*($LANE // 16), $LANE % 16],
        +       registers = 4)
            yield []
          }
    """

    def should_run(self, graph: Graph) -> bool:
        """There is a buffer to read."""
        return any(isinstance(op, Allocate) for op in graph.body.ops)

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Replace the reads that become fewer."""
        target = context.target
        if not (target.transposed_read_bits or target.row_exchanges):
            return False
        known = context.region_facts(graph)
        uniformity = Uniformity(graph)
        before = after = 0
        for op in list(graph.walk()):
            if type(op) is not Read or not uniformity.reached_together(region_of(op)):
                continue
            found = fetches(op, known, target)
            if found is not None and op.flags == "none" and _unmasked(op):
                before += _registers(op)
                after += len(found)
                _use(op, found)
        context.count("single_reads_before", before)
        context.count("transposed_reads", after)
        return after > 0


@dataclass(frozen=True)
class Fetch:
    """One transposed read: what a lane fetches, and what it holds afterwards.

    Attributes:
        access: What it fetches.
        row: What it holds.
        rows: Whether lanes get parts of rows.
    """

    access: Access
    row: Placement
    rows: bool


def fetches(read: Read, known: RegionFacts, target: Target) -> list[Fetch] | None:
    """The transposed reads that give what ``read`` gives, if that takes fewer.

    ``None`` where they do not, or where it is not proved. A mask is not looked at.
    """
    forms = _forms(read, target)
    found = (_fetches(read, known, form) for form in forms)
    return next((each for each in found if each is not None), None)


@dataclass(frozen=True)
class _Form:
    """A transposed read of the machine.

    Attributes:
        width: Elements that it gives a lane.
        exchange: What of it which lane gets.
        rows: Whether lanes get parts of rows.
    """

    width: int
    exchange: Exchange
    rows: bool = False


def _fetches(read: Read, known: RegionFacts, form: _Form) -> list[Fetch] | None:
    access, row = _rows(read)
    width = form.width
    if access is None or row is None or access.registers % width:
        return None
    if read.indices or contiguous_run(access) >= width:
        return None
    facts = known.facts(region_of(read), access.registers)
    if not _starts_aligned(read, width, facts):
        return None
    bases = _bases(read, access, row.layout, facts)
    if bases is None or row.layout.lanes % form.exchange.lanes:
        return None
    few = known.facts(region_of(read), width)
    found: list[Fetch] = []
    for first in range(0, access.registers, width):
        source = _source(row.layout, first, width, form.exchange)
        fetch = source and _fetch(read, row, bases, first, source, few)
        if fetch is None:
            return None
        found.append(Fetch(*fetch, rows=form.rows))
    return found


def _forms(read: Read, target: Target) -> list[_Form]:
    """The transposed reads that the machine has for the elements of a buffer."""
    if not isinstance(resolve(read.memory), Allocate):
        return []
    bits = read.memory.memory_type.dtype.bits
    columns, rows = dict(target.transposed_read_bits), dict(target.row_exchanges)
    found: list[_Form] = []
    if bits in columns:
        found.append(_Form(columns[bits] // bits, target.exchange))
    if bits in rows:
        found.append(_Form(rows[bits].registers, rows[bits], rows=True))
    return found


def _rows(read: Read) -> tuple[Access | None, Placement | None]:
    facts = region_of(read).graph.facts
    return facts.get(ACCESS, read), facts.get(PLACEMENT, read)


def _unmasked(read: Read) -> bool:
    access, _ = _rows(read)
    return access is not None and access.mask is None


def _registers(read: Read) -> int:
    access, _ = _rows(read)
    return 0 if access is None else access.registers


def _starts_aligned(read: Read, width: int, facts: Facts) -> bool:
    """Whether each row of the buffer begins where the instruction may read.

    Instructions of 16 bytes fault elsewhere; those of fewer read from any word. Rows
    may have a length of the author's; the buffer begins at a multiple of 16 bytes.
    """
    kind = read.memory.memory_type
    if width * kind.dtype.bits < 8 * WHOLE_ROW or len(kind.storage_shape) == 1:
        return True
    return facts.prove_divisible(kind.storage_shape[-1], width)


def _bases(
    read: Read, access: Access, layout: Layout, facts: Facts
) -> dict[str, Expr] | None:
    """The origin of the coordinates, if no lane or register adds to it.

    That is the proof that the lanes touch the elements of their layout.
    """
    dims = read.memory.memory_type.dims
    if len(dims) != len(access.coordinates) or not set(layout.dims) <= set(dims):
        return None
    within = _within(layout)
    found: dict[str, Expr] = {}
    for dim, place in zip(dims, access.coordinates, strict=True):
        rest = place - within[dim] if dim in within else place
        if _moves(rest):
            rest = facts.simplify(rest)
        if _moves(rest):
            return None
        found[dim] = rest
    return found


def _moves(value: Expr) -> bool:
    """Whether a value may differ between lanes or registers."""
    return not value.free_symbols.isdisjoint((LANE, REGISTER))


@lru_cache(maxsize=256)
def _within(layout: Layout) -> dict[str, Expr]:
    """The share of lane and register along each dimension, simplified."""
    facts = Facts().with_range(LANE, 0, layout.lanes - 1)
    facts = facts.with_range(REGISTER, 0, layout.registers - 1)
    return {d: facts.simplify(layout.expr(d, LANE, REGISTER)) for d in layout.dims}


@lru_cache(maxsize=256)
def _source(
    whole: Layout, first: int, width: int, exchange: Exchange
) -> tuple[Layout, Layout] | None:
    """How lanes fetch registers ``first`` to ``first + width``, and hold them then."""
    held = Layout.make(whole.lanes, width, {d: whole.digits(d) for d in whole.dims})
    source = before_exchange(held, exchange)
    if source is None or exchanged(source, exchange) != held:
        return None
    moved_as_a_whole = all(
        whole.offset(dim, 0, first + r)
        == whole.offset(dim, 0, first) + whole.offset(dim, 0, r)
        for dim in whole.dims
        for r in range(width)
    )
    return (source, held) if moved_as_a_whole else None


def _fetch(
    read: Read,
    row: Placement,
    bases: dict[str, Expr],
    first: int,
    found: tuple[Layout, Layout],
    facts: Facts,
) -> tuple[Access, Placement] | None:
    """What gives registers from ``first`` on, fetched and held as found."""
    whole, dims = row.layout, read.memory.memory_type.dims
    source, held = found
    width = held.registers
    if dims[-1] not in whole.dims:
        return None
    if source.contiguous_run(dims[-1]) != width:
        return None
    start = {d: whole.offset(d, 0, first) for d in whole.dims}
    within = _within(source)
    places = tuple(
        bases[d] + within[d] + start[d] if d in start else bases[d] for d in dims
    )
    if not facts.prove_divisible(places[-1] - REGISTER, width):
        return None
    origin = tuple((d, value + start.get(d, 0)) for d, value in row.origin)
    return Access(places, width), Placement(held, (), origin)


def _use(read: Read, found: list[Fetch]) -> None:
    graph = region_of(read).graph
    shape = read.register_type.shape
    row = graph.facts.known(PLACEMENT, read)
    parts: list[TransposedRead] = []
    for fetch in found:
        part = TransposedRead(read.memory, (), None, shape, rows=fetch.rows)
        part.tags = read.tags
        insert_before(read, part)
        graph.facts.put(ACCESS, part, fetch.access)
        graph.facts.put(PLACEMENT, part, fetch.row)
        parts.append(part)
    width = found[0].access.registers
    picks = tuple((n // width, n % width) for n in range(width * len(parts)))
    whole = Assemble(tuple(parts), picks, shape)
    insert_before(read, whole)
    graph.facts.put(PLACEMENT, whole, row)
    graph.facts.drop(ACCESS, read)
    replace(read, whole)
