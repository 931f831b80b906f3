"""Registers at a breakpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from wave_core.diagnostics import Location


@dataclass(frozen=True)
class Snapshot:
    """The registers that a breakpoint names, as logical tensors.

    Attributes:
        tensors: By label, an array over the whole dimensions; elements that no
            lane holds are zero.
        present: By label, which elements some lane holds.
        dims: By label, the dimension names, outermost first.
        loops: The tile where each loop around stands, by the name of its induction
            symbol; of waves that differ, that of the first.
        workgroups: First and last linear workgroup that the snapshot covers.
        location: The user's line.
    """

    tensors: Mapping[str, npt.NDArray[Any]]
    present: Mapping[str, npt.NDArray[Any]]
    dims: Mapping[str, tuple[str, ...]]
    loops: Mapping[str, int]
    workgroups: tuple[int, int]
    location: Location | None
