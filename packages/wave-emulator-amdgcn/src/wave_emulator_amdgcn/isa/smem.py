"""Scalar memory: loads of wave-uniform words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.access import Part, Place, extend, in_parts, read
from wave_emulator_amdgcn.memory import BASE

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

_LOAD = re.compile(r"S_(BUFFER_)?LOAD_(?:DWORD(?:X(\d+))?|([UIS]?)(BYTE|SHORT|8|16))")


def words_of(name: str) -> int:
    """Registers that a load fills; 0 for anything else."""
    found = _LOAD.fullmatch(name)
    return int(found[2] or 1) if found else 0


def bind(ins: Instruction) -> Run:
    """The closure that executes a scalar memory instruction."""
    if ins.name in ("S_MEMTIME", "S_MEMREALTIME"):
        return _time(ins)
    found = _LOAD.fullmatch(ins.name)
    if not found:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    return _bind_load(ins, found)


def _time(ins: Instruction) -> Run:
    row = ins.fields["sdata"]

    def run(m: Machine, g: Selection) -> None:
        m.S[row, g] = np.uint32(m.clock & 0xFFFFFFFF)
        m.S[row + 1, g] = np.uint32(m.clock >> 32)

    return run


def _offset(ins: Instruction) -> tuple[int, int | None]:
    """The fixed part, and the SGPR of the rest."""
    if "soffset_en" in ins.fields:
        value = ins.fields["offset"] if ins.get("imm") else 0
        bits = 21
        register = ins.fields["soffset"] if ins.get("soffset_en") else None
        if not ins.get("imm") and register is None:
            register = ins.fields["offset"] & 0x7F
    else:
        name, bits = ("ioffset", 24) if "ioffset" in ins.fields else ("offset", 21)
        value = ins.fields[name]
        register = ins.fields["soffset"]
        register = None if register == ins.chip.null else register
    return value - (1 << bits if value >> (bits - 1) & 1 else 0), register


def _words_left(m: Machine, g: Selection, base: int, shift: Ints, small: int) -> Ints:
    """Words in range of a buffer resource, from an offset; [waves, 1].

    Records are bytes, or strides where there is one; each word is checked alone.
    Source: CDNA3 and RDNA3 ISA, S_BUFFER_LOAD.
    """
    stride = m.S[base + 1, g].astype(np.int64) >> 16 & 0x3FFF
    size = m.S[base + 2, g].astype(np.int64) * np.maximum(stride, 1)
    left = np.where(shift < 0, 0, (size - shift) // small)
    return np.maximum(left, 0)[:, None]


def _bind_load(ins: Instruction, found: re.Match[str]) -> Run:
    count = int(found[2] or 1)
    fixed, register = _offset(ins)
    base, row = ins.fields["sbase"], ins.fields["sdata"]
    buffered = bool(found[1])
    small = {"BYTE": 1, "8": 1, "SHORT": 2, "16": 2}.get(found[4] or "", 4)
    signed = found[3] in ("I", "S")

    def run(m: Machine, g: Selection) -> None:
        high = m.S[base + 1, g].astype(np.int64)
        high = high & 0xFFFF if buffered else high
        at = m.S[base, g].astype(np.int64) + (high << 32) - BASE
        # The lowest two bits of each part of an address of words are ignored.
        ignored = -4 if small == 4 else -1
        at = at & ignored
        shift = np.full_like(at, fixed & ignored)
        if register is not None:
            shift = shift + (m.S[register, g].astype(np.int64) & ignored)
        limit = _words_left(m, g, base, shift, small) if buffered else None
        whole = Part((at + shift)[:, None], small * count, None)
        parts = in_parts(m, ins, g, whole, limit)
        words = read(m, ins, g, Place("global", m.memory.cells, parts))
        for k, word in enumerate(words):
            value = word[:, 0]
            if signed and small < 4:
                value = extend(value, 8 * small)
            m.write_scalar(row + k, g, value)

    return run
