"""Options of the generated code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Denormals(StrEnum):
    """The treatment of f32 numbers below the normal range."""

    PRESERVE = "ieee"
    FLUSH = "preserve-sign"


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """Knobs of code generation.

    Attributes:
        buffers: Use buffer instructions for every access of global memory, not only
            for memories with masked accesses.
        fast_math: Allow reassociation and approximate functions, and maxima that
            prefer numbers to NaN; ``None`` leaves it to the kernel (`FastMath`).
        waves_per_eu: Waves of a SIMD to aim for; the compiler's choice if ``None``.
        denormals: What f32 denormals become.
        debug: Put the user's lines into the code object (DWARF).
        probes: Find accesses that leave their memory.
    """

    buffers: bool = False
    fast_math: bool | None = None
    waves_per_eu: int | None = None
    denormals: Denormals = Denormals.PRESERVE
    debug: bool = False
    probes: bool = False
