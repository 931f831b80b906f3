"""The body of a loop, as a region of the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import walk
from wave_core.ops.control import Iterate

if TYPE_CHECKING:
    from wave_core.ir import Region


def body_of(loop: Iterate) -> Region:
    """The region that each iteration of ``loop`` runs."""
    return loop.body  # pyright: ignore[reportReturnType] - an IR region


def is_innermost(loop: Iterate) -> bool:
    """Whether there is no loop in the loop."""
    return not any(isinstance(op, Iterate) for op in walk(body_of(loop)))
