"""The chips: one target each."""

from __future__ import annotations

from dataclasses import replace

from wave_backend_amdgpu.targets import cdna, memory, rdna
from wave_core.targets import (
    BarrierKind,
    BufferBounds,
    CostTable,
    Counter,
    Float8,
    MatrixInstruction,
    MemorySpec,
    Peaks,
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

_ATOMICS = (
    *(("lds", "add", "f32"), ("lds", "extreme", "f32"), ("lds", "extreme", "f64")),
    ("global", "add", "f32"),
)
CDNA2_ATOMICS = (
    *_ATOMICS,
    *(("lds", "add", "f64"), ("global", "add", "f64"), ("global", "extreme", "f64")),
    ("global", "add", "f16"),
)
"""Source: AMD CDNA2 ISA, DS_ADD_F64, GLOBAL_ATOMIC_*_F64, GLOBAL_ATOMIC_PK_ADD_F16."""

_PAIRS = tuple(
    (space, "add", dtype) for space in ("lds", "global") for dtype in ("f16", "bf16")
)
CDNA3_ATOMICS = (*dict.fromkeys((*CDNA2_ATOMICS, *_PAIRS)),)
"""Source: AMD CDNA3 ISA, DS_PK_ADD_F16 and _BF16, GLOBAL_ATOMIC_PK_ADD_BF16."""

RDNA3_ATOMICS = (*_ATOMICS, ("global", "extreme", "f32"))
"""Source: AMD RDNA3 ISA, GLOBAL_ATOMIC_MIN_F32."""

RDNA4_ATOMICS = (*RDNA3_ATOMICS, *_PAIRS)
"""Source: AMD RDNA4 ISA, DS_PK_ADD_F16, GLOBAL_ATOMIC_PK_ADD_F16 and _BF16."""

CDNA_REGISTERS = RegisterFile(512, 512, 8, 8, 4, scalars=102)
"""Source: AMD CDNA3 ISA: 512 registers a SIMD lane, VGPRs and AGPRs together."""

RDNA_REGISTERS = RegisterFile(1536, 256, 24, 16, 2, scalars=106)
"""Source: AMD RDNA3 ISA, wave32, chips with 1.5 times the registers; two SIMDs for
each of the two compute units of a work-group processor."""


_ALL = ("f16", "bf16", "i8", "f32", "f64")
"""Element types in the order of the rates below; then 8-bit floats."""


def _peaks(
    compute_units: int,
    clock_ghz: float,
    memory_bytes_per_ns: float,
    matrix: tuple[int, ...],
    float8: tuple[str, ...] = (),
    narrow: tuple[str, ...] = (),
) -> Peaks:
    """Rates by element type: that of ``i8`` for 8-bit floats, twice for narrow ones."""
    rates = dict(zip(_ALL, matrix, strict=False))
    rates |= dict.fromkeys(float8, rates["i8"])
    rates |= dict.fromkeys(narrow, 2 * rates["i8"])
    rows = tuple(rates.items())
    return Peaks(compute_units, clock_ghz, memory_bytes_per_ns, rows, 256)


_FNUZ = ("f8e4m3fnuz", "f8e5m2fnuz")
_OCP = ("f8e4m3fn", "f8e5m2")
_NARROW = tuple(str(dtype) for dtype in cdna.NARROW)

PEAKS = {
    "gfx90a": _peaks(110, 1.7, 1638.4, (1024, 1024, 1024, 256, 256)),
    "gfx942": _peaks(304, 2.1, 5300.0, (2048, 2048, 4096, 256, 256), _FNUZ),
    "gfx950": _peaks(256, 2.4, 8000.0, (4096, 4096, 8192, 256, 128), _OCP, _NARROW),
    "gfx1100": _peaks(96, 2.5, 960.0, (512, 512, 512)),
    "gfx1201": _peaks(64, 2.97, 644.6, (1024, 1024, 2048), _OCP),
}
"""Source: data sheets of the MI250X (one die), MI300X, MI355X, Radeon RX 7900 XTX and
RX 9070 XT: compute units, peak clock, bandwidth, and peak rates over the first two.
L2 and LDS: CDNA3 white paper; the others assumed alike."""


def _cdna(
    name: str,
    summary: str,
    memories: MemorySpec,
    rows: tuple[MatrixInstruction, ...],
    float8: Float8,
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
        direct_to_lds_bits=(32,),
        float_atomics=CDNA3_ATOMICS,
        registers=CDNA_REGISTERS,
        lds_granule=512,
        # Source: AMD CDNA3 and CDNA4 white papers: accelerator complex dies of MI300X
        # and MI355X, in the mode in which all of them are one device.
        dies=8,
        peaks=PEAKS[name],
    )


def gfx90a() -> Target:
    """MI200: one die of an MI250X."""
    memories, rows = memory.spec(64 * KIB, 32, 64), cdna.cdna2()
    chip = _cdna("gfx90a", "AMD Instinct MI200", memories, rows, Float8.NONE)
    return replace(chip, float_atomics=CDNA2_ATOMICS, dies=1)


def gfx942() -> Target:
    """MI300X."""
    measured = memory.GFX942_READS, memory.GFX942_WRITES
    memories, rows = memory.spec(64 * KIB, 32, 64, *measured), cdna.cdna3()
    return _cdna("gfx942", "AMD Instinct MI300", memories, rows, Float8.FNUZ)


def gfx950() -> Target:
    """MI355X."""
    measured = memory.GFX950_READS, memory.GFX950_WRITES
    memories, rows = memory.spec(160 * KIB, 64, 64, *measured), cdna.cdna4()
    return replace(
        _cdna("gfx950", "AMD Instinct MI350", memories, rows, Float8.OCP),
        direct_to_lds_bits=(32, 96, 128),
        lds_granule=1280,
        transposed_read_bits=TRANSPOSED,
        lane_swaps=(16, 32),
        # Source: AMD CDNA4 ISA, V_CVT_PK_F16_F32 and V_PERMLANE32_SWAP; of V_EXP_F32:
        # AMD, ROCm/gfx950-gluon-tutorials, kernels/attention, section 2.
        costs=CostTable(curved_cycles=8, narrow_cycles=2, exchange_latency=16),
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
        float_atomics=RDNA4_ATOMICS if split else RDNA3_ATOMICS,
        registers=RDNA_REGISTERS,
        # Source: AMD RDNA3 ISA, WMMA is a vector instruction.
        costs=CostTable(mma_beside=False),
        peaks=PEAKS.get(name),
    )


def gfx1100() -> Target:
    """Radeon RX 7900."""
    rows = rdna.rdna3()
    return _rdna("gfx1100", "AMD Radeon RX 7900", rows, split=False, float8=Float8.NONE)


def gfx1201() -> Target:
    """Radeon RX 9070."""
    return _rdna("gfx1201", "AMD Radeon RX 9070", rdna.rdna4())


def gfx1250() -> Target:
    """gfx1250, for compilation only: compute units are not published."""
    rows = rdna.gfx1250_rows()
    return _rdna("gfx1250", "AMD gfx1250, compiled only", rows, lds_bytes=320 * KIB)
