"""Machine code by hand: operations on values, encoded, executed, its hazards reported.

Encoder and registers of an instruction come from the emulator's side, so that what is
tested here cannot be wrong in the same way on both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tinygrad.renderer.amd.dsl import s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.allocate.registers import Allocation, allocate
from wave_backend_asm.code import Part, whole
from wave_backend_asm.waits.inserted import inserted
from wave_backend_asm.waits.issued import Issued, Run
from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.hazards.doubts import Doubts
from wave_emulator_amdgcn.hazards.nops import missing_states
from wave_emulator_amdgcn.hazards.steps import step_of
from wave_emulator_amdgcn.machine import Machine, Shape
from wave_emulator_amdgcn.memory import Regions
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop

SIZE = 1 << 14
"""Bytes of each of two buffers: the input, and the output."""


@dataclass(frozen=True, eq=False)
class Val:
    name: str
    width: int = 1
    files: tuple[str, ...] = ("v",)
    align: int = 1

    def __str__(self):
        return self.name


@dataclass(frozen=True, eq=False)
class Op:
    """One instruction; ``make`` encodes it, given where values are."""

    make: Callable[[Callable], object]
    defines: Sequence[Part] = ()
    uses: Sequence[Part] = ()
    copies: bool = False
    early: bool = False
    source: str = ""
    demands: Mapping[str, int] = field(default_factory=dict)
    target: int | None = None


LANE = Val("lane")
INPUT = Val("input", 2, ("s",), 2)
OUTPUT = Val("output", 2, ("s",), 2)
FIXED = {LANE: Place("v", 0), INPUT: Place("s", 2), OUTPUT: Place("s", 4)}


def parts(*values):
    return tuple(value if isinstance(value, Part) else whole(value) for value in values)


def op(make, defines=(), uses=(), **more):
    return Op(make, parts(*defines), parts(*uses), **more)


def binary(name, out, one, two):
    """A VOP2 on registers."""
    encode = getattr(cdna, name)
    return op(lambda r: encode(r(out), r(one), r(two)), [out], [one, two])


def move(out, one):
    return op(lambda r: cdna.v_mov_b32_e32(r(out), r(one)), [out], [one], copies=True)


def constant(out, number):
    return op(lambda r: cdna.v_mov_b32_e32(r(out), number), [out])


def load(out, offset, at=0):
    """The words of a lane from the input, at a byte offset."""
    encode = {1: cdna.global_load_dword, 2: cdna.global_load_dwordx2,
              4: cdna.global_load_dwordx4}[out.width]  # fmt: skip
    return op(
        lambda r: encode(r(out), r(offset), saddr=r(INPUT), offset=at),
        [out], [offset, INPUT],
    )  # fmt: skip


def store(data, offset, at=0):
    encode = {1: cdna.global_store_dword, 4: cdna.global_store_dwordx4}[data.width]
    return op(
        lambda r: encode(
            addr=r(offset), data=r(data), saddr=r(OUTPUT), offset=at
        ),
        (), [data, offset, OUTPUT],
    )  # fmt: skip


def product(out, one, two, kind="v_mfma_f32_16x16x16_f16"):
    """The accumulator is a value that the product uses and defines."""
    encode = getattr(cdna, kind)
    return op(
        lambda r: encode(r(out), r(one), r(two), r(out), **r.acc(out)),
        [out], [one, two, out], early=True,
    )  # fmt: skip


class Registers:
    """Where values are, as operands of the encoder."""

    def __init__(self, allocation: Allocation):
        self.places = allocation.places

    def __call__(self, value):
        part = value if isinstance(value, Part) else whole(value)
        place = self.places[part.value]
        first = place.first + part.first
        file = s if place.file == "s" else v
        return file[first] if part.width == 1 else file[first : first + part.width - 1]

    def acc(self, value):
        return {"acc_cd": 1} if self.places[value].file == "a" else {}


@dataclass
class Emitted:
    """Code of all blocks; ``added`` are places of waits and wait states."""

    chip: str
    codes: list[list[tuple[object, Op | None]]]
    allocation: Allocation
    program: Program | None = None

    @property
    def added(self):
        return [
            (block, at)
            for block, codes in enumerate(self.codes)
            for at, (_, operation) in enumerate(codes)
            if operation is None
        ]

    def without(self, block, at):
        codes = [list(each) for each in self.codes]
        del codes[block][at]
        return Emitted(self.chip, codes, self.allocation)

    def bytes(self):
        sizes = [sum(len(i.to_bytes()) for i, _ in b) for b in self.codes]
        starts = np.cumsum([0, *sizes])
        data = b""
        for codes in self.codes:
            for inst, operation in codes:
                if operation is not None and operation.target is not None:
                    delta = (int(starts[operation.target]) - len(data) - 4) // 4
                    word = int.from_bytes(inst.to_bytes(), "little") | delta & 0xFFFF
                    data += word.to_bytes(4, "little")
                else:
                    data += inst.to_bytes()
        return data + cdna.s_endpgm().to_bytes() * 8

    def text(self):
        return [repr(inst) for codes in self.codes for inst, _ in codes]

    def run(self, data, waves=2):
        """The output as words, and what the emulator reports."""
        found = self._launched(data, waves)
        if found.checks.doubts.to_follow:
            found = self._launched(data, waves, Doubts(found.checks.doubts))
        reports = [*found.reports.values(), *missing_states(self.program)]
        return found.memory.bytes_of(1).view(np.uint32), reports

    def _launched(self, data, waves, doubts=None):
        chip = ARCHITECTURES[self.chip]
        memory = Regions([("input", SIZE), ("output", SIZE)])
        memory.fill(0, data.view(np.uint8).ravel())
        m = Machine(chip, Shape(waves, 64, waves, 4096), memory)
        m.V[0] = np.arange(waves * 64).reshape(waves, 64)
        for place, region in zip((2, 4), memory.regions, strict=True):
            m.S[place] = region.address & 0xFFFFFFFF
            m.S[place + 1] = region.address >> 32
        m.checks = Checks(chip, memory, frozenset(), doubts=doubts)
        m.checks.start(m)
        self.program = Program(self.bytes(), 0x1000, chip)
        Loop(m, self.program, 0x1000).run(100_000)
        return m


def _wait(allowed):
    vm, lgkm = allowed.get("vm", 63), allowed.get("lgkm", 15)
    return cdna.s_waitcnt(vm & 15 | vm >> 4 << 14 | 7 << 4 | lgkm << 8)


def _issued(inst, chip, demands=None):
    data = inst.to_bytes() + cdna.s_endpgm().to_bytes()
    bound = Program(data, 0, ARCHITECTURES[chip]).at(0)
    usage = bound.usage
    scalar = bound.instruction.encoding == "SMEM"
    return Issued(step_of(bound), usage.counter, usage.pending, scalar, demands or {})


def emit(blocks, chip="gfx942", waves_per_simd=1, *, budget=None, fixed=FIXED):
    """Registers, waits and wait states for a program."""
    operations = [each for block in blocks for each in block.operations]
    used = {part.value for each in operations for part in (*each.defines, *each.uses)}
    given = {value: place for value, place in fixed.items() if value in used}
    allocation = allocate(blocks, budget or Budget.of_waves(waves_per_simd), given)
    registers = Registers(allocation)
    codes = [
        [(o.make(registers), o) for o in b.operations if not allocation.idle(o)]
        for b in blocks
    ]
    runs = [
        Run(tuple(_issued(i, chip, o.demands) for i, o in each), block.following)
        for each, block in zip(codes, blocks, strict=True)
    ]
    lines = inserted(runs, chip)
    return Emitted(chip, [*map(_with, codes, lines)], allocation)


def _with(codes, lines):
    """The instructions of a block, with what has to stand in front of each."""
    return [
        code
        for code_, added in zip(codes, lines, strict=True)
        for code in [*((assembled(line), None) for line in added), code_]
    ]


def assembled(line):
    """An instruction that was inserted, from its text."""
    if line.startswith("s_nop"):
        return cdna.s_nop(int(line.split()[1]))
    counts = {name: int(n) for name, n in re.findall(r"(\w+)cnt\((\d+)\)", line)}
    return _wait(counts)


def naive(blocks, chip="gfx942", fixed=FIXED):
    """All values in registers of their own, and waits and states behind everything."""
    allocation = _apart(blocks, fixed)
    registers = Registers(allocation)
    rest = [_wait({"vm": 0, "lgkm": 0}), cdna.s_nop(15), cdna.s_nop(15)]
    codes = [
        [c for o in b.operations for c in [*((i, None) for i in rest),
                                           (o.make(registers), o)]]
        for b in blocks
    ]  # fmt: skip
    return Emitted(chip, codes, allocation)


def _apart(blocks, fixed):
    places, free = dict(fixed), {"v": 1, "s": 6, "a": 0}
    for block in blocks:
        for operation in block.operations:
            for part in (*operation.defines, *operation.uses):
                value = part.value
                if value not in places:
                    file = value.files[0]
                    first = -(-free[file] // value.align) * value.align
                    places[value] = Place(file, first)
                    free[file] = first + value.width
    return Allocation(places, free)
