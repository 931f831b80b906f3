"""The target `generic`: a wave64 machine with the seeds' two matrix instructions."""

from __future__ import annotations

from wave_core.symbols import Digit
from wave_core.symbols import Layout
from wave_core.targets.base import BankPhases
from wave_core.targets.base import MatrixInstruction
from wave_core.targets.base import MemorySpec
from wave_core.targets.base import Target
from wave_core.types.dtype import bf16
from wave_core.types.dtype import f16
from wave_core.types.dtype import f32

LANES = 64
BANKS = 32
_SOURCE = "AMD Instinct MI300 ISA, 'Matrix Arithmetic Instructions', dense layouts"


def _operand(row: str, rows: int, k_registers: int) -> Layout:
    """Row = lane % rows; K = k_registers * (lane / rows) + register."""
    groups = LANES // rows
    return Layout.make(
        LANES,
        k_registers,
        {
            row: [Digit(1, "lane", 1, rows)],
            "K": [
                Digit(k_registers, "lane", rows, groups),
                Digit(1, "reg", 1, k_registers),
            ],
        },
    )


def _accumulator_16() -> Layout:
    """M = 4 * (lane / 16) + register; N = lane % 16."""
    return Layout.make(
        LANES,
        4,
        {
            "M": [Digit(4, "lane", 16, 4), Digit(1, "reg", 1, 4)],
            "N": [Digit(1, "lane", 1, 16)],
        },
    )


def _accumulator_32() -> Layout:
    """M = 8 * (register / 4) + 4 * (lane / 32) + register % 4; N = lane % 32."""
    return Layout.make(
        LANES,
        16,
        {
            "M": [
                Digit(4, "lane", 32, 2),
                Digit(1, "reg", 1, 4),
                Digit(8, "reg", 4, 4),
            ],
            "N": [Digit(1, "lane", 1, 32)],
        },
    )


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
                _operand("M", 16, 4),
                _operand("N", 16, 4),
                _accumulator_16(),
                _SOURCE,
            ),
            MatrixInstruction(
                "F32_32x32x8_F16",
                (32, 32, 8),
                (f16, bf16),
                f32,
                _operand("M", 32, 4),
                _operand("N", 32, 4),
                _accumulator_32(),
                _SOURCE,
            ),
        ),
        summary="a wave64 machine for running kernels where there is no GPU",
    )
