"""Which registers an instruction reads and writes, and which counters it raises.

Registers are bits of a Python integer: bit r is vector row r, bit 512 + s scalar s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.isa import packed, scalar, smem, vmem
from wave_emulator_amdgcn.isa.vopd import halves
from wave_emulator_amdgcn.operands import SELECTIONS
from wave_isa_amdgcn.registers import EXEC_BITS, SCALAR, VCC_BITS, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.decode import Instruction


@dataclass(frozen=True)
class Usage:
    """Registers and counters that an instruction touches.

    Attributes:
        reads: bits of registers.
        writes: bits of registers.
        halves: of these, bits of registers whose lower, and whose upper half it
            touches. Where 16-bit operands name a half, the other one is free.
        filled: `halves` of its results alone.
        counter: the counter that it raises: ``vm``, ``vs``, ``lgkm``, ``km``, ``ds``
            ... or empty.
        pending: registers that are filled only when the counter says so.
        unit: ``valu``, ``salu``, ``mfma``, ``lds``, ``vmem``, ``smem``, ``branch``,
            ``sync``: what executes it.
    """

    reads: int
    writes: int
    halves: tuple[int, int]
    filled: tuple[int, int]
    counter: str
    pending: int
    unit: str


#: Encodings of gfx11 and later whose 8-bit fields of 16-bit operands name a half.
_HALVES = ("VOP1", "VOP2", "VOPC")

_UPPER = 256 + 128
"""Numbers from here on name the upper half of a register there."""

DATA = ("vdst", "vdata", "data", "data0", "vsrc")
"""Fields of memory instructions that name what is moved."""

_SHORT_STORES = ("_STORE_BYTE", "_STORE_SHORT", "_WRITE_B8", "_WRITE_B16")
"""Names of stores that take the lower half of a register."""

_PLACES = {"src0": 0, "src1": 1, "src2": 2, "vdst": 3}
"""Bits of OPSEL that choose the half of an operand."""

_BYTE = re.compile(r"V_CVT_F32_UBYTE(\d)")
_PRESERVE = 2
"""DST_UNUSED of SDWA that keeps the bits beside the selected ones."""

#: Their destination is an SGPR although its field is that of a VGPR.
_TO_SCALAR = ("V_READLANE_B32", "V_READFIRSTLANE_B32", "V_S_")

_RESULTS = {"vdst", "sdst", "sdata"}
_SOURCES = (
    "src0", "src1", "src2", "vsrc0", "vsrc1", "ssrc0", "ssrc1", "addr", "vaddr",
    "data", "data0", "data1", "vsrc", "vdata", "saddr", "srsrc", "rsrc", "sbase",
    "soffset", "scale_src0", "scale_src1",
)  # fmt: skip


def _span(code: int, count: int, *, accumulator: bool) -> int:
    if 256 <= code < 512:
        first = code - 256 + (256 if accumulator else 0)
        return ((1 << count) - 1) << first
    if code < 128:
        return ((1 << count) - 1) << (SCALAR + code)
    return 0


_TO_AGPR = ("V_ACCVGPR_WRITE", "V_ACCVGPR_MOV_B32")
_FROM_AGPR = ("V_ACCVGPR_READ", "V_ACCVGPR_MOV_B32")
_MOVED = (*DATA[:4], "data1")
"""Operands that the acc bit of LDS and memory instructions makes AGPRs."""


def _accumulator(ins: Instruction, name: str) -> bool:
    """Whether an operand names AGPRs."""
    if ins.name.startswith(("V_MFMA", "V_SMFMAC")):
        sources = {"src0": ins.get("acc") & 1, "src1": ins.get("acc") >> 1 & 1}
        sources |= {"scale_src0": 0, "scale_src1": 0}
        return bool(sources.get(name, ins.get("acc_cd")))
    if ins.encoding in ("DS", *vmem.FLAT, "MUBUF"):
        return bool(ins.get("acc")) and name in _MOVED
    named = {"src0": _FROM_AGPR, "vdst": _TO_AGPR}.get(name, ())
    return ins.name in named


def usage(ins: Instruction) -> Usage:
    """Registers and counters that an instruction touches."""
    if ins.encoding == "VOPD":
        first, second = (usage(half) for half in halves(ins))
        reads, writes = first.reads | second.reads, first.writes | second.writes
        both = reads | writes
        return Usage(reads, writes, (both, both), (writes, writes), "", 0, "valu")
    reads = writes = lower = upper = 0
    filled = [0, 0]
    for name, code in ins.fields.items():
        count = _count(ins, name)
        if count == 0:
            continue
        scalar = name == "vdst" and ins.name.startswith(_TO_SCALAR)
        number = code & 127 if scalar else _whole(ins, name, code)
        span = _span(number, count, accumulator=_accumulator(ins, name))
        if _is_result(ins, name):
            writes |= span
            if _reads_result(ins):
                reads |= span
        elif name in (*_SOURCES, "sdst"):
            reads |= span
        half = _half(ins, name, code)
        if _is_result(ins, name):
            filled = [
                bits | (span if half in (None, n) else 0)
                for n, bits in enumerate(filled)
            ]
        lower |= span if half != 1 else 0
        upper |= span if half != 0 else 0
    implied = _implied(ins)
    reads, writes = reads | implied[0], writes | implied[1]
    touched = lower | implied[0] | implied[1], upper | implied[0] | implied[1]
    counter, pending = _counter(ins, writes)
    text = f"{ins.encoding} {ins.name}"
    unit = next((unit for form, unit in _UNITS if form.fullmatch(text)), "vmem")
    low, high = filled
    return Usage(reads, writes, touched, (low, high), counter, pending, unit)


def _half(ins: Instruction, name: str, code: int) -> int | None:
    """The half of a register that an operand is, 0 or 1; `None` for all of it.

    Source: RDNA3 and RDNA4 ISA, "16-bit operands"; D16 loads and stores.
    """
    if not ins.chip.names_halves:
        return None
    if name in DATA and not ins.name.startswith("V_"):
        if "D16" in ins.name and "FORMAT" not in ins.name:
            return int("D16_HI" in ins.name)
        return 0 if ins.name.endswith(_SHORT_STORES) else None
    if not _is_narrow(ins, name):
        return None
    if ins.encoding in _HALVES:
        return int(code >= _UPPER)
    place = _PLACES.get(name)
    if ins.encoding != "VOP3" or place is None:
        return None
    return ins.get("opsel") >> place & 1


def part_of(ins: Instruction, name: str) -> tuple[int, int]:
    """The first bit of its register that an operand is, and how many bits it has."""
    role = "dst" if name == "vdst" else name.removeprefix("v")
    if ins.variant.startswith("SDWA"):
        return SELECTIONS.get(ins.get(f"{role}_sel", 6), (0, 32))
    byte = _BYTE.fullmatch(ins.name)
    if byte and role == "src0":
        return 8 * int(byte[1]), 8
    if ins.encoding == "VOP3P" or not _is_narrow(ins, name):
        return 0, 32
    half = _half(ins, name, ins.fields[name])
    if half is None:
        half = ins.get("opsel") >> _PLACES.get(name, 0) & 1
    return 16 * half, 16


def sources(ins: Instruction) -> list[str]:
    """The fields that name what an instruction reads."""
    result = ["vdst"] if "vdst" in ins.fields and _reads_result(ins) else []
    return [*(name for name in ins.fields if name in _SOURCES), *result]


def taken_bits(ins: Instruction, reads: int) -> dict[int, int]:
    """The bits that an instruction takes of each register that it reads."""
    found = dict.fromkeys(rows_of(reads), 0)
    for name in sources(ins):
        first, width = part_of(ins, name)
        for row in rows_of(operand_bits(ins, name) & reads):
            found[row] |= (1 << width) - 1 << first
    return {row: taken or 0xFFFFFFFF for row, taken in found.items()}


PAIRED = re.compile(r"V_PK_(ADD|MUL|FMA)_F32")
"""Instructions with two results of 32 bits, each from one register of every operand."""


def taken_registers(ins: Instruction, reads: int, *, top: bool) -> int:
    """Of the registers that one of `PAIRED` reads, those that a result takes.

    ``top`` is the upper result.
    """
    pairs = taken = 0
    for name in sources(ins):
        span = operand_bits(ins, name)
        lower = span & -span
        upper = packed.picks_upper(ins, int(name[-1]), top=top)
        pairs |= span
        taken |= span ^ lower if upper else lower
    return reads & (taken | ~pairs)


def operand_bits(ins: Instruction, name: str) -> int:
    """The registers of one operand; 0 where the instruction has none of that name."""
    if name not in ins.fields:
        return 0
    accumulator = _accumulator(ins, name)
    code = _whole(ins, name, ins.fields[name])
    return _span(code, _count(ins, name), accumulator=accumulator)


_SCC = 253
"""The number of the condition among operands."""


@cache
def _scalars() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names of those that read the condition, write it, and read their old result."""
    rows = scalar.rows().items()
    reads = {name for name, row in rows if "scc" in row.ins.split()}
    writes = {name for name, row in rows if row.condition != "none"}
    keeps = {name for name, row in rows if "d:" in row.ins}
    return frozenset(reads), frozenset(writes), frozenset(keeps)


def reads_condition(ins: Instruction) -> bool:
    """Whether the condition of a wave, SCC, decides what an instruction does."""
    if ins.name in _scalars()[0] or ins.name.startswith("S_CBRANCH_SCC"):
        return True
    return any(ins.fields[name] == _SCC for name in sources(ins))


def writes_condition(ins: Instruction) -> bool:
    """Whether it writes SCC."""
    return ins.name in _scalars()[1] or "EXEC_B" in ins.name


def _whole(ins: Instruction, name: str, code: int) -> int:
    """The register that an operand is, or of which it is the upper half."""
    halved = ins.chip.names_halves and ins.encoding in _HALVES
    return code - 128 if code >= _UPPER and halved and _is_narrow(ins, name) else code


def _is_narrow(ins: Instruction, name: str) -> bool:
    """Whether an operand has 16 bits."""
    return any(k in ins.narrow for k in (name, name.removeprefix("v"), f"v{name}"))


_OF_CACHES = re.compile(r"(BUFFER|GLOBAL)_(WB|INV|GL[01]_INV)\w*")
"""Instructions that write caches back or drop them: they have no operands."""

_SWAP = re.compile(r"V_(PERMLANE\d+_)?SWAP_B32")
"""Instructions that write their source, too."""


def _is_result(ins: Instruction, name: str) -> bool:
    """Whether a field names what is written; MUBUF has one field for both."""
    if "ATOMIC" in ins.name and name in ("vdata", "vdst"):
        return _returns(ins)
    if name == "vdata":
        return "LOAD" in ins.name
    if ins.name.startswith("S_CMPK_"):
        return False
    if name == "src0" and _SWAP.fullmatch(ins.name):
        return True
    stores = "_STORE_" in ins.name or ins.name.startswith("DS_WRITE")
    return name in _RESULTS and not stores


def _returns(ins: Instruction) -> bool:
    """Whether an atomic gives the old value."""
    return bool(ins.get("sc0") or ins.get("glc") or ins.get("th") & 1)


#: Instructions that keep a part of their result, or add to it.
_KEEPING = re.compile(
    r".*(FMAC|_MAC_|DOT2C|SWAP|D16|MIXLO|MIXHI|WRITELANE).*"
    r"|V_CVT_(SCALEF32_)?PK_(FP8|BF8|FP4)_\w+|V_CVT_SCALEF32_F16_\w+"
)


def _reads_result(ins: Instruction) -> bool:
    if "ATOMIC" in ins.name and "vdata" in ins.fields:
        return True
    if ins.name in _scalars()[2]:
        return True
    preserved = ins.variant == "SDWA" and ins.get("dst_unused") == _PRESERVE
    return preserved or bool(_KEEPING.fullmatch(ins.name)) or ins.variant == "DPP16"


def _count(ins: Instruction, name: str) -> int:
    unused = name == "soffset" and ins.encoding == "SMEM"
    unused = unused and not ins.get("soffset_en", 1)
    if unused or ins.fields[name] == ins.chip.null:
        return 0
    found = _address(ins, name)
    if found is not None:
        return found
    if name == "sbase":
        return 4 if "BUFFER" in ins.name else 2
    if name in ("srsrc", "rsrc"):
        return 4
    if name == "saddr":
        return 1 if "SCRATCH" in ins.encoding else 2
    if name in ("vdst", "vdata", "sdata") and "LOAD" in ins.name:
        return _loaded(ins)
    # The tables of operands name a source with or without the v, whatever the field.
    for key in (name, name.removeprefix("v"), f"v{name}"):
        if key in ins.registers:
            return ins.registers[key]
    return 0


def _address(ins: Instruction, name: str) -> int | None:
    """Registers of an address; None where the table of operands is right."""
    if _OF_CACHES.fullmatch(ins.name):
        return 0
    if name == "saddr" and ins.fields[name] >= 124:
        return 0
    if name not in ("addr", "vaddr"):
        return None
    encoding = ins.encoding.removeprefix("V")
    if encoding == "FLAT":
        return 2
    if encoding == "GLOBAL":
        return 2 if ins.get("saddr", 127) >= 124 else 1
    if encoding == "SCRATCH":
        return ins.get("sve", int(ins.get("saddr", 127) >= 124))
    if encoding in ("MUBUF", "BUFFER"):
        return ins.get("offen") + ins.get("idxen")
    return None


def _loaded(ins: Instruction) -> int:
    if ins.encoding == "SMEM":
        return smem.words_of(ins.name) or 1
    if "_LDS_" in ins.name or ins.get("lds"):
        return 0
    return ins.registers.get("vdst", ins.registers.get("vdata", 1))


def _rows(*rows: tuple[str, int]) -> tuple[tuple[re.Pattern[str], int], ...]:
    return tuple((re.compile(expression), bits) for expression, bits in rows)


#: Registers that an instruction reads, and writes, without naming them, by expressions
#: of its encoding and name.
_IMPLIED_READS = _rows(
    (r"VOP2 .*(CNDMASK|ADDC|SUBB).*|.*(DIV_FMAS|VCCZ|VCCNZ).*", VCC_BITS),
    (r".*(EXECZ|EXECNZ|SAVEEXEC).*", EXEC_BITS),
)
_IMPLIED_WRITES = _rows(
    (r"VOPC .*|VOP2 .*_CO_.*", VCC_BITS), (r".*(CMPX|SAVEEXEC).*", EXEC_BITS)
)


def _implied(ins: Instruction) -> tuple[int, int]:
    """Registers that are read, and written, and stand in no field of theirs."""
    names_mask = ins.variant == "SDWA_SDST" and ins.get("sd")
    text = f"{'' if names_mask else ins.encoding} {ins.name}"
    reads, writes = (
        sum(bits for form, bits in rows if form.fullmatch(text))
        for rows in (_IMPLIED_READS, _IMPLIED_WRITES)
    )
    if ins.name.startswith("S_SETREG") and "IMM" not in ins.name:
        reads |= 1 << (SCALAR + ins.fields["sdst"])
    return reads, writes


def _counter(ins: Instruction, writes: int) -> tuple[str, int]:
    """The counter that an instruction raises, and what stays pending."""
    chip, encoding = ins.chip, ins.encoding
    if encoding == "SMEM" and smem.words_of(ins.name):
        return chip.scalar_counter, writes
    if encoding == "DS" and ins.name != "DS_NOP":
        return chip.lds_counter, writes
    if "BUF" in encoding or encoding.removeprefix("V") in vmem.FLAT:
        atomic = "ATOMIC" in ins.name
        if "LOAD" in ins.name or (atomic and _returns(ins)):
            return chip.load_counter, writes
        if atomic or vmem.is_store(ins.name):
            return chip.store_counter, 0
    return "", 0


#: The unit of an instruction: the first row whose expression matches its encoding and
#: name; the rest are accesses of memory.
_UNITS = tuple(
    (re.compile(expression), unit)
    for expression, unit in (
        (r"\w+ V_(MFMA|WMMA|SMFMAC).*", "mfma"),
        (r"\w+ .*(BRANCH|SETPC|SWAPPC|CALL).*", "branch"),
        (r"SOPP .*|\w+ .*(BARRIER|WAITCNT).*", "sync"),
        (r"SOP.*", "salu"),
        (r"SMEM .*", "smem"),
        (r"DS .*", "lds"),
        (r"VOP.*", "valu"),
    )
)
