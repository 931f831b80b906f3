"""Which dimensions of a register limit an access of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import resolve
from wave_core.ops.memory import Allocate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.constraints.geometry import Geometry
    from wave_core.ops.base import Op
    from wave_core.types import AccessMapping


def limiting(
    dims: Iterable[str], memory: Op, mapping: AccessMapping | None, geometry: Geometry
) -> tuple[str, ...]:
    """Those of ``dims`` whose limits hold where elements of ``memory`` are touched.

    One that only names a place on a grid axis goes as far as the grid does. Its own
    extent counts where it is the index of an argument's elements, and not in LDS, nor
    where the mapping computes another index from it.
    """
    local = isinstance(resolve(memory), Allocate)

    def holds(dim: str) -> bool:
        is_index = not local and (mapping is None or mapping.walks(dim))
        return is_index or not geometry.only_names_a_place(dim)

    return tuple(filter(holds, dims))
