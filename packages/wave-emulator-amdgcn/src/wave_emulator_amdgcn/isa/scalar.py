"""Scalar arithmetic: SOP1, SOP2, SOPC and SOPK, one value for each wave."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.isa.compare import FLOAT
from wave_emulator_amdgcn.isa.conversion import add_carry, sub_borrow
from wave_emulator_amdgcn.machine import EXEC
from wave_emulator_amdgcn.operands import scalar

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine


@dataclass(frozen=True)
class ScalarRow:
    """What one scalar instruction does.

    Attributes:
        out: type of the result; ``scc`` for none but the condition.
        ins: types of the operands; ``scc`` is the condition, ``d:T`` the old result.
        function: operands to result, or to result and condition.
        condition: ``none``, ``nonzero`` (of the result), ``returned``.
    """

    out: str
    ins: str
    function: Function
    condition: str = "none"


def bind(ins: Instruction, row: ScalarRow) -> Run:
    """The closure that executes an instruction."""
    fetches = [_fetch(ins, kind, k) for k, kind in enumerate(row.ins.split())]
    function = row.function
    condition = row.condition
    write = _writer(ins, row.out)

    def run(m: Machine, g: Selection) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = function(*[fetch(m, g) for fetch in fetches])
        if condition == "returned":
            result, flag = result
            write(m, g, result)
            m.scc[g] = flag
            return
        write(m, g, result)
        if condition == "nonzero":
            m.scc[g] = np.asarray(result) != 0
        elif condition == "is":
            m.scc[g] = result

    return run


def _fetch(ins: Instruction, kind: str, slot: int) -> Function:
    if kind == "scc":
        return lambda m, g: m.scc[g]
    if kind == "exec":
        suffix = "b64" if ins.name.endswith("64") else "b32"
        return scalar(EXEC, suffix, 0)
    if kind == "k16":
        value = ins.fields["simm16"]
        fixed = np.array([value - ((value & 0x8000) << 1)], np.int32)
        return lambda _m, _g: fixed
    if kind == "ku16":
        unsigned = np.array([ins.fields["simm16"]], np.uint32)
        return lambda _m, _g: unsigned
    if kind.startswith("d:"):
        return scalar(ins.fields["sdst"], kind[2:], 0)
    return scalar(ins.fields[f"ssrc{slot}"], kind, ins.get("literal"))


def _writer(ins: Instruction, kind: str) -> Callable[[Machine, Selection, Array], None]:
    if kind == "scc":
        return lambda _m, _g, _value: None
    row = ins.fields["sdst"]
    if kind.endswith("64"):

        def wide(m: Machine, g: Selection, value: Array) -> None:
            bits = np.broadcast_to(np.asarray(value).astype(np.uint64), m.count(g))
            m.write_scalar_pair(row, g, bits)

        return wide
    return lambda m, g, value: m.write_scalar(
        row, g, np.asarray(value).astype(np.uint32)
    )


def rows() -> dict[str, ScalarRow]:
    """All rows by name."""
    return {
        **_moves(), **_arithmetic(), **_logic(), **_bits(), **_compares(), **_floats(),
    }  # fmt: skip


def _u64(a: Array) -> Array:
    return a.astype(np.uint64)


def _signed(a: Array) -> Array:
    return a.astype(np.int64)


def _overflow(function: Function) -> Function:
    def call(a: Array, b: Array) -> tuple[Array, Array]:
        total = function(_signed(a), _signed(b))
        return total, (total > 0x7FFFFFFF) | (total < -0x80000000)

    return call


def _pick(function: Function) -> Function:
    def call(a: Array, b: Array) -> tuple[Array, Array]:
        return np.where(function(a, b), a, b), function(a, b)

    return call


def _shift_add(n: int) -> Function:
    def call(a: Array, b: Array) -> tuple[Array, Array]:
        total = (_u64(a) << np.uint64(n)) + _u64(b)
        return total, total >> np.uint64(32) != 0

    return call


def _arithmetic() -> dict[str, ScalarRow]:
    u2, i2, returned = "u32 u32", "i32 i32", "returned"
    found = {
        "S_ADD_U32": ScalarRow("u32", u2, add_carry, returned),
        "S_SUB_U32": ScalarRow("u32", u2, sub_borrow, returned),
        "S_ADD_I32": ScalarRow("u32", i2, _overflow(np.add), returned),
        "S_SUB_I32": ScalarRow("u32", i2, _overflow(np.subtract), returned),
        "S_ADDC_U32": ScalarRow("u32", u2 + " scc", add_carry, returned),
        "S_SUBB_U32": ScalarRow("u32", u2 + " scc", sub_borrow, returned),
        "S_MIN_I32": ScalarRow("u32", i2, _pick(np.less), returned),
        "S_MAX_I32": ScalarRow("u32", i2, _pick(np.greater_equal), returned),
        "S_MIN_U32": ScalarRow("u32", u2, _pick(np.less), returned),
        "S_MAX_U32": ScalarRow("u32", u2, _pick(np.greater_equal), returned),
        "S_MUL_I32": ScalarRow("u32", u2, lambda a, b: a * b),
        "S_MUL_HI_U32": ScalarRow(
            "u32", u2, lambda a, b: _u64(a) * _u64(b) >> np.uint64(32)
        ),
        "S_MUL_HI_I32": ScalarRow(
            "u32", i2, lambda a, b: _signed(a) * _signed(b) >> np.int64(32)
        ),
        "S_MUL_U64": ScalarRow("u64", "u64 u64", lambda a, b: a * b),
        "S_ADD_NC_U64": ScalarRow("u64", "u64 u64", lambda a, b: a + b),
        "S_ADD_U64": ScalarRow("u64", "u64 u64", lambda a, b: a + b),
        "S_SUB_NC_U64": ScalarRow("u64", "u64 u64", lambda a, b: a - b),
        "S_SUB_U64": ScalarRow("u64", "u64 u64", lambda a, b: a - b),
        "S_ABSDIFF_I32": ScalarRow(
            "u32", i2, lambda a, b: np.abs(_signed(a - b)), "nonzero"
        ),
        "S_ABS_I32": ScalarRow("u32", "i32", lambda a: np.abs(_signed(a)), "nonzero"),
        "S_ADDK_I32": ScalarRow("u32", "k16 d:i32", _overflow(np.add), returned),
        "S_MULK_I32": ScalarRow("u32", "k16 d:i32", lambda k, d: k * d),
    }
    for n in range(1, 5):
        found[f"S_LSHL{n}_ADD_U32"] = ScalarRow("u32", u2, _shift_add(n), returned)
    return found


def _moves() -> dict[str, ScalarRow]:
    low, high = np.uint32(0xFFFF), np.uint32(16)
    two = "u32 u32"
    found = {
        "S_MOVK_I32": ScalarRow("u32", "k16", np.asarray),
        "S_CMOVK_I32": ScalarRow("u32", "k16 scc d:i32", _choose),
        "S_SEXT_I32_I8": ScalarRow("u32", "u32", lambda a: a.astype(np.int8)),
        "S_SEXT_I32_I16": ScalarRow("u32", "u32", lambda a: a.astype(np.int16)),
        "S_PACK_LL_B32_B16": ScalarRow(
            "u32", two, lambda a, b: a & low | (b & low) << high
        ),
        "S_PACK_LH_B32_B16": ScalarRow(
            "u32", two, lambda a, b: a & low | b >> high << high
        ),
        "S_PACK_HH_B32_B16": ScalarRow(
            "u32", two, lambda a, b: a >> high | b >> high << high
        ),
        "S_PACK_HL_B32_B16": ScalarRow(
            "u32", two, lambda a, b: a >> high | (b & low) << high
        ),
    }
    for t in ("b32", "b64"):
        found[f"S_MOV_{t.upper()}"] = ScalarRow(t, t, np.asarray)
        found[f"S_CMOV_{t.upper()}"] = ScalarRow(t, f"{t} scc d:{t}", _choose)
        found[f"S_CSELECT_{t.upper()}"] = ScalarRow(
            t, f"{t} {t} scc", lambda a, b, c: np.where(c, a, b)
        )
    return found


def _choose(a: Array, condition: Array, old: Array) -> Array:
    return np.where(condition, a, old)


_LOGIC: dict[str, Function] = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b,
    "ANDN2": lambda a, b: a & ~b, "ORN2": lambda a, b: a | ~b,
    "NAND": lambda a, b: ~(a & b), "NOR": lambda a, b: ~(a | b),
    "XNOR": lambda a, b: ~(a ^ b), "ANDN1": lambda a, b: ~a & b,
    "ORN1": lambda a, b: ~a | b,
}  # fmt: skip


def _logic() -> dict[str, ScalarRow]:
    found: dict[str, ScalarRow] = {}
    for bits in ("32", "64"):
        t = "b" + bits
        for name, function in _LOGIC.items():
            found[f"S_{name}_B{bits}"] = ScalarRow(t, f"{t} {t}", function, "nonzero")
        found[f"S_NOT_B{bits}"] = ScalarRow(t, t, np.invert, "nonzero")
    return found


def saveexec_functions() -> dict[str, Function]:
    """New EXEC of source and old EXEC, for S_x_SAVEEXEC and S_x_WREXEC."""
    return _LOGIC


def _shift(function: Function, bits: int) -> Function:
    return lambda a, n: function(a, n.astype(a.dtype) & a.dtype.type(bits - 1))


def _extract(bits: int, *, signed: bool) -> Function:
    mask = 31 if bits == 32 else 63

    def call(a: Array, control: Array) -> Array:
        offset = (control & np.uint32(mask)).astype(np.uint64)
        width = (control >> np.uint32(16) & np.uint32(0x7F)).astype(np.uint64)
        width = np.minimum(width, np.uint64(bits))
        unsigned = a.astype(np.int64).astype(np.uint64) if signed else _u64(a)
        if signed:
            shifted = (unsigned.view(np.int64) >> offset.view(np.int64)).view(np.uint64)
        else:
            shifted = unsigned >> offset
        keep = np.where(
            width >= 64,
            ~np.uint64(0),
            (np.uint64(1) << (width % np.uint64(64))) - np.uint64(1),
        )
        field = shifted & keep
        top = (field >> (np.maximum(width, np.uint64(1)) - np.uint64(1))) & np.uint64(1)
        if signed:
            field = np.where((top == 1) & (width > 0), field | ~keep, field)
        return field & np.uint64((1 << bits) - 1)

    return call


def _count_zeros(a: Array) -> Array:
    return np.bitwise_count(~a)


def _first_one(a: Array) -> Array:
    isolated = a & (~a + a.dtype.type(1))
    index = np.bitwise_count(isolated - a.dtype.type(1)).astype(np.int64)
    return np.where(a == 0, -1, index)


def _leading(bits: int) -> Function:
    def call(a: Array) -> Array:
        filled = a.copy()
        for n in (1, 2, 4, 8, 16, 32)[: 5 if bits == 32 else 6]:
            filled |= filled >> a.dtype.type(n)
        return np.where(a == 0, -1, bits - np.bitwise_count(filled).astype(np.int64))

    return call


def _sign_run(a: Array) -> Array:
    folded = np.where(a < 0, ~a, a).view(np.uint32)
    return np.where(folded == 0, -1, _leading(32)(folded))


def _reverse(bits: int) -> Function:
    def call(a: Array) -> Array:
        data = np.ascontiguousarray(a).view(np.uint8).reshape(-1, bits // 8)
        flipped = np.unpackbits(data, axis=1, bitorder="little")[:, ::-1]
        packed = np.packbits(flipped, axis=1, bitorder="little")
        return packed.view(a.dtype)[:, 0]

    return call


def _set_bit(bits: int, *, value: bool) -> Function:
    def call(n: Array, d: Array) -> Array:
        one = d.dtype.type(1) << (n.astype(d.dtype) & d.dtype.type(bits - 1))
        return d | one if value else d & ~one

    return call


def _mask_bits(bits: int) -> Function:
    def call(a: Array, b: Array) -> Array:
        one = np.uint64(1)
        limit = np.uint64(bits - 1)
        return ((one << (_u64(a) & limit)) - one) << (_u64(b) & limit)

    return call


def _bits() -> dict[str, ScalarRow]:
    found: dict[str, ScalarRow] = {}
    for b in (32, 64):
        u, i = f"u{b}", f"i{b}"
        controlled = {
            "LSHL_B": (u, _shift(np.left_shift, b)),
            "LSHR_B": (u, _shift(np.right_shift, b)),
            "ASHR_I": (i, _shift(np.right_shift, b)),
            "BFE_U": (u, _extract(b, signed=False)),
            "BFE_I": (i, _extract(b, signed=True)),
        }
        for name, (kind, function) in controlled.items():
            found[f"S_{name}{b}"] = ScalarRow(u, f"{kind} u32", function, "nonzero")
        found |= {
            f"S_BFM_B{b}": ScalarRow(u, "u32 u32", _mask_bits(b)),
            f"S_BCNT1_I32_B{b}": ScalarRow("u32", u, np.bitwise_count, "nonzero"),
            f"S_BCNT0_I32_B{b}": ScalarRow("u32", u, _count_zeros, "nonzero"),
            f"S_FF1_I32_B{b}": ScalarRow("u32", u, _first_one),
            f"S_FF0_I32_B{b}": ScalarRow("u32", u, lambda a: _first_one(~a)),
            f"S_FLBIT_I32_B{b}": ScalarRow("u32", u, _leading(b)),
            f"S_BREV_B{b}": ScalarRow(u, u, _reverse(b)),
            f"S_BITSET0_B{b}": ScalarRow(u, f"u32 d:{u}", _set_bit(b, value=False)),
            f"S_BITSET1_B{b}": ScalarRow(u, f"u32 d:{u}", _set_bit(b, value=True)),
        }
    found["S_FLBIT_I32"] = ScalarRow("u32", "i32", _sign_run)
    return found


_COMPARES: dict[str, Function] = {
    "EQ": np.equal, "LG": np.not_equal, "GT": np.greater, "GE": np.greater_equal,
    "LT": np.less, "LE": np.less_equal,
}  # fmt: skip


def _test_bit(bits: int, *, value: int) -> Function:
    def call(a: Array, n: Array) -> Array:
        shift = n.astype(a.dtype) & a.dtype.type(bits - 1)
        return (a >> shift & a.dtype.type(1)) == value

    return call


def _compares() -> dict[str, ScalarRow]:
    found: dict[str, ScalarRow] = {}
    for name, function in _COMPARES.items():
        for t in ("i32", "u32", "u64"):
            found[f"S_CMP_{name}_{t.upper()}"] = ScalarRow(
                "scc", f"{t} {t}", function, "is"
            )
        for t, k in (("i32", "k16"), ("u32", "ku16")):
            found[f"S_CMPK_{name}_{t.upper()}"] = ScalarRow(
                "scc", f"{k} d:{t}", _swap(function), "is"
            )
    for b in (32, 64):
        for v in (0, 1):
            found[f"S_BITCMP{v}_B{b}"] = ScalarRow(
                "scc", f"u{b} u32", _test_bit(b, value=v), "is"
            )
    return found


def _swap(function: Function) -> Function:
    return lambda k, d: function(d, k)


def _floats() -> dict[str, ScalarRow]:
    """Scalar floats of gfx12."""

    def bits(function: Function) -> Function:
        return lambda *values: np.asarray(function(*values), np.float32).view(np.uint32)

    one, two = "f32", "f32 f32"
    table: dict[str, tuple[str, Function]] = {
        "ADD": (two, np.add), "SUB": (two, np.subtract), "MUL": (two, np.multiply),
        "MIN_NUM": (two, floats.minimum), "MAX_NUM": (two, floats.maximum),
        "MINIMUM": (two, floats.propagating_minimum),
        "MAXIMUM": (two, floats.propagating_maximum),
        "FMAC": ("f32 f32 d:f32", floats.fma), "CEIL": (one, np.ceil),
        "FLOOR": (one, np.floor), "TRUNC": (one, np.trunc), "RNDNE": (one, np.rint),
    }  # fmt: skip
    found = {
        f"S_{name}_F32": ScalarRow("u32", ins, bits(function))
        for name, (ins, function) in table.items()
    }
    found |= {
        "S_CVT_F32_I32": ScalarRow("u32", "i32", bits(lambda a: a.astype(np.float32))),
        "S_CVT_F32_U32": ScalarRow("u32", "u32", bits(lambda a: a.astype(np.float32))),
        "S_CVT_I32_F32": ScalarRow(
            "u32", one, lambda a: floats.to_integer(a, np.int32)
        ),
        "S_CVT_U32_F32": ScalarRow(
            "u32", one, lambda a: floats.to_integer(a, np.uint32)
        ),
        "S_CVT_F32_F16": ScalarRow("u32", "u32", bits(_widen)),
        "S_CVT_F16_F32": ScalarRow(
            "u32", one, lambda a: floats.quiet(a.astype(np.float16)).view(np.uint16)
        ),
    }
    for name, function in FLOAT.items():
        if name not in ("F", "T", "TRU"):
            found[f"S_CMP_{name}_F32"] = ScalarRow("scc", two, function, "is")
    return found


def _widen(a: Array) -> Array:
    half = a.astype(np.uint16).view(np.float16)
    return floats.quiet(half.astype(np.float32))
