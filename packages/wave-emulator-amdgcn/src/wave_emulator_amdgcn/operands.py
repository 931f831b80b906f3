"""Operands: where an instruction's values come from, and where its result goes.

Each function here is called once for an instruction and returns a closure that is
called whenever the instruction runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_isa_amdgcn.registers import EXEC, VCC

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bools, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine

Fetch: TypeAlias = "Callable[[Machine, Selection], Array]"

DTYPES: dict[str, type[np.generic]] = {
    "u32": np.uint32, "i32": np.int32, "f32": np.float32, "b32": np.uint32,
    "u16": np.uint16, "i16": np.int16, "f16": np.float16, "b16": np.uint16,
    "u64": np.uint64, "i64": np.int64, "f64": np.float64, "b64": np.uint64,
}  # fmt: skip

#: Inline constants 240 to 248 (CDNA3 ISA, table of SSRC encodings).
_FLOATS = {
    240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0,
}  # fmt: skip
_INVERSE_2PI = {"f16": 0x3118, "f32": 0x3E22F983, "f64": 0x3FC45F306DC9C882}

VCCZ, EXECZ, SCC, LITERAL = 251, 252, 253, 255


def constant(code: int, kind: str, literal: int) -> int | None:
    """Bits of an inline constant or literal of a type; None for a register."""
    bits = int(kind[1:])
    floating = "f" + kind[1:]
    if 128 <= code <= 192:
        return code - 128
    if 193 <= code <= 208:
        return (1 << bits) - (code - 192)
    if kind in ("u16", "i16") and 240 <= code <= 248:
        # 16-bit integers see the low half of the f32 (LLVM, getInlineEncodingV216).
        bits32 = constant(code, "f32", literal)
        return None if bits32 is None else bits32 & 0xFFFF
    if code in _FLOATS:
        as_type = DTYPES[floating](_FLOATS[code])
        return int(as_type.view(DTYPES[f"u{bits}"]))
    if code == 248:
        return _INVERSE_2PI[floating]
    if code == LITERAL:
        return _literal(kind, literal)
    return None


def _literal(kind: str, literal: int) -> int:
    if kind == "f64":
        return literal << 32
    if kind == "i64" and literal >> 31:
        return literal | 0xFFFFFFFF << 32
    return literal & (1 << int(kind[1:])) - 1


def inline(code: int, kind: str, literal: int) -> Fetch | None:
    """The bits of an inline constant or literal; None for a register."""
    value = constant(code, kind, literal)
    if value is None:
        return None
    fixed = np.full((1, 1), value, fetch_dtype(kind))
    return lambda _m, _g: fixed


def raw32(code: int, literal: int, kind: str = "b32") -> Fetch:
    """32 bits of a source operand, broadcastable to [waves, lanes]."""
    if code >= 256:
        row = code - 256
        return lambda m, g: m.V[row, g]
    if fixed := inline(code, kind, literal):
        return fixed
    if code == SCC:
        return lambda m, g: m.scc[g].astype(np.uint32)[:, None]
    if code in (VCCZ, EXECZ):
        test = is_zero(VCC if code == VCCZ else EXEC)
        return lambda m, g: test(m, g).astype(np.uint32)[:, None]
    if code >= 128:
        raise UnknownInstructionError("EM0301", f"source operand {code}")
    return lambda m, g: m.S[code, g][:, None]


def is_zero(row: int) -> Callable[[Machine, Selection], Bools]:
    """Whether a lane mask in scalar registers has no lane, by wave."""

    def test(m: Machine, g: Selection) -> Bools:
        zero = m.S[row, g] == 0
        return zero & (m.S[row + 1, g] == 0) if m.lanes == 64 else zero

    return test


def raw64(code: int, literal: int, kind: str) -> Fetch:
    """64 bits of a source operand."""
    if fixed := inline(code, kind, literal):
        return fixed
    low = raw32(code, literal)
    if 128 <= code < 256:
        return lambda m, g: low(m, g).astype(np.uint64)
    high = raw32(code + 1, literal)

    def fetch(m: Machine, g: Selection) -> Array:
        top = high(m, g).astype(np.uint64) << np.uint64(32)
        return low(m, g).astype(np.uint64) | top

    return fetch


def scalar(code: int, kind: str, literal: int) -> Fetch:
    """A scalar operand as [waves] of its type."""
    raw, dtype = {"64": raw64, "32": raw32, "16": raw16}[kind[-2:]], DTYPES[kind]
    fetch = raw(code, literal, kind)
    return lambda m, g: fetch(m, g)[:, 0].view(dtype)


def raw16(code: int, literal: int, kind: str, *, high: bool = False) -> Fetch:
    """16 bits of a source operand."""
    if fixed := inline(code, kind, literal):
        return fixed
    fetch = raw32(code, literal)
    if high:
        return lambda m, g: (fetch(m, g) >> np.uint32(16)).astype(np.uint16)
    return lambda m, g: fetch(m, g).astype(np.uint16)


def typed(ins: Instruction, code: int, kind: str, slot: int) -> Fetch:
    """A vector operand of a type, with the modifiers of the instruction.

    ``slot`` is the ordinal of the operand, which picks its bits of neg, abs and opsel.
    """
    literal = ins.get("literal")
    fetch = _bits(ins, code, kind, slot, literal)
    dtype = DTYPES[kind]
    absolute, negative = _modifiers(ins, slot)
    if not absolute and not negative:
        return lambda m, g: fetch(m, g).view(dtype)
    sign: Array = np.array(1 << int(kind[1:]) - 1, fetch_dtype(kind))

    def modified(m: Machine, g: Selection) -> Array:
        bits = fetch(m, g)
        if absolute:
            bits = bits & ~sign
        if negative:
            bits = bits ^ sign
        return bits.view(dtype)

    return modified


def fetch_dtype(kind: str) -> type[np.generic]:
    """The unsigned type of a kind's width."""
    return DTYPES[f"u{kind[1:]}"]


def _bits(ins: Instruction, code: int, kind: str, slot: int, literal: int) -> Fetch:
    if ins.variant.startswith("SDWA") and slot < 2:
        return _sdwa(ins, code, kind, slot)
    if ins.variant in ("DPP16", "DPP8") and slot == 0:
        from wave_emulator_amdgcn.isa.dpp import dpp_source  # noqa: PLC0415 - cycle

        return dpp_source(ins, kind)
    if kind.endswith("64"):
        return raw64(code, literal, kind)
    if kind.endswith("16"):
        high = bool(ins.get("opsel") >> slot & 1)
        # gfx11 and later: 8-bit VGPR fields of 16-bit operands name halves.
        halved = ins.chip.names_halves and ins.encoding in ("VOP1", "VOP2", "VOPC")
        if halved and code >= 256 + 128:
            return raw16(code - 128, literal, kind, high=True)
        return raw16(code, literal, kind, high=high)
    return raw32(code, literal, kind)


def _modifiers(ins: Instruction, slot: int) -> tuple[bool, bool]:
    if ins.encoding == "VOP3P" or "BITOP3" in ins.name:
        return False, False
    absolute = bool(ins.get("abs") >> slot & 1 or ins.get(f"src{slot}_abs"))
    negative = bool(ins.get("neg") >> slot & 1 or ins.get(f"src{slot}_neg"))
    return absolute, negative


#: SDWA selections: byte 0 to 3, word 0 and 1, dword (CDNA3 ISA, SDWA).
SELECTIONS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16)}


def _sdwa(ins: Instruction, code: int, kind: str, slot: int) -> Fetch:
    if slot == 0:
        code = ins.fields["vsrc0"]
    if kind.endswith("64"):
        raise UnknownInstructionError("EM0301", f"SDWA of 64 bits: {ins.text}")
    fetch = raw32(code, 0)
    selection = ins.get(f"src{slot}_sel", 6)
    signed = bool(ins.get(f"src{slot}_sext"))
    shift, width = SELECTIONS.get(selection, (0, 32))
    dtype = fetch_dtype(kind)

    def select(m: Machine, g: Selection) -> Array:
        bits = fetch(m, g) >> np.uint32(shift)
        if width < 32:
            bits = bits & np.uint32((1 << width) - 1)
            if signed:
                up = np.int32(32 - width)
                bits = (bits.view(np.int32) << up >> up).view(np.uint32)
        return bits.astype(dtype)

    return select
