"""The machines the emulator knows, as rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wave_emulator_amdgcn.errors import CodeObjectError


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
        flat_scratch: scratch addresses need no set-up by the kernel.
        older_codes: it has opcodes that the decoder's tables of its family lack.
        flushes_halves: products of 16-bit floats lose denormals.
        copies: bytes of a lane that copies from memory to LDS may have.
        replicated: both halves of a wave hold the operands of a product.
        ieee_mode: MODE says whether minima and maxima follow IEEE 754-2008.
        null: the number of the scalar register that is none.
        scalar_counter: the counter that scalar loads raise.
        lds_counter: the counter that accesses of LDS raise.
        load_counter: the counter that loads of memory raise.
        store_counter: the counter that stores raise.
        names_halves: 16-bit operands name a half of a register, and results keep the
            other one.
        sdwa: SDWA selects bytes and words of operands.
        exec_and_mask: V_CMPX writes its mask besides EXEC.
        shifts_waves: DPP shifts and rotates whole waves, and has no exclusive or.
        adds_last: V_DOT2_F32_BF16 adds the third operand last.
        compares_first: DS_CMPST has what it compares with before the new value.
        out_of_bounds_modes: buffer resources say how ends are checked (OOB_SELECT).
        always_compares: comparisons have an opcode that is true for all operands.
        wide: the field of an access that passes the caches which workgroups do not
            share, its least value, and a field that is off then.
        wide_stores: all stores pass them.
        writes_back: others see a store only after BUFFER_WBL2.
        invalidate: the first word of the instruction that drops what these caches
            hold, and which of its bits say so.
    """

    name: str
    flag: int
    family: str
    lanes: int = 64
    lds_bytes: int = 65536
    lds_banks: int = 32
    fp8_fnuz: bool = False
    ids_in_ttmp: bool = False
    flat_scratch: bool = True
    older_codes: bool = False
    flushes_halves: bool = False
    copies: tuple[int, ...] = (4,)
    replicated: bool = False
    ieee_mode: bool = True
    null: int | None = None
    scalar_counter: str = "lgkm"
    lds_counter: str = "lgkm"
    load_counter: str = "vm"
    store_counter: str = "vm"
    names_halves: bool = False
    sdwa: bool = True
    exec_and_mask: bool = True
    shifts_waves: bool = True
    adds_last: bool = True
    compares_first: bool = True
    out_of_bounds_modes: bool = False
    always_compares: bool = True
    wide: tuple[str, int, str] = ("sc1", 1, "")
    wide_stores: bool = False
    writes_back: bool = False
    invalidate: tuple[int, int] = (0xE0A40000, 0xFFFC0000)


_GFX11 = Architecture(
    "gfx1100", 0x41, "rdna3", lanes=32, copies=(), replicated=True, null=124,
    store_counter="vs", names_halves=True, sdwa=False, exec_and_mask=False,
    shifts_waves=False, adds_last=False, compares_first=False, out_of_bounds_modes=True,
    wide=("dlc", 1, "slc"), invalidate=(0xE0B00000, 0xFFFC0000),
)  # fmt: skip

ARCHITECTURES = {
    row.name: row
    for row in (
        Architecture(
            "gfx90a", 0x3F, "cdna", flat_scratch=False, older_codes=True,
            flushes_halves=True, wide=("sc0", 1, "nt"), wide_stores=True,
            invalidate=(0xE0FC0000, 0xFFFC0000),
        ),
        Architecture("gfx942", 0x4C, "cdna", fp8_fnuz=True, writes_back=True),
        Architecture(
            "gfx950", 0x4F, "cdna", lds_bytes=163840, lds_banks=64,
            copies=(4, 12, 16), writes_back=True,
        ),
        _GFX11,
        replace(
            _GFX11, name="gfx1201", flag=0x4E, family="rdna4", replicated=False,
            ids_in_ttmp=True, ieee_mode=False, scalar_counter="km", lds_counter="ds",
            load_counter="load", store_counter="store", always_compares=False,
            wide=("scope", 2, ""), invalidate=(0xEE0AC000, 0xFFFFC000),
        ),
    )
}  # fmt: skip


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
