"""Copies from global memory to LDS that go through no register."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.emitter import Emitter, unsupported
from wave_backend_amdgpu.codegen.memories import Memory, Space
from wave_backend_amdgpu.codegen.probes import probe
from wave_backend_amdgpu.codegen.rules.memory import place_of
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import stored
from wave_core.backends.emission.accesses import Piece, simple
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import internal_error
from wave_core.ir import ACCESS, LANDING, Access, resolve
from wave_core.ops.memory import GatherToLDS
from wave_core.symbols import Expr, constant, eq, total

_CONVERGENT = (
    "rocdl.sched.barrier "
    "non_mem_non_sideeffect|valu|salu|mfma_wmma|all_vmem|all_ds|transcendental"
)
"""No instruction, and every kind of instruction may move across it."""


@lowers(GatherToLDS)
def gather_to_lds(op: GatherToLDS, emit: Emitter) -> None:
    """One instruction: an address for each lane, one place in LDS for the wave."""
    source = emit.memories[resolve(op.source).ident]
    target = emit.memories[resolve(op.destination).ident]
    row, landing = (emit.graph.facts.get(kind, op) for kind in (ACCESS, LANDING))
    if row is None or landing is None:
        raise internal_error(
            "WV9905", f"`{op.op_name}` has no access rows", at=op.location
        )
    _check_machine(op, emit, source, row.registers * source.dtype.bits)
    probe(op, op.source, emit)
    index = place_of(emit, source, _piece(op, emit, source, row))
    base = emit.index(_base(op, emit, target, landing))
    kind = vector(stored(source.dtype), row.registers)
    late = "async " if emit.marks_copies else ""
    text = (
        f"amdgpu.gather_to_lds {late}{source.name}[{index}], {target.name}[{base}] : "
        f"{kind}, {source.type}, {target.type}"
    )
    mask = None if landing.mask is None else emit.expr(landing.mask)
    test = None if mask is None else simple(emit.facts, mask)
    if test is None:
        _issue(text, emit)
        return
    name = emit.indices.truth(test)
    with emit.builder.region() as block:
        _issue(text, emit)
    emit.builder.splice(f"scf.if {name} {{", block, "}")


def _issue(text: str, emit: Emitter) -> None:
    """The instruction, where it stands.

    Its place in LDS is one for the wave. LLVM does not know that: it threads two
    branches on one condition together, with a copy that stands between them in both
    arms, and merges the last copies of the arms to one whose place depends on the lane.
    It neither duplicates nor merges across what is convergent.
    """
    emit.builder.line(text)
    if emit.masks_copies:
        emit.builder.line(_CONVERGENT)


def _check_machine(op: GatherToLDS, emit: Emitter, source: Memory, bits: int) -> None:
    widths = emit.target.direct_to_lds_bits
    if bits not in widths:
        known = ", ".join(map(str, widths)) or "none"
        why = f"{emit.target.name} copies {known} bits a lane, this is {bits}"
        raise unsupported(op, why, "leave direct copies out for this target")
    if source.space is not Space.BUFFER:
        why = "the memory is larger than what buffer instructions reach"
        raise unsupported(op, why, "leave direct copies out for this memory")


def _offset(emit: Emitter, memory: Memory, row: Access) -> Expr:
    rows = zip(row.coordinates, memory.strides, strict=True)
    return emit.expr(total([place * stride for place, stride in rows]))


def _piece(op: GatherToLDS, emit: Emitter, memory: Memory, row: Access) -> Piece:
    """The elements that a lane reads: neighbours that exist together."""
    offset = _offset(emit, memory, row)
    first = offset.subs({REGISTER: constant(0)})
    mask = None if row.mask is None else emit.expr(row.mask)
    alone = mask is None or REGISTER not in mask.free_symbols
    if not (alone and _equal(emit, offset, first + REGISTER, row.registers)):
        raise unsupported(op, "the elements of a lane do not lie side by side")
    mask = None if mask is None else simple(emit.facts, mask)
    return Piece(0, row.registers, first, mask, memory.dtype.bytes)


def _base(op: GatherToLDS, emit: Emitter, memory: Memory, row: Access) -> Expr:
    """Where the first lane lands; the machine adds the number of the lane."""
    offset = _offset(emit, memory, row)
    base = offset.subs({LANE: constant(0), REGISTER: constant(0)})
    wanted = base + LANE * row.registers + REGISTER
    if not _equal(emit, offset, wanted, row.registers):
        raise unsupported(op, "the lanes do not land side by side")
    return base


def _equal(emit: Emitter, one: Expr, other: Expr, registers: int) -> bool:
    if one is other:
        return True
    return emit.facts.with_range(REGISTER, 0, registers - 1).prove(eq(one, other))
