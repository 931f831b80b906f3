"""Finds registers that a wave uses and that its kernel's descriptor does not ask for.

A chip gives a wave what the descriptor says; what lies behind is no one's, or that of
another wave. Source: LLVM, User Guide for AMDGPU Backend, "Code Object V3 Kernel
Descriptor", GRANULATED_WORKITEM_VGPR_COUNT, GRANULATED_WAVEFRONT_SGPR_COUNT and
ACCUM_OFFSET.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import Report
from wave_emulator_amdgcn.hazards.counters import register_name
from wave_isa_amdgcn.registers import ACCUMULATOR, SCALAR, VECTOR, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.descriptor import Descriptor
    from wave_emulator_amdgcn.program import Program

_FILES = ("v", "a", "s")
"""Letters of the files, in the order of `declared`."""

_SCALARS = 102
"""SGPRs of kernels; behind them lie VCC and registers of the trap handler."""


def undeclared(program: Program, descriptor: Descriptor) -> list[Report]:
    """A report for each instruction that ran and touches such a register."""
    counts = declared(program.architecture, descriptor)
    given = 0
    for first, count in zip((0, ACCUMULATOR, SCALAR), counts, strict=True):
        given |= ((1 << count) - 1) << first
    general = VECTOR | ((1 << _SCALARS) - 1) << SCALAR
    found: list[Report] = []
    for bound in program.executed():
        ins, usage = bound.instruction, bound.usage
        beyond = rows_of((usage.reads | usage.writes) & general & ~given)
        if beyond:
            message = _message(beyond[0], counts)
            found.append(Report("EM0511", message, ins.text, ins.pc, count=bound.count))
    return found


def _message(row: int, counts: tuple[int, int, int]) -> str:
    name = register_name(row)
    file = name[0]
    count = counts[_FILES.index(file)]
    has = f"{file}0 to {file}{count - 1}" if count else "none of its kind"
    return f"{name} is used, and the kernel descriptor asks for {has}"


def declared(
    architecture: Architecture, descriptor: Descriptor
) -> tuple[int, int, int]:
    """VGPRs, AGPRs and SGPRs that a wave gets."""
    unified = architecture.family == "cdna"
    unit = 8 if unified or descriptor.wave32 else 4
    vectors = unit * (descriptor.vector_granules + 1)
    if not unified:
        return vectors, 0, _SCALARS
    begin = min(descriptor.accumulators_begin, vectors)
    scalars = 16 * (descriptor.scalar_granules // 2 + 1)
    return begin, vectors - begin, min(scalars, _SCALARS)
