"""Copies from global memory to LDS that go through no register."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.emitter import Emitter, unsupported
from wave_backend_amdgpu.codegen.memories import Memory, Space
from wave_backend_amdgpu.codegen.probes import probe
from wave_backend_amdgpu.codegen.rules.memory import place_of
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import stored
from wave_core.backends.emission.accesses import simple
from wave_core.backends.emission.copies import copied_piece, landing_base
from wave_core.diagnostics import internal_error
from wave_core.ir import ACCESS, LANDING, resolve
from wave_core.ops.memory import GatherToLDS

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
    probe(op, op.source, emit, op.indices)
    index = place_of(emit, source, copied_piece(op, emit, source, row))
    base = emit.index(landing_base(op, emit, target, landing))
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
