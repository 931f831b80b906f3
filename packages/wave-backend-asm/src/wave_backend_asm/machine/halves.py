"""How instructions of two elements take their operands, as it stands behind them.

Source: CDNA3 ISA, VOP3P: OP_SEL_HI says which word the upper element reads, NEG and
NEG_HI which of the two are taken with the other sign.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = re.compile(r"(\w+):\[([01,]+)\]")


class Halves(NamedTuple):
    """How an operand is taken.

    Attributes:
        apart: the upper element reads the upper word, not the lower one.
        negated: both are taken with the other sign.
    """

    apart: bool = True
    negated: bool = False


def text_of_halves(sides: list[Halves]) -> str:
    """What stands behind the operands; nothing where they are taken as they are."""
    found: list[str] = []
    if not all(side.apart for side in sides):
        found.append(_bits("op_sel_hi", [side.apart for side in sides]))
    if any(side.negated for side in sides):
        signs = [side.negated for side in sides]
        found += [_bits("neg_lo", signs), _bits("neg_hi", signs)]
    return " ".join(found)


def halves_of(modifiers: str, count: int) -> list[Halves]:
    """How so many operands are taken, as `text_of_halves` has said it."""
    words = {name: bits.split(",") for name, bits in _WORD.findall(modifiers)}
    apart = words.get("op_sel_hi", ["1"] * count)
    negated = words.get("neg_lo", ["0"] * count)
    return [
        Halves(one == "1", two == "1") for one, two in zip(apart, negated, strict=True)
    ]


def _bits(name: str, bits: list[bool]) -> str:
    return f"{name}:[{','.join(str(int(bit)) for bit in bits)}]"
