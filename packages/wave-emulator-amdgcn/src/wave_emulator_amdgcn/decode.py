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
from typing import TYPE_CHECKING, Any, NamedTuple

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

#: The upper half of the first word of a product with scales (CDNA4 ISA, VOP3PX2).
_SCALED = 0xD3AC

#: The value of src0 that selects a variant (CDNA3 ISA, section 12.10 and 12.11).
_MARKS = (("_SDWA_SDST", 0xF9), ("_SDWA", 0xF9), ("_DPP16", 0xFA))

#: Values of an operand that select a variant: SDWA or DPP8, DPP16, a literal.
_VARIANTS = frozenset({249, 250, 255})

#: Encodings by family whose DPP forms the decoder does not find by itself.
_WITHOUT_DPP = {"rdna3": ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOP3SD")}
_WITHOUT_DPP["rdna4"] = _WITHOUT_DPP["rdna3"]

#: The values of src0 that select DPP8, the second with FI, and DPP16 (RDNA3 ISA).
_DPP8, _DPP8_FI, _DPP16 = 233, 234, 250

#: Bits of SDWA that make a VGPR operand an SGPR, and the operand (CDNA3 ISA, SDWA).
_SCALAR_FLAGS = (("s0", "vsrc0"), ("s1", "vsrc1"))


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


class _Form(NamedTuple):
    """An encoding and how to tell it.

    Attributes:
        cls: the decoder's class.
        mask: bits that are fixed.
        mark: their values.
        opcodes: shift, mask and known values of fields that hold an opcode.
        sources: shift, mask and least operand of fields that can select a variant.
        dual: it holds two opcodes, which can select a variant as well.
    """

    cls: type[Inst]
    mask: int
    mark: int
    opcodes: tuple[tuple[int, int, frozenset[int]], ...]
    sources: tuple[tuple[int, int, int], ...]
    dual: bool

    def matches(self, word: int) -> bool:
        """Whether an instruction in this form begins with the bits of ``word``."""
        return word & self.mask == self.mark and all(
            word >> low & mask in known for low, mask, known in self.opcodes
        )

    def instance(self, word: int, data: bytes) -> Inst:
        """The decoder's object; it looks for variants itself, which is slow."""
        if self.dual or any(
            (word >> low & mask) + least in _VARIANTS
            for low, mask, least in self.sources
        ):
            return self.cls.from_bytes(data)
        inst = object.__new__(self.cls)
        inst._raw = int.from_bytes(data[: self.cls._base_size], "little")  # noqa: SLF001
        return inst


@cache
def _forms(family: str) -> tuple[_Form, ...]:
    module = import_module(f"tinygrad.runtime.autogen.amd.{family}.ins")
    names = _ORDER[family].split()
    return tuple(_form(getattr(module, n)) for n in names if hasattr(module, n))


def _form(cls: type[Inst]) -> _Form:
    mask = mark = 0
    opcodes: list[tuple[int, int, frozenset[int]]] = []
    for name, field in cls._fields:
        if isinstance(field, FixedBitField):
            mask |= field.mask << field.lo
            mark |= field.default << field.lo
        elif name == "x2encoding":
            mask |= field.mask << field.lo
            mark |= _SCALED << field.lo
        elif isinstance(field, EnumBitField):
            opcodes.append((field.lo, field.mask, _numbers(field)))
    for suffix, source in _MARKS:
        if cls.__name__.endswith(suffix):
            mask, mark = mask | 0x1FF, mark | source
    sources = tuple(
        (field.lo, field.mask, field._valid_range[0])  # noqa: SLF001
        for _, field in cls._fields
        if isinstance(field, SrcField)
    )
    return _Form(cls, mask, mark, tuple(opcodes), sources, hasattr(cls, "opx"))


def _numbers(field: Any) -> frozenset[int]:
    known = field._enum if field.allowed is None else field.allowed  # noqa: SLF001
    return frozenset(opcode.value for opcode in known)


def decode(data: bytes, at: int, pc: int, chip: Architecture) -> Instruction | None:
    """Decode the instruction at ``data[at:]``; None where nothing matches."""
    word = int.from_bytes(data[at : at + 16], "little")
    for form in _forms(chip.family):
        if form.matches(word):
            moved = _between_lanes(form.cls, word, chip.family)
            whole = data[at : at + 20]
            inst = moved.from_bytes(whole) if moved else form.instance(word, whole)
            found = _convert(inst, pc, chip)
            if moved and form.cls.__name__ == "VOP3_SDST":
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
    name, plain = _name(inst), hasattr(inst, "op")
    widths: dict[str, int] = inst.op_bits if plain else {}
    fields = {key: _field(inst, key, field) for key, field in cls._fields}
    if variant == "DPP8":
        fields["fi"] = int(fields["src0"] == _DPP8_FI)
    for flag, operand in _SCALAR_FLAGS:
        if fields.get(flag):
            fields[operand] -= 256
    return Instruction(
        chip=chip,
        pc=pc,
        size=inst.size(),
        name=name.removesuffix("_E32").removesuffix("_E64"),
        encoding=encoding,
        variant=variant,
        fields=fields,
        registers=dict(getattr(inst, "op_regs", {})) if plain else {},
        narrow=frozenset(key for key, bits in widths.items() if bits == 16),
        source=inst,
        long=name.endswith("_E64"),
    )


def _name(inst: Any) -> str:
    if hasattr(inst, "opx"):
        return f"{inst.opx.name} :: {inst.opy.name}"
    return inst.op.name


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
