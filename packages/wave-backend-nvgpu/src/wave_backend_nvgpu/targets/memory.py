"""Shared memory: banks, and the lanes that one access serves at a time."""

from __future__ import annotations

from wave_core.targets import BankPhases, Exchange, MemorySpec

KIB = 1024
LANES = 32
"""Of a warp: these run in step and shuffle."""

FOUR_WARPS = 4 * LANES
"""Lanes of a wide wave, which meets at a named barrier of its own."""

LANE_BITS = 5

BANKS = 32
BANK_BYTES = 4
"""Source: CUDA C++ Programming Guide, shared memory of compute capability 5 to 9."""

WIDTHS = (1, 2, 4, 8, 16)
"""Bytes that one lane moves in one access. Source: PTX ISA, ld and st: vectors of
two or four, of 128 bits at most."""

CACHE_LINE_BYTES = 128

SECTOR_BYTES = 32
"""Source: CUDA C++ Programming Guide, global memory of compute capability 5.x on."""

TRANSPOSED = ((16, 128),)
"""Elements of 16 bits, of which a lane gets eight. Source: PTX ISA, ldmatrix.trans."""

MATRICES = Exchange(
    LANES,
    (
        *(("lane", 2), ("lane", 3), ("lane", 4)),
        *(("reg", 0), ("lane", 0), ("lane", 1), ("reg", 1), ("reg", 2)),
    ),
)
"""Lane ``8 * j + i`` fetches row ``i`` of matrix ``j``, eight elements. Afterwards lane
``l`` has in registers ``2 * j`` and ``2 * j + 1`` those of column ``l // 4`` and of
rows ``2 * (l % 4)`` and the next. Source: PTX ISA, ldmatrix.x4.trans."""


def _rows(bits: int) -> Exchange:
    """Without ``.trans``: lane ``l`` has of row ``l // 4`` piece ``l % 4`` of 32 bits.

    Register by register these are those of the four matrices.
    """
    within = (32 // bits).bit_length() - 1
    return Exchange(
        LANES,
        (
            *(("reg", place) for place in range(within)),
            *(("lane", place) for place in range(LANE_BITS)),
            *(("reg", within + place) for place in range(2)),
        ),
    )


ROWS = tuple((bits, _rows(bits)) for bits in (8, 16, 32))
"""By bits of an element. Source: PTX ISA, ldmatrix.x4."""


def spec(shared_bytes: int) -> MemorySpec:
    """The memory of a chip whose workgroups may have so many bytes."""
    phases = tuple((width, _consecutive(width)) for width in WIDTHS)
    return MemorySpec(
        lds_bytes=shared_bytes,
        bank_bytes=BANK_BYTES,
        max_access_bits=8 * WIDTHS[-1],
        cache_line_bytes=CACHE_LINE_BYTES,
        read_phases=phases,
        write_phases=phases,
        sector_bytes=SECTOR_BYTES,
    )


def _consecutive(width: int) -> BankPhases:
    """Lanes that together fill the banks once: 32, 16 of 8 bytes, 8 of 16 bytes."""
    count = min(LANES, BANKS * BANK_BYTES // max(width, BANK_BYTES))
    starts = range(0, LANES, count)
    return BankPhases(BANKS, tuple(tuple(range(s, s + count)) for s in starts))
