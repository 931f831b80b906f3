"""Buffer resources: where MUBUF and VBUFFER go, and what is out of range.

Source: CDNA3 ISA, "Buffer resource descriptor" and "Range checking"; RDNA3 and RDNA4
ISA, the same with OOB_SELECT. Each word of a load or store is checked alone, an atomic
as a whole. The offsets of the register and of the instruction are added in 32 bits:
LLVM relies on it for all chips before gfx1250 (its pull request 152584). On gfx9 the
scalar offset counts, and an index only with IDXEN: GCN3 and CDNA ISA, and AMD's own
simulator, which was compared with a gfx950 (ROCm/rocm-systems, pull request 10928).
Swizzled resources and thread ids in the index are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.access import Locate, Part, Place, in_parts
from wave_emulator_amdgcn.memory import BASE
from wave_emulator_amdgcn.operands import scalar

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine


def address_row(ins: Instruction) -> int:
    """The row of the first address register."""
    return ins.fields.get("vaddr", ins.fields.get("addr", 256)) - 256


@dataclass(frozen=True)
class _Record:
    """A resource of each wave, [waves, 1]."""

    start: Ints
    stride: Ints
    records: Ints
    select: Ints


def _record(m: Machine, g: Selection, row: int) -> _Record:
    plain = not m.architecture.out_of_bounds_modes
    words = [m.S[row + k, g].astype(np.int64)[:, None] for k in range(4)]
    swizzles = words[1] >> 31 if plain else words[1] >> 30
    if swizzles.any() or (words[3] >> 23 & 1).any():
        raise UnknownInstructionError("EM0302", "a swizzled buffer resource")
    start = words[0] | (words[1] & 0xFFFF) << 32
    # Without OOB_SELECT an index counts records, and anything else bytes.
    select = np.full_like(start, -1) if plain else words[3] >> 28 & 3
    return _Record(start, words[1] >> 16 & 0x3FFF, words[2], select)


def locate(ins: Instruction, size: int, *, whole: bool) -> Locate:
    """Reads outside a resource give zero, writes are dropped."""
    if ins.get("tfe"):
        raise UnknownInstructionError("EM0302", f"TFE: {ins.text}")
    row = ins.fields.get("srsrc", ins.fields.get("rsrc", 0))
    step = scalar(ins.fields.get("soffset", 128), "u32", 0)
    fixed = ins.get("offset") + ins.get("ioffset")
    vector, offen, idxen = address_row(ins), ins.get("offen"), ins.get("idxen")

    def find(m: Machine, g: Selection) -> Place:
        record = _record(m, g, row)
        within = np.full((m.count(g), m.lanes), fixed, np.int64)
        index = np.zeros_like(within)
        if idxen:
            index = m.V[vector, g].astype(np.int64)
        if offen:
            within = within + m.V[vector + (1 if idxen else 0), g].astype(np.int64)
            within &= 0xFFFFFFFF
        extra = step(m, g).astype(np.int64)[:, None]
        if ins.chip.out_of_bounds_modes:
            left = _left_rdna(record, index, within)
        else:
            left = _left_gfx9(record, index, within, extra, indexed=bool(idxen))
        if m.checks is not None and m.checks.strict:
            m.checks.clipped(ins, g, -left, m.mask(g))
        left = np.maximum(left, 0)
        words = left // min(size, 4)
        if whole:
            words = np.where(left >= size, 1 << 40, 0)
        at = record.start + index * record.stride + within + extra - BASE
        part = Part(at, size, m.mask(g))
        return Place("global", m.memory.cells, in_parts(m, ins, g, part, words))

    return find


def _left_gfx9(
    record: _Record, index: Ints, within: Ints, extra: Ints, *, indexed: bool
) -> Ints:
    """Bytes in range; negative beyond. The scalar offset ``extra`` counts.

    It is added without wrapping: an offset is out of range where it is not below the
    size less the scalar one, and a scalar one beyond the size leaves nothing.
    """
    structured: Bools = (record.stride > 0) & indexed
    linear = record.records - (within + extra + index * record.stride)
    return np.where(structured, _left_indexed(record, index), linear)


def _left_indexed(record: _Record, index: Ints) -> Ints:
    """Records are counted, and what is in one is all in range."""
    behind = (record.records - index) * np.maximum(record.stride, 1)
    return np.where(index < record.records, 1 << 40, behind)


def _left_rdna(record: _Record, index: Ints, within: Ints) -> Ints:
    """Bytes in range by OOB_SELECT; the scalar offset does not count."""
    indexed = _left_indexed(record, index)
    linear = record.records - (within + index * record.stride)
    nothing = np.where(record.records == 0, 0, 1 << 40) + np.zeros_like(within)
    choices = [np.minimum(indexed, record.stride - within), indexed, nothing, linear]
    return np.select([record.select == k for k in range(4)], choices)
