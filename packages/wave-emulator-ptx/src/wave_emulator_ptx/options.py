"""How a launch is executed, and what it did."""

from __future__ import annotations

from dataclasses import dataclass, field

from wave_emulator_ptx.errors import Report


@dataclass(frozen=True)
class LaunchOptions:
    """How to execute.

    Attributes:
        hazards: look for races, unwritten memory and early uses of copies.
        poison: ordinals of array arguments whose bytes count as unwritten.
        order: seed of a random order of the warps; None for all together.
        limit: of warp-instructions of the launch.
    """

    hazards: bool = True
    poison: frozenset[int] = frozenset()
    order: int | None = None
    limit: int = 100_000_000


@dataclass(frozen=True)
class LaunchResult:
    """What a launch did.

    Attributes:
        reports: hazards, in the order of the text.
        instructions: executed by warps.
        warps: of the launch.
    """

    reports: list[Report] = field(default_factory=list[Report])
    instructions: int = 0
    warps: int = 0
