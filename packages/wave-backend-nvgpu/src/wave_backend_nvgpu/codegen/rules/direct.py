"""Copies from global to shared memory that go through no register: `cp.async`."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.rules.boxes import copy_box
from wave_core.backends import lowers
from wave_core.backends.emission.accesses import ALIGNMENT, simple
from wave_core.backends.emission.copies import with_indices
from wave_core.constraints.machine import REGISTER
from wave_core.diagnostics import internal_error
from wave_core.ir import ACCESS, LANDING, Access, resolve
from wave_core.ops.memory import GatherToLDS
from wave_core.symbols import constant, eq, total

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_backend_nvgpu.codegen.memories import Memory
    from wave_core.symbols import Expr

WIDEST = 16
"""Bytes of copies that leave the first cache out (`.cg`). Source: PTX ISA, cp.async."""


@dataclass(frozen=True)
class _Side:
    """Where a lane's elements are: neighbours from an offset on.

    Attributes:
        memory: The memory.
        first: The offset of the first one. Units: elements.
        mask: Where they are touched; ``None`` is everywhere.
    """

    memory: Memory
    first: Expr
    mask: Expr | None

    def alignment(self, emit: Emitter) -> int:
        """Bytes that the address is a multiple of."""
        known = emit.facts.divisor(self.first) * self.memory.dtype.bytes
        return gcd(known, ALIGNMENT) if known else ALIGNMENT


@lowers(GatherToLDS)
def gather_to_lds(op: GatherToLDS, emit: Emitter) -> None:
    """As few copies as alignment allows; of what does not exist zeros arrive."""
    row, landing = (emit.graph.facts.get(kind, op) for kind in (ACCESS, LANDING))
    if row is None or landing is None:
        raise internal_error(
            "WV9905", f"`{op.op_name}` has no access rows", at=op.location
        )
    if op.box:
        copy_box(op, emit, row, landing)
        return
    found = with_indices(op, emit, row)
    source = _side(op, emit, emit.memories[resolve(op.source).ident], found)
    target = _side(op, emit, emit.memories[resolve(op.destination).ident], landing)
    size = row.registers * source.memory.dtype.bytes
    unit = gcd(size, source.alignment(emit), target.alignment(emit))
    if 8 * unit not in emit.target.direct_to_lds_bits:
        known = ", ".join(str(bits // 8) for bits in emit.target.direct_to_lds_bits)
        why = f"{emit.target.name} copies {known} bytes of a lane, this is {unit}"
        raise emit.unsupported(op, why, "leave direct copies out for this memory")
    if target.mask is None:
        _copies(emit, source, target, size, unit)
        return
    test = emit.indices.truth(target.mask)
    with emit.builder.region() as block:
        _copies(emit, source, target, size, unit)
    emit.builder.branch(test, block)


def _copies(emit: Emitter, source: _Side, target: _Side, size: int, unit: int) -> None:
    """The copies of a lane, ``unit`` bytes each."""
    form = "cg" if unit == WIDEST else "ca"
    name = f"llvm.nvvm.cp.async.{form}.shared.global.{unit}"
    count = ""
    if source.mask is not None:
        name, count = f"{name}.s", _bytes(emit, source.mask, unit)
    step = unit // source.memory.dtype.bytes
    for first in range(0, size // source.memory.dtype.bytes, step):
        arguments = [
            (side.memory.space.pointer, emit.address(side.memory, side.first + first))
            for side in (target, source)
        ]
        if count:
            arguments.append(("i32", count))
        emit.builder.call(name, "void", arguments)


def _bytes(emit: Emitter, mask: Expr, unit: int) -> str:
    """How many bytes a copy reads; the others become zeros."""
    test = emit.indices.truth(mask)
    level = emit.indices.level(mask)
    return emit.builder.once(
        ("bytes", test, unit),
        lambda: emit.builder.op(f"select i1 {test}, i32 {unit}, i32 0", level),
        level,
    )


def _side(op: GatherToLDS, emit: Emitter, memory: Memory, row: Access) -> _Side:
    rows = zip(row.coordinates, memory.strides, strict=True)
    offset = emit.expr(total([place * stride for place, stride in rows]))
    first = offset.subs({REGISTER: constant(0)})
    mask = None if row.mask is None else emit.expr(row.mask)
    alone = mask is None or REGISTER not in mask.free_symbols
    if not (alone and _neighbours(emit, offset, first, row.registers)):
        raise emit.unsupported(op, "the elements of a lane do not lie side by side")
    return _Side(memory, first, None if mask is None else simple(emit.facts, mask))


def _neighbours(emit: Emitter, offset: Expr, first: Expr, registers: int) -> bool:
    wanted = first + REGISTER if registers > 1 else first
    if offset is wanted:
        return True
    facts = emit.facts.with_range(REGISTER, 0, registers - 1)
    return facts.prove(eq(offset, wanted))
