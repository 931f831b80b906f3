"""What CDNA chips have in different ways, by name.

Instructions have the names of CDNA3 until they become lines. CDNA2 calls products and
bits of caches differently, and lacks some instructions.
Source: LLVM, User Guide for AMDGPU Backend, "Memory Model gfx90a" and "Memory Model
gfx942"; CDNA2 ISA and CDNA3 ISA, the tables of opcodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

Say = tuple[str, str]
"""An instruction on caches: its name, and the words behind it."""


@dataclass(frozen=True)
class Chip:
    """A chip that this path compiles for.

    Attributes:
        name: as LLVM writes it.
        machine: what an ELF header calls it. Source: LLVM, User Guide for AMDGPU
            Backend, "ELF Header"; XNACK and ECC any.
        pairs: V_MOV_B64 and V_LSHL_ADD_U64 have two words at once.
        literals: a product with a sum has a number in a word of its own, by
            V_FMAAK_F32 and V_FMAMK_F32.
        writes_back: what makes others see what was stored, by the scope of a fence.
        drops: what makes later loads see what others stored, by the scope of a fence.
        older: products and bits of caches have the names of CDNA2.
    """

    name: str
    machine: int
    pairs: bool = True
    literals: bool = True
    writes_back: Mapping[str, tuple[Say, ...]] = field(default_factory=lambda: _WRITTEN)
    drops: Mapping[str, tuple[Say, ...]] = field(default_factory=lambda: _DROPPED)
    older: bool = False

    def spelt(self, name: str, modifiers: str) -> Say:
        """How an assembler for the chip calls an instruction, and what is behind it."""
        return _older(name, modifiers) if self.older else (name, modifiers)


_WRITTEN = {
    "device": (("buffer_wbl2", "sc1"),),
    "system": (("buffer_wbl2", "sc0 sc1"),),
}
_DROPPED = {
    "device": (("buffer_inv", "sc1"),),
    "system": (("buffer_inv", "sc0 sc1"),),
}

_OLDER = Chip(
    "gfx90a", 0x53F, pairs=False, literals=False, older=True,
    writes_back={"system": (("buffer_wbl2", ""),)},
    drops={
        "device": (("buffer_wbinvl1_vol", ""),),
        "system": (("buffer_invl2", ""), ("buffer_wbinvl1_vol", "")),
    },
)  # fmt: skip

CHIPS: Mapping[str, Chip] = {
    chip.name: chip for chip in (_OLDER, Chip("gfx942", 0x54C), Chip("gfx950", 0x54F))
}

_PRODUCT = re.compile(r"(v_mfma_\w+x\d+)_(\w+)")
_BITS = {"sc0": "glc", "sc1": "", "nt": "glc slc"}
"""Loads with `glc` pass the caches that workgroups do not share; stores always do."""


@cache
def _older(name: str, modifiers: str) -> Say:
    found = _PRODUCT.fullmatch(name)
    if found:
        name = f"{found[1]}{found[2]}{'_1k' if found[2] == 'bf16' else ''}"
    bits = " ".join(_BITS.get(word, word) for word in modifiers.split())
    return name, " ".join(dict.fromkeys(bits.split()))
