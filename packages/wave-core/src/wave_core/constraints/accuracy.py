"""What the author of a kernel promises about its accuracy."""

from __future__ import annotations

from wave_core.constraints.base import Constraint, constraint


@constraint
class FastMath(Constraint):
    """The accuracy that the kernel documents holds with fast math, too.

    Backends that can then reorder sums, fuse products with sums and approximate
    functions, unless ``use_fast_math=False`` asks for exact operations. NaN and
    infinities keep their meaning, but a maximum or minimum may prefer the number to
    NaN. Simulators compute exactly.
    """
