"""The chips: one target each."""

from __future__ import annotations

from wave_backend_amdgpu.targets import cdna, memory, rdna
from wave_core.targets import (
    BarrierKind,
    BufferBounds,
    Counter,
    Float8,
    MatrixInstruction,
    MemorySpec,
    RegisterFile,
    Target,
)

KIB = 1024
THREADS = 1024
"""Source: HSA, the most threads of a workgroup."""

_LOADS = ("global read", "buffer read", "copy to LDS")
_STORES = ("global write", "buffer write")

GFX9_COUNTERS = (
    Counter("load", (*_LOADS, *_STORES), in_order=True, limit=63),
    Counter("ds", ("LDS access", "scalar read"), in_order=False, limit=15),
    Counter("exp", ("export",), in_order=True, limit=7),
)
"""vmcnt, lgkmcnt, expcnt. Source: AMD CDNA3 ISA, S_WAITCNT. Reads and writes of global
memory share a counter; ``store`` waits for it too."""

GFX11_COUNTERS = (
    Counter("load", _LOADS, in_order=True, limit=63),
    Counter("store", _STORES, in_order=True, limit=63),
    Counter("ds", ("LDS access", "scalar read"), in_order=False, limit=63),
    Counter("exp", ("export",), in_order=True, limit=7),
)
"""vmcnt, vscnt, lgkmcnt, expcnt. Source: AMD RDNA3 ISA, S_WAITCNT."""

GFX12_COUNTERS = (
    Counter("load", _LOADS, in_order=True, limit=63),
    Counter("store", _STORES, in_order=True, limit=63),
    Counter("ds", ("LDS access",), in_order=True, limit=63),
    Counter("exp", ("export",), in_order=True, limit=7),
)
"""loadcnt, storecnt, dscnt, expcnt. Source: AMD RDNA4 ISA, S_WAIT_*."""

TRANSPOSED = ((16, 64), (8, 64))
"""DS_READ_B64_TR_B16 and B8. Source: AMD CDNA4 ISA. There are forms for 6 and 4 bits,
which the language has no element types for."""

CDNA_REGISTERS = RegisterFile(512, 512, 8, 8, 4)
"""Source: AMD CDNA3 ISA: 512 registers a SIMD lane, VGPRs and AGPRs together."""

RDNA_REGISTERS = RegisterFile(1536, 256, 24, 16, 2)
"""Source: AMD RDNA3 ISA, wave32, chips with 1.5 times the registers; two SIMDs for
each of the two compute units of a work-group processor."""


def _cdna(
    name: str,
    summary: str,
    memories: MemorySpec,
    rows: tuple[MatrixInstruction, ...],
    *,
    float8: Float8,
    copies: tuple[int, ...],
    granule: int = 512,
    transposed: tuple[tuple[int, int], ...] = (),
) -> Target:
    return Target(
        name=name,
        wave_size=64,
        max_workgroup_threads=THREADS,
        memory=memories,
        matrix_instructions=rows,
        summary=summary,
        counters=GFX9_COUNTERS,
        buffer_bounds=BufferBounds.RAW,
        float8=float8,
        direct_to_lds_bits=copies,
        transposed_read_bits=transposed,
        registers=CDNA_REGISTERS,
        lds_granule=granule,
    )


def gfx90a() -> Target:
    """MI200: one die of an MI250X."""
    return _cdna(
        "gfx90a",
        "AMD Instinct MI200",
        memory.spec(64 * KIB, 32, 64),
        cdna.cdna2(),
        float8=Float8.NONE,
        copies=(32,),
    )


def gfx942() -> Target:
    """MI300X."""
    return _cdna(
        "gfx942",
        "AMD Instinct MI300",
        memory.spec(64 * KIB, 32, 64, memory.GFX942_READS, memory.GFX942_WRITES),
        cdna.cdna3(),
        float8=Float8.FNUZ,
        copies=(32,),
    )


def gfx950() -> Target:
    """MI355X."""
    return _cdna(
        "gfx950",
        "AMD Instinct MI350",
        memory.spec(160 * KIB, 64, 64, memory.GFX950_READS, memory.GFX950_WRITES),
        cdna.cdna4(),
        float8=Float8.OCP,
        copies=(32, 96, 128),
        granule=1280,
        transposed=TRANSPOSED,
    )


def _rdna(
    name: str,
    summary: str,
    rows: tuple[MatrixInstruction, ...],
    *,
    lds_bytes: int = 64 * KIB,
    split: bool = True,
    float8: Float8 = Float8.OCP,
) -> Target:
    return Target(
        name=name,
        wave_size=32,
        max_workgroup_threads=THREADS,
        memory=memory.spec(lds_bytes, 32, 32),
        matrix_instructions=rows,
        summary=summary,
        barrier=BarrierKind.SPLIT if split else BarrierKind.WHOLE,
        counters=GFX12_COUNTERS if split else GFX11_COUNTERS,
        buffer_bounds=BufferBounds.RAW,
        float8=float8,
        registers=RDNA_REGISTERS,
    )


def gfx1100() -> Target:
    """Radeon RX 7900."""
    rows = rdna.rdna3()
    return _rdna(
        "gfx1100",
        "AMD Radeon RX 7900",
        rows,
        split=False,
        float8=Float8.NONE,
    )


def gfx1201() -> Target:
    """Radeon RX 9070."""
    return _rdna("gfx1201", "AMD Radeon RX 9070", rdna.rdna4())


def gfx1250() -> Target:
    """gfx1250, for compilation only: compute units are not published."""
    rows = rdna.gfx1250_rows()
    return _rdna("gfx1250", "AMD gfx1250, compiled only", rows, lds_bytes=320 * KIB)
