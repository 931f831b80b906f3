"""DPP: an operand that comes from another lane of the wave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.operands import Fetch, fetch_dtype, raw16, raw32, raw64

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bools, Ints, Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine


def permutation(ins: Instruction, lanes: int) -> tuple[Ints, Bools]:
    """Which lane each lane reads, and whether that lane exists.

    Source: CDNA3 ISA, table of DPP_CTRL; RDNA3 ISA, the same.
    """
    lane = np.arange(lanes)
    if ins.variant == "DPP8":
        select = [ins.fields[f"lane_sel_{k}"] for k in range(8)]
        return lane & ~7 | np.array(select)[lane & 7], np.ones(lanes, np.bool_)
    control = ins.get("dpp")
    row, at = lane & ~15, lane & 15
    if control <= 0xFF:
        source = lane & ~3 | (control >> 2 * (lane & 3) & 3)
        return source, np.ones(lanes, np.bool_)
    amount = control & 15
    if 0x101 <= control <= 0x10F:
        return row | (at + amount & 15), at + amount < 16
    if 0x111 <= control <= 0x11F:
        return row | (at - amount & 15), at >= amount
    if 0x121 <= control <= 0x12F:
        return row | (at - amount & 15), np.ones(lanes, np.bool_)
    return _whole(ins, control, lane, lanes)


def _whole(
    ins: Instruction, control: int, lane: Ints, lanes: int
) -> tuple[Ints, Bools]:
    everything = np.ones(lanes, np.bool_)
    row, at = lane & ~15, lane & 15
    simple = {
        0x130: (lane + 1, lane + 1 < lanes),
        0x134: ((lane + 1) % lanes, everything),
        0x138: (lane - 1, lane >= 1),
        0x13C: ((lane - 1) % lanes, everything),
        0x140: (row | 15 - at, everything),
        0x141: (lane & ~7 | 7 - (lane & 7), everything),
        0x142: (row - 1, lane >= 16),
        0x143: ((lane & 32) - 1, lane >= 32),
    }
    shifts = ins.chip.shifts_waves
    if control in simple and (shifts or control in (0x140, 0x141)):
        source, valid = simple[control]
        return np.clip(source, 0, lanes - 1), valid
    if 0x150 <= control <= 0x15F:
        return row | control & 15, everything
    if 0x160 <= control <= 0x16F and not shifts:
        return row | at ^ control & 15, everything
    raise UnknownInstructionError("EM0301", f"DPP control {control:#x}: {ins.text}")


def dpp_source(ins: Instruction, kind: str) -> Fetch:
    """The first operand, moved between lanes; zero where there is no such lane."""
    code = ins.get("vsrc0")
    permutation(ins, 64)  # refuses unknown controls before anything runs
    long = ins.encoding.startswith("VOP3")
    high = bool(long and ins.get("opsel") & 1)
    if not long and kind.endswith("16") and ins.chip.names_halves and code >= 384:
        code, high = code - 128, True
    fetch = {
        "16": lambda: raw16(code, 0, kind, high=high),
        "32": lambda: raw32(code, 0),
        "64": lambda: raw64(code, 0, kind),
    }[kind[-2:]]()
    dtype = fetch_dtype(kind)

    def run(m: Machine, g: Selection) -> Array:
        source, _ = permutation(ins, m.lanes)
        value = fetch(m, g)[:, source]
        return np.where(readable(ins, m, g), value, dtype(0))

    return run


def readable(ins: Instruction, m: Machine, g: Selection) -> Bools:
    """Lanes whose source lane exists and may be read."""
    source, valid = permutation(ins, m.lanes)
    if ins.get("fi"):
        return np.broadcast_to(valid, (m.count(g), m.lanes))
    return m.active[g][:, source] & valid


def dpp_mask(ins: Instruction, m: Machine, g: Selection) -> Bools:
    """Lanes that write: enabled rows and banks, with a source or bound control."""
    lane = np.arange(m.lanes)
    enabled = np.ones(m.lanes, np.bool_)
    if ins.variant == "DPP16":
        rows, banks = ins.get("row_mask", 15), ins.get("bank_mask", 15)
        enabled = (rows >> (lane >> 4) & banks >> (lane >> 2 & 3) & 1).astype(np.bool_)
    mask = m.active[g] & enabled
    if ins.variant == "DPP16" and not ins.get("bc"):
        mask = mask & readable(ins, m, g)
    return mask
