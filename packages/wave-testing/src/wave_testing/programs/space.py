"""Random dimensions: sizes, and how they spread over the machine."""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from wave_testing.programs.model import Dim

if TYPE_CHECKING:
    import numpy as np

    from wave_testing.programs.formula import Formula

EXTENTS = (1, 7, 16, 33, 63, 64, 65, 100, 129)
SMALL = (1, 2, 3, 5, 8, 16)
TILES = (1, 2, 4, 5, 8, 16, 16, 24, 32, 32, 64)
LOOP_TILES = (1, 3, 4, 8, 16, 16, 20, 32, 64)
MAX_UNITS = 96
"""Waves of one launch: what keeps a program under a second."""

MAX_WAVES = 8
MAX_TRIPS = 12


class Space:
    """The dimensions of one program, and the chances of its generator.

    Attributes:
        dims: By name.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.dims: dict[str, Dim] = {}

    @classmethod
    def random(cls, rng: np.random.Generator) -> Space:
        """Dimensions of all kinds, chosen at random."""
        space = cls(rng)
        space._spread(int(rng.choice([1, 1, 1, 2, 2, 2, 2, 3, 4])))
        for name in "KL"[: int(rng.choice([0, 1, 1, 2, 2]))]:
            space.dims[name] = space._loop_dim(name)
        for name in "DE"[: int(rng.choice([0, 1, 1, 1, 2]))]:
            extent = space.pick((*SMALL, *SMALL, 7, 16, 33, 64))
            space.dims[name] = space._with_vector(Dim(name, extent))
        space._calm()
        return space

    @property
    def units(self) -> int:
        """Waves of the launch."""
        return prod(d.groups * d.shared * d.copies for d in self.dims.values())

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self._rng.random() < share)

    def pick(self, items: Any) -> Any:
        """One item, each as likely."""
        return items[int(self._rng.integers(len(items)))]

    def _spread(self, grid: int) -> None:
        waves = MAX_WAVES
        for axis in range(grid):
            dim = self._grid_dim("MNBH"[axis], axis, waves, crowded=grid > 2)
            if waves > 1 and not dim.waves and self.chance(0.06):
                dim = replace(dim, copies=2)
            waves //= dim.shared * dim.copies
            self.dims[dim.name] = dim

    def _grid_dim(self, name: str, axis: int, waves: int, *, crowded: bool) -> Dim:
        extent = self.pick(SMALL if crowded and self.chance(0.7) else EXTENTS)
        if self.chance(0.02):
            extent = 0
        tile = self.pick(TILES)
        shared = self.pick((0, 0, 1, 2, 4))
        if shared > waves or tile % max(1, shared):
            shared = 0
        loop = self.pick(LOOP_TILES) if self.chance(0.12) else None
        dynamic = self.chance(0.25)
        dim = Dim(name, extent, dynamic, axis, tile, shared, loop)
        if loop is not None and (loop > dim.wave_tile or dim.trips > MAX_TRIPS):
            dim = replace(dim, loop=None)
        if self.chance(0.06):
            dim = replace(dim, backwards=True)
        return self._with_vector(dim)

    def _loop_dim(self, name: str) -> Dim:
        extent = 0 if self.chance(0.05) else self.pick(EXTENTS)
        tile = self.pick(LOOP_TILES)
        while -(-extent // tile) > MAX_TRIPS:
            tile = self.pick(LOOP_TILES)
        return self._with_vector(Dim(name, extent, self.chance(0.25), loop=tile))

    def _with_vector(self, dim: Dim) -> Dim:
        if not self.chance(0.1):
            return dim
        tile = dim.tile_in(looped=dim.axis is None)
        choices = [0, 1] if tile <= 4 else [tile, 8, 16, 32]
        return replace(dim, vector=self.pick(choices))

    def _calm(self) -> None:
        """Raise tiles until the launch is small enough."""
        while self.units > MAX_UNITS:
            dim = max(self.dims.values(), key=lambda d: d.groups)
            if dim.groups == 1:
                dim = max(self.dims.values(), key=lambda d: d.shared * d.copies)
                self.dims[dim.name] = replace(dim, waves=0, loop=None, copies=1)
            else:
                wider = replace(dim, tile=dim.tile * 2, loop=None, vector=None)
                self.dims[dim.name] = wider

    def hardware(self) -> tuple[tuple[str, Any], ...]:
        """Random further fields of the hardware constraint."""
        found: dict[str, Any] = {}
        if self.chance(0.4):
            found["max_bits_per_load"] = self.pick((32, 64, 128))
        if self.chance(0.4):
            found["mma_type"] = self.pick(INSTRUCTIONS)
        spread = [d for d in self.dims.values() if d.axis is not None]
        if self.chance(0.2) or any(d.copies > 1 for d in spread):
            rows = sorted((d.axis, d.shared * d.copies) for d in spread)
            found["waves_per_block"] = tuple(count for _, count in rows)
        return tuple(sorted(found.items()))

    def reordering(self) -> tuple[int, Formula] | None:
        """A permutation of the workgroups of one axis, now and then."""
        rows = [d for d in self.dims.values() if d.axis is not None and d.groups > 1]
        if not rows or not self.chance(0.12):
            return None
        dim = self.pick(rows)
        symbol = ("sym", f"$WG{dim.axis}")
        if self.chance(0.5):
            return int(dim.axis), ("-", dim.groups - 1, symbol)
        shift = int(self._rng.integers(dim.groups))
        return int(dim.axis), ("%", ("+", symbol, shift), dim.groups)


INSTRUCTIONS = ("F32_16x16x16_F16", "F32_32x32x8_F16")
