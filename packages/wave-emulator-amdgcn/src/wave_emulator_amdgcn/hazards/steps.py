"""What the tables of wait states ask, of an instruction that was decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.rates import matrix_cycles
from wave_emulator_amdgcn.usage import operand_bits
from wave_isa_amdgcn.costs import COSTS
from wave_isa_amdgcn.step import Step

if TYPE_CHECKING:
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.program import Bound

_SOURCES = ("src0", "src1", "src2")
_CODES = (*_SOURCES, "ssrc0")
_SCALAR_CODES = 128
"""Codes of operands below this are scalar registers. Source: CDNA3 ISA, SSRC0."""


def step_of(bound: Bound) -> Step:
    """An instruction of gfx9 as the tables see it."""
    ins, usage = bound.instruction, bound.usage
    return Step(
        name=ins.name,
        unit=usage.unit,
        reads=usage.reads,
        writes=usage.writes,
        sources=tuple(operand_bits(ins, name) for name in _SOURCES),
        stored=operand_bits(ins, "data") | operand_bits(ins, "vdata"),
        codes=frozenset(ins.fields[name] for name in _CODES if name in ins.fields),
        crosses_lanes=ins.variant.startswith("DPP"),
        writes_part=_writes_part(ins),
        to_lds="_LDS_" in ins.name or bool(ins.get("lds")),
        scalar_offset=ins.encoding == "MUBUF" and ins.get("soffset") < _SCALAR_CODES,
        immediate=ins.get("simm16"),
        passes=_passes(bound),
    )


def _passes(bound: Bound) -> int:
    ins = bound.instruction
    product = bound.usage.unit == "mfma"
    return matrix_cycles(ins, COSTS[ins.chip.name]) // 4 if product else 0


def _writes_part(ins: Instruction) -> bool:
    """It writes a part of a register elsewhere than at the bottom."""
    if ins.variant.startswith("SDWA"):
        return ins.get("dst_sel", 6) != 6
    return ins.encoding == "VOP3" and bool(ins.get("opsel") >> 3 & 1)
