"""Which instructions the emulator implements, and which table tests each of them.

A family is a set of reference tables: ``scalar`` and ``vector`` hold arithmetic,
``smallfloat`` conversions of less than 16 bits, ``lanes`` what moves values between
lanes, ``matrix`` products of tiles, ``memory`` all that loads, stores or exchanges
through memory, ``control`` what only changes the order or the timing of execution.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from importlib import import_module

import pytest
from tinygrad.renderer.amd.dsl import FixedBitField, VDSTYField

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.decode import _forms
from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.generations import read
from wave_emulator_amdgcn.isa.binding import bind, prepare

ARCHES = tuple(ARCHITECTURES)

#: Family by encoding; exceptions by mnemonic come first.
BY_NAME = (
    (r"V_(S?MFMA|S?W?WMMA|SWMMAC)_.*", "matrix"),
    (r"V_CVT_.*(FP8|BF8|FP6|BF6|FP4).*", "smallfloat"),
    (r"V_(READFIRSTLANE|READLANE|WRITELANE|PERMLANE\w*|SWAP)_B(16|32).*", "lanes"),
    (r"V_MBCNT_(LO|HI)_U32_B32", "lanes"),
    (r"V_ACCVGPR_\w+", "lanes"),
    (r"(V_NOP|V_CLREXCP|V_PIPEFLUSH|S_VERSION)", "control"),
    (r"S_(GETPC|SETPC|SWAPPC|CALL)_B64", "control"),
    (r"S_(GETREG|SETREG)\w*_B32", "control"),
    (r"S_(\w*BARRIER\w*|WAITCNT_\w+|SLEEP_VAR)", "control"),
)
BY_ENCODING = {
    "SOP1": "scalar", "SOP2": "scalar", "SOPC": "scalar", "SOPK": "scalar",
    "SOPP": "control",
    "VOP1": "vector", "VOP2": "vector", "VOP3": "vector", "VOP3SD": "vector",
    "VOP3P": "vector", "VOPC": "vector", "VOPD": "vector", "VOP3PX2": "matrix",
}  # fmt: skip


def family(encoding, mnemonic):
    """The family that must hold a reference for an instruction."""
    for pattern, name in BY_NAME:
        if re.fullmatch(pattern, mnemonic):
            return name
    return BY_ENCODING.get(encoding.partition("_")[0], "memory")


def plain(mnemonic):
    """The mnemonic without the width of its encoding."""
    return mnemonic.removesuffix("_E32").removesuffix("_E64")


def blank(cls, op, opx=None, opy=None):
    """An instruction of a class with all fields at their defaults."""
    inst = object.__new__(cls)
    inst._raw = 0
    operations = {"op": op, "opx": opx, "opy": opy}
    for name, field in cls._fields:
        if isinstance(field, VDSTYField):
            continue  # it has no default
        value = None if isinstance(field, FixedBitField) else operations.get(name)
        # DPP forms of VOP3 compares are legal, though the assembler's sets omit them.
        # Fields of a variant lie over those that it inherits.
        others = inst._raw & ~(field.mask << field.lo)
        bits = field.set(0, None) if value is None else value.value << field.lo
        if name == "x2encoding":  # what a product with scales begins with
            bits = 0xD3AC << field.lo
        inst._raw = others | bits
    return inst


def encoding_class(arch, name):
    """The assembler's class of an encoding."""
    classes = [form.cls for form in _forms(ARCHITECTURES[arch].family)]
    return next(cls for cls in classes if cls.__name__ == name)


def all_classes(arch):
    """All encodings that the assembler knows, with those the decoder list omits."""
    module = import_module(f"tinygrad.runtime.autogen.amd.{_family(arch)}.ins")
    return [c for c in vars(module).values() if isinstance(c, type)]


def any_class(arch, name):
    """A class of `all_classes` by name."""
    return next(c for c in all_classes(arch) if c.__name__ == name)


def _family(arch):
    return ARCHITECTURES[arch].family


@cache
def implemented(arch):
    """``(class name, operation)`` of all instructions that the emulator executes."""
    architecture = ARCHITECTURES[arch]
    found = []
    for cls in (form.cls for form in _forms(architecture.family)):
        field = dict(cls._fields).get("op")
        if field is None or re.search("DPP|SDWA", cls.__name__):
            continue
        for op in sorted(field.allowed or field._enum, key=lambda o: o.value):
            data = blank(cls, op).to_bytes() + bytes(16)
            ins = read(data, 0, 0x1000, architecture)
            if ins is None or type(ins.source) is not cls:
                continue
            if ins.name != plain(op.name) and not op.name.startswith("V_MFMA"):
                continue  # gfx90a has another instruction there
            try:
                bind(prepare(ins))
            except UnknownInstructionError:
                continue
            found.append((cls.__name__, op))
    return tuple(found)


#: Machines of a family share the tables of instructions, so that one of them tests an
#: instruction for the others; all of them do with `-m fuzz`.
EXTENT = pytest.mark.parametrize(
    "every",
    [
        pytest.param(False, id="shared"),
        pytest.param(True, id="every", marks=pytest.mark.fuzz),
    ],
)


@cache
def _held(arch):
    return frozenset((cls, plain(op.name)) for cls, op in implemented(arch))


def share(arch, instructions, *, every):
    """Of ``(class, operation, name)`` those that fall to a machine, or all of them."""
    for cls, op, name in instructions:
        key = (cls.__name__, plain(op.name))
        holders = [a for a in ARCHES if a[:4] == arch[:4] and key in _held(a)]
        if every or holders[zlib.crc32(repr(key).encode()) % len(holders)] == arch:
            yield cls, op, name


@cache
def mnemonics(arch, name):
    """``(class name, mnemonic)`` of a family that the emulator executes."""
    pairs = ((cls, plain(op.name)) for cls, op in implemented(arch))
    return sorted({pair for pair in pairs if family(*pair) == name})


def without(arch, name, tables):
    """Mnemonics of a family that are in none of the tables."""
    known = set().union(*tables)
    return sorted({m for _, m in mnemonics(arch, name)} - known)
