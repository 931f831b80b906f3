"""What a kernel may declare, checked before anything is made ready for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wave_emulator_ptx.errors import DeclarationError
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.syntax import Variable

MOST_SHARED = 232_448
"""Bytes of a workgroup of sm_90; smaller chips have less."""
MOST = {
    "shared": MOST_SHARED,
    "local": 1 << 19,
    "const": 1 << 16,
    "param": 32_764,
    "global": 1 << 28,
}
"""Bytes by space. Source: the table of compute capabilities of the CUDA guide, and for
parameters section 5.1.6 of the PTX ISA; global memory is what the emulator copies for
each launch."""


def check(declared: Iterable[Variable]) -> None:
    """Whether there is as much memory as a kernel and its module declare.

    Raises:
        DeclarationError: EP0104, with the line of the first variable too many.
    """
    total = Counter[str]()
    for each in declared:
        total[each.space] += each.count * TYPES[each.type].bytes
        most = MOST[each.space]
        if total[each.space] > most:
            message = (
                f"with `{each.name}` there are {total[each.space]} bytes of"
                f" .{each.space} memory: the most is {most}"
            )
            raise DeclarationError(message, each.line)
        if each.align > most:
            message = f"`{each.name}` is aligned to {each.align} bytes of {most}"
            raise DeclarationError(message, each.line)
