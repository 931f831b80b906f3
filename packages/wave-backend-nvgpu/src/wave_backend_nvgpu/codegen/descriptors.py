"""What tells matrix units how an operand lies in shared memory.

Source: PTX ISA, "Matrix Descriptor Format" and "Strides"; each form was run on an H100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.backends.emission.memories import extents, strides
from wave_core.diagnostics import internal_error
from wave_core.ir import BOX, resolve
from wave_core.ops.memory import Allocate
from wave_core.symbols import constant, total

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_backend_nvgpu.codegen.memories import Memory
    from wave_core.ops.matrix import SharedTile
    from wave_core.symbols import Expr
    from wave_core.types import BufferLayout

UNIT = 16
"""Bytes in which addresses and distances are counted."""

ROWS = 8
"""Rows after which a pattern repeats; bytes of them are the distance of groups."""

MODES = {128: 1, 64: 2, 32: 3}
"""Bits 62 and 63, by bytes of a panel."""

SECOND, MODE = 16, 30
"""Where in its word the first distance begins, and where in the high one the mode."""


@dataclass(frozen=True)
class Stored:
    """A tile in shared memory.

    Attributes:
        memory: The buffer, whose rows are those of panels.
        layout: The order of its elements.
        row: The first row of the tile; eight divide it.
        column: The byte of a row at which the tile starts.
        width: Bytes of a row that the tile has.
        apart: Bytes from one panel of the tile to the next; 0 where there is one.
    """

    memory: Memory
    layout: BufferLayout
    row: Expr
    column: Expr
    width: int
    apart: int

    @property
    def offset(self) -> Expr:
        """Bytes from the start of the buffer to the tile, before chunks move."""
        return self.row * self.layout.panel + self.column


def descriptor(emit: Emitter, tile: SharedTile, *, across: bool) -> str:
    """The 64 bits for a tile; ``across`` where K is outermost.

    Distances are those of groups of eight rows, and, where K is outermost, of panels.

    Raises:
        UserError: WV0601 for a tile that no descriptor describes.
    """
    found = _stored(emit, tile, across=across)
    make, layout = emit.builder, found.layout
    first = found.apart or UNIT
    base = make.once(
        ("descriptors", first),
        lambda: _base(emit, found.memory, first),
        0,
    )
    start = emit.facts.simplify(found.offset // UNIT) + found.memory.start // UNIT
    const, _ = start.linear()
    rest = start - const
    level = emit.indices.level(rest)
    low = base
    if not (rest.is_constant and rest.constant_value == 0):
        number = emit.indices.wrapped(rest)
        low = make.once(
            ("descriptor", first, rest),
            lambda: make.op(f"add i32 {base}, {number}", level),
            level,
        )
    high = ROWS * layout.panel // UNIT | MODES[layout.panel] << MODE

    def whole() -> str:
        word = make.op(f"add i32 {low}, {const}", level) if const else low
        pair = f"<2 x i32> <i32 poison, i32 {high}>"
        both = make.op(f"insertelement {pair}, i32 {word}, i64 0", level)
        return make.op(f"bitcast <2 x i32> {both} to i64", level)

    return make.once(("descriptor", low, const, high), whole, level)


def _base(emit: Emitter, memory: Memory, first: int) -> str:
    """The low word of the start of shared memory, with the first distance."""
    make = emit.builder
    text = f"ptrtoint {memory.space.pointer} {memory.name} to i32"
    units = make.op(f"lshr i32 {make.op(text, 0)}, 4", 0)
    return make.op(f"or i32 {units}, {first // UNIT << SECOND}", 0)


def _stored(emit: Emitter, tile: SharedTile, *, across: bool) -> Stored:
    """The tile, which a descriptor can describe."""
    buffer, box = resolve(tile.memory), emit.graph.facts.get(BOX, tile)
    if box is None or not isinstance(buffer, Allocate):
        raise internal_error("WV9905", "a shared tile has no box", at=tile.location)
    if buffer.layout is None or buffer.layout.panel not in MODES:
        why = "its buffer has an order that no descriptor names"
        raise emit.unsupported(tile, why)
    memory = emit.memories[buffer.ident]
    bytes_, (*outer, _) = memory.dtype.bytes, extents(emit.graph, buffer.memory_type)
    rows = zip(box.origin[:-1], strides(tuple(outer)), strict=True)
    found = Stored(
        memory,
        buffer.layout,
        emit.expr(total([place * step for place, step in rows])),
        emit.expr(box.origin[-1] * bytes_),
        box.extents[-1] * bytes_,
        box.apart * buffer.layout.panel,
    )
    _check(emit, tile, found, across=across)
    return found


def _check(emit: Emitter, tile: SharedTile, found: Stored, *, across: bool) -> None:
    """That patterns begin where the tile does, and no panel ends inside.

    Raises:
        UserError: WV0601.
    """
    panel, memory = found.layout.panel, found.memory
    starts = (
        memory.strides[-2] is constant(panel // memory.dtype.bytes)
        and memory.start % found.layout.alignment == 0
        and found.apart % found.layout.alignment == 0
        and _divides(emit, found.row, ROWS)
        and _divides(emit, found.column, UNIT)
    )
    last = emit.facts.bounds(found.column).hi
    within = last is not None and last + found.width <= panel
    whole = found.width == panel if across else not found.apart
    if not (starts and within and whole):
        raise emit.unsupported(tile, "it starts or ends in the midst of a pattern")


def _divides(emit: Emitter, value: Expr, number: int) -> bool:
    """Whether a number is known to divide a value; 0 is divided by all."""
    return emit.facts.divisor(value) % number == 0
