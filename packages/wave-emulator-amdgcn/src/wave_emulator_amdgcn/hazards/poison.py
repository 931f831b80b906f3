"""Memory that nobody wrote, and the registers that hold what was read from it.

Reading such memory is allowed. It matters when the value is stored to a buffer, is an
address, or decides a branch. Poison is followed by bits: an instruction that only moves
bits is executed again with the poisoned ones cleared and set, and what differs in its
result is poisoned; sums and low products of integers are poisoned from the lowest such
bit on; all bits of any other result are.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.isa.dpp import permutation
from wave_emulator_amdgcn.memory import Cells
from wave_emulator_amdgcn.usage import (
    PAIRED,
    operand_bits,
    part_of,
    reads_condition,
    sources,
    taken_bits,
    taken_registers,
)
from wave_isa_amdgcn.registers import EXEC_BITS, SCALAR, rows_of

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.program import Bound

_ALL = np.uint32(0xFFFFFFFF)
_SCC = -1
"""The condition among the rows of registers."""
_WIDTH = 32
"""Bits of a register."""


class Written:
    """Which bytes of a memory have a value.

    Attributes:
        unknown: all ones in bytes without one; None where every byte has one.
    """

    def __init__(self, size: int, *, initially: bool) -> None:
        """All bytes alike at first."""
        self.unknown = None if initially else Cells(size)
        if self.unknown is not None:
            self.unknown.data[:] = 0xFF

    def forget(self, start: int, size: int, total: int) -> None:
        """Bytes of a range count as unwritten."""
        self.unknown = self.unknown or Cells(total)
        self.unknown.data[start : start + size] = 0xFF

    def mark(self, at: Ints, size: int) -> None:
        """Bytes are written."""
        if self.unknown is not None:
            zero = np.zeros(len(at), np.uint32)
            self.unknown.store(at, [zero] * max(1, size // 4), size)

    def missing(self, at: Ints, size: int) -> Bools | None:
        """Which accesses read unwritten bytes; None when none does."""
        if self.unknown is None:
            return None
        bad = np.bitwise_or.reduce(self.unknown.load(at, size)) != 0
        return bad if bad.any() else None


#: Instructions whose result in a lane comes from other lanes of the wave.
_CROSSING = (
    "READLANE", "READFIRSTLANE", "PERMUTE", "PERMLANE", "SWIZZLE", "_TR_", "MFMA",
    "WMMA", "WRITELANE",
)  # fmt: skip

#: Instructions that only move bits, with the operands that say where to: each bit of
#: the result is one bit of the others, or a function of one bit of each of them.
_MOVING = tuple(
    (re.compile(expression), fields.split())
    for expression, fields in (
        (r"[VS]_(MOV|NOT|AND|OR|XOR|XNOR|ANDN2|ORN2|BFREV|BREV)_B\d+", ""),
        (r"V_(AND_OR|OR3|XOR3|BFI)_B32|V_BITOP3_B\d+|V_CNDMASK_B\d+", ""),
        (r"V_PACK_B32_F16|V_ACCVGPR_(READ|WRITE|MOV_B32)|V_PK_MOV_B32", ""),
        (r"V_(PERMLANE\d+_)?SWAP_B32", ""),
        (r"S_CSELECT_B\d+|S_PACK_[LH]{2}_B32_B16", ""),
        (r"V_(LSHLREV|LSHRREV|ASHRREV)_[BI]\d+", "src0"),
        (r"V_PK_(LSHLREV|LSHRREV|ASHRREV)_[BI]16", "src0"),
        (r"V_LSHL_OR_B32", "src1"),
        (r"V_BFE_[UI]32", "src1 src2"),
        (r"V_(PERM|ALIGNBIT|ALIGNBYTE)_B32", "src2"),
        (r"S_(LSHL|LSHR|ASHR)_[BI]\d+|S_BFE_[UI]\d+", "ssrc1"),
        (r"V_(READFIRSTLANE|READLANE|WRITELANE)_B32", "src1"),
        (r"S_(AND|OR|XOR|NAND|NOR|XNOR|ANDN[12]|ORN[12])_(SAVE|WR)EXEC_B\d+", ""),
        (r"DS_(B?PERMUTE|SWIZZLE)_B32", "addr"),
    )
)

#: Integers whose bits depend on no higher bits of the operands.
_CARRYING = re.compile(
    r"V_(ADD3?|SUB|SUBREV|MUL|MUL_LO|MAD)(_NC|_LEGACY)?_[IU](16|32)(_[IU](16|24))?"
    r"|V_PK_(ADD|SUB|MUL_LO|MAD)_[IU]16"
)

_WIDE_SUM = re.compile(r"V_MAD_(CO_)?[IU]64_[IU]32")
"""Of 64 bits, of which the lower ones depend on no higher ones."""

_EQUALS = re.compile(r"V_CMP_(EQ|NE)_[BIU]\d+")

_ADDRESSES = ("addr", "vaddr", "saddr", "srsrc", "rsrc", "sbase", "soffset")

_MOST_MOVED = 4
"""Poisoned registers whose bits are tried in all combinations."""


@contextmanager
def apart(m: Machine, bits: int) -> Generator[None]:
    """Execute without a trace: registers of a set, reports and hooks come back."""
    kept = {row: m.V[row].copy() for row in rows_of(bits) if row < SCALAR}
    scalars, scc = m.S.copy(), m.scc.copy()
    active, full = m.active.copy(), m.full
    hooks = m.checks, m.meter, m.reports
    m.checks, m.meter, m.reports = None, None, {}
    try:
        yield
    finally:
        m.checks, m.meter, m.reports = hooks
        m.S[:], m.scc[:] = scalars, scc
        m.active[:], m.full = active, full
        for row, words in kept.items():
            m.V[row] = words


def _words(m: Machine, row: int) -> Words:
    """A register of all waves: [waves, lanes], or [waves, 1] of a scalar one."""
    return m.V[row] if row < SCALAR else m.S[row - SCALAR][:, None]


def registers(m: Machine, bits: int) -> dict[int, Words]:
    """The values of registers of a set in all waves."""
    return {row: _words(m, row).copy() for row in rows_of(bits)}


def everything(bits: int, lanes: Bools) -> dict[int, Words]:
    """All bits of registers, in some lanes; of scalar ones, in waves with any."""
    full = np.where(lanes, _ALL, np.uint32(0))
    whole = np.where(lanes.any(axis=1, keepdims=True), _ALL, np.uint32(0))
    return {row: full if row < SCALAR else whole for row in rows_of(bits)}


def stored_bits(name: str) -> int:
    """The bits of each register that a store moves."""
    bits = 0xFF if "_BYTE" in name else 0xFFFF if "_SHORT" in name else 0xFFFFFFFF
    return bits << 16 if "_HI" in name else bits


class Taint:
    """Bits of registers that come from loads whose result has no value.

    Attributes:
        bits: the registers that have some.
        rows: the bits of each register, [waves, lanes] or [waves, 1].
        scc: waves whose condition comes from such bits; None where none does.
        origins: addresses of the loads that the bits of a register may come from, for
            whoever names them; those of the condition under `_SCC`.
        expected: for registers that a compare-and-swap in LDS filled those that it
            compared with, as long as both hold that.
    """

    def __init__(self, m: Machine) -> None:
        """No register is tainted."""
        self.m = m
        self.bits = 0
        self.rows: dict[int, Words] = {}
        self.scc: Bools | None = None
        self.origins: dict[int, frozenset[int]] = {}
        self.expected: dict[int, int] = {}

    def words(self, row: int) -> Words:
        """The tainted bits of a register in all waves."""
        if row not in self.rows:
            self.rows[row] = np.zeros_like(_words(self.m, row))
        return self.rows[row]

    def of(self, bits: int, g: Selection, moved: int = 0xFFFFFFFF) -> Bools | None:
        """Lanes that some register of a set taints, in the bits that matter."""
        found = np.zeros((self.m.count(g), self.m.lanes), np.bool_)
        for row in rows_of(bits & self.bits):
            found |= (self.rows[row][g] & np.uint32(moved)) != 0
        return found if found.any() else None

    def touches(self, bound: Bound) -> bool:
        """Whether an instruction may have to do with tainted bits."""
        usage = bound.usage
        return self.scc is not None or bool((usage.reads | usage.writes) & self.bits)

    def of_condition(self, ins: Instruction, g: Selection) -> Bools | None:
        """Waves in which an instruction reads a tainted condition."""
        if self.scc is None or not reads_condition(ins):
            return None
        found = self.scc[g]
        return found if found.any() else None

    def origins_of(self, bound: Bound) -> frozenset[int]:
        """The loads that what an instruction touches may come from."""
        rows = rows_of((bound.usage.reads | bound.usage.writes) & self.bits)
        rows += [_SCC] if self.scc is not None else []
        return frozenset[int]().union(*(self.origins.get(row, ()) for row in rows))

    def decides(self, bound: Bound, found: dict[int, Words], g: Selection) -> Bools:
        """Waves in which the condition that an instruction writes is tainted."""
        known = np.zeros((self.m.count(g), 1), np.bool_)
        if bound.usage.writes:
            parts = [np.any(bits, axis=1, keepdims=True) for bits in found.values()]
        else:
            lanes = self.of(bound.usage.reads, g)
            parts = [] if lanes is None else [lanes.any(axis=1, keepdims=True)]
        return np.logical_or.reduce([known, *parts])[:, 0]

    def assign_condition(
        self, g: Selection, found: Bools, origins: frozenset[int]
    ) -> None:
        """The condition takes what is found."""
        if self.scc is None and not found.any():
            return
        scc = np.zeros(self.m.shape.waves, np.bool_) if self.scc is None else self.scc
        scc[g] = found
        self.scc = scc if scc.any() else None
        self.origins[_SCC] = self.origins.get(_SCC, frozenset()) | origins

    def through(self, bound: Bound, g: Selection) -> dict[int, Words]:
        """The tainted bits of the registers that an instruction writes."""
        usage = bound.usage
        chosen = self.of_condition(bound.instruction, g)
        if chosen is not None:
            lanes = self.of(usage.reads, g)
            waves = np.broadcast_to(chosen[:, None], (len(chosen), self.m.lanes))
            both = waves if lanes is None else waves | lanes
            return everything(usage.writes, both)
        if self._moves(bound):
            return self._moved(bound, g)
        return self._computed(bound, g)

    def _computed(self, bound: Bound, g: Selection) -> dict[int, Words]:
        """The tainted bits of a result that is more than bits of the operands."""
        ins, usage = bound.instruction, bound.usage
        plain = ins.variant not in ("DPP16", "DPP8") and not ins.get("clmp")
        if plain and _CARRYING.fullmatch(ins.name):
            return self._placed(bound, g, self._carried(bound, g))
        if plain and _WIDE_SUM.fullmatch(ins.name):
            return self._carried_up(bound, g)
        if PAIRED.fullmatch(ins.name):
            return self._paired(bound, g)
        if self._asks_for_success(ins):
            return {}
        found = self._lanes(bound, g)
        masks = usage.unit == "valu" and bound.instruction.name.startswith("V_CMP")
        if found is not None and masks:
            return self._mask(bound, found, g)
        narrow = part_of(bound.instruction, "vdst")[1] < _WIDTH
        if narrow and usage.unit == "valu":
            lanes = np.zeros((1, 1), np.bool_) if found is None else found
            return self._placed(bound, g, np.where(lanes, _ALL, np.uint32(0)))
        return {} if found is None else everything(usage.writes, found)

    def exchanges(self, ins: Instruction) -> None:
        """Note what a compare-and-swap in LDS compared with."""
        name = "data0" if ins.chip.compares_first else "data1"
        got, old = (rows_of(operand_bits(ins, field)) for field in ("vdst", name))
        if not {*got} & {*old}:
            self.expected |= dict(zip(got, old, strict=True))

    def _asks_for_success(self, ins: Instruction) -> bool:
        """Whether it compares what a compare-and-swap got with what that expected.

        Memory has decided: unwritten bytes beside those that are exchanged are the same
        ones on both sides.
        """
        if not self.expected or not _EQUALS.match(ins.name):
            return False
        rows = [rows_of(operand_bits(ins, name)) for name in sources(ins)]
        sides = [side for side in rows if side]
        return any(
            [self.expected.get(row) for row in one] == other
            for one, other in permutations(sides, 2)
        )

    def _carried(self, bound: Bound, g: Selection) -> Words:
        """The tainted bits of the operands, and all that are higher."""
        ins = bound.instruction
        found = np.zeros((self.m.count(g), self.m.lanes), np.uint32)
        for name in sources(ins):
            first, width = part_of(ins, name)
            span = operand_bits(ins, name)
            for row in rows_of(span & -span & self.bits):
                words = self.rows[row][g] >> np.uint32(first)
                found |= words & np.uint32((1 << width) - 1)
        if ins.encoding == "VOP3P":
            # Either half of an operand may be that of either half of the result.
            found = (found | found >> np.uint32(16)) & np.uint32(0xFFFF)
        for step in (1, 2, 4, 8, 16):
            found |= found << np.uint32(step)
        if ins.encoding == "VOP3P":
            found = (found & np.uint32(0xFFFF)) * np.uint32(0x10001)
        return found

    def _paired(self, bound: Bound, g: Selection) -> dict[int, Words]:
        """Two results, each tainted by the registers that it takes of the operands."""
        ins, usage = bound.instruction, bound.usage
        found: dict[int, Words] = {}
        for top, row in enumerate(rows_of(operand_bits(ins, "vdst"))):
            lanes = self.of(taken_registers(ins, usage.reads, top=bool(top)), g)
            if lanes is not None:
                found[row] = np.where(lanes, _ALL, np.uint32(0))
        return found

    def _carried_up(self, bound: Bound, g: Selection) -> dict[int, Words]:
        """A sum of two registers and a carry: its lower register on its own."""
        lanes = self._lanes(bound, g)
        if lanes is None:
            return {}
        low, _ = rows_of(operand_bits(bound.instruction, "vdst"))
        found = everything(bound.usage.writes, lanes)
        return {**found, low: self._carried(bound, g)}

    def _placed(self, bound: Bound, g: Selection, word: Words) -> dict[int, Words]:
        """The tainted bits of a result; the other half of its register may keep its."""
        ins, rows = bound.instruction, rows_of(bound.usage.writes)
        first, width = part_of(ins, "vdst")
        part = np.uint32((1 << width) - 1 << first)
        kept = ins.chip.names_halves or first > 0
        rest = ~part if kept else np.uint32(0)
        placed = word << np.uint32(first) & part
        return {row: placed | self.words(row)[g] & rest for row in rows}

    def _mask(self, bound: Bound, found: Bools, g: Selection) -> dict[int, Words]:
        """A comparison taints the bits of its lanes."""
        live = found if self.m.full else found & self.m.active[g]
        packed = np.packbits(live, axis=1, bitorder="little").view(np.uint32)
        rows = rows_of(bound.usage.writes)
        words = packed.shape[1]
        return {r: packed[:, k % words, None] for k, r in enumerate(rows)}

    def _lanes(self, bound: Bound, g: Selection) -> Bools | None:
        """Lanes of the result that are tainted by the operands."""
        ins = bound.instruction
        found = np.zeros((self.m.count(g), self.m.lanes), np.bool_)
        for row, taken in taken_bits(ins, bound.usage.reads & self.bits).items():
            found |= (self.rows[row][g] & np.uint32(taken)) != 0
        if not found.any():
            return None
        if any(tag in ins.name for tag in _CROSSING) or bound.usage.unit == "salu":
            return np.broadcast_to(found.any(axis=1, keepdims=True), found.shape)
        if ins.variant in ("DPP16", "DPP8"):
            source, _ = permutation(ins, self.m.lanes)
            return found | found[:, source]
        return found

    def _moves(self, bound: Bound) -> bool:
        """Whether it moves bits to places that do not depend on tainted ones."""
        ins, usage = bound.instruction, bound.usage
        if len(self._decisive(bound)) > _MOST_MOVED:
            return False
        if usage.writes & EXEC_BITS and usage.unit != "salu":
            return False
        for expression, fields in _MOVING:
            if expression.fullmatch(ins.name):
                places = [operand_bits(ins, name) for name in fields]
                return not any(bits & self.bits for bits in places)
        return False

    def _decisive(self, bound: Bound) -> list[int]:
        """The tainted registers that decide the result: lanes that are off keep it."""
        usage = bound.usage
        kept = 0 if usage.unit == "salu" else usage.writes
        return rows_of((usage.reads | kept) & self.bits)

    def _moved(self, bound: Bound, g: Selection) -> dict[int, Words]:
        """Bits of the result that change with tainted ones, each register's alone."""
        m, usage = self.m, bound.usage
        tainted = self._decisive(bound)
        written = rows_of(usage.writes)
        start = {row: _words(m, row).copy() for row in {*tainted, *written}}
        found: dict[int, Words] = {}
        first: dict[int, Words] = {}
        with apart(m, usage.reads | usage.writes):
            for pattern in range(1 << len(tainted)):
                for row, words in start.items():
                    _words(m, row)[:] = words
                for k, row in enumerate(tainted):
                    bits = self.rows[row]
                    _words(m, row)[:] |= bits
                    _words(m, row)[:] ^= np.uint32(0) if pattern >> k & 1 else bits
                bound.execute(m, g)
                for row in written:
                    result = _words(m, row)[g].copy()
                    change = result ^ first.setdefault(row, result)
                    found[row] = found.get(row, np.uint32(0)) | change
        return found

    def loaded(
        self, bound: Bound, g: Selection, memories: list[Cells | None],
        registers: dict[int, Words], bases: Ints | None = None,
    ) -> dict[int, Words]:  # fmt: skip
        """The result of a load where memory holds the unknown bits: LDS, then buffers.

        ``registers`` are those before it: one may be address and result. ``bases`` say
        where the LDS of each wave begins, where that is not the machine's.
        """
        m, written = self.m, rows_of(bound.usage.writes)
        held = m.lds, m.memory.cells, m.lds_base
        addresses = 0
        for name in _ADDRESSES:
            addresses |= operand_bits(bound.instruction, name)
        with apart(m, bound.usage.reads | bound.usage.writes):
            for row, words in registers.items():
                _words(m, row)[:] = words
            for row in written:
                if not addresses >> row & 1:
                    _words(m, row)[:] = self.words(row)
            m.lds, m.memory.cells = (
                cells or Cells(len(other.data))
                for cells, other in zip(memories, held[:2], strict=True)
            )
            m.lds_base = m.lds_base if bases is None else bases
            try:
                bound.execute(m, g)
            finally:
                m.lds, m.memory.cells, m.lds_base = held
            return {row: _words(m, row)[g].copy() for row in written}

    def assign(
        self, writes: int, g: Selection, found: dict[int, Words], active: Bools | None,
        origins: frozenset[int],
    ) -> None:  # fmt: skip
        """Registers take what is found, in active lanes; others become clean."""
        whole = isinstance(g, slice) and active is None
        if self.expected:
            self.expected = {
                row: other
                for row, other in self.expected.items()
                if not (writes >> row | writes >> other) & 1
            }
        for row in rows_of(writes if found else writes & self.bits):
            words = self.words(row)
            new = np.broadcast_to(found.get(row, np.uint32(0)), words[g].shape)
            if active is not None and row < SCALAR:
                new = np.where(active, new, words[g])
            words[g] = new
            if origins:
                old = frozenset[int]() if whole else self.origins.get(row, frozenset())
                self.origins[row] = old | origins
            self.bits = self.bits & ~(1 << row) | int(words.any()) << row
