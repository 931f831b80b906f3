"""Decodes machine code into instructions with plain integer fields.

The encodings come from the ``tinygrad`` package; nothing else of the emulator touches
it. Its own list of encodings leaves out MUBUF of gfx11 and VBUFFER of gfx12, so the
order of tries is stated here.
"""

# The decoder has no public way to iterate over fields, and few types.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinygrad.renderer.amd.dsl import (
    AlignedSGPRField,
    EnumBitField,
    FixedBitField,
    Inst,
    SrcField,
    VDSTYField,
)

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture

#: Encodings in the order to try, most specific first. A name with ``_LIT`` has a
#: literal that the base form cannot express.
_ORDER = {
    "cdna": (
        "VOP3PX2 VOP3P_MFMA VOP3P VOP3SD VOP3_SDST VOP3 DS GLOBAL SCRATCH FLAT MUBUF "
        "MTBUF SMEM SOP1 SOP1_LIT SOPC SOPC_LIT SOPP SOPK SOPK_LIT VOPC_SDWA_SDST VOPC "
        "VOP1_DPP16 VOP1_SDWA VOP1 VOP2_DPP16 VOP2_SDWA SOP2 SOP2_LIT VOP2 VOP2_LIT"
    ),
    "rdna3": (
        "VOPD VOP3P VINTERP VOP3SD VOP3_SDST VOP3 DS GLOBAL SCRATCH FLAT MUBUF SMEM "
        "SOP1 SOP1_LIT SOPC SOPC_LIT SOPP SOPK SOPK_LIT SOP2 SOP2_LIT VOPC_DPP16 VOPC "
        "VOP1_SDST VOP1_DPP16 VOP1 VOP1_LIT VOP2_DPP16 VOP2 VOP2_LIT"
    ),
    "rdna4": (
        "VOPD VOP3P VINTERP VOP3SD VOP3_SDST VOP3 DS VGLOBAL VSCRATCH VFLAT VBUFFER "
        "SMEM SOP1 SOP1_LIT SOPC SOPC_LIT SOPP SOPK SOPK_LIT SOP2 SOP2_LIT VOPC_DPP16 "
        "VOPC VOP1_SDST VOP1_DPP16 VOP1 VOP1_LIT VOP2_DPP16 VOP2 VOP2_LIT"
    ),
}

#: The value of src0 that selects a variant (CDNA3 ISA, section 12.10 and 12.11).
_MARKS = (("_SDWA_SDST", 0xF9), ("_SDWA", 0xF9), ("_DPP16", 0xFA))

#: Encodings by family whose DPP forms the decoder does not find by itself.
_WITHOUT_DPP = {"rdna3": ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOP3SD")}
_WITHOUT_DPP["rdna4"] = _WITHOUT_DPP["rdna3"]

#: The values of src0 that select DPP8, the second with FI, and DPP16 (RDNA3 ISA).
_DPP8, _DPP8_FI, _DPP16 = 233, 234, 250


@dataclass(frozen=True, eq=False)
class Instruction:
    """One decoded instruction.

    Attributes:
        chip: the machine whose code it is.
        pc: byte address.
        size: bytes.
        name: mnemonic in capitals without ``_E32`` and ``_E64``.
        encoding: ``VOP2``, ``DS`` ...; variants are flags in ``fields``.
        variant: ``LIT``, ``SDWA``, ``SDWA_SDST``, ``DPP16``, ``DPP8``, ``MFMA``; or
            empty.
        fields: integers; operands in the unified numbering (VGPR 0 is 256).
        registers: 32-bit registers each operand field takes.
        narrow: operand fields of 16 bits.
        source: the decoder's object, for `text`.
        long: it was encoded in the 64-bit form of a 32-bit instruction.
        shown: its text, where the decoder's object means another instruction.
    """

    chip: Architecture
    pc: int
    size: int
    name: str
    encoding: str
    variant: str
    fields: dict[str, int]
    registers: dict[str, int]
    narrow: frozenset[str]
    source: Any
    long: bool
    shown: str = ""

    @cached_property
    def text(self) -> str:
        """Assembly to show."""
        return self.shown or _text(self.source)

    def get(self, name: str, default: int = 0) -> int:
        """A field, or ``default`` where this encoding has none."""
        return self.fields.get(name, default)


@cache
def _classes(family: str) -> tuple[type[Inst], ...]:
    module = import_module(f"tinygrad.runtime.autogen.amd.{family}.ins")
    names = _ORDER[family].split()
    return tuple(getattr(module, name) for name in names if hasattr(module, name))


def _matches(word: int, cls: type[Inst]) -> bool:
    for _, field in cls._fields:
        bits = word >> field.lo & field.mask
        if isinstance(field, FixedBitField) and bits != field.default:
            return False
        if isinstance(field, EnumBitField) and not _allowed(field, bits):
            return False
    for suffix, mark in _MARKS:
        if cls.__name__.endswith(suffix):
            return word & 0x1FF == mark
    return True


def _allowed(field: EnumBitField, bits: int) -> bool:
    try:
        value: Any = field.decode(bits)
    except ValueError:
        return False
    return field.allowed is None or value in field.allowed


def decode(data: bytes, at: int, pc: int, chip: Architecture) -> Instruction | None:
    """Decode the instruction at ``data[at:]``; None where nothing matches."""
    word = int.from_bytes(data[at : at + 16], "little")
    for cls in _classes(chip.family):
        if _matches(word, cls):
            moved = _between_lanes(cls, word, chip.family)
            inst = (moved or cls).from_bytes(data[at : at + 20])
            found = _convert(inst, pc, chip)
            if moved and cls.__name__ == "VOP3_SDST":
                found.fields["vdst"] -= 256  # the DPP forms take it for a VGPR
            return found
    return None


def _between_lanes(cls: type[Inst], word: int, family: str) -> type[Inst] | None:
    """The DPP form of an encoding, where the decoder does not find it by itself."""
    base = cls.__name__.partition("_")[0]
    if base not in _WITHOUT_DPP.get(family, ()):
        return None
    code = word >> (32 if base.startswith("VOP3") else 0) & 0x1FF
    suffix = {_DPP8: "DPP8", _DPP8_FI: "DPP8", _DPP16: "DPP16"}.get(code)
    module = import_module(cls.__module__)
    return getattr(module, f"{base}_{suffix}", None) if suffix else None


def _convert(inst: Inst, pc: int, chip: Architecture) -> Instruction:
    cls = type(inst)
    encoding, _, variant = cls.__name__.partition("_")
    if cls.__name__ == "VOP3_SDST" or cls.__name__ == "VOP1_SDST":  # noqa: PLR1714
        variant = "SDST"
    name = _name(inst)
    fields = {key: _field(inst, key, field) for key, field in cls._fields}
    if variant == "DPP8":
        fields["fi"] = int(fields["src0"] == _DPP8_FI)
    return Instruction(
        chip=chip,
        pc=pc,
        size=inst.size(),
        name=name.removesuffix("_E32").removesuffix("_E64"),
        encoding=encoding,
        variant=variant,
        fields=fields,
        registers=_registers(inst),
        narrow=_narrow(inst),
        source=inst,
        long=name.endswith("_E64"),
    )


def _name(inst: Any) -> str:
    if hasattr(inst, "opx"):
        return f"{inst.opx.name} :: {inst.opy.name}"
    return inst.op.name


def _registers(inst: Any) -> dict[str, int]:
    return dict(inst.op_regs) if hasattr(inst, "op") else {}


def _narrow(inst: Any) -> frozenset[str]:
    if not hasattr(inst, "op"):
        return frozenset()
    return frozenset(name for name, bits in inst.op_bits.items() if bits == 16)


def _text(inst: Inst) -> str:
    try:
        return repr(inst)
    except (RuntimeError, AssertionError, KeyError, ValueError):
        return f"{_name(inst).lower()} {inst.to_bytes().hex()}"


def _field(inst: Any, key: str, field: Any) -> int:
    bits = inst._raw >> field.lo & field.mask  # noqa: SLF001 - plain integers are faster
    if isinstance(field, AlignedSGPRField):
        return bits * field._align  # noqa: SLF001
    if isinstance(field, VDSTYField):
        return getattr(inst, key).offset
    if isinstance(field, SrcField):
        return bits + field._valid_range[0]  # noqa: SLF001
    return bits
