"""Vector memory: GLOBAL, FLAT, SCRATCH and BUFFER instructions, and DMA to LDS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa import access, resource
from wave_emulator_amdgcn.isa.access import Locate, Part, Place
from wave_emulator_amdgcn.isa.lds import place_in_lds, row_of
from wave_emulator_amdgcn.isa.resource import address_row
from wave_emulator_amdgcn.memory import BASE
from wave_isa_amdgcn.registers import M0

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

FLAT = ("GLOBAL", "FLAT", "SCRATCH")
"""Encodings of accesses without a resource; those of gfx12 begin with V."""

_NAME = re.compile(
    r"(?:GLOBAL|FLAT|SCRATCH|BUFFER)_(LOAD|STORE)(_LDS)?_"
    r"(DWORD(?:X([234]))?|[US]?BYTE|[US]?SHORT)(_D16)?(_HI)?"
)
_ATOMIC = re.compile(
    r"(?:GLOBAL|FLAT|BUFFER)_ATOMIC_"
    r"(SWAP|CMPSWAP|ADD|SUB|SMIN|UMIN|SMAX|UMAX|AND|OR|XOR|INC|DEC|PK_ADD|MIN|MAX|"
    r"MIN_NUM|MAX_NUM)(_X2|_F32|_F64|_F16|_BF16)?"
)


def is_store(name: str) -> bool:
    """Whether a canonical name writes memory without a result."""
    return "_STORE_" in name


def bind(ins: Instruction) -> Run:
    """The closure that executes a vector memory instruction."""
    if found := _NAME.fullmatch(ins.name):
        return _bind_move(ins, found)
    if found := _ATOMIC.fullmatch(ins.name):
        return _bind_atomic(ins, found)
    raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")


def data_row(ins: Instruction, names: tuple[str, ...]) -> int:
    """The row of a data register, whatever this encoding calls it."""
    for name in names:
        if name in ins.fields:
            return row_of(ins, name)
    raise UnknownInstructionError("EM0301", f"no data operand: {ins.text}")


_RESULT = ("vdst", "vdata")
_DATA = ("data", "vsrc", "vdata")


def _bind_move(ins: Instruction, found: re.Match[str]) -> Run:
    """A load, a store, or a copy to LDS."""
    kind, high = found[3], bool(found[6])
    size = 4 * int(found[4] or 1)
    if not kind.startswith("DWORD"):
        size = 1 if kind.endswith("BYTE") else 2
    locate = _locate(ins, size)
    if found[2] or ins.get("lds"):
        return _bind_dma(ins, size, locate)
    if found[1] == "STORE":
        row = data_row(ins, _DATA)
        rows = [row + k for k in range(max(1, size // 4))]
        return access.bind_store(ins, rows, locate, high=high)
    half = int(high) if found[5] else None
    signed = kind in ("SBYTE", "SSHORT")
    convert = access.small(8 * size, signed=signed, half=half)
    return access.bind_load(ins, data_row(ins, _RESULT), locate, convert)


def _bind_atomic(ins: Instruction, found: re.Match[str]) -> Run:
    name, bits = _atomic_name(found)
    row = data_row(ins, _DATA)
    rows = [row + k for k in range(bits // 32 * (2 if name == "CMPSWAP" else 1))]
    returns = ins.get("sc0") or ins.get("glc") or ins.get("th") & 1
    result = data_row(ins, _RESULT) if returns else None
    locate = _locate(ins, bits // 8, whole=True)
    return access.bind_atomic(ins, name, rows, locate, result)


def _atomic_name(found: re.Match[str]) -> tuple[str, int]:
    verb, tail = found[1], found[2] or ""
    if verb == "PK_ADD":
        return f"PK_ADD{tail}", 32
    if tail in ("_F32", "_F64"):
        return f"{verb}_F", int(tail[2:])
    return verb, 64 if tail == "_X2" else 32


def _bind_dma(ins: Instruction, size: int, locate: Locate) -> Run:
    """Global memory to LDS: lane i lands at M0 + offset + size * i.

    Source: CDNA3 ISA, "Memory buffer load to LDS"; LDS_ADDR = LDS_base + M0[15:2] * 4 +
    instruction offset + lane * 4, and the same with 12 and 16 bytes on gfx950. A GLOBAL
    form has one offset, which counts for both addresses. Bytes and shorts are refused:
    the manuals do not say what the rest of the word in LDS becomes.
    """
    if size not in ins.chip.copies:
        raise UnknownInstructionError("EM0302", f"load to LDS: {ins.text}")
    offset = _signed_offset(ins)

    def run(m: Machine, g: Selection) -> None:
        place = locate(m, g)
        base = m.S[M0, g].astype(np.int64) & 0x3FFFC
        inner = base[:, None] + offset + np.arange(m.lanes) * size
        outside = (inner < 0) | (inner + size > m.shape.lds_bytes)
        target = place_in_lds(m, ins, g, Part(inner, size, m.mask(g)), outside)
        words = access.read(m, ins, g, place)
        access.write(m, ins, g, Place("lds", m.lds, [target]), words, "dma")

    return run


def _locate(ins: Instruction, size: int, *, whole: bool = False) -> Locate:
    """How an instruction finds its bytes; ``whole`` checks all of them as one."""
    encoding = ins.encoding.removeprefix("V")
    if encoding in ("GLOBAL", "FLAT"):
        return _locate_global(ins, size)
    if encoding == "SCRATCH":
        return _locate_scratch(ins, size)
    return resource.locate(ins, size, whole=whole)


def _signed_offset(ins: Instruction) -> int:
    for name, bits in (("ioffset", 24), ("offset", 13)):
        if name in ins.fields:
            value = ins.fields[name]
            return value - (1 << bits if value >> (bits - 1) else 0)
    return 0


def _scalar_base(ins: Instruction) -> int | None:
    """The SGPR pair of the base, or None for OFF."""
    code = ins.fields.get("saddr", 127)
    return code if code < 124 else None


def _locate_global(ins: Instruction, size: int) -> Locate:
    offset = _signed_offset(ins)
    row = address_row(ins)
    base = _scalar_base(ins) if ins.encoding != "FLAT" else None

    def locate(m: Machine, g: Selection) -> Place:
        low = m.V[row, g].astype(np.int64)
        if base is None:
            at = low + (m.V[row + 1, g].astype(np.int64) << 32)
        else:
            start = m.S[base, g].astype(np.int64) + (
                m.S[base + 1, g].astype(np.int64) << 32
            )
            at = low + start[:, None]
        at += offset - BASE
        whole = Part(at, size, m.mask(g))
        parts = access.in_parts(m, ins, g, whole, None)
        return Place("global", m.memory.cells, parts)

    return locate


def _locate_scratch(ins: Instruction, size: int) -> Locate:
    offset = _signed_offset(ins)
    row, base = address_row(ins), _scalar_base(ins)
    uses_vector = bool(ins.get("sve")) or base is None

    def locate(m: Machine, g: Selection) -> Place:
        limit = m.shape.private_bytes
        waves = m.waves(g)[:, None] * m.lanes + np.arange(m.lanes)
        at = np.full(waves.shape, offset, np.int64)
        if uses_vector and ins.get("sve", 1):
            at = at + m.V[row, g].astype(np.int64)
        if base is not None:
            at = at + m.S[base, g].astype(np.int64)[:, None]
        part, bad = Part(at, size, m.mask(g)), (at < 0) | (at + size > limit)
        mask = access.lanes_inside(m, ins, g, part, bad, "the lane's scratch")
        at = waves * limit + np.where(bad, 0, at)
        return Place("private", m.private, [Part(at, size, mask)])

    return locate
