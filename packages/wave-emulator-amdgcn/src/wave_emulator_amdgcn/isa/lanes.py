"""Instructions that move values between lanes, or between lanes and scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.operands import raw32, scalar

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Selection
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine


def _read_lane(ins: Instruction) -> Run:
    """V_READLANE, and V_READFIRSTLANE: of the first active lane, or the first."""
    fetch = raw32(ins.fields["src0"], ins.get("literal"))
    row = ins.fields["vdst"] & 127 if ins.fields["vdst"] >= 256 else ins.fields["vdst"]
    named = None
    if ins.name == "V_READLANE_B32":
        named = scalar(ins.fields["src1"], "u32", ins.get("literal"))

    def run(m: Machine, g: Selection) -> None:
        value = np.broadcast_to(fetch(m, g), (m.count(g), m.lanes))
        if named is None:
            lane = np.argmax(m.active[g], axis=1)
        else:
            lane = named(m, g).astype(np.int64) & (m.lanes - 1)
        m.write_scalar(row, g, value[np.arange(m.count(g)), lane])

    return run


def _write_lane(ins: Instruction) -> Run:
    value = scalar(ins.fields["src0"], "u32", ins.get("literal"))
    lane = scalar(ins.fields["src1"], "u32", ins.get("literal"))
    row = ins.fields["vdst"] - 256

    def run(m: Machine, g: Selection) -> None:
        at = lane(m, g).astype(np.int64) & (m.lanes - 1)
        m.V[row, m.waves(g), at] = value(m, g)

    return run


def _count_below(*, high: bool) -> Callable[[Instruction], Run]:
    """V_MBCNT: how many bits of a mask stand below this lane, plus a value."""

    def binder(ins: Instruction) -> Run:
        mask = raw32(ins.fields["src0"], ins.get("literal"))
        second = "src1" if "src1" in ins.fields else "vsrc1"
        base = raw32(ins.fields[second], ins.get("literal"))
        row = ins.fields["vdst"] - 256

        def run(m: Machine, g: Selection) -> None:
            lane = np.arange(m.lanes)
            at = np.clip(lane - 32, 0, 32) if high else np.clip(lane, 0, 32)
            below = ((1 << at.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
            count = np.bitwise_count(mask(m, g) & below).astype(np.uint32)
            value = np.broadcast_to(count + base(m, g), (m.count(g), m.lanes))
            m.write(row, g, value)

        return run

    return binder


def _swap(half: int) -> Callable[[Instruction], Run]:
    """V_SWAP; V_PERMLANE16_SWAP and 32: odd rows of vdst, even ones of src."""

    def binder(ins: Instruction) -> Run:
        first, second = ins.fields["vdst"] - 256, ins.fields["src0"] - 256

        def run(m: Machine, g: Selection) -> None:
            a, b = m.V[first, g].copy(), m.V[second, g].copy()
            if half:
                lane = np.arange(m.lanes)
                odd = (lane // half & 1).astype(np.bool_)
                a, b = (
                    np.where(odd, b, a[:, lane ^ half]),
                    np.where(odd, b[:, lane ^ half], a),
                )
            m.write(first, g, b)
            m.write(second, g, a)

        return run

    return binder


def _permute16(*, across: bool) -> Callable[[Instruction], Run]:
    """V_PERMLANE16, V_PERMLANEX16: lanes of a row pick lanes by scalar selectors."""

    def binder(ins: Instruction) -> Run:
        fetch = raw32(ins.fields["src0"], 0)
        low = scalar(ins.fields["src1"], "u32", ins.get("literal"))
        high = scalar(ins.fields["src2"], "u32", ins.get("literal"))
        row = ins.fields["vdst"] - 256
        inactive, bound = ins.get("opsel") & 1, ins.get("opsel") >> 1 & 1

        def run(m: Machine, g: Selection) -> None:
            lane = np.arange(m.lanes)
            words = [part(m, g).astype(np.uint64) for part in (low, high)]
            both = words[0] | words[1] << np.uint64(32)
            shift = ((lane & 15) * 4).astype(np.uint64)
            select = both[:, None] >> shift & np.uint64(15)
            base = (lane & ~15) ^ (16 if across else 0)
            source = base + select.astype(np.int64)
            value = np.broadcast_to(fetch(m, g), (m.count(g), m.lanes))
            value = np.take_along_axis(value, source, axis=1)
            mask = m.active[g]
            readable = np.take_along_axis(mask, source, axis=1)
            if not inactive:
                value = np.where(readable, value, np.uint32(0))
                mask = mask if bound else mask & readable
            m.write_where(row, g, value, mask)

        return run

    return binder


def _move(*, from_agpr: bool, to_agpr: bool) -> Callable[[Instruction], Run]:
    """V_ACCVGPR: between registers, of which AGPRs are the rows from 256 on."""

    def binder(ins: Instruction) -> Run:
        fetch = raw32(ins.fields["src0"], ins.get("literal"))
        source = ins.fields["src0"]
        row = ins.fields["vdst"] - (0 if to_agpr else 256)

        def run(m: Machine, g: Selection) -> None:
            m.write(row, g, m.V[source, g].copy() if from_agpr else fetch(m, g))

        return run

    return binder


BINDERS: dict[str, Callable[[Instruction], Run]] = {
    "V_READFIRSTLANE_B32": _read_lane, "V_READLANE_B32": _read_lane,
    "V_WRITELANE_B32": _write_lane, "V_MBCNT_LO_U32_B32": _count_below(high=False),
    "V_MBCNT_HI_U32_B32": _count_below(high=True),
    "V_PERMLANE16_SWAP_B32": _swap(16), "V_PERMLANE32_SWAP_B32": _swap(32),
    "V_PERMLANE16_B32": _permute16(across=False),
    "V_PERMLANEX16_B32": _permute16(across=True), "V_SWAP_B32": _swap(0),
    "V_ACCVGPR_WRITE": _move(from_agpr=False, to_agpr=True),
    "V_ACCVGPR_READ": _move(from_agpr=True, to_agpr=False),
    "V_ACCVGPR_MOV_B32": _move(from_agpr=True, to_agpr=True),
}  # fmt: skip
