"""What all accesses to memory share: bounds, gathers, scatters, atomics."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import EmulatorError

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import (
        Array,
        Bools,
        Function,
        Ints,
        Selection,
        Words,
    )
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.machine import Machine
    from wave_emulator_amdgcn.memory import Cells


@dataclass(frozen=True)
class Part:
    """Consecutive bytes of each lane's data: positions, bytes, lanes."""

    at: Ints
    size: int
    mask: Bools | None


def _combine(mask: Bools | None, good: Bools | None) -> Bools | None:
    if good is None:
        return mask
    return good if mask is None else mask & good


def report_outside(
    m: Machine, ins: Instruction, g: Selection, at: Ints, bad: Bools, where: str
) -> None:
    """Report lanes that leave a memory."""
    m.report_lanes("EM0503", f"access outside {where}", ins, g, bad, at)


def global_bounds(
    m: Machine, ins: Instruction, g: Selection, at: Ints, size: int, mask: Bools | None
) -> tuple[Ints, Bools | None]:
    """Positions that can be used, and the lanes that stay within buffers.

    Lanes that are off, or outside, get position 0 and are masked.
    """
    words = "_LOAD_" in ins.name
    if mask is not None:
        inside = at[mask]
        if not inside.size:
            return np.zeros_like(at), mask
        if m.memory.outside(inside, size, words=words) is None:
            return np.where(mask, at, inside[0]), mask
    bad = m.memory.outside(at, size, words=words)
    if bad is None:
        return at, mask
    if mask is not None:
        bad = bad & mask
    if bad.any():
        from wave_emulator_amdgcn.memory import BASE  # noqa: PLC0415 - for a message

        report_outside(m, ins, g, at + BASE, bad, "every buffer")
    good = _combine(mask, ~bad)
    assert good is not None
    return np.where(good, at, 0), good


def in_parts(
    m: Machine, ins: Instruction, g: Selection, part: Part, words: Ints | None
) -> list[Part]:
    """An access to global memory; word by word where only some are in range.

    ``words`` counts the words, from the first, that a resource holds; None is all.
    """
    at, size, mask = part.at, part.size, part.mask
    most = max(1, size // 4)
    if words is None or bool((words >= most).all()):
        return [_bounded(m, ins, g, part)]
    whole = _combine(mask, words >= most)
    partial = (words > 0) & (words < most)
    if not partial.any() or (mask is not None and not (partial & mask).any()):
        return [_bounded(m, ins, g, Part(at, size, whole))]
    return [
        _bounded(m, ins, g, Part(at + 4 * k, 4, _combine(mask, words > k)))
        for k in range(most)
    ]


def _bounded(m: Machine, ins: Instruction, g: Selection, part: Part) -> Part:
    at, mask = global_bounds(m, ins, g, part.at, part.size, part.mask)
    return Part(at, part.size, mask)


def note(
    m: Machine, ins: Instruction, g: Selection, access: tuple[str, str, int],
    at: Ints, mask: Bools | None,
) -> None:  # fmt: skip
    """Tell the checks: access is (space, ``read``/``write``/``atomic``, bytes)."""
    if m.checks is not None:
        m.checks.access(ins, g, access, at, mask)
    if m.meter is not None:
        m.meter.access(ins, access, at, mask)


def load(cells: Cells, at: Ints, size: int, mask: Bools | None) -> list[Words]:
    """Words of each lane; lanes that are off read zero."""
    words = cells.load(at, size)
    if mask is None:
        return words
    return [np.where(mask, word, np.uint32(0)) for word in words]


def store(
    cells: Cells, at: Ints, words: list[Words], size: int, mask: Bools | None
) -> None:
    """Store words of the lanes of a mask."""
    shape = at.shape
    full = [np.broadcast_to(word, shape) for word in words]
    if mask is None:
        cells.store(at.ravel(), [word.ravel() for word in full], size)
    else:
        cells.store(at[mask], [word[mask] for word in full], size)


def _increment(a: Array, b: Array) -> Array:
    return np.where(a >= b, a.dtype.type(0), a + a.dtype.type(1))


def _decrement(a: Array, b: Array) -> Array:
    return np.where((a == 0) | (a > b), b, a - a.dtype.type(1))


#: New value of old value and operand, with the type of both (``?`` is the width).
ATOMICS: dict[str, tuple[str, Function]] = {
    "ADD": ("u", np.add), "SUB": ("u", np.subtract),
    "RSUB": ("u", lambda a, b: b - a),
    "SMIN": ("i", np.minimum), "SMAX": ("i", np.maximum),
    "UMIN": ("u", np.minimum), "UMAX": ("u", np.maximum),
    "AND": ("u", np.bitwise_and), "OR": ("u", np.bitwise_or),
    "XOR": ("u", np.bitwise_xor), "SWAP": ("u", lambda _a, b: b),
    "INC": ("u", _increment), "DEC": ("u", _decrement),
    "ADD_F": ("f", np.add),
    # gfx9 and gfx11 compare: a NaN in memory stays. gfx12 prefers the number.
    "MIN_F": ("f", lambda a, b: np.where(b < a, b, a)),
    "MAX_F": ("f", lambda a, b: np.where(b > a, b, a)),
    "MIN_NUM_F": ("f", floats.minimum), "MAX_NUM_F": ("f", floats.maximum),
    "CMPSWAP": ("u", np.equal),
    "PK_ADD_F16": ("h", np.add), "PK_ADD_BF16": ("b", np.add),
}  # fmt: skip


def atomic(
    cells: Cells, at: Ints, operands: list[Words], name: str, bits: int,
    mask: Bools | None,
) -> list[Words]:  # fmt: skip
    """Do an atomic in all lanes, one after the other in lane order; the old values."""
    letter, function = ATOMICS[name]
    shape = at.shape
    lanes = np.flatnonzero(np.ones(shape, np.bool_) if mask is None else mask)
    positions = at.ravel()[lanes]
    if positions.size and np.bitwise_or.reduce(positions) & (bits // 8 - 1):
        raise EmulatorError(
            "EM0509", f"atomic {name} at an address that is not aligned"
        )
    index = positions // (bits // 8)
    flat = [np.broadcast_to(word, shape).ravel()[lanes] for word in operands]
    old = _in_rounds(
        cells.data.view(f"u{bits // 8}"), index, flat, (letter, name), function
    )
    result = np.zeros((bits // 32, at.size), np.uint32)
    for k in range(bits // 32):
        result[k, lanes] = (old >> old.dtype.type(32 * k)).astype(np.uint32)
    return [row.reshape(shape) for row in result]


def _in_rounds(
    memory: Array, index: Ints, operands: list[Words], kind: tuple[str, str],
    function: Function,
) -> Array:  # fmt: skip
    """Lanes that touch one cell take turns: the k-th toucher acts in round k."""
    values = _join(operands, memory.dtype.itemsize // 4)
    old = np.zeros(len(index), memory.dtype)
    turn = _turns(index)
    for k in range(int(turn.max()) + 1 if len(turn) else 0):
        now = turn == k
        cells = index[now]
        before = memory[cells]
        old[now] = before
        if kind[1] == "CMPSWAP":
            new = np.where(before == values[1][now], values[0][now], before)
        else:
            new = _apply(before, values[0][now], kind[0], function)
        memory[cells] = new
    return old


def _turns(index: Ints) -> Ints:
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    start = np.ones(len(index), np.bool_)
    start[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(start, np.arange(len(index)), 0))
    turn = np.empty(len(index), np.int64)
    turn[order] = np.arange(len(index)) - first
    return turn


def _join(words: list[Words], width: int) -> list[Array]:
    if width == 1:
        return list(words)
    return [
        words[k].astype(np.uint64) | words[k + 1].astype(np.uint64) << np.uint64(32)
        for k in range(0, len(words), 2)
    ]


def _apply(before: Array, operand: Array, letter: str, function: Function) -> Array:
    size = before.dtype.itemsize
    with np.errstate(all="ignore"):
        if letter == "h":
            pair = function(before.view(np.float16), operand.view(np.float16))
            return pair.view(before.dtype)
        if letter == "b":
            x = floats.bf16_to_f32(np.ascontiguousarray(before).view(np.uint16))
            y = floats.bf16_to_f32(np.ascontiguousarray(operand).view(np.uint16))
            return floats.f32_to_bf16(function(x, y)).view(before.dtype)
        kind = f"{letter}{size}"
        result = function(before.view(kind), operand.astype(before.dtype).view(kind))
        return np.asarray(result).astype(kind).view(before.dtype)
