"""The rows of the tables of wait states: producer, consumer, how many between them.

Sources: CDNA3 ISA, section "Manually Inserted Wait States (NOPs)" with its tables of
MFMA dependencies, and the numbers that LLVM's AMDGPU backend inserts for gfx90a, gfx940
and gfx950. XDL are the matrix instructions that are neither f32 nor f64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.rates import matrix_cycles
from wave_emulator_amdgcn.costs.tables import COSTS
from wave_emulator_amdgcn.machine import EXEC, M0, VCC
from wave_emulator_amdgcn.usage import SCALAR, operand_bits

if TYPE_CHECKING:
    from wave_emulator_amdgcn.program import Bound

    Test = Callable[[Bound], bool]
    Needed = Callable[["States", Bound, Bound], int]

VECTOR = (1 << SCALAR) - 1
_EXEC = 3 << (SCALAR + EXEC)
_VCC = 3 << (SCALAR + VCC)
_M0 = 1 << (SCALAR + M0)
_VCCZ, _EXECZ = 251, 252
_SCALAR_CODES = 128
"""Codes of operands below this are scalar registers. Source: CDNA3 ISA, SSRC0."""

_LATER = ("gfx942", "gfx950")
_ALL = ("gfx90a", *_LATER)
_TRANSCENDENTAL = tuple(
    f"V_{name}_" for name in ("EXP", "LOG", "RCP", "RSQ", "SQRT", "SIN", "COS")
)
_LANE = ("V_READLANE_B32", "V_WRITELANE_B32")
_READ_LANE = ("V_READLANE_B32", "V_READFIRSTLANE_B32")


@dataclass(frozen=True)
class States:
    """The numbers that differ between architectures.

    Attributes:
        stored: from a store of more than 8 bytes until VALU may write its data.
        f64: from an MFMA of f64 until VALU and MFMA may read its result.
        late: what results of XDL that take more than two passes need in addition.
        as_xdl: all MFMA that are not f64 need as many as XDL.
    """

    stored: int
    f64: int = 11
    late: int = 0
    as_xdl: bool = False


#: By architecture; the others need none.
STATES = {
    "gfx90a": States(1, as_xdl=True),
    "gfx942": States(2),
    "gfx950": States(2, f64=19, late=1),
}


@dataclass(frozen=True, eq=False)
class Row:
    """One row.

    Attributes:
        name: what depends on what, for messages.
        most: the largest number that ``needed`` gives.
        producer: whether an instruction is the first of the two.
        consumer: whether one is the second.
        needed: wait states between the two, by architecture; 0 where none are.
        architectures: where the row holds.
        between: an instruction that has to lie between, for the row to hold.
    """

    name: str
    most: int
    producer: Test
    consumer: Test
    needed: Needed
    architectures: tuple[str, ...] = _ALL
    between: Test | None = None


def _executes(*units: str) -> Test:
    return lambda bound: bound.usage.unit in units


_valu, _vmem, _salu = _executes("valu"), _executes("vmem"), _executes("salu")
_mfma, _memory = _executes("mfma"), _executes("vmem", "lds")


def _named(*prefixes: str) -> Test:
    return lambda bound: bound.instruction.name.startswith(prefixes)


def _dpp(bound: Bound) -> bool:
    return bound.instruction.variant.startswith("DPP")


def _xdl(bound: Bound) -> bool:
    """Not f32 and not f64."""
    name = bound.instruction.name
    plain = name.endswith(("_F32", "_F64")) and "XF32" not in name
    return _mfma(bound) and not plain


_dot, _f64 = _named("V_DOT"), _named("V_MFMA_F64")
_transcendental = _named(*_TRANSCENDENTAL)


def _partial(bound: Bound) -> bool:
    """It writes a part of a register elsewhere than at the bottom."""
    ins = bound.instruction
    if ins.variant.startswith("SDWA"):
        return ins.get("dst_sel", 6) != 6
    return ins.encoding == "VOP3" and bool(ins.get("opsel") >> 3 & 1)


def _wide_store(bound: Bound) -> bool:
    """A store of more than 8 bytes."""
    if "STORE" not in bound.instruction.name or bound.usage.unit != "vmem":
        return False
    return _data(bound).bit_count() > 2


def _overwritten(chip: States, first: Bound, second: Bound) -> int:
    """The second writes what the first stores; a scalar offset takes it a state less.

    Source: CDNA3 ISA, and for a scalar offset on gfx942 and gfx950 LLVM's #197267.
    """
    if not _data(first) & second.usage.writes:
        return 0
    ins = first.instruction
    scalar = ins.encoding == "MUBUF" and ins.get("soffset") < _SCALAR_CODES
    return chip.stored - scalar


def _data(bound: Bound) -> int:
    """Registers that a store reads its data from."""
    ins = bound.instruction
    return operand_bits(ins, "data") | operand_bits(ins, "vdata")


def _reads_code(*codes: int) -> Test:
    names = ("src0", "src1", "src2", "ssrc0")
    return lambda b: any(b.instruction.fields.get(n) in codes for n in names)


def _uses_m0(bound: Bound) -> bool:
    name = bound.instruction.name
    to_lds = "_LDS_" in name or bool(bound.instruction.get("lds"))
    return to_lds or name.startswith(("S_MOVREL", "S_SENDMSG", "DS_GWS"))


def _writes(bits: int) -> Test:
    return lambda bound: bool(bound.usage.writes & bits)


def _both(*tests: Test) -> Test:
    return lambda bound: all(test(bound) for test in tests)


def _always(states: int) -> Needed:
    return lambda _chip, _first, _second: states


def _read(states: int, bits: int = -1) -> Needed:
    """The second reads a register that the first writes."""
    return lambda _chip, first, second: (
        states if first.usage.writes & second.usage.reads & bits else 0
    )


def _same_register(_chip: States, first: Bound, second: Bound) -> int:
    """Both name one hardware register."""
    one, two = (b.instruction.get("simm16") & 63 for b in (first, second))
    return 2 if one == two else 0


def _factors(bound: Bound) -> int:
    ins = bound.instruction
    return operand_bits(ins, "src0") | operand_bits(ins, "src1")


def _dot_read(_chip: States, first: Bound, second: Bound) -> int:
    same = first.instruction.name == second.instruction.name
    reads = _factors(second) if same else second.usage.reads
    return 3 if first.usage.writes & reads & VECTOR else 0


def _dot_write(_chip: States, first: Bound, second: Bound) -> int:
    same = first.instruction.name == second.instruction.name
    return 0 if same or not first.usage.writes & second.usage.writes & VECTOR else 3


@cache
def _passes(bound: Bound) -> int:
    ins = bound.instruction
    return matrix_cycles(ins, COSTS[ins.chip.name]) // 4


def _small(bound: Bound) -> bool:
    return "4X4X4" in bound.instruction.name


def _after_passes(chip: States, first: Bound) -> int:
    """From an MFMA that is not f64 until VALU, memory and MFMA may read its result."""
    passes = _passes(first)
    if not chip.as_xdl and not _xdl(first):
        return passes + 2
    return passes + 3 + (chip.late if passes != 2 else 0)


def _matrix_result(
    chip: States, first: Bound, reads: int, *, memory: bool = False
) -> int:
    """Registers that are read hold the result of an MFMA."""
    if not first.usage.writes & reads & VECTOR:
        return 0
    if not _f64(first):
        return _after_passes(chip, first)
    if _small(first):
        return 9 if memory else 6
    return 18 if memory else chip.f64


def _matrix_overwritten(chip: States, first: Bound, second: Bound) -> int:
    if not first.usage.writes & second.usage.writes & VECTOR:
        return 0
    if _f64(first):
        return 6 if _small(first) else 11
    return _passes(first) + (3 if chip.as_xdl or _xdl(first) else 2)


def _addend_overwritten(chip: States, first: Bound, second: Bound) -> int:
    """VALU writes what an MFMA still reads as its third operand."""
    if _f64(first) or not (chip.as_xdl or _xdl(first)):
        return 0
    addend = operand_bits(first.instruction, "src2")
    return _passes(first) - 1 if addend & second.usage.writes else 0


def _matrix_addend(chip: States, first: Bound, second: Bound) -> int:
    """An MFMA reads the result of one as its third operand."""
    addend = operand_bits(second.instruction, "src2")
    if not first.usage.writes & addend & VECTOR:
        return 0
    if chip.as_xdl and _f64(first) and not _f64(second):
        return 0
    if addend == first.usage.writes & VECTOR:
        return _whole_addend(chip, first, second)
    return _part_of_addend(chip, first, second)


def _whole_addend(chip: States, first: Bound, second: Bound) -> int:
    if all(_f64(bound) and _small(bound) for bound in (first, second)):
        return 4
    return 2 if not chip.as_xdl and _passes(first) == 2 else 0


def _part_of_addend(chip: States, first: Bound, second: Bound) -> int:
    if _f64(first):
        large = 4 if _small(first) else chip.f64 - 2
        return 0 if _xdl(second) else large
    passes = _passes(first)
    if chip.as_xdl:
        return passes + _f64(second)
    if not _xdl(first):
        return 0 if _xdl(second) else passes
    return passes + 1 + (chip.late if passes != 2 else 0)


_MODE = _named("S_SETREG")
_USES = _both(lambda b: _valu(b) or _memory(b))
_PLAIN = _both(_valu, lambda b: not _dot(b))
_SLOW = _both(_valu, _transcendental)
_QUICK = _both(_valu, lambda b: not _transcendental(b))
_FMA64 = _named("V_FMA_F64", "V_FMAC_F64")
_SWAP = _named("V_PERMLANE16_SWAP", "V_PERMLANE32_SWAP")

ROWS = (
    Row("VALU writes an SGPR, VMEM reads it", 5, _valu, _vmem, _read(5, ~VECTOR)),
    Row("VALU writes an SGPR, it selects a lane", 4, _valu, _named(*_LANE),
        lambda _chip, one, two:
        4 if one.usage.writes & operand_bits(two.instruction, "src1") else 0),
    Row("VALU writes VCC, V_DIV_FMAS reads it", 4, _valu, _named("V_DIV_FMAS"),
        _read(4, _VCC)),
    Row("VALU writes VCC, VALU reads VCCZ", 5, _both(_valu, _writes(_VCC)),
        _both(_valu, _reads_code(_VCCZ)), _always(5)),
    Row("VALU writes EXEC, VALU reads EXECZ", 5, _both(_valu, _writes(_EXEC)),
        _both(_valu, _reads_code(_EXECZ)), _always(5)),
    Row("VALU writes a VGPR, DPP reads it", 2, _valu, _dpp, _read(2, VECTOR)),
    Row("VALU writes EXEC, DPP", 5, _both(_valu, _writes(_EXEC)), _dpp, _always(5)),
    Row("SALU writes M0, a copy to LDS, S_MOVREL or S_SENDMSG uses it", 1,
        _both(_salu, _writes(_M0)), _uses_m0, _always(1)),
    Row("S_SETREG, S_GETREG of one register", 2, _MODE, _named("S_GETREG"),
        _same_register),
    Row("S_SETREG, S_SETREG of one register", 2, _MODE, _MODE, _same_register),
    Row("a store of more than 8 bytes, VALU writes its data", 2, _wide_store, _valu,
        _overwritten),
    Row("a transcendental, VALU reads its result", 1, _SLOW, _QUICK, _read(1, VECTOR),
        _LATER),
    Row("VALU writes a part of a VGPR, VALU reads it", 1, _both(_valu, _partial),
        _valu, _read(1, VECTOR), _LATER),
    Row("VALU writes an SGPR, VALU reads it", 2, _valu, _valu, _read(2, ~VECTOR),
        _LATER),
    Row("VALU writes a VGPR, V_READLANE reads it", 1, _valu, _named(*_READ_LANE),
        _read(1, VECTOR), _LATER),
    Row("VALU writes EXEC, lane access", 4, _both(_valu, _writes(_EXEC)),
        _named("V_READFIRSTLANE", *_LANE), _always(4), _LATER),
    Row("VALU writes a VGPR, V_PERMLANE_SWAP uses it", 2, _valu, _SWAP,
        lambda _a, one, two: 2 if one.usage.writes & (two.usage.reads |
        two.usage.writes) & VECTOR else 0, ("gfx950",)),
    Row("V_CMPX writes EXEC, V_PERMLANE_SWAP", 4, _named("V_CMPX"), _SWAP, _always(4),
        ("gfx950",)),
    Row("VALU writes EXEC, MFMA", 4, _both(_valu, _writes(_EXEC)), _mfma, _always(4)),
    Row("VALU writes a VGPR, MFMA reads it", 2, _PLAIN, _mfma, _read(2, VECTOR)),
    Row("DOT, another VALU or its A or B reads the result", 3, _dot, _valu, _dot_read),
    Row("DOT, another VALU overwrites the result", 3, _dot, _valu, _dot_write),
    Row("VALU writes a VGPR, MFMA of f64, memory reads it", 2, _valu, _memory,
        _read(2, VECTOR), ("gfx90a",), between=_f64),
    Row("MFMA of f64, FMA of f64", 2, _f64, _FMA64, _always(2)),
    Row("MFMA, VALU or memory reads its result", 20, _mfma, _USES,
        lambda chip, one, two:
        _matrix_result(chip, one, two.usage.reads, memory=_memory(two))),
    Row("MFMA, VALU overwrites its result", 20, _mfma, _USES, _matrix_overwritten),
    Row("MFMA, VALU overwrites its third operand", 15, _mfma, _USES,
        _addend_overwritten),
    Row("MFMA, MFMA reads the result as A or B", 20, _mfma, _mfma,
        lambda chip, one, two: _matrix_result(chip, one, _factors(two))),
    Row("MFMA, MFMA reads the result as its third operand", 18, _mfma, _mfma,
        _matrix_addend),
)  # fmt: skip
