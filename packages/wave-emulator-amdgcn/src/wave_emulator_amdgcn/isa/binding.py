"""Finds the closure of any instruction."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.generations import available
from wave_emulator_amdgcn.isa import (
    arithmetic,
    bitop,
    compare,
    control,
    conversion,
    lds,
    matrix,
    packed,
    scalar,
    smallfloats,
    smem,
    vmem,
)
from wave_emulator_amdgcn.isa.lanes import BINDERS
from wave_emulator_amdgcn.isa.vector import (
    Row,
    Run,
    bind as bind_vector,
    bind_scalar_result,
)
from wave_emulator_amdgcn.isa.vopd import bind_dual
from wave_emulator_amdgcn.isa.wmma import bind_wmma
from wave_emulator_amdgcn.names import canonical

if TYPE_CHECKING:
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.scalar import ScalarRow

#: gfx12: approximate functions of scalars (RDNA4 ISA, VOP3).
SCALAR_ROOTS = frozenset(
    f"V_S_{name}_F{bits}"
    for name in ("EXP", "LOG", "RCP", "RSQ", "SQRT")
    for bits in (16, 32)
)


@cache
def vector_table() -> dict[str, Row]:
    """Rows of all vector instructions."""
    return {**arithmetic.rows(), **conversion.rows(), **compare.rows()}


@cache
def scalar_table() -> dict[str, ScalarRow]:
    """Rows of all scalar instructions."""
    return scalar.rows()


def prepare(ins: Instruction) -> Instruction:
    """The instruction under its canonical name."""
    return ins if ins.encoding == "VOPD" else replace(ins, name=canonical(ins.name))


def bind(ins: Instruction) -> Run:
    """The closure that executes a prepared instruction.

    Raises:
        UnknownInstructionError: EM0301, EM0302.
    """
    try:
        run = _bind(ins)
    except UnknownInstructionError as error:
        if ins.text in str(error):
            raise
        text = str(error).partition(": ")[2]
        raise UnknownInstructionError(error.code, f"{text}: {ins.text}") from error
    if run is None:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    return run


def _bind(ins: Instruction) -> Run | None:
    name, encoding = ins.name, ins.encoding
    if not available(name, ins.chip):
        return None
    if "BARRIER" in name:
        return control.bind_barrier(ins)
    if name in control.NOTHING | control.ENDS or "WAIT" in name:
        return lambda _m, _g: None
    if encoding.startswith("SOP"):
        return _bind_scalar(ins)
    if encoding == "VOPD":
        return bind_dual(ins, vector_table())
    return _bind_memory(ins) or _bind_vector(ins)


def _bind_memory(ins: Instruction) -> Run | None:
    encoding = ins.encoding
    if encoding == "SMEM":
        return smem.bind(ins)
    if encoding == "DS":
        return lds.bind(ins)
    if encoding.removeprefix("V") in vmem.FLAT or "BUF" in encoding:
        return vmem.bind(ins)
    return None


def _bind_scalar(ins: Instruction) -> Run | None:
    special = (
        control.bind_jump(ins) or control.bind_saveexec(ins) or control.bind_mode(ins)
    )
    if special is not None:
        return special
    row = scalar_table().get(ins.name)
    return None if row is None else scalar.bind(ins, row)


def _bind_vector(ins: Instruction) -> Run | None:
    name = ins.name
    if name.startswith("V_MFMA"):
        return matrix.bind(ins)
    if name.startswith("V_WMMA"):
        return bind_wmma(ins)
    for table, binder in (
        (BINDERS, BINDERS.get(name)),
        (packed.PACKED, packed.bind_packed),
        (packed.DOTS, packed.bind_dot),
        (packed.MIXES, packed.bind_mix),
        (bitop.NAMES, bitop.bind),
    ):
        if name in table and binder is not None:
            return binder(ins)
    small = smallfloats.bind(ins)
    if small is not None:
        return small
    if name in SCALAR_ROOTS:
        return bind_scalar_result(ins, vector_table()[name.replace("_S_", "_")])
    row = vector_table().get(name)
    return None if row is None else bind_vector(ins, row)
