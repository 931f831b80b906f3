"""Copies from global memory to LDS that go through no register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.codegen.accesses import Address, buffer_address
from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.waits.issued import Groups
from wave_core.backends import lowers
from wave_core.backends.emission.accesses import simple
from wave_core.backends.emission.copies import copied_piece, landing_base
from wave_core.ir import ACCESS, LANDING
from wave_core.ops.memory import GatherToLDS

if TYPE_CHECKING:
    from wave_backend_asm.code import Part
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.operands import Operand

_NAMES = {
    32: "buffer_load_dword",
    96: "buffer_load_dwordx3",
    128: "buffer_load_dwordx4",
}
"""By bits of a lane. Source: CDNA3 and CDNA4 ISA, MUBUF with LDS."""


@lowers(GatherToLDS)
def gather_to_lds(op: GatherToLDS, emit: Emitter) -> None:
    """One instruction: an address for each lane, one place in LDS for the wave.

    The immediate offset counts in LDS as well, so all is in the address.
    """
    source = emit.memory(op.source)
    target = emit.memory(op.destination)
    row, landing = (emit.graph.facts.known(kind, op) for kind in (ACCESS, LANDING))
    bits = row.registers * source.dtype.bits
    if bits not in emit.target.direct_to_lds_bits or source.descriptor is None:
        raise MissingError(f"copies of {bits} bits a lane")
    piece = copied_piece(op, emit, source, row)
    place = buffer_address(emit, source, piece, folded=False)
    base = landing_base(op, emit, target, landing) * target.dtype.bytes + target.start
    start = emit.b.uniform(emit.b.words(emit.indices.wrapped(base))[0])
    mask = None if landing.mask is None else emit.expr(landing.mask)
    test = None if mask is None else simple(emit.facts, mask)
    if test is None:
        _issue(emit, _NAMES[bits], source.descriptor, place, start, target.name)
        return
    held = emit.b.words(emit.indices.truth(test))[0]
    if isinstance(held, int):
        held = emit.b.salu("s_mov_b64", emit.b.mask(held), width=2)
    assert not isinstance(held, str), "a mask is in registers"
    with emit.where(held):
        _issue(emit, _NAMES[bits], source.descriptor, place, start, target.name)


def _issue(
    emit: Emitter,
    copy: str,
    descriptor: Part,
    place: Address,
    start: Operand,
    memory: str,
) -> None:
    """The copy; what computes its place in LDS does so in M0."""
    b = emit.b
    lane, wave = b.in_vector(place.lane), place.wave
    made = b.maker(start)
    name, operands = ("s_mov_b32", (start,)) if made is None else made
    b.say(name, ("m0",), operands)
    place_of = (lane, descriptor, b.in_scalar(wave) if wave else wave)
    groups = Groups(joins=emit.marks_copies)
    with b.touching(memory):
        b.say(copy, (), place_of, "offen lds", groups=groups)
