"""All metrics of one kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from wave_isa_amdgcn.flow import find_loops
from wave_isa_amdgcn.metrics.counts import count, flops
from wave_isa_amdgcn.metrics.listing import Block, Instruction, blocks_of
from wave_isa_amdgcn.metrics.resources import Chip, Resources, resources_of


@dataclass(frozen=True)
class HotLoop:
    """The innermost loop with the most matrix instructions, else the largest.

    Attributes:
        label: Where it begins.
        depth: 1 for a loop in no other.
        counts: Instructions by kind.
        flops: Of the matrix instructions, for one wave and one iteration.
    """

    label: str
    depth: int
    counts: dict[str, int]
    flops: int

    @property
    def density(self) -> float | None:
        """Matrix instructions among all; ``None`` where there is none."""
        matrix = self.counts.get("matrix", 0)
        return matrix / self.counts["total"] if matrix else None


@dataclass(frozen=True)
class Metrics:
    """Measures of a kernel's assembly."""

    kernel: str
    target: str
    counts: dict[str, int]
    loops: int
    hot: HotLoop | None
    resources: Resources

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        found = asdict(self)
        if self.hot is not None:
            found["hot"]["density"] = self.hot.density
        return found


def measure(text: str, kernel: str, chip: Chip) -> Metrics:
    """The metrics of a kernel in a listing.

    Args:
        text: Assembly as LLVM writes it, with its metadata.
        kernel: The name of the kernel.
        chip: What it is for.
    """
    blocks = blocks_of(text, kernel)
    loops = find_loops([sorted(block.successors) for block in blocks])
    return Metrics(
        kernel=kernel,
        target=chip.name,
        counts=count(_instructions(blocks, range(len(blocks)))),
        loops=len(loops),
        hot=_hot(blocks, loops),
        resources=resources_of(text, chip),
    )


def _instructions(blocks: list[Block], chosen: range | list[int]) -> list[Instruction]:
    return [i for block in chosen for i in blocks[block].instructions]


def _hot(blocks: list[Block], loops: dict[int, set[int]]) -> HotLoop | None:
    rows: list[tuple[int, int, int]] = []
    for header, body in loops.items():
        counts = count(_instructions(blocks, sorted(body)))
        matrix = counts.get("matrix", 0)
        inner = [other for other in loops.values() if other < body]
        busy = any(
            count(_instructions(blocks, sorted(other))).get("matrix", 0) or not matrix
            for other in inner
        )
        if not busy:
            rows.append((matrix, counts["total"], header))
    if not rows:
        return None
    _, _, header = max(rows)
    chosen = _instructions(blocks, sorted(loops[header]))
    depth = sum(header in body for body in loops.values())
    return HotLoop(blocks[header].label, depth, count(chosen), flops(chosen))
