"""Vector arithmetic: how an instruction of the table becomes a closure.

A row of the table states the types of the result and of the operands and a function on
arrays. Fetching, modifiers, DPP, SDWA, clamping and writing are the same for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa.dpp import dpp_mask
from wave_emulator_amdgcn.operands import DTYPES, SELECTIONS, Fetch, fetch_dtype, typed
from wave_isa_amdgcn.registers import EXEC, VCC

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bools, Function, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine

Run: TypeAlias = "Callable[[Machine, Selection], Any]"


@dataclass(frozen=True)
class Row:
    """The semantics of one vector instruction.

    Attributes:
        out: type of the result, ``mask`` for a compare, ``f32 carry`` for two results.
        ins: types of the operands. ``mask`` is a lane mask, ``d:T`` the destination's
            old value, ``k:T`` the literal, ``ieee`` the IEEE bit of MODE.
        function: operands to result.
        keeps: a 16-bit result leaves the other half of the register as it was.
        exact: operands and result ignore the denormal mode.
    """

    out: str
    ins: str
    function: Function
    keeps: bool = False
    exact: bool = False


def table(
    out: str, ins: str, functions: Mapping[str, Function], tag: str = "", *,
    keeps: bool = False, exact: bool = False,
) -> dict[str, Row]:  # fmt: skip
    """Rows with the same types; names stand without ``V_`` and ``tag`` around them."""
    return {
        f"V_{name}{tag}": Row(out, ins, function, keeps, exact)
        for name, function in functions.items()
    }


#: Integer instructions whose CLAMP saturates (ISA: "clamp" of integer results).
SATURATING = {
    f"V_{name}_{sign}{bits}"
    for name in ("ADD", "SUB", "SUBREV")
    for sign in "UI"
    for bits in (16, 32)
} | {"V_MAD_U16", "V_MAD_I16"}


def saturating(function: Function, dtype: type[np.generic]) -> Function:
    """An integer function computed without overflow, then limited to its type."""
    limits: Any = np.iinfo(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue] - always an integer type

    def call(*values: Array) -> Array:
        exact = function(*[value.astype(np.int64) for value in values])
        return np.clip(exact, limits.min, limits.max).astype(dtype)

    return call


def bind(ins: Instruction, row: Row) -> Run:
    """The closure that executes an instruction."""
    if ins.get("clmp") and ins.name in SATURATING:
        row = replace(row, function=saturating(row.function, DTYPES[row.out]))
        ins = replace(ins, fields={**ins.fields, "clmp": 0})
    fetches = _operands(ins, row)
    function = row.function
    flushing = not row.exact and any(kind[-3:-2] == "f" for kind in row.ins.split())
    write = _writer(ins, row)

    def run(m: Machine, g: Selection) -> None:
        values = [fetch(m, g) for fetch in fetches]
        if flushing and (m.flush32 or m.flush16):
            values = [flush_operand(m, value) for value in values]
        with np.errstate(all="ignore"):
            result = function(*values)
        write(m, g, result)

    return run


def bind_scalar_result(ins: Instruction, row: Row) -> Run:
    """The closure of a vector operation on scalars (gfx12, V_S_RCP_F32 and others)."""
    fetches = _operands(ins, row)
    dtype, finish = DTYPES[row.out], _finisher(ins, row.out, exact=row.exact)
    target = ins.fields["vdst"] & 127
    assert finish is not None, "these are floats"

    def run(m: Machine, g: Selection) -> None:
        values = [fetch(m, g) for fetch in fetches]
        values = values if row.exact else [flush_operand(m, value) for value in values]
        with np.errstate(all="ignore"):
            result = finish(m, np.asarray(row.function(*values)).astype(dtype))
        bits = result.view(fetch_dtype(row.out)).astype(np.uint32)
        wide = np.broadcast_to(bits, (m.count(g), bits.shape[-1]))
        m.write_scalar(target, g, wide[:, 0].copy())

    return run


def flush_operand(m: Machine, value: Array) -> Array:
    """An operand without denormals, where MODE says so."""
    if value.dtype == np.float32:
        return floats.flush(value) if m.flush32 else value
    if value.dtype.kind == "f":
        return floats.flush(value) if m.flush16 else value
    return value


def flush_result(m: Machine, value: Array) -> Array:
    """A result without denormals, where MODE says so."""
    flushed = m.flush32_results if value.dtype == np.float32 else m.flush16_results
    return floats.flush(value) if flushed else value


def _operands(ins: Instruction, row: Row) -> list[Fetch]:
    fetches: list[Fetch] = []
    slot = 0
    for kind in row.ins.split():
        if kind.startswith("d:"):
            fetches.append(_destination(ins, kind[2:]))
        elif kind.startswith("k:"):
            fetches.append(typed(_plain(ins), 255, kind[2:], 3))
        elif kind == "ieee":
            fetches.append(lambda m, _g: np.array(m.ieee))
        elif kind == "vcc":
            fetches.append(lambda m, g: m.lane_mask(VCC, g))
        elif kind == "mask":
            fetches.append(_mask_operand(ins, slot))
            slot += 1
        else:
            fetches.append(typed(ins, source_code(ins, slot), kind, slot))
            slot += 1
    return fetches


def _plain(ins: Instruction) -> Instruction:
    return replace(ins, variant="LIT")


def source_code(ins: Instruction, slot: int) -> int:
    """The unified number of an operand."""
    name = f"src{slot}"
    if slot == 1 and "vsrc1" in ins.fields:
        name = "vsrc1"
    return ins.fields[name]


def _destination(ins: Instruction, kind: str) -> Fetch:
    code = ins.fields["vdst"]
    high = bool(ins.get("opsel") >> 3 & 1)
    if kind.endswith("16") and (high or (ins.chip.names_halves and code >= 384)):
        row = code - 256 - (0 if high else 128)
        dtype = DTYPES[kind]
        return lambda m, g: (m.V[row, g] >> np.uint32(16)).astype(np.uint16).view(dtype)
    return typed(_plain(ins), code, kind, 3)


def _mask_operand(ins: Instruction, slot: int) -> Fetch:
    code = VCC
    if ins.encoding.startswith("VOP3") and "src2" in ins.fields and slot == 2:
        code = ins.fields["src2"]
    if code >= 128:
        truth = code != 128
        return lambda m, g: np.full((m.count(g), m.lanes), truth)
    return lambda m, g: m.lane_mask(code, g)


def _writer(ins: Instruction, row: Row) -> Callable[[Machine, Selection, Any], None]:
    if row.out == "mask":
        return _compare_writer(ins)
    first, *second = row.out.split()
    value = result_writer(ins, first, keeps=row.keeps, exact=row.exact)
    if not second:
        return value
    carry = _lane_bits_writer(ins, ins.fields.get("sdst", VCC))

    def both(m: Machine, g: Selection, result: tuple[Array, Bools]) -> None:
        value(m, g, result[0])
        carry(m, g, result[1])

    return both


def _lane_bits_writer(
    ins: Instruction, *rows: int
) -> Callable[[Machine, Selection, Bools], None]:
    """Writes a bit of each lane to lane masks; those of lanes that are off are 0."""
    dpp = ins.variant in ("DPP16", "DPP8")

    def write(m: Machine, g: Selection, result: Bools) -> None:
        bits = np.broadcast_to(result, (m.count(g), m.lanes)) & m.active[g]
        if dpp:
            bits = bits & dpp_mask(ins, m, g)
        for row in rows:
            m.write_lane_mask(row, g, bits)

    return write


def _compare_writer(ins: Instruction) -> Callable[[Machine, Selection, Bools], None]:
    if "CMPX" not in ins.name:
        return _lane_bits_writer(ins, _compare_target(ins))
    if ins.chip.exec_and_mask:
        return _lane_bits_writer(ins, EXEC, _compare_target(ins))
    return _lane_bits_writer(ins, EXEC)


def _compare_target(ins: Instruction) -> int:
    if ins.encoding == "VOP3":
        return ins.fields["vdst"] & 127
    if ins.variant == "SDWA_SDST" and ins.get("sd"):
        return ins.fields["sdst"]
    return VCC


def result_writer(
    ins: Instruction, kind: str, *, keeps: bool = False, exact: bool = False
) -> Callable[[Machine, Selection, Any], None]:
    """Writes a result of a type: omod, clamp, denormals, halves, lanes."""
    finish = _finisher(ins, kind, exact=exact)
    kind = "u32" if kind == "2f16" else kind
    store = _store(ins, kind, keeps=keeps)
    unsigned = fetch_dtype(kind)
    dtype = DTYPES[kind]

    def write(m: Machine, g: Selection, result: Array) -> None:
        value = np.asarray(result)
        if value.dtype != dtype:
            value = value.astype(dtype)
        if finish is not None:
            value = finish(m, value)
        store(m, g, value.view(unsigned))

    return write


def _finisher(
    ins: Instruction, kind: str, *, exact: bool
) -> Callable[[Machine, Array], Array] | None:
    if kind == "2f16":
        return _flush_halves
    scale = {0: 1.0, 1: 2.0, 2: 4.0, 3: 0.5}[ins.get("omod") if kind[0] == "f" else 0]
    clamp = bool(ins.get("clmp"))
    floating = kind[0] == "f"
    if not floating and clamp:
        raise UnknownInstructionError("EM0302", f"integer clamp: {ins.text}")
    if not floating:
        return None

    def finish(m: Machine, value: Array) -> Array:
        # Only without IEEE mode and denormal results (ISA, OMOD).
        single = value.dtype == np.float32
        flushed = m.flush32_results if single else m.flush16_results
        if scale != 1.0 and not m.ieee and flushed:
            with np.errstate(all="ignore"):
                value = floats.flush(value * value.dtype.type(scale))
            value = np.where(value == 0, value.dtype.type(0), value)
        if not exact:
            value = flush_result(m, value)
        return clamped(m, value) if clamp else value

    return finish


def _flush_halves(m: Machine, value: Array) -> Array:
    """Two f16 in a register; modifiers of packed results are done elsewhere."""
    if not m.flush16_results:
        return value
    halves = np.ascontiguousarray(value).view(np.float16)
    return floats.flush(halves).view(np.uint32)


def clamped(m: Machine, value: Array) -> Array:
    """Between +0 and 1; NaN is 0 where DX10_CLAMP says so."""
    one, zero = value.dtype.type(1), value.dtype.type(0)
    result = np.where(value > zero, np.minimum(value, one), zero)
    return result if m.dx10_clamp else np.where(np.isnan(value), value, result)


def _store(
    ins: Instruction, kind: str, *, keeps: bool
) -> Callable[[Machine, Selection, Array], None]:
    row = ins.fields["vdst"] - 256
    if ins.variant == "SDWA" and not kind.endswith("64"):
        return _sdwa_store(ins, row)
    lanes = lane_filter(ins)
    if kind.endswith("64"):

        def wide(m: Machine, g: Selection, bits: Array) -> None:
            words = [(bits >> np.uint64(at)).astype(np.uint32) for at in (0, 32)]
            m.write_rows(row, g, words, lanes(m, g))

        return wide
    if kind.endswith("16"):
        return _half_store(ins, row, keeps=keeps)

    def store(m: Machine, g: Selection, bits: Array) -> None:
        m.write_where(row, g, bits, lanes(m, g))

    return store


def lane_filter(ins: Instruction) -> Callable[[Machine, Selection], Bools | None]:
    """The lanes that take a result; None for all."""
    if ins.variant in ("DPP16", "DPP8"):
        return lambda m, g: dpp_mask(ins, m, g)
    return lambda m, g: m.mask(g)


def _half_store(
    ins: Instruction, row: int, *, keeps: bool
) -> Callable[[Machine, Selection, Array], None]:
    high = bool(ins.get("opsel") >> 3 & 1)
    if ins.chip.names_halves and ins.encoding in ("VOP1", "VOP2") and row >= 128:
        row, high = row - 128, True
    keeps = keeps or high or ins.chip.names_halves
    lanes = lane_filter(ins)

    def store(m: Machine, g: Selection, bits: Array) -> None:
        word = bits.astype(np.uint32)
        if high:
            word = m.V[row, g] & np.uint32(0xFFFF) | word << np.uint32(16)
        elif keeps:
            word = m.V[row, g] & np.uint32(0xFFFF0000) | word
        m.write_where(row, g, word, lanes(m, g))

    return store


def _sdwa_store(
    ins: Instruction, row: int
) -> Callable[[Machine, Selection, Array], None]:
    selection = ins.get("dst_sel", 6)
    unused = ins.get("dst_unused")
    shift, width = SELECTIONS.get(selection, (0, 32))
    field = ((1 << width) - 1) << shift

    def store(m: Machine, g: Selection, bits: Array) -> None:
        word = bits.astype(np.uint32) << np.uint32(shift) & np.uint32(field)
        if unused == 2 and width < 32:
            word = word | m.V[row, g] & np.uint32(0xFFFFFFFF ^ field)
        elif unused == 1 and width < 32:
            up = np.int32(32 - shift - width)
            word = (word.view(np.int32) << up >> up).view(np.uint32)
        m.write_where(row, g, word, m.mask(g))

    return store
