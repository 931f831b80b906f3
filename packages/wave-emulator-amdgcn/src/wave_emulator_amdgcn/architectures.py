"""The machines the emulator knows, as rows."""

from __future__ import annotations

from dataclasses import dataclass

from wave_emulator_amdgcn.errors import CodeObjectError

__all__ = ["ARCHITECTURES", "Architecture", "architecture_of_flags"]


@dataclass(frozen=True)
class Architecture:
    """One GPU architecture.

    Attributes:
        name: as LLVM writes it.
        flag: low byte of ``e_flags`` (LLVM AMDGPU usage, table of EF_AMDGPU_MACH).
        family: which decoder and which encoding: ``cdna``, ``rdna3``, ``rdna4``.
        lanes: lanes of a wave that compilers use.
        lds_bytes: LDS of a compute unit.
        lds_banks: banks of LDS.
        fp8_fnuz: fp8 is the FNUZ form (gfx942) and not OCP.
        ids_in_ttmp: workgroup ids come in trap temporaries (gfx12).
        split_counters: waits have counters of their own for loads, stores, LDS.
        flat_scratch: scratch addresses need no set-up by the kernel.
        older_codes: it has opcodes that the decoder's tables of its family lack.
        flushes_halves: products of 16-bit floats lose denormals.
        wide_copies: copies from memory to LDS may have 12 and 16 bytes.
        replicated: both halves of a wave hold the operands of a product.
        ieee_mode: MODE says whether minima and maxima follow IEEE 754-2008.
        null: the number of the scalar register that is none.
        store_counter: the counter that stores raise.
    """

    name: str
    flag: int
    family: str
    lanes: int
    lds_bytes: int
    lds_banks: int
    fp8_fnuz: bool = False
    ids_in_ttmp: bool = False
    split_counters: bool = False
    flat_scratch: bool = True
    older_codes: bool = False
    flushes_halves: bool = False
    wide_copies: bool = False
    replicated: bool = False
    ieee_mode: bool = True
    null: int | None = None
    store_counter: str = "vm"


ARCHITECTURES = {
    row.name: row
    for row in (
        Architecture(
            "gfx90a",
            0x3F,
            "cdna",
            64,
            65536,
            32,
            flat_scratch=False,
            older_codes=True,
            flushes_halves=True,
        ),
        Architecture("gfx942", 0x4C, "cdna", 64, 65536, 32, fp8_fnuz=True),
        Architecture("gfx950", 0x4F, "cdna", 64, 163840, 64, wide_copies=True),
        Architecture(
            "gfx1100",
            0x41,
            "rdna3",
            32,
            65536,
            32,
            replicated=True,
            null=124,
            store_counter="vs",
        ),
        Architecture(
            "gfx1201",
            0x4E,
            "rdna4",
            32,
            65536,
            32,
            ids_in_ttmp=True,
            split_counters=True,
            ieee_mode=False,
            null=124,
            store_counter="store",
        ),
    )
}


def architecture_of_flags(flags: int) -> Architecture:
    """The architecture of an ELF header's flags.

    Raises:
        CodeObjectError: EM0103, it is not a row of `ARCHITECTURES`.
    """
    for row in ARCHITECTURES.values():
        if row.flag == flags & 0xFF:
            return row
    known = ", ".join(ARCHITECTURES)
    raise CodeObjectError(
        "EM0103", f"machine {flags & 0xFF:#x} of the ELF header; known: {known}"
    )
