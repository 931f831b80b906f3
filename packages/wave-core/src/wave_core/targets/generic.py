"""Machines that nobody builds, for running kernels where there is no GPU.

`generic` has waves of 64 lanes and the seeds' two matrix instructions. `generic128` has
waves of 128 lanes, of which 32 run in step, an instruction for all of them, and one
that goes on while they do and reads LDS.
"""

from __future__ import annotations

from wave_core.symbols import Digit, Layout
from wave_core.targets.base import (
    REGISTER,
    SHARED,
    BankPhases,
    Counter,
    MatrixInstruction,
    MemorySpec,
    Target,
)
from wave_core.targets.layouts import accumulator, accumulator_32, operand
from wave_core.types import BufferLayout
from wave_core.types.dtype import bf16, f16, f32

LANES = 64
BANKS = 32
_SOURCE = "AMD Instinct MI300 ISA, 'Matrix Arithmetic Instructions', dense layouts"


WIDE = 128
"""Lanes of a wave of `generic128`."""
IN_STEP = 32
"""Lanes of it that run in step, and that one access of LDS serves."""
_OF_FOUR = "PTX ISA, wgmma: register fragments of A and D; B is made up"


def _consecutive(lanes: int, lanes_per_phase: int) -> BankPhases:
    starts = range(0, lanes, lanes_per_phase)
    return BankPhases(
        BANKS, tuple(tuple(range(s, s + lanes_per_phase)) for s in starts)
    )


def _phases(lanes: int) -> tuple[tuple[int, BankPhases], ...]:
    """Assumed: consecutive lanes that together fill the 32 banks of 4 bytes."""
    return tuple(
        (width, _consecutive(lanes, min(lanes, BANKS * 4 // max(width, 4))))
        for width in (1, 2, 4, 8, 16)
    )


def _memory(lanes: int) -> MemorySpec:
    return MemorySpec(
        lds_bytes=65536,
        bank_bytes=4,
        max_access_bits=128,
        cache_line_bytes=128,
        read_phases=_phases(lanes),
        write_phases=_phases(lanes),
    )


def generic_target() -> Target:
    """The machine that core compiles for when no backend is installed."""
    return Target(
        name="generic",
        wave_size=LANES,
        max_workgroup_threads=1024,
        memory=_memory(LANES),
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


def generic128_target() -> Target:
    """A machine whose waves are too wide to run in step."""
    return Target(
        name="generic128",
        wave_size=WIDE,
        wave_sizes=(IN_STEP, LANES, WIDE),
        lockstep_lanes=IN_STEP,
        shuffle_lanes=IN_STEP,
        max_workgroup_threads=1024,
        memory=_memory(IN_STEP),
        matrix_instructions=(
            MatrixInstruction(
                "F32_64x16x16_F16",
                (64, 16, 16),
                (f16, bf16),
                f32,
                _rows_of_four("K"),
                _columns_of_four(),
                _rows_of_four("N"),
                _OF_FOUR,
            ),
            MatrixInstruction(
                "F32_64x8x16_F16",
                (64, 8, 16),
                (f16, bf16),
                f32,
                _rows_of_four("K"),
                Layout.make(WIDE, 1, {"N": [_EIGHT], "K": [Digit(1, "lane", 1, 16)]}),
                _rows_of_four("N", 4),
                _OF_FOUR,
                lhs_in=(REGISTER, SHARED),
                rhs_in=(SHARED,),
                layouts=(
                    BufferLayout(chunk=16, step=4, ways=2, panel=32),
                    BufferLayout(chunk=16, step=1, ways=1, panel=16),
                ),
                columns_first=True,
                counter="mma",
            ),
        ),
        counters=(Counter("mma", ("matrix product",), True, 7),),
        summary="waves of 128 lanes, 32 of which run in step, where there is no GPU",
    )


_EIGHT = Digit(1, "lane", 16, 8)


def _rows_of_four(along: str, registers: int = 8) -> Layout:
    """M ``16 * (l // 32) + l % 32 // 4 + 8 * (r // 2 % 2)``, along a row pairs.

    The place in the row is ``8 * (r // 4) + 2 * (l % 4) + r % 2``, of 16; with four
    registers of 8.
    """
    rows = Digit(16, "lane", 32, 4), Digit(1, "lane", 4, 8), Digit(8, "reg", 2, 2)
    places = Digit(8, "reg", 4, 2), Digit(2, "lane", 1, 4), Digit(1, "reg", 1, 2)
    return Layout.make(WIDE, registers, {"M": rows, along: places})


def _columns_of_four() -> Layout:
    """N ``8 * (l // 64) + l % 32 // 4``, K ``8 * (l // 32 % 2) + 2 * (l % 4) + r``."""
    columns = Digit(8, "lane", 64, 2), Digit(1, "lane", 4, 8)
    along = Digit(8, "lane", 32, 2), Digit(2, "lane", 1, 4), Digit(1, "reg", 1, 2)
    return Layout.make(WIDE, 2, {"N": columns, "K": along})
