"""Which lanes LDS serves together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_emulator_amdgcn.architectures import Architecture


def _ranges(*parts: str) -> list[list[int]]:
    phases: list[list[int]] = []
    for part in parts:
        lanes: list[int] = []
        for span in part.split(","):
            low, _, high = span.partition("-")
            lanes.extend(range(int(low), int(high or low) + 1))
        phases.append(lanes)
    return phases


def _twice(phases: list[list[int]]) -> list[list[int]]:
    return phases + [[lane + 32 for lane in phase] for phase in phases]


#: (architecture, bytes, reading) to banks and phases. Sources: HipKittens' measurements
#: on gfx950; AMD's CK-Tile documentation on gfx942.
_KNOWN = {
    ("gfx950", 16, True): (64, _twice(_ranges("0-3,12-15,20-27", "4-11,16-19,28-31"))),
    ("gfx950", 8, True): (64, _ranges("0-31", "32-63")),
    ("gfx950", 12, True): (
        32, _twice(_ranges("0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27"))
    ),
    ("gfx950", 8, False): (32, _ranges("0-15", "16-31", "32-47", "48-63")),
    ("gfx942", 16, True): (
        32, _twice(_ranges("0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27"))
    ),
    ("gfx942", 16, False): (32, _ranges(*[f"{k}-{k + 7}" for k in range(0, 64, 8)])),
}  # fmt: skip


def lds_phases(
    architecture: Architecture, size: int, *, reading: bool
) -> tuple[int, list[list[int]]]:
    """Banks, and the lanes that are served together; consecutive where unknown."""
    known = _KNOWN.get((architecture.name, size, reading))
    if known is not None:
        return known
    step = max(1, min(architecture.lanes, architecture.lds_banks * 4 // max(size, 4)))
    lanes = architecture.lanes
    return architecture.lds_banks, [
        list(range(k, k + step)) for k in range(0, lanes, step)
    ]
