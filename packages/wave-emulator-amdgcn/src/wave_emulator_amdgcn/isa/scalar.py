"""Scalar arithmetic: SOP1, SOP2, SOPC and SOPK, one value for each wave."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.isa import bits as of_bits
from wave_emulator_amdgcn.isa.compare import FLOAT
from wave_emulator_amdgcn.isa.conversion import add_carry, both, sub_borrow
from wave_emulator_amdgcn.operands import DTYPES, LITERAL, fetch_dtype, scalar
from wave_isa_amdgcn.registers import EXEC

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine


@dataclass(frozen=True)
class ScalarRow:
    """The semantics of one scalar instruction.

    Attributes:
        out: type of the result; ``scc`` for none but the condition.
        ins: types of the operands; ``scc`` is the condition, ``d:T`` the old
            result, ``k:T`` the literal.
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
    if kind.startswith("k:"):
        return scalar(LITERAL, kind[2:], ins.get("literal"))
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
    found = {**_arithmetic(), **_moves(), **_compares(), **_floats()}
    for bits in (32, 64):
        found |= {**_logic(f"b{bits}"), **_bits(bits), **_shifts(bits)}
    return found


def _table(
    out: str, ins: str, functions: Mapping[str, Function], condition: str = "none"
) -> dict[str, ScalarRow]:
    """Rows with the same types, by name without ``S_``."""
    return {
        f"S_{name}": ScalarRow(out, ins, function, condition)
        for name, function in functions.items()
    }


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
    return lambda a, b: (np.where(function(a, b), a, b), function(a, b))


def _shift_add(n: int) -> Function:
    def call(a: Array, b: Array) -> tuple[Array, Array]:
        total = (_u64(a) << np.uint64(n)) + _u64(b)
        return total, total >> np.uint64(32) != 0

    return call


def _arithmetic() -> dict[str, ScalarRow]:
    u2, i2, returned = "u32 u32", "i32 i32", "returned"
    carries = {"ADDC_U32": add_carry, "SUBB_U32": sub_borrow}
    return {
        **_table("u32", u2, {
            "ADD_U32": add_carry, "SUB_U32": sub_borrow, "MIN_U32": _pick(np.less),
            "MAX_U32": _pick(np.greater_equal),
            **{f"LSHL{n}_ADD_U32": _shift_add(n) for n in range(1, 5)},
        }, returned),
        **_table("u32", i2, {
            "ADD_I32": _overflow(np.add), "SUB_I32": _overflow(np.subtract),
            "MIN_I32": _pick(np.less), "MAX_I32": _pick(np.greater_equal),
        }, returned),
        **_table("u32", u2 + " scc", carries, returned),
        **_table("u32", "k16 d:i32", {"ADDK_I32": _overflow(np.add)}, returned),
        **_table("u32", "k16 d:i32", {"MULK_I32": np.multiply}),
        **_table("u32", u2, {
            "MUL_I32": np.multiply,
            "MUL_HI_U32": lambda a, b: _u64(a) * _u64(b) >> np.uint64(32),
        }),
        **_table("u32", i2, {
            "MUL_HI_I32": lambda a, b: _signed(a) * _signed(b) >> np.int64(32),
        }),
        **_table("u32", i2, {
            "ABSDIFF_I32": lambda a, b: np.abs(_signed(a - b)),
        }, "nonzero"),
        **_table("u32", "i32", {"ABS_I32": lambda a: np.abs(_signed(a))}, "nonzero"),
        **_table("u64", "u64 u64", {
            "MUL_U64": np.multiply, "ADD_NC_U64": np.add, "ADD_U64": np.add,
            "SUB_NC_U64": np.subtract, "SUB_U64": np.subtract,
        }),
    }  # fmt: skip


def _packed(first: str, second: str) -> Function:
    """The halves of two registers: the first one's is the lower half."""
    low, high = np.uint32(0xFFFF), np.uint32(16)

    def call(a: Array, b: Array) -> Array:
        lower = a >> high if first == "H" else a & low
        return lower | (b >> high if second == "H" else b & low) << high

    return call


def _moves() -> dict[str, ScalarRow]:
    found = {
        **_table("u32", "k16", {"MOVK_I32": np.asarray}),
        **_table("u32", "k16 scc d:i32", {"CMOVK_I32": _choose}),
        **_table("u32", "u32", {
            "SEXT_I32_I8": lambda a: a.astype(np.int8),
            "SEXT_I32_I16": lambda a: a.astype(np.int16),
        }),
        **_table("u32", "u32 u32", {
            f"PACK_{a}{b}_B32_B16": _packed(a, b) for a in "LH" for b in "LH"
        }),
    }  # fmt: skip
    for t in ("b32", "b64"):
        tag = t.upper()
        found |= _table(t, t, {f"MOV_{tag}": np.asarray})
        found |= _table(t, f"{t} scc d:{t}", {f"CMOV_{tag}": _choose})
        select: Function = lambda a, b, c: np.where(c, a, b)  # noqa: E731 - a row
        found |= _table(t, f"{t} {t} scc", {f"CSELECT_{tag}": select})
    return found


def _choose(a: Array, condition: Array, old: Array) -> Array:
    return np.where(condition, a, old)


LOGIC: dict[str, Function] = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b,
    "ANDN2": lambda a, b: a & ~b, "ORN2": lambda a, b: a | ~b,
    "NAND": lambda a, b: ~(a & b), "NOR": lambda a, b: ~(a | b),
    "XNOR": lambda a, b: ~(a ^ b), "ANDN1": lambda a, b: ~a & b,
    "ORN1": lambda a, b: ~a | b,
}  # fmt: skip
"""Functions of two values; also new EXEC of source and old EXEC, for S_x_SAVEEXEC."""


def _logic(t: str) -> dict[str, ScalarRow]:
    two = {f"{name}_{t.upper()}": function for name, function in LOGIC.items()}
    one: dict[str, Function] = {f"NOT_{t.upper()}": np.invert}
    return {
        **_table(t, f"{t} {t}", two, "nonzero"),
        **_table(t, t, one, "nonzero"),
    }


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


def _set_bit(*, value: bool) -> Function:
    def call(n: Array, d: Array) -> Array:
        one = d.dtype.type(1) << of_bits.low_bits(d, n)
        return d | one if value else d & ~one

    return call


def _shifts(b: int) -> dict[str, ScalarRow]:
    u, right = f"u{b}", of_bits.shift(np.right_shift)
    return {
        **_table(u, f"{u} u32", {
            f"LSHL_B{b}": of_bits.shift(np.left_shift), f"LSHR_B{b}": right,
            f"BFE_U{b}": _extract(b, signed=False),
        }, "nonzero"),
        **_table(u, f"i{b} u32", {
            f"ASHR_I{b}": right, f"BFE_I{b}": _extract(b, signed=True),
        }, "nonzero"),
    }  # fmt: skip


def _bits(b: int) -> dict[str, ScalarRow]:
    u = f"u{b}"
    return {
        **_table(u, "u32 u32", {f"BFM_B{b}": of_bits.ones(b)}),
        **_table("u32", u, {
            f"BCNT1_I32_B{b}": np.bitwise_count,
            f"BCNT0_I32_B{b}": lambda a: np.bitwise_count(~a),
        }, "nonzero"),
        **_table("u32", u, {
            f"FF1_I32_B{b}": of_bits.lowest,
            f"FF0_I32_B{b}": lambda a: of_bits.lowest(~a),
            f"FLBIT_I32_B{b}": of_bits.highest,
        }),
        **_table(u, u, {f"BREV_B{b}": of_bits.reverse}),
        **_table(u, f"u32 d:{u}", {
            f"BITSET{v}_B{b}": _set_bit(value=bool(v)) for v in (0, 1)
        }),
        **_table("scc", f"{u} u32", {
            f"BITCMP{v}_B{b}": _test_bit(v) for v in (0, 1)
        }, "is"),
        **_table("u32", "i32", {"FLBIT_I32": of_bits.sign_run}),
    }  # fmt: skip


_COMPARES: dict[str, Function] = {
    "EQ": np.equal, "LG": np.not_equal, "GT": np.greater, "GE": np.greater_equal,
    "LT": np.less, "LE": np.less_equal,
}  # fmt: skip


def _test_bit(value: int) -> Function:
    def call(a: Array, n: Array) -> Array:
        return (a >> of_bits.low_bits(a, n) & a.dtype.type(1)) == value

    return call


def _compares() -> dict[str, ScalarRow]:
    found: dict[str, ScalarRow] = {}
    for t in ("i32", "u32", "u64"):
        named = {f"CMP_{k}_{t.upper()}": f for k, f in _COMPARES.items()}
        found |= _table("scc", f"{t} {t}", named, "is")
    for t, k16 in (("i32", "k16"), ("u32", "ku16")):
        named = {
            f"CMPK_{k}_{t.upper()}": of_bits.swapped(f) for k, f in _COMPARES.items()
        }
        found |= _table("scc", f"{k16} d:{t}", named, "is")
    return found


def _float_bits(function: Function, t: str = "f32") -> Function:
    dtype, unsigned = DTYPES[t], fetch_dtype(t)
    return lambda *values: np.asarray(function(*values), dtype).view(unsigned)


def _floats_of(t: str) -> dict[str, ScalarRow]:
    """Floats of gfx12: of 32 bits, or of 16 in the lower half of a register."""
    one: dict[str, Function] = {
        "CEIL": np.ceil, "FLOOR": np.floor, "TRUNC": np.trunc, "RNDNE": np.rint,
    }  # fmt: skip
    two: dict[str, Function] = {
        "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply,
        "MIN_NUM": floats.minimum, "MAX_NUM": floats.maximum,
        "MINIMUM": floats.propagating_minimum, "MAXIMUM": floats.propagating_maximum,
    }  # fmt: skip
    compares = {k: f for k, f in FLOAT.items() if k not in ("F", "T", "TRU")}
    found = _table(
        "scc", f"{t} {t}", {f"CMP_{k}": f for k, f in compares.items()}, "is"
    )
    for ins, functions in ((t, one), (f"{t} {t}", two), (f"{t} {t} d:{t}", _FMAC)):
        rows = {name: _float_bits(function, t) for name, function in functions.items()}
        found |= _table("u32", ins, rows)
    return {f"{name}_{t.upper()}": row for name, row in found.items()}


_FMAC: dict[str, Function] = {"FMAC": floats.fma}


def _floats() -> dict[str, ScalarRow]:
    """Floats of gfx12."""
    return {
        **_floats_of("f32"),
        **_floats_of("f16"),
        **_table("u32", "f32 f32 k:f32", {
            "FMAAK_F32": _float_bits(floats.fma),
            "FMAMK_F32": _float_bits(lambda a, b, k: floats.fma(a, k, b)),
        }),
        **_table("u32", "i32", {"CVT_F32_I32": _float_bits(np.asarray)}),
        **_table("u32", "u32", {
            "CVT_F32_U32": _float_bits(np.asarray), "CVT_F32_F16": _float_bits(_widen),
            "CVT_HI_F32_F16": _float_bits(lambda a: _widen(a >> np.uint32(16))),
        }),
        **_table("u32", "f32", {
            "CVT_I32_F32": lambda a: floats.to_integer(a, np.int32),
            "CVT_U32_F32": lambda a: floats.to_integer(a, np.uint32),
            "CVT_F16_F32": lambda a: (
                floats.quiet(a.astype(np.float16)).view(np.uint16)
            ),
        }),
        **_table("u32", "f32 f32", {"CVT_PK_RTZ_F16_F32": both(floats.to_f16_rtz)}),
    }  # fmt: skip


def _widen(a: Array) -> Array:
    half = a.astype(np.uint16).view(np.float16)
    return floats.quiet(half.astype(np.float32))
