"""Vector memory: GLOBAL, FLAT, SCRATCH and BUFFER instructions, and DMA to LDS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa import access, resource
from wave_emulator_amdgcn.isa.lds import extend, merge16
from wave_emulator_amdgcn.isa.resource import Locate, Place, address_row
from wave_emulator_amdgcn.machine import M0
from wave_emulator_amdgcn.memory import BASE

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Selection, Words
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
_NOTHING = {
    "BUFFER_WBL2", "BUFFER_INV", "BUFFER_GL0_INV", "BUFFER_GL1_INV", "GLOBAL_INV",
    "GLOBAL_WB", "GLOBAL_WBINV", "BUFFER_WBINVL1", "BUFFER_WBINVL1_VOL",
    "BUFFER_INVL2",
}  # fmt: skip


def is_store(name: str) -> bool:
    """Whether a canonical name writes memory without a result."""
    return "_STORE_" in name


def _bytes(found: re.Match[str]) -> int:
    kind = found[3]
    if kind.startswith("DWORD"):
        return 4 * int(found[4] or 1)
    return 1 if kind.endswith("BYTE") else 2


def bind(ins: Instruction) -> Run:
    """The closure that executes a vector memory instruction."""
    if ins.name in _NOTHING:
        return lambda _m, _g: None
    if found := _NAME.fullmatch(ins.name):
        size = _bytes(found)
        locate = _locate(ins, size)
        if found[2] or ins.get("lds"):
            return _bind_dma(ins, size, locate)
        if found[1] == "LOAD":
            return _bind_load(ins, size, found, locate)
        return _bind_store(ins, size, locate, high=bool(found[6]))
    if found := _ATOMIC.fullmatch(ins.name):
        return _bind_atomic(ins, found)
    raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")


def data_row(ins: Instruction, names: tuple[str, ...]) -> int:
    """The row of a data register, whatever this encoding calls it."""
    for name in names:
        if name in ins.fields:
            return ins.fields[name] - 256 + (256 if ins.get("acc") else 0)
    raise UnknownInstructionError("EM0301", f"no data operand: {ins.text}")


_RESULT = ("vdst", "vdata")
_DATA = ("data", "vsrc", "vdata")


def _bind_load(
    ins: Instruction, size: int, found: re.Match[str], locate: Locate
) -> Run:
    row = data_row(ins, _RESULT)
    signed, d16, high = found[3].startswith("S") and size < 4, found[5], bool(found[6])
    signed = signed and found[3] != "SHORT"

    def run(m: Machine, g: Selection) -> None:
        place = locate(m, g)
        words: list[Words] = []
        for part in place.parts:
            access.note(m, ins, g, (place.space, "read", part.size), part.at, part.mask)
            words += access.load(place.cells, part.at, part.size, part.mask)
        if signed:
            words = [extend(words[0], 8 * size)]
        if d16:
            words = [merge16(m.V[row, g], words[0], high=high)]
        for k, word in enumerate(words):
            m.write_where(row + k, g, word, m.mask(g))

    return run


def _bind_store(ins: Instruction, size: int, locate: Locate, *, high: bool) -> Run:
    row = data_row(ins, _DATA)
    shift = np.uint32(16 if high else 0)

    def run(m: Machine, g: Selection) -> None:
        place = locate(m, g)
        words = [m.V[row + k, g] >> shift for k in range(max(1, size // 4))]
        for part in place.parts:
            access.note(
                m, ins, g, (place.space, "write", part.size), part.at, part.mask
            )
            count = max(1, part.size // 4)
            mine, words = words[:count], words[count:]
            access.store(place.cells, part.at, mine, part.size, part.mask)

    return run


def _bind_atomic(ins: Instruction, found: re.Match[str]) -> Run:
    name, bits = _atomic_name(found)
    if name not in access.ATOMICS:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    row = data_row(ins, _DATA)
    returns = bool(ins.get("sc0") or ins.get("glc") or ins.get("th") & 1)
    result = data_row(ins, _RESULT)
    words = bits // 32 * (2 if name == "CMPSWAP" else 1)
    locate = _locate(ins, bits // 8, whole=True)

    def run(m: Machine, g: Selection) -> None:
        place = locate(m, g)
        (part,) = place.parts
        note = (place.space, "atomic", bits // 8)
        access.note(m, ins, g, note, part.at, part.mask)
        operands = [m.V[row + k, g].copy() for k in range(words)]
        old = access.atomic(place.cells, part.at, operands, name, bits, part.mask)
        if returns:
            for k, word in enumerate(old):
                m.write_where(result + k, g, word, m.mask(g))

    return run


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
        lane = np.arange(m.lanes) * size
        inner = base[:, None] + offset + lane
        outside = (inner < 0) | (inner + size > m.shape.lds_bytes)
        target = inner + m.lds_base[g][:, None]
        active = m.mask(g)
        if active is not None:
            outside &= active
        if outside.any():
            access.report_outside(m, ins, g, inner, outside, "the workgroup's LDS")
            target = np.where(outside, 0, target)
            active = ~outside if active is None else active & ~outside
        words: list[Words] = []
        for part in place.parts:
            note = (place.space, "read", part.size)
            access.note(m, ins, g, note, part.at, part.mask)
            words += access.load(place.cells, part.at, part.size, part.mask)
        access.note(m, ins, g, ("lds", "dma", size), target, active)
        access.store(m.lds, target, words, size, active)

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
        whole = access.Part(at, size, m.mask(g))
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
        mask = m.mask(g)
        bad = (at < 0) | (at + size > limit)
        bad = bad if mask is None else bad & mask
        if bad.any():
            access.report_outside(m, ins, g, at, bad, "the lane's scratch")
            mask = ~bad if mask is None else mask & ~bad
        at = np.where(bad, 0, at) if mask is None else np.where(mask, at, 0)
        part = access.Part(at + waves * limit, size, mask)
        return Place("private", m.private, [part])

    return locate
