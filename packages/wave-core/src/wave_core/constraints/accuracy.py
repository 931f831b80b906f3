"""What the author of a kernel promises about its accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints.base import Constraint, constraint

if TYPE_CHECKING:
    from collections.abc import Iterable


@constraint
class FastMath(Constraint):
    """The accuracy that the kernel documents holds with fast math, too.

    Backends that can then reorder sums, fuse products with sums and approximate
    functions, unless ``use_fast_math=False`` asks for exact operations. NaN and
    infinities keep their meaning. Simulators compute exactly.

    Attributes:
        maxima_drop_nan: Whether a maximum or minimum may prefer the number to NaN, too:
            of kernels whose results have the NaN all the same, as that of a softmax
            has it by its sum.
    """

    maxima_drop_nan: bool = False


def fast_math_of(
    asked: bool | None,  # noqa: FBT001 - the option as its user gave it
    constraints: Iterable[Constraint],
) -> FastMath | None:
    """What floats may do: as is asked for, else as the kernel allows; or nothing."""
    if asked is not None:
        return FastMath(maxima_drop_nan=True) if asked else None
    return next((row for row in constraints if isinstance(row, FastMath)), None)
