"""The target `generic`: a wave64 machine with the seeds' two matrix instructions."""

from __future__ import annotations

from wave_core.targets.base import BankPhases, MatrixInstruction, MemorySpec, Target
from wave_core.targets.layouts import accumulator, accumulator_32, operand
from wave_core.types.dtype import bf16, f16, f32

LANES = 64
BANKS = 32
_SOURCE = "AMD Instinct MI300 ISA, 'Matrix Arithmetic Instructions', dense layouts"


def _consecutive(lanes_per_phase: int) -> BankPhases:
    starts = range(0, LANES, lanes_per_phase)
    return BankPhases(
        BANKS, tuple(tuple(range(s, s + lanes_per_phase)) for s in starts)
    )


def _phases() -> tuple[tuple[int, BankPhases], ...]:
    """Assumed: consecutive lanes that together fill the 32 banks of 4 bytes."""
    return tuple(
        (width, _consecutive(min(LANES, BANKS * 4 // max(width, 4))))
        for width in (1, 2, 4, 8, 16)
    )


def generic_target() -> Target:
    """The machine that core compiles for when no backend is installed."""
    return Target(
        name="generic",
        wave_size=LANES,
        max_workgroup_threads=1024,
        memory=MemorySpec(
            lds_bytes=65536,
            bank_bytes=4,
            max_access_bits=128,
            cache_line_bytes=128,
            read_phases=_phases(),
            write_phases=_phases(),
        ),
        matrix_instructions=(
            MatrixInstruction(
                "F32_16x16x16_F16",
                (16, 16, 16),
                (f16, bf16),
                f32,
                operand("M", LANES, 16, 4),
                operand("N", LANES, 16, 4),
                accumulator(LANES, 16, 4),
                _SOURCE,
            ),
            MatrixInstruction(
                "F32_32x32x8_F16",
                (32, 32, 8),
                (f16, bf16),
                f32,
                operand("M", LANES, 32, 4),
                operand("N", LANES, 32, 4),
                accumulator_32(),
                _SOURCE,
            ),
        ),
        summary="a wave64 machine for running kernels where there is no GPU",
    )
