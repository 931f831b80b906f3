"""Ops for looking at a kernel while it runs."""

from __future__ import annotations

from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, variadic
from wave_core.ops.traits import Trait


class Breakpoint(Op, name="breakpoint", traits={Trait.ORDERED}):
    """Stops a simulation here and shows registers as tensors.

    Backends leave it out. Shapes and dtypes: any registers.
    """

    values: tuple[Op, ...] = variadic(help="the registers to show")
    labels: tuple[str, ...] = attribute(default=(), help="their names")

    def infer(self) -> None:
        """No value."""
        for value in self.values:
            rules.register_type(self, value, "value")
