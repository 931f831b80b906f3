"""The body of a loop, as a region of the IR."""

from __future__ import annotations

from wave_core.ir import walk
from wave_core.ops.control import Iterate


def is_innermost(loop: Iterate) -> bool:
    """Whether there is no loop in the loop."""
    return not any(isinstance(op, Iterate) for op in walk(loop.body))
