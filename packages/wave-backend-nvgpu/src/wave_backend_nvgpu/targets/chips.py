"""The chips: one target each."""

from __future__ import annotations

from dataclasses import replace

from wave_backend_nvgpu.targets import matrix, memory, warpgroup
from wave_backend_nvgpu.targets.memory import KIB
from wave_core.targets import (
    BarrierKind,
    CostTable,
    Counter,
    Float8,
    Peaks,
    RegisterFile,
    Target,
)

THREADS = 1024
"""Source: CUDA C++ Programming Guide, the most threads of a block."""

GROUPS = (Counter("load", ("group of copies to shared memory",), True, 63),)
"""Groups of `cp.async`. Source: PTX ISA, cp.async.wait_group; SASS counts to 63."""

COPY_BITS = (32, 64, 128)
"""Source: PTX ISA, cp.async: 4, 8 or 16 bytes."""

MOST_BOX = 256
"""Source: CUDA driver, cuTensorMapEncodeTiled: elements of a box along a dimension."""

_SINGLE = (("lds", "add", "f32"), ("global", "add", "f32"))
_WIDE = (
    *(("lds", "add", "f64"), ("global", "add", "f64")),
    *(("lds", "add", "f16"), ("global", "add", "f16")),
)
AMPERE_ATOMICS = (*_SINGLE, *_WIDE)
"""Source: PTX ISA, atom: f64 from sm_60, f16 from sm_70."""

HOPPER_ATOMICS = (*AMPERE_ATOMICS, ("lds", "add", "bf16"), ("global", "add", "bf16"))
"""Source: PTX ISA, atom: bf16 from sm_90."""


def _registers(warps: int) -> RegisterFile:
    """Of a multiprocessor that holds so many waves: a quarter for each scheduler.

    Source: CUDA C++ Programming Guide: 65,536 of 32 bits for 32 lanes of four
    schedulers, 255 for a thread, given out in eights. Seven predicates hold the
    conditions of a few instructions; others are in registers.
    """
    return RegisterFile(512, 255, 8, warps // 4, 4, conditions=True)


COSTS = CostTable(
    valu_cycles=4,
    narrow_cycles=2,
    exchange_latency=24,
    lds_latency=32,
    lds_issue=16,
    global_latency=500,
    global_issue=32,
    mma_forward=12,
    mma_cycles=8,
)
"""Assumed after published microbenchmarks of A100 and H100; a multiprocessor moves 128
bytes of shared memory and 64 of L2 a cycle."""

_ALL = ("f16", "bf16", "i8", "f32", "f64")
"""Element types in the order of the rates below; then 8-bit floats."""


def _peaks(
    multiprocessors: int,
    clock_ghz: float,
    memory_bytes_per_ns: float,
    matrix_rates: tuple[int, ...],
    vector: int = 256,
) -> Peaks:
    """Rates by element type: of f32 those of products of 19 bits."""
    rates = dict(zip(_ALL, matrix_rates, strict=True))
    float8 = {"f8e4m3fn": rates["i8"], "f8e5m2": rates["i8"]}
    each = tuple((rates | float8).items())
    return Peaks(multiprocessors, clock_ghz, memory_bytes_per_ns, each, vector)


A100 = _peaks(108, 1.41, 2039.0, (2048, 2048, 4096, 1024, 128), vector=128)
"""Source: data sheet of the A100 80GB SXM."""

A40 = _peaks(84, 1.74, 696.0, (1024, 1024, 2048, 512, 4))
"""Source: data sheet of the A40."""

L40S = _peaks(142, 2.52, 864.0, (1024, 1024, 2048, 512, 4))
"""Source: data sheet of the L40S."""

H100 = _peaks(132, 1.83, 3350.0, (4096, 4096, 8192, 2048, 256))
"""Source: data sheet of the H100 SXM; the clock is that at which it gives the rate of
16 bits, 989 TFLOP/s dense."""

BAND_ROWS = 16
"""Tiles of a band: a product of 8192 of bf16 runs on an H200 at 749 TFLOP/s with 16, at
746 with 8, 725 with 4, and 715 in the order of the hardware."""

SHARED_GRANULE = 128
"""Bytes in whose multiples shared memory is given out. Source: CUDA occupancy API."""


def _chip(
    name: str,
    summary: str,
    shared_kib: int,
    warps: int,
    peaks: Peaks,
    cycles: dict[str, int],
    atomics: tuple[tuple[str, str, str], ...] = AMPERE_ATOMICS,
    float8: Float8 = Float8.OCP,
) -> Target:
    return Target(
        name=name,
        wave_size=memory.LANES,
        wave_sizes=(memory.LANES, memory.FOUR_WARPS),
        lockstep_lanes=memory.LANES,
        shuffle_lanes=memory.LANES,
        max_workgroup_threads=THREADS,
        memory=memory.spec(shared_kib * KIB),
        matrix_instructions=matrix.rows(cycles, float8=float8 is Float8.OCP),
        summary=summary,
        barrier=BarrierKind.WHOLE,
        counters=GROUPS,
        float8=float8,
        priorities=False,
        direct_to_lds_bits=COPY_BITS,
        direct_by_pointer=True,
        transposed_read_bits=memory.TRANSPOSED,
        exchange=memory.MATRICES,
        row_exchanges=memory.ROWS,
        float_atomics=atomics,
        registers=_registers(warps),
        lds_granule=SHARED_GRANULE,
        costs=COSTS,
        peaks=peaks,
        band_rows=BAND_ROWS,
    )


def _quarter(rates: dict[str, int]) -> dict[str, int]:
    """Cycles of instructions, by FLOPs a cycle of the four units together."""
    flops = {"F16": 4096, "I8": 8192, "F8": 8192, "TF32": 2048}
    found = {kind: 4 * flops[kind] // rate for kind, rate in rates.items()}
    return found | {"F32": 3 * found["TF32"]}


def sm_80() -> Target:
    """A100."""
    cycles = _quarter({"F16": 2048, "I8": 4096, "TF32": 1024}) | {"F64": 16}
    return _chip("sm_80", "NVIDIA A100", 163, 64, A100, cycles, float8=Float8.NONE)


def sm_86() -> Target:
    """A40, RTX 30."""
    cycles = _quarter({"F16": 1024, "I8": 2048, "TF32": 512})
    return _chip("sm_86", "NVIDIA A40", 99, 48, A40, cycles, float8=Float8.NONE)


def sm_89() -> Target:
    """L40S, RTX 40."""
    cycles = _quarter({"F16": 1024, "I8": 2048, "F8": 2048, "TF32": 512})
    return _chip("sm_89", "NVIDIA L40S", 99, 48, L40S, cycles)


HOPPER_CYCLES = _quarter({"F16": 2560, "I8": 5120, "F8": 2560, "TF32": 1280})
"""Instructions of one wave reach about 62 % of the peak, which those of four together
have; 8-bit floats are multiplied as 16-bit ones. Source: measured on an H100 with
operands in registers, bf16: 616 TFLOP/s; SASS of ptxas 13.5."""


def sm_90() -> Target:
    """H100, H200, by instructions that are not bound to this one generation."""
    return _hopper("sm_90", "NVIDIA H100, portable")


WARPGROUP_CYCLES = {"F16": 4, "I8": 4, "F8": 4}
"""Instructions of four warps with eight columns. Source: data sheet of the H100 SXM,
whose peaks they reach: 64 * 8 * 16 products of 16 bits, 2048 a cycle."""

PRODUCTS = Counter(warpgroup.COUNTER, ("product of a warpgroup",), True, 63)
"""A wait names groups of them, which the code generator makes."""


def sm_90a() -> Target:
    """H100, H200, with products of four warps for waves of 128 lanes."""
    chip = _hopper("sm_90a", "NVIDIA H100")
    own = warpgroup.rows(WARPGROUP_CYCLES)
    return replace(
        chip,
        matrix_instructions=(*chip.matrix_instructions, *own),
        counters=(*chip.counters, PRODUCTS),
    )


def _hopper(name: str, summary: str) -> Target:
    chip = _chip(name, summary, 227, 64, H100, HOPPER_CYCLES, HOPPER_ATOMICS)
    return replace(chip, most_box=MOST_BOX)
