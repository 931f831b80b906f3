"""LDS instructions: reads, writes, atomics, and moves between lanes through it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.errors import UnknownInstructionError
from wave_emulator_amdgcn.isa import access
from wave_emulator_amdgcn.isa.transpose import TRANSPOSES, transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_emulator_amdgcn.arrays import Array, Bools, Ints, Selection, Words
    from wave_emulator_amdgcn.decode import Instruction
    from wave_emulator_amdgcn.isa.vector import Run
    from wave_emulator_amdgcn.machine import Machine

_PLAIN = re.compile(r"DS_(READ|WRITE)_B(32|64|96|128)")
_TWO = re.compile(r"DS_(READ|WRITE)2(ST64)?_B(32|64)")
_SMALL = re.compile(r"DS_(READ|WRITE)_([UIB])(8|16)(_D16)?(_HI)?")
_ATOMIC = re.compile(
    r"DS_(ADD|SUB|RSUB|INC|DEC|MIN|MAX|MIN_NUM|MAX_NUM|AND|OR|XOR|WRXCHG|CMPST|PK_ADD)"
    r"(_RTN)?_(U|I|B|F|BF)(16|32|64)"
)


def bind(ins: Instruction) -> Run:
    """The closure that executes a DS instruction."""
    name = ins.name
    special = {
        "DS_SWIZZLE_B32": _bind_swizzle, "DS_BPERMUTE_B32": _bind_bpermute,
        "DS_PERMUTE_B32": _bind_permute, "DS_BPERMUTE_FI_B32": _bind_bpermute,
    }  # fmt: skip
    if name == "DS_NOP":
        return lambda _m, _g: None
    if name in special:
        return special[name](ins)
    if name in TRANSPOSES:
        return _bind_transpose(ins)
    if found := _PLAIN.fullmatch(name):
        offsets = [offset_of(ins)]
        return _bind_words(ins, int(found[2]) // 8, offsets, reading=found[1] == "READ")
    if found := _TWO.fullmatch(name):
        size = int(found[3]) // 8
        step = size * (64 if found[2] else 1)
        offsets = [ins.get(f"offset{k}") * step for k in range(2)]
        return _bind_words(ins, size, offsets, reading=found[1] == "READ")
    if found := _SMALL.fullmatch(name):
        return _bind_small(ins, found)
    if found := _ATOMIC.fullmatch(name):
        return _bind_atomic(ins, found)
    raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")


def row_of(ins: Instruction, field: str) -> int:
    """The row of a data register; the acc bit means AGPRs."""
    return ins.fields[field] - 256 + (256 if ins.get("acc") else 0)


def offset_of(ins: Instruction) -> int:
    """The 16-bit offset of instructions with one address."""
    return ins.get("offset0") | ins.get("offset1") << 8


def _positions(
    m: Machine, ins: Instruction, g: Selection, offset: int, size: int
) -> tuple[Ints, Bools | None]:
    """Positions in the array of all LDS, and the lanes that stay in bounds.

    The sum has 32 bits: a register may hold a negative number that the offset makes
    up for. Source: LLVM, `isDSOffsetLegal`; only Southern Islands differs.
    """
    mask = m.mask(g)
    base = m.V[ins.fields["addr"] - 256, g]
    address = (base + np.uint32(offset)).astype(np.int64)
    # As in buffers, a load of words may end in the word of the last byte.
    step = 4 if "READ" in ins.name and size >= 4 else 1
    limit = -(-m.shape.lds_bytes // step) * step
    top = address if mask is None else np.where(mask, address, 0)
    at = top + m.lds_base[g][:, None]
    if int(top.max(initial=0)) + size <= limit:
        return at, mask
    bad = top + size > limit
    if bad.any():
        access.report_outside(m, ins, g, address, bad, "the workgroup's LDS")
        good = ~bad if mask is None else mask & ~bad
        return np.where(bad, 0, at), good
    return at, mask


def _write_words(
    m: Machine, row: int, g: Selection, words: list[Words], mask: Bools | None
) -> None:
    for k, word in enumerate(words):
        m.write_where(row + k, g, word, mask)


def _read(
    m: Machine, ins: Instruction, g: Selection, offset: int, size: int
) -> list[Words]:
    at, mask = _positions(m, ins, g, offset, size)
    access.note(m, ins, g, ("lds", "read", size), at, mask)
    return access.load(m.lds, at, size, mask)


def _bind_words(
    ins: Instruction, size: int, offsets: list[int], *, reading: bool
) -> Run:
    """Reads or writes of the same bytes at one or two offsets."""
    if reading:
        row = row_of(ins, "vdst")

        def read(m: Machine, g: Selection) -> None:
            words = [w for o in offsets for w in _read(m, ins, g, o, size)]
            _write_words(m, row, g, words, m.mask(g))

        return read
    rows = [row_of(ins, f"data{k}") for k in range(len(offsets))]

    def write(m: Machine, g: Selection) -> None:
        for offset, data in zip(offsets, rows, strict=True):
            at, mask = _positions(m, ins, g, offset, size)
            access.note(m, ins, g, ("lds", "write", size), at, mask)
            words = [m.V[data + k, g] for k in range(size // 4)]
            access.store(m.lds, at, words, size, mask)

    return write


def extend(word: Words, bits: int) -> Words:
    """Sign-extend the low bits."""
    up = np.int32(32 - bits)
    return (word.view(np.int32) << up >> up).view(np.uint32)


def _bind_small(ins: Instruction, found: re.Match[str]) -> Run:
    bits = int(found[3])
    size, offset = bits // 8, offset_of(ins)
    d16, high, signed = bool(found[4]), bool(found[5]), found[2] == "I"
    if found[1] == "WRITE":
        data = row_of(ins, "data0")
        shift = np.uint32(16 if high else 0)

        def write(m: Machine, g: Selection) -> None:
            at, mask = _positions(m, ins, g, offset, size)
            access.note(m, ins, g, ("lds", "write", size), at, mask)
            access.store(m.lds, at, [m.V[data, g] >> shift], size, mask)

        return write
    row = row_of(ins, "vdst")

    def read(m: Machine, g: Selection) -> None:
        word = _read(m, ins, g, offset, size)[0]
        word = extend(word, bits) if signed else word
        if d16:
            word = merge16(m.V[row, g], word, high=high)
        m.write_where(row, g, word, m.mask(g))

    return read


def merge16(old: Words, word: Words, *, high: bool) -> Words:
    """Put 16 bits into one half of a register."""
    if high:
        return old & np.uint32(0xFFFF) | word << np.uint32(16)
    return old & np.uint32(0xFFFF0000) | word & np.uint32(0xFFFF)


def _bind_atomic(ins: Instruction, found: re.Match[str]) -> Run:
    name, bits = _atomic_name(found)
    if name not in access.ATOMICS:
        raise UnknownInstructionError("EM0301", f"{ins.text} at {ins.pc:#x}")
    returns = bool(found[2]) or found[1] == "WRXCHG"
    words, offset = bits // 32, offset_of(ins)
    fields = ["data0"]
    if name == "CMPSWAP":
        fields = ["data1", "data0"] if ins.chip.compares_first else ["data0", "data1"]
    rows = [row_of(ins, field) for field in fields]
    row = row_of(ins, "vdst")

    def run(m: Machine, g: Selection) -> None:
        at, mask = _positions(m, ins, g, offset, bits // 8)
        access.note(m, ins, g, ("lds", "atomic", bits // 8), at, mask)
        operands = [m.V[r + k, g] for r in rows for k in range(words)]
        old = access.atomic(m.lds, at, operands, name, bits, mask)
        if returns:
            _write_words(m, row, g, old, m.mask(g))

    return run


def _atomic_name(found: re.Match[str]) -> tuple[str, int]:
    verb, kind, bits = found[1], found[3], int(found[4])
    if verb == "PK_ADD":
        return f"PK_ADD_{kind}16", 32
    if kind == "F":
        return f"{verb}_F", bits
    if verb in ("MIN", "MAX"):
        return ("S" if kind == "I" else "U") + verb, bits
    return {"WRXCHG": "SWAP", "CMPST": "CMPSWAP"}.get(verb, verb), bits


def swizzle(offset: int, lanes: int) -> Ints:
    """Source lane of DS_SWIZZLE (CDNA3 ISA, "Data share ... swizzle")."""
    lane = np.arange(lanes)
    if offset & 0x8000:
        if offset & 0x4000:
            raise UnknownInstructionError("EM0301", f"ds_swizzle offset {offset:#x}")
        return lane & ~3 | (offset >> 2 * (lane & 3) & 3)
    conjunct, disjunct, exclusive = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return lane & ~31 | ((lane & 31 & conjunct) | disjunct) ^ exclusive


def _bind_swizzle(ins: Instruction) -> Run:
    row, offset = row_of(ins, "vdst"), offset_of(ins)
    source_row = ins.fields["addr"] - 256

    def run(m: Machine, g: Selection) -> None:
        source = swizzle(offset, m.lanes)
        value: Array = m.V[source_row, g][:, source]
        if not m.full:
            value = np.where(m.active[g][:, source], value, np.uint32(0))
        m.write(row, g, value)

    return run


def _lanes_named(ins: Instruction) -> Callable[[Machine, Selection], Ints]:
    """The lane that each lane names by its address in bytes."""
    row, offset = ins.fields["addr"] - 256, np.uint32(offset_of(ins))

    def lanes(m: Machine, g: Selection) -> Ints:
        named = (m.V[row, g] + offset) >> np.uint32(2)
        return (named % np.uint32(m.lanes)).astype(np.int64)

    return lanes


def _bind_bpermute(ins: Instruction) -> Run:
    row, data, lanes_named = (
        row_of(ins, "vdst"),
        row_of(ins, "data0"),
        _lanes_named(ins),
    )
    inactive = "_FI_" in ins.name

    def run(m: Machine, g: Selection) -> None:
        source = lanes_named(m, g)
        value = np.take_along_axis(m.V[data, g], source, axis=1)
        if not m.full and not inactive:
            live = np.take_along_axis(m.active[g], source, axis=1)
            value = np.where(live, value, np.uint32(0))
        m.write(row, g, value)

    return run


def _bind_permute(ins: Instruction) -> Run:
    row, data, lanes_named = (
        row_of(ins, "vdst"),
        row_of(ins, "data0"),
        _lanes_named(ins),
    )

    def run(m: Machine, g: Selection) -> None:
        lanes = lanes_named(m, g)
        value = np.zeros((m.count(g), m.lanes), np.uint32)
        wave, lane = np.nonzero(m.active[g])
        value[wave, lanes[wave, lane]] = m.V[data, g][wave, lane]
        m.write(row, g, value)

    return run


def _bind_transpose(ins: Instruction) -> Run:
    size = TRANSPOSES[ins.name][1]
    row, offset = row_of(ins, "vdst"), offset_of(ins)

    def run(m: Machine, g: Selection) -> None:
        words = _read(m, ins, g, offset, size)
        _write_words(m, row, g, transpose(ins.name, words), m.mask(g))

    return run
