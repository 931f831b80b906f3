"""The rows of the tables of wait states: producer, consumer, how many between them.

Sources: CDNA3 ISA, section "Manually Inserted Wait States (NOPs)" with its tables of
MFMA dependencies, and the numbers that LLVM's AMDGPU backend inserts for gfx90a, gfx940
and gfx950. XDL are the matrix instructions that are neither f32 nor f64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from wave_isa_amdgcn.registers import (
    EXEC_BITS,
    EXECZ,
    M0_BIT,
    VCC_BITS,
    VCCZ,
    VECTOR,
)
from wave_isa_amdgcn.step import Step

Test: TypeAlias = Callable[[Step], bool]
Needed: TypeAlias = Callable[["States", Step, Step], int]

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
        meets: it asks for nothing where neither writes what the other touches.
    """

    name: str
    most: int
    producer: Test
    consumer: Test
    needed: Needed
    architectures: tuple[str, ...] = _ALL
    between: Test | None = None
    meets: bool = True


def _executes(*units: str) -> Test:
    return lambda step: step.unit in units


_valu, _vmem, _salu = _executes("valu"), _executes("vmem"), _executes("salu")
_mfma, _memory = _executes("mfma"), _executes("vmem", "lds")


def _named(*prefixes: str) -> Test:
    return lambda step: step.name.startswith(prefixes)


def _dpp(step: Step) -> bool:
    return step.crosses_lanes


def _xdl(step: Step) -> bool:
    """Not f32 and not f64."""
    name = step.name
    plain = name.endswith(("_F32", "_F64")) and "XF32" not in name
    return _mfma(step) and not plain


_dot, _f64 = _named("V_DOT"), _named("V_MFMA_F64")
_transcendental = _named(*_TRANSCENDENTAL)


def _partial(step: Step) -> bool:
    return step.writes_part


def _wide_store(step: Step) -> bool:
    """A store of more than 8 bytes."""
    if "STORE" not in step.name or step.unit != "vmem":
        return False
    return step.stored.bit_count() > 2


def _overwritten(chip: States, first: Step, second: Step) -> int:
    """The second writes what the first stores; a scalar offset takes it a state less.

    Source: CDNA3 ISA, and for a scalar offset on gfx942 and gfx950 LLVM's #197267.
    """
    if not first.stored & second.writes:
        return 0
    return chip.stored - first.scalar_offset


def _reads_code(*codes: int) -> Test:
    return lambda step: not step.codes.isdisjoint(codes)


def _uses_m0(step: Step) -> bool:
    return step.to_lds or step.name.startswith(("S_MOVREL", "S_SENDMSG", "DS_GWS"))


def _writes(bits: int) -> Test:
    return lambda step: bool(step.writes & bits)


def _both(*tests: Test) -> Test:
    return lambda step: all(test(step) for test in tests)


def _always(states: int) -> Needed:
    return lambda _chip, _first, _second: states


def _read(states: int, bits: int = -1) -> Needed:
    """The second reads a register that the first writes."""
    return lambda _chip, first, second: (
        states if first.writes & second.reads & bits else 0
    )


def _same_register(_chip: States, first: Step, second: Step) -> int:
    """Both name one hardware register."""
    one, two = (step.immediate & 63 for step in (first, second))
    return 2 if one == two else 0


def _dot_read(_chip: States, first: Step, second: Step) -> int:
    same = first.name == second.name
    reads = second.factors if same else second.reads
    return 3 if first.writes & reads & VECTOR else 0


def _dot_write(_chip: States, first: Step, second: Step) -> int:
    same = first.name == second.name
    return 0 if same or not first.writes & second.writes & VECTOR else 3


def _small(step: Step) -> bool:
    return "4X4X4" in step.name


def _after_passes(chip: States, first: Step) -> int:
    """From an MFMA that is not f64 until VALU, memory and MFMA may read its result."""
    passes = first.passes
    if not chip.as_xdl and not _xdl(first):
        return passes + 2
    return passes + 3 + (chip.late if passes != 2 else 0)


def _matrix_result(
    chip: States, first: Step, reads: int, *, memory: bool = False
) -> int:
    """Registers that are read hold the result of an MFMA."""
    if not first.writes & reads & VECTOR:
        return 0
    if not _f64(first):
        return _after_passes(chip, first)
    if _small(first):
        return 9 if memory else 6
    return 18 if memory else chip.f64


def _matrix_overwritten(chip: States, first: Step, second: Step) -> int:
    if not first.writes & second.writes & VECTOR:
        return 0
    if _f64(first):
        return 6 if _small(first) else 11
    return first.passes + (3 if chip.as_xdl or _xdl(first) else 2)


def _addend_overwritten(chip: States, first: Step, second: Step) -> int:
    """VALU writes what an MFMA still reads as its third operand."""
    if _f64(first) or not (chip.as_xdl or _xdl(first)):
        return 0
    addend = first.addend
    return first.passes - 1 if addend & second.writes else 0


def _matrix_addend(chip: States, first: Step, second: Step) -> int:
    """An MFMA reads the result of one as its third operand."""
    addend = second.addend
    if not first.writes & addend & VECTOR:
        return 0
    if chip.as_xdl and _f64(first) and not _f64(second):
        return 0
    if addend == first.writes & VECTOR:
        return _whole_addend(chip, first, second)
    return _part_of_addend(chip, first, second)


def _whole_addend(chip: States, first: Step, second: Step) -> int:
    if all(_f64(step) and _small(step) for step in (first, second)):
        return 4
    return 2 if not chip.as_xdl and first.passes == 2 else 0


def _part_of_addend(chip: States, first: Step, second: Step) -> int:
    if _f64(first):
        large = 4 if _small(first) else chip.f64 - 2
        return 0 if _xdl(second) else large
    passes = first.passes
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
        4 if one.writes & two.source(1) else 0),
    Row("VALU writes VCC, V_DIV_FMAS reads it", 4, _valu, _named("V_DIV_FMAS"),
        _read(4, VCC_BITS)),
    Row("VALU writes VCC, VALU reads VCCZ", 5, _both(_valu, _writes(VCC_BITS)),
        _both(_valu, _reads_code(VCCZ)), _always(5), meets=False),
    Row("VALU writes EXEC, VALU reads EXECZ", 5, _both(_valu, _writes(EXEC_BITS)),
        _both(_valu, _reads_code(EXECZ)), _always(5), meets=False),
    Row("VALU writes a VGPR, DPP reads it", 2, _valu, _dpp, _read(2, VECTOR)),
    Row("VALU writes EXEC, DPP", 5, _both(_valu, _writes(EXEC_BITS)), _dpp,
        _always(5), meets=False),
    Row("SALU writes M0, a copy to LDS, S_MOVREL or S_SENDMSG uses it", 1,
        _both(_salu, _writes(M0_BIT)), _uses_m0, _always(1), meets=False),
    Row("S_SETREG, S_GETREG of one register", 2, _MODE, _named("S_GETREG"),
        _same_register, meets=False),
    Row("S_SETREG, S_SETREG of one register", 2, _MODE, _MODE, _same_register,
        meets=False),
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
    Row("VALU writes EXEC, lane access", 4, _both(_valu, _writes(EXEC_BITS)),
        _named("V_READFIRSTLANE", *_LANE), _always(4), _LATER, meets=False),
    Row("VALU writes a VGPR, V_PERMLANE_SWAP uses it", 2, _valu, _SWAP,
        lambda _a, one, two: 2 if one.writes & (two.reads |
        two.writes) & VECTOR else 0, ("gfx950",)),
    Row("V_CMPX writes EXEC, V_PERMLANE_SWAP", 4, _named("V_CMPX"), _SWAP, _always(4),
        ("gfx950",), meets=False),
    Row("VALU writes EXEC, MFMA", 4, _both(_valu, _writes(EXEC_BITS)), _mfma,
        _always(4), meets=False),
    Row("VALU writes a VGPR, MFMA reads it", 2, _PLAIN, _mfma, _read(2, VECTOR)),
    Row("DOT, another VALU or its A or B reads the result", 3, _dot, _valu, _dot_read),
    Row("DOT, another VALU overwrites the result", 3, _dot, _valu, _dot_write),
    Row("VALU writes a VGPR, MFMA of f64, memory reads it", 2, _valu, _memory,
        _read(2, VECTOR), ("gfx90a",), between=_f64),
    Row("MFMA of f64, FMA of f64", 2, _f64, _FMA64, _always(2), meets=False),
    Row("MFMA, VALU or memory reads its result", 20, _mfma, _USES,
        lambda chip, one, two:
        _matrix_result(chip, one, two.reads, memory=_memory(two))),
    Row("MFMA, VALU overwrites its result", 20, _mfma, _USES, _matrix_overwritten),
    Row("MFMA, VALU overwrites its third operand", 15, _mfma, _USES,
        _addend_overwritten),
    Row("MFMA, MFMA reads the result as A or B", 20, _mfma, _mfma,
        lambda chip, one, two: _matrix_result(chip, one, two.factors)),
    Row("MFMA, MFMA reads the result as its third operand", 18, _mfma, _mfma,
        _matrix_addend),
)  # fmt: skip
