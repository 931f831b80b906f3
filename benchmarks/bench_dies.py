"""What the dies of a chip fetch into their L2, by the order of the workgroups.

``python benchmarks/bench_dies.py``. Counted and not measured: each compute unit runs
one workgroup at a time, and what those of a die that run together share is fetched once
(`wave_testing.dies`). The emulator's model of cycles has one L2 and does not see this.
"""

from __future__ import annotations

from dataclasses import dataclass

from wave_backend_amdgpu.targets.chips import gfx942
from wave_core.constraints.order import Numbering
from wave_core.symbols import constant
from wave_testing.dies import fetches, tiles_in_order

MIB = 1 << 20
ROWS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Launch:
    """A grid, and what its workgroups read.

    Attributes:
        name: What it is.
        grid: Workgroups on each axis.
        operands: For each operand, the axes that its tile depends on, and its bytes.
    """

    name: str
    grid: tuple[int, ...]
    operands: tuple[tuple[tuple[int, ...], int], ...]

    def mib(self, rows: int | None) -> float:
        """MiB that all dies fetch, in bands of ``rows`` or the hardware's order."""
        target = gfx942()
        assert target.peaks is not None, "a chip that has figures"
        numbering = Numbering([constant(extent) for extent in self.grid])
        if rows is not None:
            numbering.give_to_dies(target.dies, rows)
        tiles = tiles_in_order(self.grid, numbering.definitions)
        units = target.peaks.compute_units // target.dies
        read = (
            bytes_ * fetches(tiles, target.dies, units, axes)
            for axes, bytes_ in self.operands
        )
        return sum(read) / MIB


def gemm(m: int, n: int, k: int, block: int) -> Launch:
    """A GEMM of f16 with square tiles."""
    strip = 2 * k * block
    grid = (-(-m // block), -(-n // block))
    name = f"gemm {m} x {n} x {k}, tiles of {block}"
    return Launch(name, grid, (((0,), strip), ((1,), strip)))


def attention(heads: int, length: int, depth: int, block: int) -> Launch:
    """Attention of f16, one tile of queries a workgroup."""
    own, shared = 2 * block * depth, 2 * 2 * length * depth
    grid = (-(-length // block), 1, heads)
    name = f"attention {heads} x {length} x {depth}, tiles of {block}"
    return Launch(name, grid, (((0, 2), own), ((2,), shared)))


LAUNCHES = (
    gemm(4096, 4096, 4096, 256),
    gemm(4352, 4352, 4096, 256),
    gemm(5120, 5120, 5120, 256),
    gemm(8192, 8192, 8192, 256),
    gemm(8192, 8192, 8192, 128),
    gemm(2048, 7168, 4096, 128),
    attention(16, 4096, 128, 128),
    attention(64, 4096, 128, 256),
    attention(20, 1000, 64, 128),
)


def main() -> None:
    """Print one line for each launch."""
    columns = ("hardware", *(f"rows={rows}" for rows in ROWS))
    print(f"{'MiB fetched by eight dies':42}", *(f"{each:>9}" for each in columns))
    for launch in LAUNCHES:
        figures = (launch.mib(rows) for rows in (None, *ROWS))
        print(f"{launch.name:42}", *(f"{each:9.1f}" for each in figures))


if __name__ == "__main__":
    main()
