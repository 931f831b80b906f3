"""Which instructions an architecture has, where decoder tables are those of a family.

The decoder knows CDNA3 and CDNA4 as one. Presence: LLVM's subtarget features of gfx90a,
gfx942 and gfx950 (AMDGPU usage, and the assembler tests of the three).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.decode import Instruction, decode

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture

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


@dataclass(frozen=True)
class _Encoding:
    """Opcodes of an encoding that gfx90a has and the decoder's tables have not.

    Attributes:
        mask: bits of the first word that mark the encoding.
        mark: their value.
        shift: where the opcode stands in the word.
        bits: how many it has.
        numbers: the opcode that the decoder knows, by opcode.
        names: what an opcode means here, where that has another name.
    """

    mask: int
    mark: int
    shift: int
    bits: int
    numbers: dict[int, int]
    names: dict[int, str]


#: MI200 ISA, the opcode tables. CDNA3 renumbered the products that the MI200 manual
#: calls _1K, and has no multiplication and addition of f32 that rounds twice.
_OLDER = (
    _Encoding(
        0xFFC00000, 0xD3C00000, 16, 7,
        {0x63: 0x5D, 0x64: 0x5E, 0x65: 0x5F, 0x66: 0x60, 0x67: 0x61},
        {0x54: "V_MFMA_I32_32X32X8_I8", 0x55: "V_MFMA_I32_16X16X16_I8"},
    ),
    _Encoding(
        0xFC000000, 0xD0000000, 16, 10,
        {0x116: 0x13B, 0x1C1: 0x1CB}, {0x116: "V_MAC_F32", 0x1C1: "V_MAD_F32"},
    ),
    _Encoding(
        0x80000000, 0, 25, 6,
        {0x16: 0x3B}, {0x16: "V_MAC_F32", 0x17: "V_MADMK_F32", 0x18: "V_MADAK_F32"},
    ),
)  # fmt: skip

#: Registers of A and B, and of C and D, where a renamed product has others.
_REGISTERS = {"V_MFMA_I32_32X32X8_I8": (1, 16), "V_MFMA_I32_16X16X16_I8": (1, 4)}

#: MUBUF opcodes of gfx90a that write back and invalidate caches (MI200 ISA,
#: BUFFER_WBINVL1, BUFFER_WBINVL1_VOL), which changes nothing that is modelled.
_CACHE_OPCODES = (0x3E, 0x3F)


def available(name: str, architecture: Architecture) -> bool:
    """Whether an architecture has the instruction of a canonical name."""
    names = _presence(name)
    return names is None or architecture.name in names


@cache
def _presence(name: str) -> frozenset[str] | None:
    """The architectures that have an instruction, or None for all."""
    found = (names for expression, names in _PRESENCE if expression.fullmatch(name))
    return next(found, None)


def read(code: bytes, at: int, pc: int, chip: Architecture) -> Instruction | None:
    """The instruction at ``code[at:]``, decoded; None where there is none."""
    if not chip.older_codes:
        return _with_accumulator_bits(decode(code, at, pc, chip))
    word = int.from_bytes(code[at : at + 4], "little")
    if word >> 26 == 0b111000 and word >> 18 & 0x7F in _CACHE_OPCODES:
        return _cache_control(pc, chip)
    number, name = word, ""
    for row in _OLDER:
        field = ((1 << row.bits) - 1) << row.shift
        opcode = (word & field) >> row.shift
        if word & row.mask == row.mark:
            name = row.names.get(opcode, "")
            number = word & ~field | row.numbers.get(opcode, opcode) << row.shift
            break
    data = number.to_bytes(4, "little") + code[at + 4 : at + 20]
    ins = _with_accumulator_bits(decode(data, 0, pc, chip))
    return ins if ins is None else _older(ins, name)


def _cache_control(pc: int, chip: Architecture) -> Instruction:
    return Instruction(
        chip, pc, 8, "BUFFER_WBINVL1_VOL", "MUBUF", "", {}, {}, frozenset(), None,
        long=False, shown="buffer_wbinvl1_vol()",
    )  # fmt: skip


def _with_accumulator_bits(ins: Instruction | None) -> Instruction | None:
    """XF32 stands in the decoder's table of packed arithmetic."""
    if ins is None or not ins.name.startswith("V_MFMA_") or "acc" in ins.fields:
        return ins
    bits = {"acc": ins.fields["opsel_hi"], "acc_cd": ins.fields["clmp"]}
    return replace(ins, fields={**ins.fields, **bits})


def _older(ins: Instruction, name: str) -> Instruction:
    """An instruction of gfx90a whose opcode or bits mean something else later."""
    if name:
        counts = ins.registers
        if name in _REGISTERS:
            sources, results = _REGISTERS[name]
            counts = {
                "src0": sources,
                "src1": sources,
                "src2": results,
                "vdst": results,
            }
        shown = f"{name.lower()} (opcode {ins.fields['op']:#x})"
        return replace(ins, name=name, registers=counts, shown=shown)
    if ins.encoding in ("GLOBAL", "SCRATCH"):
        # Bit 13 is LDS; an SGPR replaces the VGPR of a scratch address.
        uses_vector = ins.encoding == "SCRATCH" and ins.fields["saddr"] == 0x7F
        fields = {**ins.fields, "lds": ins.fields["sve"], "sve": int(uses_vector)}
        return replace(ins, fields=fields)
    return ins
