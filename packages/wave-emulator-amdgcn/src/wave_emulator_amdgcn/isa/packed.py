"""VOP3P: two halves of a register at once, dot products, and mixed precision."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.arithmetic import dot2_bf16, dot2_f16
from wave_emulator_amdgcn.isa.bits import shift, swapped
from wave_emulator_amdgcn.isa.vector import (
    Run,
    clamped,
    flush_operand,
    flush_result,
    result_writer,
    saturating,
)
from wave_emulator_amdgcn.operands import (
    DTYPES,
    LITERAL,
    Fetch,
    constant,
    fetch_dtype,
    raw32,
)

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine

_H = np.uint32(0xFFFF)
_N = np.uint32(16)


def _three(function: Function) -> Function:
    return lambda a, b, c: function(function(a, b), c)


#: Packed instructions that look at the IEEE bit of MODE.
_IEEE = ("V_PK_MIN_F16", "V_PK_MAX_F16")

#: Packed integers whose CLAMP saturates.
_SATURATING = {
    f"V_PK_{name}_{sign}16" for name in ("ADD", "SUB", "MAD") for sign in "UI"
}

#: Type of the two parts, operands and function; parts of 32 bits are registers.
PACKED: dict[str, tuple[str, int, Function]] = {
    "V_PK_ADD_F16": ("f16", 2, np.add), "V_PK_MUL_F16": ("f16", 2, np.multiply),
    "V_PK_FMA_F16": ("f16", 3, floats.fma), "V_PK_MIN_F16": ("f16", 2, floats.minimum),
    "V_PK_MAX_F16": ("f16", 2, floats.maximum),
    "V_PK_MINIMUM3_F16": ("f16", 3, _three(floats.propagating_minimum)),
    "V_PK_MAXIMUM3_F16": ("f16", 3, _three(floats.propagating_maximum)),
    "V_PK_MINIMUM_F16": ("f16", 2, floats.propagating_minimum),
    "V_PK_MAXIMUM_F16": ("f16", 2, floats.propagating_maximum),
    "V_PK_ADD_U16": ("u16", 2, np.add), "V_PK_SUB_U16": ("u16", 2, np.subtract),
    "V_PK_ADD_I16": ("i16", 2, np.add), "V_PK_SUB_I16": ("i16", 2, np.subtract),
    "V_PK_MUL_LO_U16": ("u16", 2, np.multiply),
    "V_PK_MAD_U16": ("u16", 3, lambda a, b, c: a * b + c),
    "V_PK_MAD_I16": ("i16", 3, lambda a, b, c: a * b + c),
    "V_PK_MIN_U16": ("u16", 2, np.minimum), "V_PK_MAX_U16": ("u16", 2, np.maximum),
    "V_PK_MIN_I16": ("i16", 2, np.minimum), "V_PK_MAX_I16": ("i16", 2, np.maximum),
    "V_PK_LSHLREV_B16": ("u16", 2, swapped(shift(np.left_shift))),
    "V_PK_LSHRREV_B16": ("u16", 2, swapped(shift(np.right_shift))),
    "V_PK_ASHRREV_I16": ("i16", 2, swapped(shift(np.right_shift))),
    "V_PK_ADD_F32": ("f32", 2, np.add), "V_PK_MUL_F32": ("f32", 2, np.multiply),
    "V_PK_FMA_F32": ("f32", 3, floats.fma), "V_PK_MOV_B32": ("b32", 1, np.asarray),
}  # fmt: skip


def picks_upper(ins: Instruction, slot: int, *, top: bool) -> bool:
    """Whether a result takes the upper half, or register, of an operand.

    ``top`` is the upper result.
    """
    if not top:
        return bool(ins.get("opsel") >> slot & 1)
    if slot == 2:
        return bool(ins.get("opsel_hi2", 1))
    return bool(ins.get("opsel_hi", 3) >> slot & 1)


def _source(ins: Instruction, slot: int, kind: str) -> Fetch:
    """32 bits of an operand.

    Integer constants are 32 bits with sign, floats of f16 stand in the low half, and
    16-bit integers see those of f32 (LLVM, getInlineEncodingV216).
    """
    if ins.variant in ("DPP16", "DPP8"):
        raise UnknownInstructionError("EM0301", f"DPP of VOP3P: {ins.text}")
    code = ins.fields[f"src{slot}"]
    half_float = kind == "f16" and 240 <= code < LITERAL
    value = constant(code, kind, 0) if half_float else None
    if value is None:
        return raw32(code, ins.get("literal"), "f32")
    fixed = np.full((1, 1), value, np.uint32)
    return lambda _m, _g: fixed


def _part(ins: Instruction, slot: int, kind: str, *, top: bool) -> Fetch:
    """The part of an operand for one result: a half, or a register of a pair.

    A constant stands for both registers of a pair.
    """
    pick = picks_upper(ins, slot, top=top)
    negate = kind[0] == "f" and ins.get("neg_hi" if top else "neg") >> slot & 1
    narrow, dtype = kind.endswith("16"), DTYPES[kind]
    sign: Array = np.array(1 << int(kind[1:]) - 1, fetch_dtype(kind))
    code = ins.fields[f"src{slot}"]
    register = code >= 256 or code < 128
    fetch = raw32(code + (pick and register), ins.get("literal"))
    if narrow:
        fetch = _source(ins, slot, kind)

    def run(m: Machine, g: Selection) -> Array:
        bits = fetch(m, g)
        if narrow:
            bits = (bits >> _N if pick else bits & _H).astype(np.uint16)
        return (bits ^ sign if negate else bits).view(dtype)

    return run


def bind_packed(ins: Instruction) -> Run:
    """Two results by the same function."""
    kind, count, function = PACKED[ins.name]
    low = [_part(ins, k, kind, top=False) for k in range(count)]
    high = [_part(ins, k, kind, top=True) for k in range(count)]
    if ins.name == "V_PK_MOV_B32":
        # OPSEL bit 0 picks of src0 for the low word, bit 1 of src1 for the high one.
        high = [_part(ins, 1, kind, top=False)]
    clamp, floating, dtype = bool(ins.get("clmp")), kind[0] == "f", DTYPES[kind]
    if clamp and kind.endswith("16") and not floating:
        if ins.name not in _SATURATING:
            raise UnknownInstructionError("EM0302", f"integer clamp: {ins.text}")
        function = saturating(function, dtype)
    row = ins.fields["vdst"] - 256

    def one(m: Machine, g: Selection, fetches: list[Fetch]) -> Array:
        values = [flush_operand(m, fetch(m, g)) for fetch in fetches]
        if ins.name in _IEEE:
            values.append(np.array(m.ieee))
        with np.errstate(all="ignore"):
            result = np.asarray(function(*values)).astype(dtype)
            result = flush_result(m, result) if floating else result
            result = clamped(m, result) if clamp and floating else result
        return result.view(fetch_dtype(kind)).astype(np.uint32)

    def run(m: Machine, g: Selection) -> None:
        first, second = one(m, g, low), one(m, g, high)
        if kind.endswith("16"):
            m.write(row, g, first | second << _N)
        else:
            m.write(row, g, first)
            m.write(row + 1, g, second)

    return run


def _parts(a: Array, bits: int, *, signed: bool) -> list[Array]:
    parts = [
        a >> np.uint32(at) & np.uint32((1 << bits) - 1) for at in range(0, 32, bits)
    ]
    half = 1 << (bits - 1)
    wide = [part.astype(np.int64) for part in parts]
    return [(value ^ half) - half for value in wide] if signed else wide


def _dot(bits: int, first: bool, second: bool | None = None) -> Function:  # noqa: FBT001
    """Products of the parts of two registers; whether each is signed."""
    second = first if second is None else second

    def call(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        pairs = zip(
            _parts(a, bits, signed=first), _parts(b, bits, signed=second), strict=True
        )
        for x, y in pairs:
            total = total + x * y
        return total.astype(np.uint32)

    return call


def _single(function: Function) -> Function:
    """Of a sum in f32, as bits."""

    def call(a: Array, b: Array, c: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b, c.view(np.float32))).view(np.uint32)

    return call


DOTS: dict[str, Function] = {
    "V_DOT2_F32_F16": _single(dot2_f16), "V_DOT2_F32_BF16": _single(dot2_bf16),
    "V_DOT2_I32_I16": _dot(16, True), "V_DOT2_U32_U16": _dot(16, False),
    "V_DOT4_I32_I8": _dot(8, True), "V_DOT4_U32_U8": _dot(8, False),
    "V_DOT8_I32_I4": _dot(4, True), "V_DOT8_U32_U4": _dot(4, False),
    "V_DOT4_I32_IU8": _dot(8, False), "V_DOT8_I32_IU4": _dot(4, False),
}  # fmt: skip


def _dot_function(ins: Instruction) -> Function:
    """The function of a dot product; others' modifiers than signs are refused."""
    neg = ins.get("neg")
    mixed = {"V_DOT4_I32_IU8": 8, "V_DOT8_I32_IU4": 4}.get(ins.name)
    if mixed and not neg & 4:
        # NEG says whether an operand is signed (RDNA3 ISA, V_DOT4_I32_IU8).
        return _dot(mixed, bool(neg & 1), bool(neg & 2))
    selected = ins.get("opsel") or ins.get("opsel_hi", 3) != 3
    if neg or ins.get("neg_hi") or selected:
        raise UnknownInstructionError("EM0302", f"modifiers of {ins.text}")
    if ins.name == "V_DOT2_F32_BF16" and ins.chip.adds_last:
        # CDNA4 adds the sum last (its pseudo-code), RDNA first.
        none = np.array(-0.0, np.float32)
        return _single(lambda a, b, c: dot2_bf16(a, b, none) + c)
    return DOTS[ins.name]


def bind_dot(ins: Instruction) -> Run:
    """Dot products."""
    fetches = [_source(ins, k, "b32") for k in range(3)]
    function = _dot_function(ins)
    write = result_writer(ins, "u32")

    def run(m: Machine, g: Selection) -> None:
        write(m, g, function(*[fetch(m, g) for fetch in fetches]))

    return run


MIXES = {"V_MAD_MIX_F32": "f32", "V_MAD_MIXLO_F16": "lo", "V_MAD_MIXHI_F16": "hi"}


def _mixed(ins: Instruction, slot: int) -> Fetch:
    """f32, or a half of the register as f16; neg_hi holds the absolute bits."""
    is_half = picks_upper(ins, slot, top=True)
    top = bool(ins.get("opsel") >> slot & 1)
    fetch = _source(ins, slot, "f16" if is_half else "f32")
    absolute = bool(ins.get("neg_hi") >> slot & 1)
    negate = bool(ins.get("neg") >> slot & 1)

    def run(m: Machine, g: Selection) -> Array:
        bits = fetch(m, g)
        value: Array = bits.view(np.float32)
        if is_half:
            half = (bits >> _N if top else bits & _H).astype(np.uint16)
            value = half.view(np.float16)
        value = flush_operand(m, value).astype(np.float32)
        value = np.abs(value) if absolute else value
        return -value if negate else value

    return run


def bind_mix(ins: Instruction) -> Run:
    """Fma of operands that are f32 or f16, each as it is marked."""
    fetches = [_mixed(ins, k) for k in range(3)]
    kind = MIXES[ins.name]
    row = ins.fields["vdst"] - 256

    def run(m: Machine, g: Selection) -> None:
        with np.errstate(all="ignore"):
            value = flush_result(m, floats.fma(*[fetch(m, g) for fetch in fetches]))
            value = clamped(m, value) if ins.get("clmp") else value
            narrow = flush_result(m, floats.quiet(value.astype(np.float16)))
        half = narrow.view(np.uint16).astype(np.uint32)
        old = m.V[row, g]
        words = {"f32": value.view(np.uint32), "hi": old & _H | half << _N}
        m.write(row, g, words.get(kind, old & ~_H | half))

    return run
