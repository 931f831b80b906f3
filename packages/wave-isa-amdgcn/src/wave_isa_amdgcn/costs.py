"""Costs of instructions as rows; every number carries where it is from.

``peak``: derived from the vendor's published peak, compute units and clock. ``paper``:
CDNA3 white paper, RDNA3 and RDNA4 slides. ``gcn``: AMD's GCN architecture white paper
and GPUOpen's "Understanding Memory Coalescing on GCN". ``llvm``: LLVM's scheduling
models. ``load``: measured while matrix units are busy, below. ``cdna4``: AMD,
ROCm/gfx950-gluon-tutorials, kernels/attention, section 2: 4 cycles of issue for a
vector instruction, 8 for ``v_exp_f32``. ``assumed``: no source; chosen to be plausible,
and to be read as such.
"""

from __future__ import annotations

from dataclasses import dataclass

from wave_isa_amdgcn.matrix import MATRIX_FLOPS


@dataclass(frozen=True)
class Cost:
    """One machine; cycles are those of the compute unit.

    Attributes:
        simds: SIMDs of a compute unit (``paper``).
        waves_per_simd: most waves resident on a SIMD (``paper``).
        registers: vector registers of a lane of a SIMD (``paper``).
        granule: registers are given out in multiples of this (``llvm``).
        valu: cycles a SIMD is busy with a vector instruction (``gcn``).
        slow: the same for 32-bit products of integers: a quarter of the rate
            (``gcn``, ``llvm``).
        curved: the same for exp, log, rcp, rsq, sqrt, sin and cos: a quarter of the
            rate (``gcn``, ``llvm``), on gfx950 half of it (``cdna4``).
        issue: cycles between two instructions of a wave (``gcn``).
        branch: cycles that a taken branch costs its wave (``assumed``).
        matrix_flops: FLOPs of a SIMD in a cycle by element type (``peak``).
        matrix_extra: cycles after the last pass until others may read (``llvm``).
        lds_bytes: bytes of LDS in a cycle, of the compute unit (``paper``).
        lds_latency: cycles of an access without conflicts (``gcn``).
        lanes_addressed: lanes whose address is processed in a cycle (``gcn``).
        l1_bytes: bytes of L1 in a cycle, of the compute unit (``paper``).
        l1_size: bytes of L1 (``paper``).
        l1_latency: cycles of a hit (``assumed``).
        l2_bytes: bytes from L2 in a cycle, of the compute unit (``paper``).
        l2_latency: cycles more for a hit in L2 (``assumed``).
        hbm_bytes: bytes of memory in a cycle, the share of a compute unit (``peak``:
            5.3 TB/s, 304 units, 2.1 GHz on gfx942).
        hbm_latency: cycles more for memory (``assumed``).
        scalar_latency: cycles of a scalar load (``assumed``).
        backlog: cycles of work that units of memory and LDS queue before a wave stalls
            (``assumed``).
        units: compute units (``paper``).
        ghz: the clock at which the vendor states the peaks (``peak``).
        loaded_ghz: the lowest and the highest clock in long matrix products, as power
            allows (``load``); ``None`` where none was found.
        hbm_share: the part of ``hbm_bytes`` that streams reach (``load``); 1 where no
            figure was found.
    """

    simds: int
    waves_per_simd: int
    registers: int
    granule: int
    valu: int
    slow: int
    curved: int
    issue: int
    branch: int
    matrix_flops: dict[str, int]
    matrix_extra: int
    lds_bytes: int
    lds_latency: int
    lanes_addressed: int
    l1_bytes: int
    l1_size: int
    l1_latency: int
    l2_bytes: int
    l2_latency: int
    hbm_bytes: float
    hbm_latency: int
    scalar_latency: int
    backlog: int
    units: int
    ghz: float
    loaded_ghz: tuple[float, float] | None = None
    hbm_share: float = 1.0


_LOADED_GFX942 = (1.115, 1.230)
"""Medians of f16 and fp8, bf16 between them, of an MI300X's slowest die, at 750 W.

Source: AMD, "Measuring Max-Achievable FLOPs, Part 2", table 1, February 2025.
"""

_LOADED_GFX950 = (1.37, 1.59)
"""Of an MI355X, from the speed of f16 products and the measured share of matrix units.

1437 TFLOP/s are 99.8 % of the units at 1.37 GHz, 1634 are 98 % of them at 1.59. Source:
AMD, ROCm/gfx950-gluon-tutorials, kernels/gemm/inter_wave/a16w16 and kernels/gemm.
"""

_STREAMED_GFX942 = 4.067 / 5.3
_STREAMED_GFX950 = 5.488 / 8.0
"""TB/s that BabelStream's ``Mul``, one array to another, must reach, of the peak.

Of an MI355X, and of chips before it. Source: AMD's acceptance tests of machines,
AMD-AGI/Primus-SaFE, Bench/preflight/node/node_check/babel_stream_memory.sh.
"""

_GFX1100 = {"F16": 256, "BF16": 256, "IU8": 256, "IU4": 512}
_GFX1201 = {
    "F16": 512, "BF16": 512, "FP8": 1024, "BF8": 1024, "IU8": 1024, "IU4": 2048
}  # fmt: skip

# As the fields: SIMDs and registers; issue; matrix; LDS; L1; L2; memory; the rest.
COSTS = {
    "gfx90a": Cost(
        4, 8, 512, 8, 4, 16, 16, 4, 16, MATRIX_FLOPS["gfx90a"], 12, 128, 64,
        16, 64, 16384, 120, 64, 180, 8.6, 500, 200, 32, 110, 1.7,
    ),
    "gfx942": Cost(
        4, 8, 512, 8, 4, 16, 16, 4, 16, MATRIX_FLOPS["gfx942"], 12, 128, 64,
        16, 64, 32768, 120, 64, 180, 8.3, 500, 200, 32, 304, 2.1, _LOADED_GFX942,
        _STREAMED_GFX942,
    ),
    "gfx950": Cost(
        4, 8, 512, 8, 4, 16, 8, 4, 16, MATRIX_FLOPS["gfx950"], 12, 128, 64,
        16, 64, 32768, 120, 64, 180, 13.0, 500, 200, 32, 256, 2.4, _LOADED_GFX950,
        _STREAMED_GFX950,
    ),
    "gfx1100": Cost(
        2, 16, 1536, 24, 1, 4, 4, 1, 8, _GFX1100, 8, 128, 40,
        32, 64, 32768, 100, 64, 140, 4.0, 400, 100, 32, 96, 2.5,
    ),
    "gfx1201": Cost(
        2, 16, 1536, 24, 1, 4, 4, 1, 8, _GFX1201, 8, 128, 40,
        32, 64, 32768, 100, 64, 140, 3.4, 400, 100, 32, 64, 2.97,
    ),
}  # fmt: skip
