"""LDS banks and access phases, one table for each chip.

Where no measurement is published, consecutive lanes that together fill the banks are
taken; rows that are so say "assumed".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wave_core.targets import BankPhases, MemorySpec

WIDTHS = (1, 2, 4, 8, 12, 16)
"""Bytes that one lane moves in one access of LDS."""

BANK_BYTES = 4
CACHE_LINE_BYTES = 128
"""Source: AMD CDNA3 ISA, vector L1 cache line."""

Phases = Sequence[Sequence[int]]


def spec(
    lds_bytes: int,
    banks: int,
    lanes: int,
    reads: Mapping[int, tuple[int, Phases]] | None = None,
    writes: Mapping[int, tuple[int, Phases]] | None = None,
) -> MemorySpec:
    """The memory of a chip; ``reads`` and ``writes`` give measured widths."""
    return MemorySpec(
        lds_bytes=lds_bytes,
        bank_bytes=BANK_BYTES,
        max_access_bits=128,
        cache_line_bytes=CACHE_LINE_BYTES,
        read_phases=_table(banks, lanes, reads or {}),
        write_phases=_table(banks, lanes, writes or {}),
    )


def _table(
    banks: int, lanes: int, known: Mapping[int, tuple[int, Phases]]
) -> tuple[tuple[int, BankPhases], ...]:
    rows: list[tuple[int, BankPhases]] = []
    for width in WIDTHS:
        if width in known:
            own, phases = known[width]
            rows.append((width, BankPhases(own, tuple(map(tuple, phases)))))
        else:
            rows.append((width, _assumed(banks, lanes, width)))
    return tuple(rows)


def _assumed(banks: int, lanes: int, width: int) -> BankPhases:
    count = min(lanes, max(1, banks * BANK_BYTES // max(width, BANK_BYTES)))
    starts = range(0, lanes, count)
    return BankPhases(
        banks, tuple(tuple(range(s, min(s + count, lanes))) for s in starts)
    )


def _both_halves(phases: Phases) -> Phases:
    """The same phases for lanes 32 to 63."""
    return [*phases, *([lane + 32 for lane in phase] for phase in phases)]


def _lanes(*ranges: tuple[int, int]) -> list[int]:
    return [lane for first, last in ranges for lane in range(first, last + 1)]


_EIGHTS = _both_halves(
    [
        _lanes((0, 3), (20, 23)),
        _lanes((4, 7), (16, 19)),
        _lanes((8, 11), (28, 31)),
        _lanes((12, 15), (24, 27)),
    ]
)

GFX942_READS = {16: (32, _EIGHTS)}
"""Source: AMD, composable_kernel documentation, LDS bank conflicts (gfx942)."""

GFX942_WRITES = {16: (32, [list(range(s, s + 8)) for s in range(0, 64, 8)])}
"""Source: as `GFX942_READS`."""

GFX950_READS = {
    16: (
        64,
        _both_halves(
            [
                _lanes((0, 3), (12, 15), (20, 27)),
                _lanes((4, 11), (16, 19), (28, 31)),
            ]
        ),
    ),
    8: (64, [_lanes((0, 31)), _lanes((32, 63))]),
    12: (32, _EIGHTS),
}
"""Source: measured by the authors of HipKittens on MI350."""

GFX950_WRITES = {8: (32, [list(range(s, s + 16)) for s in range(0, 64, 16)])}
"""Source: as `GFX950_READS`."""
