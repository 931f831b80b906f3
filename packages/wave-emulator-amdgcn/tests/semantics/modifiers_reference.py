"""Selections, moves between lanes, signs: what happens to an operand before its use.

Written from the chapters on DPP and SDWA of the CDNA3 and RDNA3 ISA manuals.
"""

from __future__ import annotations

import bitfloats as B
from scalar_reference import mask, signed

#: Legal values of DPP_CTRL: quad permutes, shifts and rotations of a row, and the rest.
_ROWS = [*range(0x100), *range(0x101, 0x110), *range(0x111, 0x120),
         *range(0x121, 0x130), 0x140, 0x141, *range(0x150, 0x160)]  # fmt: skip
CONTROLS = {
    "cdna": [*_ROWS, 0x130, 0x134, 0x138, 0x13C, 0x142, 0x143],
    "rdna": [*_ROWS, *range(0x160, 0x170)],
}


def dpp16_lane(control, lane, lanes):
    """The lane that a lane reads; None if there is none."""
    row, at, amount = lane & ~15, lane & 15, control & 15
    if control < 0x100:
        return lane & ~3 | control >> 2 * (lane & 3) & 3
    if control < 0x110:
        return lane + amount if at + amount < 16 else None
    if control < 0x120:
        return lane - amount if at >= amount else None
    if control < 0x130:
        return row | (at - amount) % 16
    if control >= 0x150:
        return row | amount if control < 0x160 else row | at ^ amount
    return {
        0x130: lane + 1 if lane + 1 < lanes else None,
        0x134: (lane + 1) % lanes,
        0x138: lane - 1 if lane else None,
        0x13C: (lane - 1) % lanes,
        0x140: row | 15 - at,
        0x141: lane & ~7 | 7 - (lane & 7),
        0x142: row - 1 if row else None,
        0x143: 31 if lane >= 32 else None,
    }[control]


def dpp16(control, active, lane, *, bound, fetch_inactive):
    """``(lane to read, whether the lane writes)``; None reads zero."""
    source = dpp16_lane(control, lane, len(active))
    if source is not None and not fetch_inactive and not active[source]:
        source = None
    return source, source is not None or bound


def enabled(lane, row_mask, bank_mask):
    return bool(row_mask >> (lane // 16) & bank_mask >> (lane // 4 % 4) & 1)


def sdwa_select(word, selection, *, sext):
    """A byte, a word or all of a register, extended to 32 bits."""
    width = 8 if selection < 4 else 16 if selection < 6 else 32
    low = 8 * selection if selection < 4 else 16 * (selection == 5)
    field = word >> low & mask(width)
    return signed(width, field) & mask(32) if sext else field


def sdwa_store(old, result, selection, unused):
    """A result into a part of a register: padded, sign extended, or kept."""
    width = 8 if selection < 4 else 16 if selection < 6 else 32
    low = 8 * selection if selection < 4 else 16 * (selection == 5)
    field = (result & mask(width)) << low
    if unused == 2:
        return old & ~(mask(width) << low) & mask(32) | field
    if unused == 1:
        return signed(width, result) << low & mask(32)
    return field


def with_sign(kind, bits, *, negative, absolute):
    """The modifiers of a float operand."""
    width = int(kind.lstrip("bf"))
    bits = bits & mask(width - 1) if absolute else bits
    return bits ^ 1 << (width - 1) if negative else bits


def has_sign(kind):
    return kind in B.FORMATS
