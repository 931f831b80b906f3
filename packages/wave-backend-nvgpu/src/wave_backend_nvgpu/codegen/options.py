"""Options of the generated code."""

from __future__ import annotations

from dataclasses import dataclass


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
