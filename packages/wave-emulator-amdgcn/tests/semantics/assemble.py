"""Builds instructions field by field, and machines to run them on."""

from __future__ import annotations

import families
import numpy as np
from tinygrad.renderer.amd.dsl import src

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.machine import Machine, Shape
from wave_emulator_amdgcn.memory import Regions
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop

VGPR = 256


def machine(arch, waves, registers=48):
    """One workgroup of waves; all registers hold noise, EXEC all lanes."""
    architecture = ARCHITECTURES[arch]
    shape = Shape(waves, architecture.lanes, waves, 64, registers=registers)
    m = Machine(architecture, shape, Regions([("m", 64)]))
    rng = np.random.default_rng(11)
    m.V[:] = rng.integers(0, 1 << 32, m.V.shape, dtype=np.uint64)
    m.S[:106] = rng.integers(0, 1 << 32, (106, waves), dtype=np.uint64)
    m.scc[:] = rng.integers(0, 2, waves)
    return m


def encode(cls, op, **fields):
    """An instruction; operands are numbers of the unified space, others integers."""
    if op is None:
        inst = families.blank(cls, None, fields.pop("opx"), fields.pop("opy"))
    else:
        inst = families.blank(cls, op)
    known = dict(inst._fields)
    for name, value in fields.items():
        field = known[name]
        if hasattr(field, "_valid_range") or hasattr(field, "_align"):
            low = getattr(field, "_valid_range", (0,))[0]
            assert 0 <= value - low <= field.mask, (cls, name, value)
            inst._raw = field.set(inst._raw, src[value])
        elif type(field).__name__ == "VDSTYField":
            inst._raw = field.set(inst._raw, src[value])
        else:
            inst._raw = field.set(inst._raw, value)
    return inst.to_bytes()


def execute(m, *codes):
    """Run instructions to the end of the program."""
    end = 0xBF810000 if m.architecture.family == "cdna" else 0xBFB00000
    data = b"".join(codes) + end.to_bytes(4, "little") * 8
    Loop(m, Program(data, 0x1000, m.architecture), 0x1000).run(10_000)
    return m
