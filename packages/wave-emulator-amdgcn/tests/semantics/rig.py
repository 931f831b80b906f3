"""Runs one instruction on random registers and memory, for comparison.

An instruction is made of the integers of its fields, so that the references do not
depend on how an assembler reads operands.
"""

from __future__ import annotations

import zlib
from importlib import import_module

import numpy as np
from families import plain
from tinygrad.renderer.amd.dsl import AlignedSGPRField, FixedBitField, SrcField

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.hazards.doubts import Doubts
from wave_emulator_amdgcn.machine import Machine, Shape
from wave_emulator_amdgcn.memory import Regions
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop
from wave_isa_amdgcn.registers import EXEC

VGPR = 256
END = {"cdna": 0xBF810000, "rdna3": 0xBFB00000, "rdna4": 0xBFB00000}


def classes(arch):
    """The module of instruction classes of an architecture."""
    family = ARCHITECTURES[arch].family
    return import_module(f"tinygrad.runtime.autogen.amd.{family}.ins")


def operation(arch, cls, mnemonic):
    """The operation of a class by its mnemonic."""
    field = dict(getattr(classes(arch), cls)._fields)["op"]
    found = [o for o in (field.allowed or field._enum) if plain(o.name) == mnemonic]
    return found[0]


def encode(arch, cls, mnemonic, **values):
    """The bytes of an instruction; operand fields take unified register numbers."""
    kind = getattr(classes(arch), cls)
    raw = 0
    for name, field in kind._fields:
        if isinstance(field, FixedBitField):
            bits = field.default
        elif name == "op":
            bits = operation(arch, cls, mnemonic).value
        else:
            bits = _bits(field, values.pop(name, None))
        assert 0 <= bits <= field.mask, (name, bits)
        # Fields of a variant lie over those that it inherits.
        raw = raw & ~(field.mask << field.lo) | bits << field.lo
    assert not values, values
    return raw.to_bytes(kind._base_size, "little")


def _bits(field, value):
    if value is None:
        return field.set(0, None) >> field.lo & field.mask
    if isinstance(field, AlignedSGPRField):
        return value // field._align
    if isinstance(field, SrcField):
        return value - field._valid_range[0]
    return value & field.mask


def fields(arch, cls):
    """Names of the fields of a class."""
    return {name for name, _ in getattr(classes(arch), cls)._fields}


def seeded(*parts):
    """A generator that depends on the test only."""
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))


def words(rng, *shape):
    return rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)


def machine(arch, rng, *, waves=2, lds=4096, size=4096, private=256, groups=2):
    """Random registers and memories; each workgroup has its own LDS."""
    architecture = ARCHITECTURES[arch]
    shape = Shape(
        waves, architecture.lanes, waves // groups, lds, private_bytes=private
    )
    m = Machine(architecture, shape, Regions([("memory", size), ("other", 64)]))
    m.V[:64] = words(rng, 64, *m.V.shape[1:])
    m.V[256:320] = words(rng, 64, *m.V.shape[1:])
    m.S[:106] = words(rng, *m.S[:106].shape)
    m.lds.data[:] = rng.integers(0, 256, m.lds.data.shape)
    m.private.data[:] = rng.integers(0, 256, m.private.data.shape)
    m.memory.bytes_of(0)[:] = rng.integers(0, 256, size)
    return m


def random_exec(m, rng, *, density=0.7):
    """Some lanes off; wave 0 has at least one on."""
    active = rng.random((m.shape.waves, m.lanes)) < density
    active[:, 0] |= ~active.any(axis=1)
    m.write_lane_mask(EXEC, slice(None), active)
    return active


def checked(make, code):
    """A machine that ran code with checks: twice, where loads of LDS are doubtful."""
    doubts = None
    while True:
        m = make()
        m.checks = Checks(m.architecture, m.memory, frozenset(), doubts=doubts)
        m.checks.start(m)
        run(m, code)
        if doubts is not None or not m.checks.doubts.to_follow:
            return m
        doubts = Doubts(m.checks.doubts)


def run(m, code):
    """Execute bytes of instructions, then end."""
    end = END[m.architecture.family].to_bytes(4, "little")
    loop = Loop(m, Program(code + end * 8, 0x1000, m.architecture), 0x1000)
    loop.run(10_000)


def region(m):
    """The bytes of the first buffer and its address."""
    return m.memory.bytes_of(0), m.memory.regions[0].address


def codes(m):
    """Codes of what was reported."""
    return sorted({report.code for report in m.reports.values()})


def join(rows):
    """Rows of words, lowest first, as Python integers [waves, lanes]."""
    total = np.zeros(rows.shape[1:], object)
    for k, row in enumerate(rows):
        total = total + (row.astype(object) << (32 * k))
    return total


def split(value, count):
    """A Python integer as words."""
    return [value >> (32 * k) & 0xFFFFFFFF for k in range(count)]


def put(memory, at, size, value):
    """Store an integer in bytes."""
    memory[at : at + size] = np.frombuffer(
        int(value).to_bytes(size, "little"), np.uint8
    )


def get(memory, at, size):
    """Bytes as an integer."""
    return int.from_bytes(memory[at : at + size].tobytes(), "little")
