"""Numbers of registers, as bits of a Python integer.

Bit r is vector row r: VGPRs come first, then AGPRs. Behind them stand the scalars under
their operand numbers. Source: CDNA3 ISA, "Scalar operands".
"""

from __future__ import annotations

ACCUMULATOR = 256
"""Bit of AGPR 0."""

SCALAR = 512
"""Bit of SGPR 0."""

VECTOR = (1 << SCALAR) - 1
"""All VGPRs and AGPRs."""

VCC = 106
M0 = 124
EXEC = 126
"""SGPR numbers of the mask, of M0 of gfx9 and of the lanes that are on.

gfx11 and later have M0 at 125 and NULL at 124.
"""

VCCZ, EXECZ = 251, 252
"""Numbers of operands that say whether VCC, EXEC is zero."""

VCC_BITS = 3 << (SCALAR + VCC)
M0_BIT = 1 << (SCALAR + M0)
EXEC_BITS = 3 << (SCALAR + EXEC)


def rows_of(bits: int) -> list[int]:
    """Ordinals of set bits."""
    found: list[int] = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
