"""Options of the generated code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.constraints import FastMath

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.constraints import Constraint


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """Knobs of code generation.

    Attributes:
        fast_math: Allow reassociation and approximate functions, and maxima that
            prefer numbers to NaN; ``None`` leaves it to the kernel (`FastMath`).
        most_registers: Registers that a thread may have; the assembler's choice if
            ``None``.
    """

    fast_math: bool | None = None
    most_registers: int | None = None

    def of_kernel(self, constraints: Iterable[Constraint]) -> CodeOptions:
        """The knobs with what a kernel's constraints settle."""
        if self.fast_math is not None:
            return self
        allowed = any(isinstance(row, FastMath) for row in constraints)
        return replace(self, fast_math=allowed)
