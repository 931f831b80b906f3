"""What a table says of one vector instruction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ref:
    """One instruction.

    Attributes:
        out: type of the result; ``mask``; ``T carry``; ``2f16`` for two halves.
        ins: types of the operands.
        function: operands to result.
        flush: denormals go by the MODE, ``always`` or ``never``.
        keeps: on gfx9 a 16-bit result leaves the other half as it was.
        ulp: how far an approximation may be off.
    """

    out: str
    ins: str
    function: object
    flush: str = "mode"
    keeps: bool = False
    ulp: int = 0
