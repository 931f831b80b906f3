"""A constraint: a dimension holds pairs, so nothing may cut one in two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.constraints import (
    Assumption,
    Constraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.diagnostics import user_error
from wave_core.symbols import constant, eq

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.constraints import Kernel
    from wave_core.constraints.base import SurfaceExpr


@dataclass(frozen=True)
class Interleaved(Constraint):
    """Elements ``2 i`` and ``2 i + 1`` of ``dim`` belong together.

    The extent is even, which is checked at each launch, and so is every tile.
    """

    dim: SurfaceExpr

    def stands_for(self, kernel: Kernel) -> Iterator[Constraint]:
        """An assumption about the extent.

        Raises:
            UserError: EXAMPLE001 for a tile that is odd.
        """
        for row in kernel.constraints:
            tiled = isinstance(
                row, WorkgroupConstraint | WaveConstraint | TilingConstraint
            )
            if tiled and row.dim == self.dim and row.tile_size is not None:
                tile = kernel.bind(row.tile_size)
                if tile % 2 is constant(1):
                    raise user_error(
                        "EXAMPLE001",
                        f"a tile of {tile} elements cuts a pair of `{self.dim}` in two",
                        at=row.location,
                        secondary=((self.location, "pairs belong together"),),
                        help="use an even tile",
                    )
        yield Assumption(eq(self.dim % 2, constant(0)))
