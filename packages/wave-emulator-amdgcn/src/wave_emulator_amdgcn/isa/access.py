"""Bounds, loads, stores and atomics of all kinds of memory."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_amdgcn import floats
from wave_emulator_amdgcn.errors import EmulatorError, UnknownInstructionError
from wave_emulator_amdgcn.memory import BASE, Cells

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
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine


@dataclass(frozen=True)
class Part:
    """Consecutive bytes of each lane's data: positions, bytes, lanes."""

    at: Ints
    size: int
    mask: Bools | None


@dataclass(frozen=True)
class Place:
    """Where the lanes of an instruction go: space, memory, consecutive parts."""

    space: str
    cells: Cells
    parts: list[Part]


Locate: TypeAlias = "Callable[[Machine, Selection], Place]"
Convert: TypeAlias = "Callable[[list[Words], Words], list[Words]]"


def _combine(mask: Bools | None, good: Bools) -> Bools:
    return good if mask is None else mask & good


def lanes_inside(
    m: Machine, ins: Instruction, g: Selection, part: Part, bad: Bools, where: str
) -> Bools | None:
    """The lanes of a part that stay in a memory; the others are reported."""
    bad = _combine(part.mask, bad)
    if not bad.any():
        return part.mask
    m.report_lanes("EM0503", f"access outside {where}", ins, g, bad, part.at)
    return _combine(part.mask, ~bad)


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
    partial = (words > 0) & (words < most)
    if not _combine(mask, partial).any():
        return [_bounded(m, ins, g, Part(at, size, _combine(mask, words >= most)))]
    return [
        _bounded(m, ins, g, Part(at + 4 * k, 4, _combine(mask, words > k)))
        for k in range(most)
    ]


def _bounded(m: Machine, ins: Instruction, g: Selection, part: Part) -> Part:
    """The lanes that stay within buffers; the others have position 0."""
    at, size, mask = part.at, part.size, part.mask
    # An update of less than a word is one of the word that it lies in.
    words = "_LOAD_" in ins.name or "_ATOMIC_" in ins.name
    blocks = ins.name.startswith("S_LOAD_")
    taking = at if mask is None else at[mask]
    if m.memory.outside(taking, size, words=words, blocks=blocks) is None:
        return part if mask is None else Part(np.where(mask, at, 0), size, mask)
    bad = m.memory.outside(at, size, words=words, blocks=blocks)
    assert bad is not None, "some of its lanes are"
    shown = Part(at + BASE, size, mask)
    lanes_inside(m, ins, g, shown, bad, "every buffer")
    good = _combine(mask, ~bad)
    return Part(np.where(good, at, 0), size, good)


def _note(m: Machine, ins: Instruction, g: Selection, access: tuple[str, str, int],
          part: Part) -> None:  # fmt: skip
    """Tell the checks: access is (space, ``read``/``write``/``atomic``, bytes)."""
    if m.checks is not None:
        m.checks.access(ins, g, access, part.at, part.mask)
    if m.meter is not None:
        m.meter.access(ins, access, part.at, part.mask)


def read(m: Machine, ins: Instruction, g: Selection, place: Place) -> list[Words]:
    """Words of each lane; lanes that are off read zero."""
    found: list[Words] = []
    for part in place.parts:
        _note(m, ins, g, (place.space, "read", part.size), part)
        words = place.cells.load(part.at, part.size)
        if part.mask is not None:
            words = [np.where(part.mask, word, np.uint32(0)) for word in words]
        found += words
    return found


def write(
    m: Machine, ins: Instruction, g: Selection, place: Place, words: list[Words],
    kind: str = "write",
) -> None:  # fmt: skip
    """Store words of each lane that is on."""
    for part in place.parts:
        _note(m, ins, g, (place.space, kind, part.size), part)
        count = max(1, part.size // 4)
        mine, words = words[:count], words[count:]
        full = [np.broadcast_to(word, part.at.shape) for word in mine]
        mask = slice(None) if part.mask is None else part.mask
        place.cells.store(
            part.at[mask].ravel(), [word[mask].ravel() for word in full], part.size
        )


def bind_load(
    ins: Instruction, row: int, locate: Locate, convert: Convert | None = None
) -> Run:
    """Registers from ``row`` on take what memory holds.

    ``convert`` makes it from the words in memory and the register's old value.
    """

    def run(m: Machine, g: Selection) -> None:
        words = read(m, ins, g, locate(m, g))
        if convert is not None:
            words = convert(words, m.V[row, g])
        m.write_rows(row, g, words, m.mask(g))

    return run


def small(bits: int, *, signed: bool, half: int | None) -> Convert | None:
    """A byte or short, into one half of the register or all of it."""

    def convert(words: list[Words], old: Words) -> list[Words]:
        word = extend(words[0], bits) if signed else words[0]
        return [word if half is None else merge16(old, word, high=bool(half))]

    return convert if signed or half is not None else None


def extend(word: Words, bits: int) -> Words:
    """Sign-extend the low bits."""
    up = np.int32(32 - bits)
    return (word.view(np.int32) << up >> up).view(np.uint32)


def merge16(old: Words, word: Words, *, high: bool) -> Words:
    """Put 16 bits into one half of a register."""
    if high:
        return old & np.uint32(0xFFFF) | word << np.uint32(16)
    return old & np.uint32(0xFFFF0000) | word & np.uint32(0xFFFF)


def bind_store(ins: Instruction, rows: list[int], locate: Locate, *, high: bool) -> Run:
    """Memory takes registers, or the upper half of one."""

    def run(m: Machine, g: Selection) -> None:
        words = [m.V[row, g] for row in rows]
        if high:
            words = [word >> np.uint32(16) for word in words]
        write(m, ins, g, locate(m, g), words)

    return run


def bind_atomic(
    ins: Instruction, name: str, rows: list[int], locate: Locate, result: int | None
) -> Run:
    """An atomic on registers; its old values go to registers from ``result`` on."""
    if name not in ATOMICS:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")

    def run(m: Machine, g: Selection) -> None:
        place = locate(m, g)
        (part,) = place.parts
        _note(m, ins, g, (place.space, "atomic", part.size), part)
        old = _atomic(place.cells, part, [m.V[row, g] for row in rows], name)
        if result is not None:
            m.write_rows(result, g, old, m.mask(g))

    return run


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


def _atomic(cells: Cells, part: Part, operands: list[Words], name: str) -> list[Words]:
    """Do an atomic in all lanes, one after the other in lane order; the old values."""
    shape, size = part.at.shape, part.size
    active = np.ones(shape, np.bool_) if part.mask is None else part.mask
    positions = part.at[active]
    if positions.size and np.bitwise_or.reduce(positions) & (size - 1):
        raise EmulatorError(
            "EM0509", f"atomic {name} at an address that is not aligned"
        )
    memory = cells.data.view(f"u{size}")
    flat = _join([np.broadcast_to(word, shape)[active] for word in operands], size)
    old = _in_rounds(memory, positions // size, flat, name)
    result = np.zeros((size // 4, *shape), np.uint32)
    for k in range(size // 4):
        result[k, active] = (old >> old.dtype.type(32 * k)).astype(np.uint32)
    return [result[k] for k in range(len(result))]


def _in_rounds(memory: Array, index: Ints, values: list[Array], name: str) -> Array:
    """Of the lanes that touch one cell, the k-th acts in round k."""
    old = np.zeros(len(index), memory.dtype)
    rounds = _rounds(index)
    for k in range(int(rounds.max(initial=-1)) + 1):
        now = rounds == k
        cells = index[now]
        before = old[now] = memory[cells]
        if name == "CMPSWAP":
            memory[cells] = np.where(before == values[1][now], values[0][now], before)
        else:
            memory[cells] = _apply(before, values[0][now], *ATOMICS[name])
    return old


def _rounds(index: Ints) -> Ints:
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    start = np.ones(len(index), np.bool_)
    start[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(start, np.arange(len(index)), 0))
    rounds = np.empty(len(index), np.int64)
    rounds[order] = np.arange(len(index)) - first
    return rounds


def _join(words: list[Words], size: int) -> list[Array]:
    if size == 4:
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
