"""Which instructions an architecture has, where decoder tables are those of a family.

The decoder knows CDNA3 and CDNA4 as one. Presence: LLVM's subtarget features of gfx90a,
gfx942 and gfx950 (AMDGPU usage, and the assembler tests of the three).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture
    from wave_emulator_amdgcn.decode import Instruction

__all__ = ["available", "present_code", "present_name"]

#: The first row whose expression matches a canonical name says which have it.
_PRESENCE = tuple(
    (re.compile(expression), frozenset(names.split()))
    for expression, names in (
        (r"V_MFMA_(SCALE_)?F32_\w+_F8F6F4", "gfx950"),
        (r"V_MFMA_F32_(16X16X32|32X32X16)_B?F16", "gfx950"),
        (r"V_MFMA_I32_(16X16X64|32X32X32)_I8", "gfx950"),
        (r"V_MFMA_I32_(16X16X32|32X32X16)_I8", "gfx942 gfx950"),
        (r"V_MFMA_I32_(16X16X16|32X32X8)_I8", "gfx90a"),
        (r"V_MFMA_F32_\w+_[BF][FP]8_[BF][FP]8", "gfx942 gfx950"),
        (r"V_MFMA_\w+_XF32", "gfx942"),
        (r"V_CVT_SCALEF32_\w+", "gfx950"),
        (r"S_\w+_F(16|32)\w*", "gfx1201"),
        (r"V_(MOV_B64|FMA[MA]K_F32|LSHL_ADD_U64)", "gfx942 gfx950 gfx1100 gfx1201"),
        (r"V_DOT2C?_F32_BF16|V_M(IN|AX)IMUM3_F32", "gfx950 gfx1100 gfx1201"),
        (r"V_PK_M(IN|AX)IMUM3_F16|V_BITOP3_B\d+", "gfx950"),
        (r"V_CVT_(PK_B?F16_F32|F32_BF16)|V_PERMLANE\d+_SWAP_B32", "gfx950"),
        (r"V_CVT_\w*[BF][FP]8\w*", "gfx942 gfx950 gfx1201"),
        (r"DS_READ_B(64|96)_TR_B\d+", "gfx950"),
        (r"DS_PK_ADD_(RTN_)?B?F16", "gfx942 gfx950 gfx1201"),
        (r"\w+_ATOMIC_PK_ADD_BF16", "gfx942 gfx950 gfx1201"),
        (r"FLAT_ATOMIC_(PK_ADD_F16|ADD_F32)", "gfx942 gfx950 gfx1100 gfx1201"),
        (r"GLOBAL_LOAD_LDS_DWORD", "gfx942 gfx950"),
        (r"GLOBAL_LOAD_LDS_DWORDX[34]", "gfx950"),
        (r"(GLOBAL|BUFFER|SCRATCH)_LOAD_LDS_\w+", ""),
    )
)

#: Opcodes of VOP3P that CDNA3 gave another number; the MI200 manual calls them _1K.
_RENUMBERED = {0x63: 0x5D, 0x64: 0x5E, 0x65: 0x5F, 0x66: 0x60, 0x67: 0x61}

#: Opcodes of VOP3P that mean something else on gfx90a: name, registers of A and B, D.
_RENAMED = {
    0x54: ("V_MFMA_I32_32X32X8_I8", 1, 16),
    0x55: ("V_MFMA_I32_16X16X16_I8", 1, 4),
}


def available(name: str, architecture: Architecture) -> bool:
    """Whether an architecture has the instruction of a canonical name."""
    for expression, names in _PRESENCE:
        if expression.fullmatch(name):
            return architecture.name in names
    return True


def _is_matrix(word: int) -> bool:
    return word >> 23 == 0b110100111 and bool(word >> 22 & 1)


def present_code(code: bytes, at: int, architecture: Architecture) -> tuple[bytes, int]:
    """Code and place to decode, in the numbers that the decoder knows."""
    word = int.from_bytes(code[at : at + 4], "little")
    if architecture.name != "gfx90a" or not _is_matrix(word):
        return code, at
    opcode = word >> 16 & 0x7F
    number = _RENUMBERED.get(opcode, opcode)
    # The old numbers of gfx90a are sparse products and bf16 without _1K elsewhere.
    word = word & ~(0x7F << 16) | number << 16
    return word.to_bytes(4, "little") + code[at + 4 : at + 20], 0


def present_name(ins: Instruction, architecture: Architecture) -> Instruction:
    """An instruction whose opcode means something else on this architecture."""
    if ins.name.startswith("V_MFMA_") and "acc" not in ins.fields:
        # XF32 stands in the decoder's table of packed arithmetic.
        bits = {"acc": ins.fields["opsel_hi"], "acc_cd": ins.fields["clmp"]}
        ins = replace(ins, fields={**ins.fields, **bits})
    if architecture.name != "gfx90a":
        return ins
    if ins.variant == "MFMA" and ins.fields["op"] in _RENAMED:
        name, sources, results = _RENAMED[ins.fields["op"]]
        counts = {"src0": sources, "src1": sources, "src2": results, "vdst": results}
        text = f"{name.lower()} (opcode {ins.fields['op']:#x})"
        return replace(ins, name=name, registers=counts, source=text)
    if ins.encoding in ("GLOBAL", "SCRATCH"):
        # Bit 13 is LDS; an SGPR replaces the VGPR of a scratch address.
        uses_vector = ins.encoding == "SCRATCH" and ins.fields["saddr"] == 0x7F
        fields = {**ins.fields, "lds": ins.fields["sve"], "sve": int(uses_vector)}
        return replace(ins, fields=fields)
    return ins
