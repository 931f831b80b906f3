"""The op: all that Wave has to know about it is here."""

from __future__ import annotations

from typing import Any

from wave_core.ops.base import attribute
from wave_core.ops.elementwise import Unary


class Relu6(Unary, name="wave_example.relu6"):
    """The element, but at least 0 and at most ``cap``; NaN stays NaN.

    Shapes: those of the operand. Dtypes: any number, the result has the same.

    Raises:
        UserError: WV0201 for a memory, WV0205 for booleans.
    """

    cap: float = attribute(default=6.0, help="the largest result")

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The meaning on numpy arrays; both simulators use it."""
        (value,) = arrays
        return np.clip(value, value.dtype.type(0), value.dtype.type(self.cap))
