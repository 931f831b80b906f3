"""The configurations among which ``auto`` chooses, and what each leaves to wait for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.targets import Target
    from wave_passes_scheduling.auto.work import Work

LONG = 28_000.0
"""Cycles of a wave's products from which those of two iterations run beside what is
computed: fewer do not pay for the first and the last ones. On an H100 attention to
4,096 keys takes 6 % less time with 128 channels, and 3 % more with 64."""

COPIER = "copy-direct-to-lds"
"""The pass that makes copies direct."""


@dataclass(frozen=True)
class Way:
    """One configuration of the pipeline: a preset, and options beside it.

    Attributes:
        name: Its preset.
        direct: Whether tiles go to LDS directly, where that is proved right and takes
            fewer instructions.
        boxes: Whether by boxes, where they are proved to be some.
        unroll: Iterations in a trip of the loop.
        memory: The share of a fetch from memory that a workgroup waits for.
        lds: The share of the accesses of LDS that it waits for.
        copies: Tiles in LDS of each memory.
        more: Whether these are more than the preset takes by itself.
        alone: What ``lds`` is where there is room for one copy only; ``None`` where
            nothing works with one.
        linked: What ``memory`` and ``lds`` are where products multiply what others
            made; ``None`` where they are as in other loops.
        ahead: Tiles on their way from memory in registers.
        live: The share of what an iteration reads that registers hold at a time.
        late: The same where LDS can be read transposed: what is not packed anew can be
            read as late as it is used.
        waves: The fewest waves of a workgroup on a SIMD that it works with.
        fewest: The fewest iterations that it can overlap.
        through_lds: Whether it has a use for tiles in LDS alone.
        chained: Whether it needs products that multiply what others made.
        in_place: Whether it needs products that read LDS.
        apart: Whether it needs products that read registers.
        placed: Vector instructions for each access of LDS that compute where it is:
            one where the copy that an iteration uses changes from trip to trip, none
            where it is part of the instruction, or another wave multiplies meanwhile.
        turned: Registers that hold the address of each transposed read.
        behind: Vector instructions for each transposed read that issue between the
            products of another wave.
        flight: Tiles of a workgroup that are on their way from memory at a time.
        beside: Whether a wave has products under way beside what it computes between
            others.
    """

    name: str
    memory: float
    lds: float
    direct: bool = False
    boxes: bool = False
    unroll: int = 1
    copies: int = 1
    more: bool = False
    alone: float | None = None
    linked: tuple[float, float] | None = None
    ahead: float = 1.0
    live: float = 1.0
    late: float = 1.0
    waves: int = 1
    fewest: int = 2
    through_lds: bool = False
    chained: bool = False
    in_place: bool = False
    apart: bool = False
    placed: float = 0.0
    turned: float = 0.0
    behind: float = 0.0
    flight: float = 1.0
    beside: bool = False

    @property
    def options(self) -> Mapping[str, object]:
        """The options of compilation that ask for it."""
        found: dict[str, object] = {"preset": self.name}
        if self.unroll > 1:
            found["unroll_factor"] = self.unroll
        if self.more:
            found["multi_buffer_count"] = self.copies
        if self.direct:
            boxes = ", boxes=true" if self.boxes else ""
            found["passes"] = (f"{COPIER}{{cheaper=true{boxes}}}",)
        return found

    def of(self, work: Work, room: float) -> Way:
        """As a kernel is compiled where LDS has ``room`` bytes for its tiles.

        Where something stands between two products, boxes are for ways that have both
        under way: on an H200 attention of 128 channels reaches 433 TFLOP/s by boxes in
        others, 547 with copies by all threads, and 613 in these, 530 without boxes.
        """
        if self.boxes and work.between and not self.chained:
            return replace(self, boxes=False).of(work, room)
        if self.linked is not None and work.chained:
            memory, lds = self.linked
            return replace(self, memory=memory, lds=lds)
        if self.alone is None or not work.lds <= room < self.copies * work.lds:
            return self
        return replace(self, copies=1, lds=self.alone, placed=0.0)


_AHEAD: dict[str, Any] = {
    "copies": 2,
    "fewest": 3,
    "ahead": 1.3,
    "live": 1.3,
    "late": 0.9,
}

_ALTERNATING: dict[str, Any] = _AHEAD | {
    "waves": 2,
    "through_lds": True,
    "turned": 1.0,
    "linked": (0.4, 0.4),
}

_DIRECT: dict[str, Any] = {"direct": True, "through_lds": True, "ahead": 0.0}
"""Nothing is on its way in registers."""

_TWO_AHEAD: dict[str, Any] = (
    _ALTERNATING | _DIRECT | {"copies": 3, "more": True, "fewest": 4, "flight": 2.0}
)
"""Copies have two iterations to land: of three buffers one is read."""

_STREAMING: dict[str, Any] = _DIRECT | {
    "copies": 4,
    "more": True,
    "fewest": 5,
    "live": 1.3,
    "late": 0.6,
    "apart": True,
    "flight": 3.0,
}
"""Copies to three of four buffers are on their way: for loops that wait for memory."""

WAYS = (
    Way(
        "default",
        0.55,
        0.65,
        linked=(0.9, 0.9),
        ahead=0.0,
        live=0.6,
        late=0.25,
        fewest=0,
    ),
    Way("prefetch", 0.45, 0.55, ahead=1.3, live=0.65, late=0.25),
    Way(
        "fetch-ahead",
        0.5,
        0.0,
        **_AHEAD,
        alone=0.2,
        through_lds=True,
        placed=1.0,
        turned=1.0,
    ),
    Way("prefetch", 0.8, 0.0, **_DIRECT, live=0.9, late=0.5),
    Way("fetch-ahead", 0.5, 0.0, copies=2, fewest=3, live=1.3, late=0.9, **_DIRECT),
    Way("fetch-ahead", 0.05, 0.0, **_STREAMING, linked=(0.6, 0.0)),
    Way("prefetch-attention", 0.15, 0.0, **_AHEAD, chained=True, placed=1.0),
    Way("prefetch-attention", 0.15, 0.0, **_AHEAD, chained=True, unroll=2),
    Way("pingpong", 0.08, 0.0, **_ALTERNATING, unroll=2),
    Way("pingpong", 0.1, 0.0, **_ALTERNATING, behind=1.0),
    Way("pingpong", 0.04, 0.0, **_TWO_AHEAD, behind=1.0),
)
"""The shares are fitted to cycles and registers of compiled loops, which
``benchmarks/bench_auto.py`` prints beside the estimates."""

POINTED_WAYS = (
    Way("default", 0.55, 0.55, ahead=0.0, live=0.6, late=0.25, fewest=0),
    Way("prefetch", 0.62, 0.2, ahead=1.3, live=0.65, late=0.25),
    Way("fetch-ahead", 0.5, 0.0, **_AHEAD, alone=0.2, through_lds=True),
    Way("default", 0.45, 0.4, **_DIRECT, live=0.6, late=0.2, fewest=0),
    Way("prefetch", 0.5, 0.2, **_DIRECT, live=0.9, late=0.5),
    Way("fetch-ahead", 0.3, 0.0, copies=2, fewest=3, live=1.3, late=0.6, **_DIRECT),
    Way("fetch-ahead", 0.05, 0.0, **_STREAMING),
    Way("modulo", 0.05, 0.1, copies=2, fewest=3, live=1.3, late=0.6, **_DIRECT),
    Way(
        "four-stage",
        0.05,
        0.0,
        copies=4,
        fewest=5,
        in_place=True,
        flight=2.0,
        **_DIRECT,
    ),
    Way("prefetch-attention", 0.38, 0.0, **_AHEAD, chained=True),
    Way(
        "prefetch-attention",
        0.05,
        0.9,
        copies=3,
        fewest=5,
        chained=True,
        in_place=True,
        flight=2.0,
        beside=True,
        **_DIRECT,
    ),
)
"""Those of machines whose direct copies take pointers: each lane's land anywhere, so
they cost no more than what they replace. The shares are fitted to times of 126 forms of
one matrix product on an H200; the estimate orders their best as the card does."""


def ways_for(target: Target) -> tuple[Way, ...]:
    """The ways that a machine has: direct copies by boxes, if it copies such.

    A box takes one thread, and nobody computes which of its elements exist.
    """
    ways = POINTED_WAYS if target.direct_by_pointer else WAYS
    boxes = bool(target.most_box)
    return tuple(replace(way, boxes=way.direct and boxes) for way in ways)
